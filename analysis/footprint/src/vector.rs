//! Vector instructions on values, as one active lane sees them.

use std::rc::Rc;

use strobe_isa::scalar_register::EXEC;
use strobe_isa::{Inst, Op, Operand, SdwaSelect};

use crate::broken::Rule;
use crate::expr::{BOTTOM, Binary, FactId, Id, Inverse, Lost, Node, ONES};
use crate::operations;
use crate::place::Holder;
use crate::registers::vector_number;
use crate::state::{NONE_PARKED, Parked, State, Switched, is_in};
use crate::walk::Walk;

impl Walk<'_> {
    pub(crate) fn vector(&mut self, state: &State, register: usize) -> Id {
        if state.indexed {
            return self.arena.opaque(Lost::Arithmetic);
        }
        match state.vectors.get(register) {
            Some(value) => *value,
            None => self.arena.opaque(Lost::Arithmetic),
        }
    }

    /// A dword of a vector operand; what is in no such register is not known.
    pub(crate) fn vector_word(&mut self, state: &State, operand: Operand, dword: usize) -> Id {
        match vector_number(operand) {
            Some(first) => self.vector(state, first + dword),
            None => self.arena.opaque(Lost::Arithmetic),
        }
    }

    pub(crate) fn set_vector(&mut self, state: &mut State, register: usize, value: Id) {
        if state.idle {
            return;
        }
        if state.indexed {
            return self.lose_vectors(state, register);
        }
        if let Some(slot) = Rc::make_mut(&mut state.vectors).get_mut(register) {
            *slot = value;
        }
        state.forget_lanes_of(Holder::Vector(register as u16));
    }

    /// Any register from this one on may be meant: what is in its lanes now is not known.
    fn lose_vectors(&mut self, state: &mut State, first: usize) {
        let vectors = Rc::make_mut(&mut state.vectors);
        for vector in vectors.iter_mut().skip(first) {
            *vector = self.arena.opaque(Lost::Arithmetic);
        }
        state.forget_lanes(
            |holder, _| matches!(holder, Holder::Vector(register) if usize::from(register) >= first),
        );
    }

    /// A source with its sub-dword selection.
    fn source(&mut self, state: &State, inst: &Inst, index: usize) -> Id {
        let value = self.word(state, inst.srcs[index]);
        let Some(sdwa) = inst.sdwa.filter(|_| index < 2) else {
            return value;
        };
        let signed = sdwa.sext >> index & 1 != 0;
        let (offset, width) = match sdwa.src_sel[index] {
            SdwaSelect::Byte0 => (0, 8),
            SdwaSelect::Byte1 => (8, 8),
            SdwaSelect::Byte2 => (16, 8),
            SdwaSelect::Byte3 => (24, 8),
            SdwaSelect::Word0 => (0, 16),
            SdwaSelect::Word1 => (16, 16),
            SdwaSelect::Dword => return value,
        };
        self.field(value, offset, width, signed)
    }

    fn source64(&mut self, state: &State, inst: &Inst, index: usize) -> Id {
        match inst.srcs[index] {
            // A literal in a 64-bit vector operand may be shifted up: only integers count here.
            Operand::Literal(_) | Operand::Float(_) => self.lost64(),
            operand => self.scalar64(state, operand),
        }
    }

    /// VOP1, VOP2, VOPC, VOP3, VOP3P, and lane exchange through the data share.
    pub(crate) fn vector_instruction(&mut self, state: &mut State, inst: &Inst) {
        use Op::*;
        match inst.op {
            v_readfirstlane_b32 => return self.read_lane(state, inst, None),
            v_readlane_b32 => {
                let lane = self.word(state, inst.srcs[1]);
                let lane = self.arena.as_const(lane);
                return self.read_lane(state, inst, Some(lane));
            }
            v_writelane_b32 => return self.write_lane(state, inst),
            v_accvgpr_read_b32 | v_accvgpr_write_b32 | v_accvgpr_mov_b32 => {
                return self.move_between_files(state, inst);
            }
            v_swap_b32 => {
                if let (Operand::Vector(a), Operand::Vector(b)) = (inst.dsts[0], inst.srcs[0]) {
                    let (x, y) = (self.vector(state, a.into()), self.vector(state, b.into()));
                    self.set_vector(state, a.into(), y);
                    self.set_vector(state, b.into(), x);
                }
                return;
            }
            _ => {}
        }
        let info = inst.op.info();
        let to_mask = matches!(inst.dsts[0], Operand::Scalar(_));
        if to_mask {
            return self.vector_comparison(state, inst);
        }
        // Values first: a destination may be a source.
        let whole = inst
            .sdwa
            .is_none_or(|sdwa| sdwa.dst_sel == SdwaSelect::Dword);
        let saturates = inst.clamp && inst.op != v_sub_u32;
        // Swizzled lanes may keep the old value; signs may be changed in what is no number.
        let signs = inst.abs == 0 && inst.neg == 0;
        let plain = inst.dpp.is_none() && (signs || operations::is_of_doubles(inst.op));
        let (value, carry) = if whole && plain && !saturates {
            match self.vector_value(state, inst) {
                Some((value, carry)) => (Some(value), carry),
                None => (None, None),
            }
        } else {
            (None, None)
        };
        if let Some(first) = vector_number(inst.dsts[0]) {
            match (info.dsts[0].dwords(inst.wave), value) {
                (1, Some(value)) => self.set_vector(state, first, value),
                (2, Some(value)) => {
                    let (low, high) = (self.arena.low(value), self.arena.high(value));
                    self.set_vector(state, first, low);
                    self.set_vector(state, first + 1, high);
                }
                (count, _) => {
                    for register in first..first + usize::from(count) {
                        let lost = self.arena.opaque(Lost::Arithmetic);
                        self.set_vector(state, register, lost);
                    }
                }
            }
        }
        if let Operand::Scalar(register) = inst.dsts[1] {
            let mask = carry.unwrap_or_else(|| self.arena.unknown());
            let mask = self.active(state, mask);
            self.set_mask(state, register, mask);
        }
    }

    /// The destination's value, and the carry if it is one.
    fn vector_value(&mut self, state: &State, inst: &Inst) -> Option<(Id, Option<Id>)> {
        use Op::*;
        if !operations::is_followed(inst) && !operations::is_of_doubles(inst.op) {
            return None;
        }
        if let Some((operation, left, right)) = operations::vector_pair(inst.op) {
            let mut a = self.source(state, inst, left);
            let b = self.source(state, inst, right);
            if inst.clamp {
                // Saturates at 0.
                a = self.arena.binary(Binary::MaxU, a, b);
            }
            return Some((self.shift_aware(operation, a, b), None));
        }
        if let Some((first, second)) = operations::vector_triple(inst.op) {
            return Some((self.three(state, inst, first, second), None));
        }
        if operations::is_of_doubles(inst.op) {
            return Some((self.double_value(state, inst)?, None));
        }
        if let Some(stage) = operations::inverse(inst) {
            return Some((self.inverse(state, inst, stage)?, None));
        }
        let value = match inst.op {
            v_add_co_u32 | v_sub_co_u32 | v_subrev_co_u32 => {
                return Some(self.with_carry(state, inst));
            }
            v_addc_co_u32 | v_subb_co_u32 | v_subbrev_co_u32 => self.after_carry(state, inst),
            v_mul_u32_u24 | v_mad_u32_u24 | v_mul_i32_i24 | v_mad_i32_i24 | v_mul_hi_u32_u24
            | v_mad_u64_u32 | v_mad_i64_i32 | v_mad_u32_u16 => self.vector_product(state, inst)?,
            v_lshlrev_b64 | v_lshrrev_b64 | v_ashrrev_i64 => self.vector_shift64(state, inst),
            v_lshl_add_u64 => self.shifted_sum64(state, inst),
            v_mov_b64 => self.source64(state, inst, 0),
            v_pk_mov_b32 => self.pair_of_halves(state, inst)?,
            _ if operations::half_words(inst.op).is_some() => self.half_words(state, inst)?,
            _ => self.vector_bits(state, inst)?,
        };
        Some((value, None))
    }

    /// What is made of a divisor, or of what was made of it.
    fn inverse(&mut self, state: &State, inst: &Inst, stage: Inverse) -> Option<Id> {
        let of = inst
            .srcs
            .iter()
            .position(|src| matches!(src, Operand::Vector(_)));
        let source = self.source(state, inst, of.unwrap_or(0));
        let before = match stage {
            Inverse::Divisor => {
                return (source != BOTTOM).then(|| self.arena.intern(Node::Inverse(source, stage)));
            }
            Inverse::Float => Inverse::Divisor,
            Inverse::Scaled => Inverse::Float,
            Inverse::Word if self.rounding.is_to_nearest(self.kernel) => Inverse::Scaled,
            Inverse::Word => return None,
        };
        match self.arena.node(source) {
            Node::Inverse(divisor, known) if known == before => {
                Some(self.arena.intern(Node::Inverse(divisor, stage)))
            }
            _ => None,
        }
    }

    /// Sum or difference, and the carry or borrow that comes of it.
    fn with_carry(&mut self, state: &State, inst: &Inst) -> (Id, Option<Id>) {
        let (mut a, mut b) = (self.source(state, inst, 0), self.source(state, inst, 1));
        if inst.op == Op::v_add_co_u32 {
            let carry = self.arena.carry(a, b);
            return (self.arena.add(a, b), Some(carry));
        }
        if inst.op == Op::v_subrev_co_u32 {
            (a, b) = (b, a);
        }
        let borrow = self.arena.borrow(a, b);
        (self.arena.binary(Binary::Sub, a, b), Some(borrow))
    }

    /// Sum or difference with the carry or borrow of another.
    fn after_carry(&mut self, state: &State, inst: &Inst) -> Id {
        let (mut a, mut b) = (self.source(state, inst, 0), self.source(state, inst, 1));
        let carry = self.lane_choice(state, inst);
        if inst.op == Op::v_addc_co_u32 {
            return self.arena.add_carry(a, b, carry);
        }
        if inst.op == Op::v_subbrev_co_u32 {
            (a, b) = (b, a);
        }
        self.arena.sub_borrow(a, b, carry)
    }

    /// What the third source, a mask, says of an active lane.
    fn lane_choice(&mut self, state: &State, inst: &Inst) -> Id {
        let mask = self
            .mask(state, inst.srcs[2])
            .unwrap_or_else(|| self.arena.unknown());
        self.for_active(state, mask)
    }

    /// Products of parts of words, and of words with 64 bits.
    fn vector_product(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        use Op::*;
        let (a, b) = (self.source(state, inst, 0), self.source(state, inst, 1));
        Some(match inst.op {
            v_mul_u32_u24 | v_mad_u32_u24 | v_mul_hi_u32_u24 => {
                let (a, b) = (self.arena.and(a, 0xff_ffff), self.arena.and(b, 0xff_ffff));
                if inst.op == v_mul_hi_u32_u24 {
                    return Some(self.arena.binary(Binary::MulHighU, a, b));
                }
                let product = self.arena.binary(Binary::Mul, a, b);
                self.plus(state, inst, product, inst.op == v_mad_u32_u24)
            }
            v_mul_i32_i24 | v_mad_i32_i24 => {
                let (a, b) = (self.arena.sign(a, 24), self.arena.sign(b, 24));
                let product = self.arena.binary(Binary::Mul, a, b);
                self.plus(state, inst, product, inst.op == v_mad_i32_i24)
            }
            v_mad_u32_u16 => {
                if inst.op_sel != 0 {
                    return None;
                }
                let (a, b) = (self.arena.and(a, 0xffff), self.arena.and(b, 0xffff));
                let product = self.arena.binary(Binary::Mul, a, b);
                self.plus(state, inst, product, true)
            }
            _ => {
                let c = self.source64(state, inst, 2);
                let product = self.product(a, b, inst.op == v_mad_i64_i32);
                self.arena.add64(product, c)
            }
        })
    }

    fn vector_shift64(&mut self, state: &State, inst: &Inst) -> Id {
        let by = self.source(state, inst, 0);
        let value = self.source64(state, inst, 1);
        let make = match inst.op {
            Op::v_lshlrev_b64 => Node::Shl64,
            Op::v_lshrrev_b64 => Node::Shr64,
            _ => Node::Sar64,
        };
        self.arena.shift64(make, value, by)
    }

    /// `v_lshl_add_u64`: shifts by 7 at most.
    fn shifted_sum64(&mut self, state: &State, inst: &Inst) -> Id {
        let (value, by) = (self.source64(state, inst, 0), self.source(state, inst, 1));
        let by = self.arena.and(by, 7);
        let shifted = self.arena.shift64(Node::Shl64, value, by);
        let more = self.source64(state, inst, 2);
        self.arena.add64(shifted, more)
    }

    /// `v_pk_mov_b32`: half of a pair, and half of another.
    fn pair_of_halves(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        if inst.clamp || inst.neg_hi != 0 {
            return None;
        }
        let mut half = |source: usize| {
            let upper = inst.op_sel >> source & 1;
            match inst.srcs[source] {
                Operand::Scalar(first) => {
                    Some(self.word(state, Operand::Scalar(first.checked_add(upper)?)))
                }
                operand @ Operand::Vector(_) => {
                    Some(self.vector_word(state, operand, upper.into()))
                }
                // What the upper half of a constant is depends on its kind.
                operand @ Operand::Int(_) if upper == 0 => Some(self.word(state, operand)),
                _ => None,
            }
        };
        let (low, high) = (half(0)?, half(1)?);
        Some(self.arena.pair(low, high))
    }

    /// Moves from and to accumulation registers: compilers keep there what finds no room, also registers whose lanes keep
    /// scalars.
    fn move_between_files(&mut self, state: &mut State, inst: &Inst) {
        let value = self.word(state, inst.srcs[0]);
        let Some(to) = vector_number(inst.dsts[0]) else {
            return;
        };
        let from = vector_number(inst.srcs[0]).filter(|_| !state.indexed);
        let kept = match (from, state.lanes()) {
            (Some(from), Some(lanes)) => {
                let mut kept = state.kept_in(Holder::Vector(to as u16), !lanes);
                kept.extend(state.kept_in(Holder::Vector(from as u16), lanes));
                kept
            }
            _ => Vec::new(),
        };
        self.set_vector(state, to, value);
        if !state.indexed {
            state.keep(Holder::Vector(to as u16), kept);
        }
    }

    /// Moves, choices, and parts of words.
    fn vector_bits(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        use Op::*;
        let src = |walk: &mut Self, index: usize| walk.source(state, inst, index);
        Some(match inst.op {
            v_mov_b32 => src(self, 0),
            v_not_b32 => {
                let a = src(self, 0);
                self.complement(a)
            }
            v_cndmask_b32 => {
                let (no, yes) = (src(self, 0), src(self, 1));
                let condition = self.lane_choice(state, inst);
                self.arena.select(condition, yes, no)
            }
            v_med3_i32 | v_med3_u32 => {
                let (low, high) = if inst.op == v_med3_i32 {
                    (Binary::MinS, Binary::MaxS)
                } else {
                    (Binary::MinU, Binary::MaxU)
                };
                let (a, b, c) = (src(self, 0), src(self, 1), src(self, 2));
                let (small, large) = (self.arena.binary(low, a, b), self.arena.binary(high, a, b));
                let inner = self.arena.binary(low, large, c);
                self.arena.binary(high, small, inner)
            }
            v_bfe_u32 | v_bfe_i32 => {
                let (a, offset, width) = (src(self, 0), src(self, 1), src(self, 2));
                let (offset, width) = (self.arena.as_const(offset)?, self.arena.as_const(width)?);
                self.field(a, offset & 31, width & 31, inst.op == v_bfe_i32)
            }
            v_bfi_b32 => {
                let (mask, a, b) = (src(self, 0), src(self, 1), src(self, 2));
                let inverse = self.arena.binary(Binary::Xor, mask, ONES);
                let (a, b) = (
                    self.arena.binary(Binary::And, mask, a),
                    self.arena.binary(Binary::And, inverse, b),
                );
                self.arena.binary(Binary::Or, a, b)
            }
            v_alignbit_b32 | v_alignbyte_b32 => {
                let (high, low, by) = (src(self, 0), src(self, 1), src(self, 2));
                let by = self.arena.as_const(by)?;
                let bits = if inst.op == v_alignbit_b32 {
                    by & 31
                } else {
                    8 * (by & 3)
                };
                let whole = self.arena.pair(low, high);
                let bits = self.arena.constant(bits);
                let whole = self.arena.shift64(Node::Shr64, whole, bits);
                self.arena.low(whole)
            }
            v_mbcnt_lo_u32_b32 | v_mbcnt_hi_u32_b32 | v_bcnt_u32_b32 => {
                let more = src(self, 1);
                let count = self.up_to(32);
                self.arena.add(count, more)
            }
            _ => return None,
        })
    }

    /// Arithmetic on the low 16 bits of the sources; the upper half of the destination becomes 0.
    fn half_words(&mut self, state: &State, inst: &Inst) -> Option<Id> {
        let (operation, changes) = operations::half_words(inst.op)?;
        if inst.op_sel != 0 {
            return None;
        }
        let (mut a, mut b) = (self.source(state, inst, 0), self.source(state, inst, 1));
        (a, b) = (self.arena.and(a, 0xffff), self.arena.and(b, 0xffff));
        if changes {
            (a, b) = (b, a);
        }
        if matches!(operation, Binary::Shl | Binary::Shr) {
            b = self.arena.and(b, 15);
        }
        let value = self.arena.binary(operation, a, b);
        Some(self.arena.and(value, 0xffff))
    }

    fn product(&mut self, a: Id, b: Id, signed: bool) -> Id {
        let high = if signed {
            Binary::MulHighS
        } else {
            Binary::MulHighU
        };
        let low = self.arena.binary(Binary::Mul, a, b);
        let high = self.arena.binary(high, a, b);
        let plain = self.arena.pair(low, high);
        if matches!(self.arena.node(plain), Node::Pair(..)) {
            let make = if signed { Node::MulS } else { Node::MulU };
            return self.arena.intern(make(a, b));
        }
        plain
    }

    fn plus(&mut self, state: &State, inst: &Inst, product: Id, add: bool) -> Id {
        if !add {
            return product;
        }
        let c = self.source(state, inst, 2);
        self.arena.add(product, c)
    }

    fn three(&mut self, state: &State, inst: &Inst, first: Binary, second: Binary) -> Id {
        let a = self.source(state, inst, 0);
        let b = self.source(state, inst, 1);
        let c = self.source(state, inst, 2);
        let inner = self.shift_aware(first, a, b);
        self.shift_aware(second, inner, c)
    }

    fn vector_comparison(&mut self, state: &mut State, inst: &Inst) {
        let condition = match operations::vector_comparison(inst.op) {
            Some((op, swap)) => {
                let wide = inst.op.info().srcs[0].dwords(inst.wave) == 2;
                let (a, b) = if wide {
                    (self.source64(state, inst, 0), self.source64(state, inst, 1))
                } else {
                    (self.source(state, inst, 0), self.source(state, inst, 1))
                };
                let (a, b) = if swap { (b, a) } else { (a, b) };
                self.arena.compare(op, a, b)
            }
            None if inst.op == Op::v_cmp_class_f64 => self
                .is_zero(state, inst)
                .unwrap_or_else(|| self.arena.unknown()),
            None => self.arena.unknown(),
        };
        let mask = self.active(state, condition);
        match inst.dsts[0] {
            Operand::Scalar(EXEC) => return self.narrow(state, mask),
            Operand::Scalar(register) => self.set_mask(state, register, mask),
            _ => {}
        }
        if inst
            .op
            .info()
            .flags
            .contains(strobe_isa::Flags::WRITES_EXEC)
        {
            self.narrow(state, mask);
        }
    }

    /// `lane`: `None` the first active lane; `Some(None)` one that is not known.
    fn read_lane(&mut self, state: &mut State, inst: &Inst, lane: Option<Option<u32>>) {
        let value = match (inst.srcs[0], lane) {
            (Operand::Vector(register), Some(Some(lane)))
                if !state.indexed
                    && state
                        .spills
                        .contains_key(&(Holder::Vector(register.into()), lane)) =>
            {
                state.spills[&(Holder::Vector(register.into()), lane)]
            }
            (Operand::Vector(register), None) if !state.idle && !state.indexed => {
                let value = self.vector(state, register.into());
                match self.facts_of_first_lane(state, register.into()) {
                    Some(_) if value != BOTTOM && !self.arena.traits(value).divergent => value,
                    Some(facts) if value != BOTTOM => {
                        let unique = self.arena.unique();
                        self.arena.intern(Node::Lane(value, facts, unique))
                    }
                    // Of a lane that is parked.
                    _ => self.arena.opaque(Lost::Arithmetic),
                }
            }
            _ => self.arena.opaque(Lost::Arithmetic),
        };
        self.set_result(state, inst.dsts[0], 0, value);
    }

    /// What holds for the lane that is read first. Where no lane may be active that is lane 0, which
    /// is parked: `None` if a parked lane may hold something else in the register than an active one.
    fn facts_of_first_lane(&self, state: &State, register: usize) -> Option<FactId> {
        let mut facts = state.facts;
        if state.occupied || Rule::LanesMayBeNone.is_broken() {
            return Some(facts);
        }
        if self.lane_written.contains(&register) {
            return None;
        }
        let value = state.vectors.get(register)?;
        for parked in self.parked.since(state.parked, NONE_PARKED) {
            let snapshot = match parked {
                // Lane 0 has a work-item.
                Parked::Vacant => continue,
                Parked::Snapshot(snapshot) => &self.snapshots[snapshot as usize],
                Parked::Changed(changes) if !self.changes[changes as usize].has(register) => {
                    continue;
                }
                Parked::Changed(_) | Parked::Loop(_) => return None,
            };
            if snapshot.vectors.get(register) != Some(value) {
                return None;
            }
            facts = self.common(facts, snapshot.facts);
        }
        Some(facts)
    }

    fn write_lane(&mut self, state: &mut State, inst: &Inst) {
        let Operand::Vector(register) = inst.dsts[0] else {
            return;
        };
        if state.indexed {
            self.note_lanes_written(usize::from(register)..self.vectors);
            state.widened = None;
            if !state.idle {
                self.lose_vectors(state, register.into());
            }
            return state.forget_lanes(|holder, _| matches!(holder, Holder::Vector(_)));
        }
        let value = self.word(state, inst.srcs[0]);
        let lane = self.word(state, inst.srcs[1]);
        let lane = self.arena.as_const(lane);
        let lost = self.arena.opaque(Lost::Arithmetic);
        if !state.idle
            && let Some(slot) = Rc::make_mut(&mut state.vectors).get_mut(usize::from(register))
        {
            *slot = lost;
        }
        let holder = Holder::Vector(register.into());
        // Of a lane that is not active it is not known any more that nothing has changed.
        let may_be_off = match state.widened.as_ref().map(|widened| widened.lanes) {
            Some(Switched::Numbered(on)) => lane.map_or(on != u64::MAX, |lane| !is_in(on, lane)),
            Some(Switched::Others) => true,
            None => false,
        };
        if may_be_off {
            state.widened = None;
        }
        match lane {
            Some(lane) => {
                Rc::make_mut(&mut state.spills).insert((holder, lane & 63), value);
            }
            None => state.forget_lanes_of(holder),
        }
    }
}
