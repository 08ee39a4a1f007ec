//! Scalar instructions on values.

use std::rc::Rc;

use strobe_isa::scalar_register::EXEC;
use strobe_isa::{Inst, Op, Operand, Special};

use crate::expr::{Binary, Compare, Id, Lost, Node, Symbolic, ZERO};
use crate::masks::MaskOp;
use crate::operations;
use crate::registers::SCALARS;
use crate::state::State;
use crate::walk::Walk;

/// `HW_REG_SH_MEM_BASES`: the high halves of the private and the shared aperture.
const SH_MEM_BASES: i32 = 15;

impl Walk<'_> {
    pub(crate) fn scalar(&mut self, state: &State, register: usize) -> Id {
        match state.scalars.get(register) {
            Some(value) => *value,
            None => self.arena.opaque(Lost::Arithmetic),
        }
    }

    pub(crate) fn set_scalar(&mut self, state: &mut State, register: usize, value: Id) {
        if register < SCALARS {
            Rc::make_mut(&mut state.scalars)[register] = value;
        }
    }

    pub(crate) fn set_scalar64(&mut self, state: &mut State, register: u8, value: Id) {
        let (low, high) = (self.arena.low(value), self.arena.high(value));
        self.set_scalar(state, register.into(), low);
        self.set_scalar(state, usize::from(register) + 1, high);
    }

    /// A 32-bit source of any kind; vector registers included.
    pub(crate) fn word(&mut self, state: &State, operand: Operand) -> Id {
        match operand {
            Operand::Scalar(register) => self.scalar(state, register.into()),
            Operand::Vector(_) | Operand::Accumulator(_) => self.vector_word(state, operand, 0),
            Operand::Int(value) => self.arena.constant(i32::from(value) as u32),
            Operand::Literal(value) => self.arena.constant(value),
            Operand::Float(value) => self.arena.constant(value.single()),
            Operand::Special(special) => self.aperture(special),
            Operand::None => self.arena.opaque(Lost::Arithmetic),
        }
    }

    /// High half of the address where an aperture begins, or its end.
    fn aperture(&mut self, special: Special) -> Id {
        let symbol = match special {
            Special::SharedBase => Symbolic::Lds,
            Special::PrivateBase => Symbolic::Scratch,
            _ => return self.arena.opaque(Lost::Arithmetic),
        };
        self.aperture_half(symbol)
    }

    fn aperture_half(&mut self, symbol: Symbolic) -> Id {
        self.scratch_escapes |= symbol == Symbolic::Scratch;
        let symbol = self.arena.intern(Node::Symbol(symbol));
        self.arena.high(symbol)
    }

    /// A 64-bit source.
    pub(crate) fn scalar64(&mut self, state: &State, operand: Operand) -> Id {
        match operand {
            Operand::Scalar(first) => {
                let low = self.scalar(state, first.into());
                let high = self.scalar(state, usize::from(first) + 1);
                self.arena.pair(low, high)
            }
            Operand::Int(value) => self.arena.constant64(i64::from(value) as u64),
            // Literals are zero-extended to 64-bit integers.
            Operand::Literal(value) => self.arena.constant64(value.into()),
            // The aperture's base: its low half is 0.
            Operand::Special(Special::SharedBase | Special::PrivateBase) => {
                let high = self.word(state, operand);
                self.arena.pair(ZERO, high)
            }
            Operand::Vector(_) | Operand::Accumulator(_) => {
                let low = self.vector_word(state, operand, 0);
                let high = self.vector_word(state, operand, 1);
                self.arena.pair(low, high)
            }
            _ => {
                let (low, high) = (
                    self.arena.opaque(Lost::Arithmetic),
                    self.arena.opaque(Lost::Arithmetic),
                );
                self.arena.pair(low, high)
            }
        }
    }

    /// SOP1, SOP2, SOPK, SOPC without memory and control flow.
    pub(crate) fn scalar_instruction(&mut self, state: &mut State, inst: &Inst, pc: u64) {
        use Op::*;
        match inst.op {
            s_mov_b64 | s_not_b64 if self.mask_move(state, inst, inst.op == s_not_b64) => return,
            s_and_b64 if self.mask_logic(state, inst, MaskOp::And) => return,
            s_andn2_b64 if self.mask_logic(state, inst, MaskOp::AndNot) => return,
            s_or_b64 if self.mask_logic(state, inst, MaskOp::Or) => return,
            s_xor_b64 if self.mask_logic(state, inst, MaskOp::Xor) => return,
            s_orn2_b64 | s_nand_b64 | s_nor_b64 | s_xnor_b64
                if self.mask_logic(state, inst, MaskOp::Other) =>
            {
                return;
            }
            s_and_saveexec_b64 | s_or_saveexec_b64 | s_xor_saveexec_b64 | s_andn2_saveexec_b64
            | s_orn2_saveexec_b64 | s_nand_saveexec_b64 | s_nor_saveexec_b64
            | s_xnor_saveexec_b64 | s_andn1_saveexec_b64 | s_orn1_saveexec_b64
            | s_andn1_wrexec_b64 | s_andn2_wrexec_b64 => return self.save_exec(state, inst),
            s_getpc_b64 => {
                let here = self.arena.intern(Node::Image(pc + u64::from(inst.size)));
                return self.put64(state, inst, here);
            }
            s_setreg_b32 | s_setreg_imm32_b32 => self.rounding.set(inst),
            s_movreld_b32 | s_movreld_b64 => {
                for register in 0..SCALARS {
                    let lost = self.arena.opaque(Lost::Arithmetic);
                    self.set_scalar(state, register, lost);
                }
                return;
            }
            _ => {}
        }
        let info = inst.op.info();
        if info.dsts[0].dwords(inst.wave) == 2 && inst.dsts[0] != Operand::None {
            let value = self.value64(state, inst);
            self.put64(state, inst, value);
        } else if inst.dsts[0] != Operand::None {
            let value = self.value32(state, inst);
            if let Operand::Scalar(register) = inst.dsts[0] {
                // Half of EXEC: what is active afterwards is anyone's guess.
                if register >= EXEC {
                    let unknown = self.arena.unknown();
                    self.replace_exec(state, unknown);
                }
                self.set_scalar(state, register.into(), value);
            }
        } else {
            self.comparison(state, inst);
        }
    }

    fn put64(&mut self, state: &mut State, inst: &Inst, value: Id) {
        match inst.dsts[0] {
            Operand::Scalar(EXEC) => {
                let unknown = self.arena.unknown();
                self.replace_exec(state, unknown);
            }
            Operand::Scalar(register) => self.set_scalar64(state, register, value),
            _ => {}
        }
    }

    fn value64(&mut self, state: &mut State, inst: &Inst) -> Id {
        use Op::*;
        let a = inst.srcs[0];
        let by = inst.srcs[1];
        let halves = |walk: &mut Self, state: &State, operand: Operand| {
            let whole = walk.scalar64(state, operand);
            (walk.arena.low(whole), walk.arena.high(whole))
        };
        let bitwise = match inst.op {
            s_and_b64 | s_andn2_b64 => Some(Binary::And),
            s_or_b64 | s_orn2_b64 => Some(Binary::Or),
            s_xor_b64 => Some(Binary::Xor),
            _ => None,
        };
        if let Some(op) = bitwise {
            let ((al, ah), (mut bl, mut bh)) = (halves(self, state, a), halves(self, state, by));
            if matches!(inst.op, s_andn2_b64 | s_orn2_b64) {
                bl = self.complement(bl);
                bh = self.complement(bh);
            }
            let (low, high) = (self.arena.binary(op, al, bl), self.arena.binary(op, ah, bh));
            let value = self.arena.pair(low, high);
            self.nonzero64(state, value);
            return value;
        }
        let value = match inst.op {
            s_mov_b64 => return self.scalar64(state, a),
            s_cmov_b64 => {
                let (yes, no) = (self.scalar64(state, a), self.scalar64(state, inst.dsts[0]));
                return self.choose64(state.scc, yes, no);
            }
            s_cselect_b64 => {
                let (yes, no) = (self.scalar64(state, a), self.scalar64(state, by));
                return self.choose64(state.scc, yes, no);
            }
            s_not_b64 => {
                let (low, high) = halves(self, state, a);
                let (low, high) = (self.complement(low), self.complement(high));
                self.arena.pair(low, high)
            }
            s_lshl_b64 | s_lshr_b64 | s_ashr_i64 => {
                let (value, by) = (self.scalar64(state, a), self.word(state, by));
                let make = match inst.op {
                    s_lshl_b64 => Node::Shl64,
                    s_lshr_b64 => Node::Shr64,
                    _ => Node::Sar64,
                };
                self.arena.shift64(make, value, by)
            }
            s_bfe_u64 | s_bfe_i64 => {
                let value = self.scalar64(state, a);
                let field = self.word(state, by);
                match self
                    .arena
                    .as_const(field)
                    .map(|field| (field & 63, field >> 16 & 127))
                {
                    Some((offset, width)) if width > 0 && offset + width <= 64 => {
                        let up = self.arena.constant(64 - offset - width);
                        let down = self.arena.constant(64 - width);
                        let top = self.arena.shift64(Node::Shl64, value, up);
                        let make = if inst.op == s_bfe_u64 {
                            Node::Shr64
                        } else {
                            Node::Sar64
                        };
                        self.arena.shift64(make, top, down)
                    }
                    _ => self.lost64(),
                }
            }
            _ => {
                state.scc = self.arena.unknown();
                return self.lost64();
            }
        };
        self.nonzero64(state, value);
        value
    }

    pub(crate) fn lost64(&mut self) -> Id {
        let (low, high) = (
            self.arena.opaque(Lost::Arithmetic),
            self.arena.opaque(Lost::Arithmetic),
        );
        self.arena.pair(low, high)
    }

    fn choose64(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        let (yl, yh) = (self.arena.low(yes), self.arena.high(yes));
        let (nl, nh) = (self.arena.low(no), self.arena.high(no));
        let low = self.arena.select(condition, yl, nl);
        let high = self.arena.select(condition, yh, nh);
        self.arena.pair(low, high)
    }

    fn nonzero64(&mut self, state: &mut State, value: Id) {
        let zero = self.arena.constant64(0);
        state.scc = self.arena.compare(Compare::Ne, value, zero);
    }

    pub(crate) fn complement(&mut self, value: Id) -> Id {
        self.arena.binary(Binary::Xor, value, crate::expr::ONES)
    }

    fn value32(&mut self, state: &mut State, inst: &Inst) -> Id {
        if let Some(op) = operations::scalar_logic(inst.op) {
            let (a, mut b) = self.two_words(state, inst);
            if matches!(inst.op, Op::s_andn2_b32 | Op::s_orn2_b32) {
                b = self.complement(b);
            }
            let value = self.shift_aware(op, a, b);
            state.scc = self.arena.compare(Compare::Ne, value, ZERO);
            return value;
        }
        if let Some(value) = self.value_without_scc(state, inst) {
            return value;
        }
        let (value, scc) = self.value_with_scc(state, inst);
        if inst.op.info().flags.contains(strobe_isa::Flags::WRITES_SCC) {
            state.scc = scc.unwrap_or_else(|| self.arena.unknown());
        }
        value
    }

    fn two_words(&mut self, state: &State, inst: &Inst) -> (Id, Id) {
        let a = self.word(state, inst.srcs[0]);
        (a, self.word(state, inst.srcs[1]))
    }

    /// Of instructions that leave SCC as it is: moves, choices, products, packing.
    fn value_without_scc(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        use Op::*;
        let x = inst.srcs[0];
        let immediate = self.arena.constant(inst.imm as u32);
        if let Some(op) = operations::scalar_product(inst.op) {
            let (a, b) = self.two_words(state, inst);
            return Some(self.arena.binary(op, a, b));
        }
        Some(match inst.op {
            s_mov_b32 => self.word(state, x),
            s_movk_i32 => immediate,
            s_cmov_b32 => {
                let (yes, no) = (self.word(state, x), self.word(state, inst.dsts[0]));
                self.arena.select(state.scc, yes, no)
            }
            s_cmovk_i32 => {
                let no = self.word(state, inst.dsts[0]);
                self.arena.select(state.scc, immediate, no)
            }
            s_cselect_b32 => {
                let (yes, no) = self.two_words(state, inst);
                self.arena.select(state.scc, yes, no)
            }
            s_mulk_i32 => {
                let a = self.word(state, inst.dsts[0]);
                self.arena.binary(Binary::Mul, a, immediate)
            }
            s_sext_i32_i8 => {
                let a = self.word(state, x);
                self.arena.sign(a, 8)
            }
            s_sext_i32_i16 => {
                let a = self.word(state, x);
                self.arena.sign(a, 16)
            }
            s_pack_ll_b32_b16 | s_pack_lh_b32_b16 | s_pack_hh_b32_b16 => {
                let (mut a, mut b) = self.two_words(state, inst);
                let sixteen = self.arena.constant(16);
                if inst.op == s_pack_hh_b32_b16 {
                    a = self.arena.binary(Binary::Shr, a, sixteen);
                }
                if inst.op != s_pack_ll_b32_b16 {
                    b = self.arena.binary(Binary::Shr, b, sixteen);
                }
                let (low, high) = (self.arena.and(a, 0xffff), self.arena.shl(b, 16));
                self.arena.binary(Binary::Or, low, high)
            }
            s_bfm_b32 => {
                let (a, b) = self.two_words(state, inst);
                match (self.arena.as_const(a), self.arena.as_const(b)) {
                    (Some(a), Some(b)) => {
                        self.arena.constant(((1_u32 << (a & 31)) - 1) << (b & 31))
                    }
                    _ => self.arena.opaque(Lost::Arithmetic),
                }
            }
            s_getreg_b32 => self.hardware_register(inst),
            _ => return None,
        })
    }

    /// Of the others, with what SCC is then, if that is known.
    fn value_with_scc(&mut self, state: &State, inst: &Inst) -> (Id, Option<Id>) {
        use Op::*;
        if let Some((op, compare, changes)) = operations::scalar_extreme(inst.op) {
            let (a, b) = self.two_words(state, inst);
            let (first, second) = if changes { (b, a) } else { (a, b) };
            let scc = self.arena.compare(compare, first, second);
            return (self.arena.binary(op, a, b), Some(scc));
        }
        if let Some(by) = operations::scalar_shift_and_add(inst.op) {
            let (a, b) = self.two_words(state, inst);
            let a = self.arena.shl(a, by);
            return (self.arena.add(a, b), None);
        }
        let value = match inst.op {
            s_add_u32 | s_add_i32 => {
                let (a, b) = self.two_words(state, inst);
                let scc = (inst.op == s_add_u32).then(|| self.arena.carry(a, b));
                return (self.arena.add(a, b), scc);
            }
            s_addk_i32 => {
                let a = self.word(state, inst.dsts[0]);
                let immediate = self.arena.constant(inst.imm as u32);
                self.arena.add(a, immediate)
            }
            s_sub_u32 | s_sub_i32 => {
                let (a, b) = self.two_words(state, inst);
                let scc = (inst.op == s_sub_u32).then(|| self.arena.borrow(a, b));
                return (self.arena.binary(Binary::Sub, a, b), scc);
            }
            s_addc_u32 => {
                let (a, b) = self.two_words(state, inst);
                self.arena.add_carry(a, b, state.scc)
            }
            s_subb_u32 => {
                let (a, b) = self.two_words(state, inst);
                self.arena.sub_borrow(a, b, state.scc)
            }
            s_bfe_u32 | s_bfe_i32 => {
                let (a, field) = self.two_words(state, inst);
                let value = match self.arena.as_const(field) {
                    Some(field) => {
                        self.field(a, field & 31, field >> 16 & 127, inst.op == s_bfe_i32)
                    }
                    None => self.arena.opaque(Lost::Arithmetic),
                };
                return (value, Some(self.arena.compare(Compare::Ne, value, ZERO)));
            }
            s_not_b32 => {
                let a = self.word(state, inst.srcs[0]);
                let value = self.complement(a);
                return (value, Some(self.arena.compare(Compare::Ne, value, ZERO)));
            }
            s_abs_i32 => {
                let a = self.word(state, inst.srcs[0]);
                let negated = self.arena.binary(Binary::Sub, ZERO, a);
                self.arena.binary(Binary::MaxS, a, negated)
            }
            s_bcnt0_i32_b32 | s_bcnt0_i32_b64 | s_bcnt1_i32_b32 | s_bcnt1_i32_b64 => self.up_to(64),
            _ => self.arena.opaque(Lost::Arithmetic),
        };
        (value, None)
    }

    /// Some number from 0 to `most`.
    pub(crate) fn up_to(&mut self, most: u32) -> Id {
        let lost = self.arena.opaque(Lost::Arithmetic);
        let most = self.arena.constant(most);
        self.arena.binary(Binary::MinU, lost, most)
    }

    /// A shift that knows the halves of aperture addresses.
    pub(crate) fn shift_aware(&mut self, op: Binary, a: Id, b: Id) -> Id {
        if op == Binary::Shl
            && self.arena.as_const(b) == Some(16)
            && let Node::Binary(Binary::Shr, inner, by) = self.arena.node(a)
            && self.arena.as_const(by) == Some(16)
            && let Node::High(whole) = self.arena.node(inner)
            && let Node::Symbol(Symbolic::Scratch | Symbolic::Lds) = self.arena.node(whole)
        {
            return inner;
        }
        self.arena.binary(op, a, b)
    }

    /// `width` bits from bit `offset` on.
    pub(crate) fn field(&mut self, value: Id, offset: u32, width: u32, signed: bool) -> Id {
        if width == 0 || offset > 31 {
            return ZERO;
        }
        let by = self.arena.constant(offset);
        if offset + width >= 32 {
            let op = if signed { Binary::Sar } else { Binary::Shr };
            return self.arena.binary(op, value, by);
        }
        let down = self.arena.binary(Binary::Shr, value, by);
        if signed {
            self.arena.sign(down, width as u8)
        } else {
            self.arena.and(down, (1 << width) - 1)
        }
    }

    fn hardware_register(&mut self, inst: &Inst) -> Id {
        // simm16: register in bits 5:0, first bit in 10:6, number of bits less one in 15:11.
        let (id, first, bits) = (
            inst.imm & 0x3f,
            inst.imm >> 6 & 0x1f,
            (inst.imm >> 11 & 0x1f) + 1,
        );
        let symbol = match (id, first, bits) {
            (SH_MEM_BASES, 0, 16) => Symbolic::Scratch,
            (SH_MEM_BASES, 16, 16) => Symbolic::Lds,
            _ => return self.arena.opaque(Lost::Arithmetic),
        };
        let half = self.aperture_half(symbol);
        let sixteen = self.arena.constant(16);
        self.arena.binary(Binary::Shr, half, sixteen)
    }

    fn comparison(&mut self, state: &mut State, inst: &Inst) {
        use Op::*;
        let [x, y] = [inst.srcs[0], inst.srcs[1]];
        let (op, swap) = match inst.op {
            s_cmp_eq_i32 | s_cmp_eq_u32 | s_cmp_eq_u64 | s_cmpk_eq_i32 | s_cmpk_eq_u32 => {
                (Compare::Eq, false)
            }
            s_cmp_lg_i32 | s_cmp_lg_u32 | s_cmp_lg_u64 | s_cmpk_lg_i32 | s_cmpk_lg_u32 => {
                (Compare::Ne, false)
            }
            s_cmp_lt_i32 | s_cmpk_lt_i32 => (Compare::LtS, false),
            s_cmp_le_i32 | s_cmpk_le_i32 => (Compare::LeS, false),
            s_cmp_gt_i32 | s_cmpk_gt_i32 => (Compare::LtS, true),
            s_cmp_ge_i32 | s_cmpk_ge_i32 => (Compare::LeS, true),
            s_cmp_lt_u32 | s_cmpk_lt_u32 => (Compare::LtU, false),
            s_cmp_le_u32 | s_cmpk_le_u32 => (Compare::LeU, false),
            s_cmp_gt_u32 | s_cmpk_gt_u32 => (Compare::LtU, true),
            s_cmp_ge_u32 | s_cmpk_ge_u32 => (Compare::LeU, true),
            s_bitcmp0_b32 | s_bitcmp1_b32 => {
                let (a, bit) = (self.word(state, x), self.word(state, y));
                state.scc = match self.arena.as_const(bit) {
                    Some(bit) => {
                        let bit = self.arena.and(a, 1 << (bit & 31));
                        let op = if inst.op == s_bitcmp0_b32 {
                            Compare::Eq
                        } else {
                            Compare::Ne
                        };
                        self.arena.compare(op, bit, ZERO)
                    }
                    None => self.arena.unknown(),
                };
                return;
            }
            _ => {
                if inst.op.info().flags.contains(strobe_isa::Flags::WRITES_SCC) {
                    state.scc = self.arena.unknown();
                }
                return;
            }
        };
        let (a, b) = if inst.op.info().srcs[0].dwords(inst.wave) == 2 {
            (self.scalar64(state, x), self.scalar64(state, y))
        } else if y == Operand::None {
            // SOPK: the comparison is with the immediate, whose extension follows the signedness.
            let unsigned = matches!(
                inst.op,
                s_cmpk_eq_u32
                    | s_cmpk_lg_u32
                    | s_cmpk_lt_u32
                    | s_cmpk_le_u32
                    | s_cmpk_gt_u32
                    | s_cmpk_ge_u32
            );
            let value = if unsigned {
                inst.imm & 0xffff
            } else {
                inst.imm
            };
            (self.word(state, x), self.arena.constant(value as u32))
        } else {
            (self.word(state, x), self.word(state, y))
        };
        let (a, b) = if swap { (b, a) } else { (a, b) };
        state.scc = self.arena.compare(op, a, b);
    }
}
