//! Memory instructions: what address, how many bytes, and what a load brings.

use strobe_code_object::Constant;
use strobe_isa::scalar_register::EXEC;
use strobe_isa::{Class, Encoding, Flags, Inst, Op, Operand, Space};

use crate::block::Located;
use crate::broken::Rule;
use crate::buffer::Checked;
use crate::expr::{BOTTOM, Binary, Id, Lost, Node, Symbolic};
use crate::host_calls::Structure;
use crate::indexed::Reach;
use crate::registers::{M0, VCC, vector_number};
use crate::site::{Load, Site, Visit};
use crate::state::State;
use crate::stored::may_be_pointer;
use crate::walk::Walk;

/// Merges inside each other that are looked through for what an address is made of.
const MAX_MERGES: u32 = 6;

/// Where a memory instruction goes.
pub(crate) enum Target {
    Memory(Id),
    /// Through a descriptor that checks offsets.
    Checked(Checked),
    /// Per-lane memory.
    Scratch(Reach),
}

impl Walk<'_> {
    /// Any instruction but branches, calls and ends.
    pub(crate) fn instruction(&mut self, state: &mut State, located: &Located) {
        let inst = &located.inst;
        let info = inst.op.info();
        match (info.space, inst.encoding) {
            (Space::Smem, _) => self.scalar_memory(state, inst),
            (Space::Ds, _) => self.lose_results(state, inst, Lost::Lds),
            (Space::Flat | Space::Global | Space::Scratch | Space::Buffer, _) => {
                self.vector_memory(state, located);
            }
            (_, Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc) => {
                match inst.op {
                    Op::s_set_gpr_idx_on => state.indexed = true,
                    _ => self.scalar_instruction(state, inst, located.pc),
                }
            }
            (_, Encoding::Sopp) => match inst.op {
                Op::s_set_gpr_idx_off => state.indexed = false,
                Op::s_set_gpr_idx_mode => state.indexed = true,
                _ => {}
            },
            (_, Encoding::Smem | Encoding::Ds) => {
                self.lose_results(state, inst, Lost::Arithmetic);
            }
            _ => self.vector_instruction(state, inst),
        }
        if info.flags.contains(Flags::WRITES_M0) {
            let lost = self.arena.opaque(Lost::Arithmetic);
            self.set_scalar(state, M0, lost);
        }
        if info.flags.contains(Flags::WRITES_VCC) {
            for register in VCC..VCC + usize::from(inst.wave.mask_dwords()) {
                let lost = self.arena.opaque(Lost::Arithmetic);
                self.set_scalar(state, register, lost);
            }
        }
    }

    /// Destinations hold something that is not known.
    pub(crate) fn lose_results(&mut self, state: &mut State, inst: &Inst, lost: Lost) {
        for index in 0..2 {
            for register in 0..usize::from(inst.dst_dwords(index)) {
                let value = self.arena.opaque(lost);
                self.set_result(state, inst.dsts[index], register, value);
            }
        }
    }

    pub(crate) fn set_result(
        &mut self,
        state: &mut State,
        dst: Operand,
        register: usize,
        value: Id,
    ) {
        match dst {
            Operand::Vector(_) | Operand::Accumulator(_) => {
                if let Some(first) = vector_number(dst) {
                    self.set_vector(state, first + register, value);
                }
            }
            Operand::Scalar(first) if first < EXEC => {
                self.set_scalar(state, usize::from(first) + register, value);
            }
            Operand::Scalar(_) => {
                let unknown = self.arena.unknown();
                self.replace_exec(state, unknown);
            }
            _ => {}
        }
    }

    fn scalar_memory(&mut self, state: &mut State, inst: &Inst) {
        let info = inst.op.info();
        let buffer = info.srcs[0].dwords(inst.wave) == 4;
        let Operand::Scalar(base) = inst.srcs[0] else {
            return self.lose_results(state, inst, Lost::Memory);
        };
        if info.flags.contains(Flags::READS_FLAT_SCRATCH) {
            // Scalar access to scratch: not tracked, but it may change a lane's slots.
            if info.class != Class::Load {
                state.lose_scratch();
            }
            return self.lose_results(state, inst, Lost::Scratch);
        }
        let mut address = if buffer {
            self.buffer_base(state, base)
        } else {
            self.scalar64(state, inst.srcs[0])
        };
        if info.class != Class::Load && self.is_of_given_scratch(address, MAX_MERGES) {
            state.lose_scratch();
        }
        if inst.srcs[1] != Operand::None {
            let offset = self.word(state, inst.srcs[1]);
            let words = self.arena.constant(!3);
            let offset = self.arena.binary(Binary::And, offset, words);
            let offset = self.arena.zero64(offset);
            address = self.arena.add64(address, offset);
        }
        address = self.arena.offset(address, inst.imm.into());
        if inst.imm % 4 != 0 {
            // No compiler does that: it depends on the other parts which word it is.
            address = self.lost64();
        }
        let facts = state.wave;
        let reads = info.class != Class::Store;
        let writes = info.class != Class::Load;
        let site = Site {
            address,
            bytes: info.bytes.into(),
            facts,
            reads,
            writes,
            scalar: true,
        };
        self.site(site, None);
        if info.class == Class::Load {
            let mut values = self.load(address, facts, info.bytes, false, true, false);
            if buffer {
                values = self.or_zero(values);
            }
            for (register, value) in values.into_iter().enumerate() {
                self.set_result(state, inst.dsts[0], register, value);
            }
        } else {
            self.lose_results(state, inst, Lost::Memory);
        }
    }

    fn site(&mut self, mut site: Site, words: Option<[Id; 2]>) {
        if Rule::StoresAreWide.is_broken() {
            site.bytes = site.bytes.min(4);
        }
        if site.address == BOTTOM {
            site.address = self.lost64();
        }
        // The kernel's own arguments, the packet and apertures are no device memory.
        let (base, _) = self.arena.base_and_offset(site.address);
        if matches!(self.arena.node(base), Node::Symbol(_)) && !site.writes {
            return;
        }
        self.visits.push(Visit {
            site,
            pc: self.pc,
            words,
        });
    }

    /// The words of a store, where they may be pointers.
    fn stored_words(&mut self, state: &State, inst: &Inst) -> Option<[Id; 2]> {
        let count = match inst.op {
            Op::global_store_dwordx2 | Op::flat_store_dwordx2 => 1,
            Op::global_store_dwordx4 | Op::flat_store_dwordx4 => 2,
            _ => return None,
        };
        let first = vector_number(inst.srcs[1])?;
        if !self.is_certain(state) {
            return None;
        }
        let mut words = [BOTTOM; 2];
        for (word, first) in words.iter_mut().zip((first..).step_by(2)).take(count) {
            let (low, high) = (self.vector(state, first), self.vector(state, first + 1));
            if ![low, high]
                .iter()
                .all(|half| may_be_pointer(self.arena.node(*half)))
            {
                return None;
            }
            *word = self.arena.pair(low, high);
        }
        Some(words)
    }

    /// The dwords that a load brings; sub-dword loads bring one.
    fn load(
        &mut self,
        address: Id,
        facts: crate::expr::FactId,
        bytes: u8,
        signed: bool,
        scalar: bool,
        divergent: bool,
    ) -> Vec<Id> {
        let dwords = usize::from(bytes).div_ceil(4);
        let (base, offset) = self.arena.base_and_offset(address);
        let whole = bytes.is_multiple_of(4) && offset % 4 == 0 && (0..1 << 16).contains(&offset);
        let fixed = match self.arena.node(base) {
            Node::Symbol(Symbolic::Kernarg) if whole => Some(Node::Kernarg as fn(u32) -> Node),
            Node::Symbol(Symbolic::Packet) if whole => Some(Node::Packet as fn(u32) -> Node),
            _ => None,
        };
        if let Some(make) = fixed {
            return (0..dwords)
                .map(|dword| {
                    let offset = offset as u32 + 4 * dword as u32;
                    let node = make(offset);
                    let pointer = matches!(node, Node::Kernarg(_))
                        .then(|| self.host_call_argument(offset))
                        .flatten();
                    pointer.unwrap_or_else(|| self.arena.intern(node))
                })
                .collect();
        }
        if let Node::Image(start) = self.arena.node(address)
            && !(scalar && start % 4 != 0)
            && let Some(values) = self.image_content(start, bytes, dwords)
        {
            return values;
        }
        self.loads.push(Load {
            address,
            facts,
            bytes: bytes.min(4),
            signed,
            scalar,
        });
        let load = self.loads.len() as u32 - 1;
        let traits = self.arena.traits(address);
        let divergent = divergent && traits.divergent;
        // What stands there may be another word in each round.
        let loops = traits.loops | self.arena.inside;
        (0..dwords)
            .map(|dword| {
                let node = Node::Load {
                    load,
                    dword: dword as u8,
                };
                self.arena.leaf(node, loops, divergent)
            })
            .collect()
    }

    /// The dword at an offset of the kernarg segment, if it is half of a pointer to what the runtime has
    /// for calls of the host.
    fn host_call_argument(&mut self, offset: u32) -> Option<Id> {
        let (_, arg) = self.kernel.arg_at(offset)?;
        let structure = Structure::of_argument(arg.kind)?;
        let whole = Node::Symbol(Symbolic::HostCalls(structure));
        let whole = self.arena.intern(whole);
        match offset - arg.offset {
            0 => Some(self.arena.low(whole)),
            4 => Some(self.arena.high(whole)),
            _ => None,
        }
    }

    /// Constants of the image, and addresses that the loader puts there.
    fn image_content(&mut self, start: u64, bytes: u8, dwords: usize) -> Option<Vec<Id>> {
        if !bytes.is_multiple_of(4) {
            return None;
        }
        let mut values = Vec::with_capacity(dwords);
        let mut dword = 0;
        while dword < dwords {
            let at = start.checked_add(4 * dword as u64)?;
            match self.object.constant_at(at)? {
                Constant::Address(address) => {
                    let value = self.arena.intern(Node::Image(address));
                    values.push(self.arena.low(value));
                    values.push(self.arena.high(value));
                    dword += 2;
                }
                Constant::Dword(value) => {
                    values.push(self.arena.constant(value));
                    dword += 1;
                }
            }
        }
        values.truncate(dwords);
        Some(values)
    }

    fn vector_memory(&mut self, state: &mut State, located: &Located) {
        let inst = &located.inst;
        let info = inst.op.info();
        if info.class == Class::Cache {
            return;
        }
        let data = match info.space {
            Space::Buffer => inst.srcs[3],
            _ => inst.srcs[1],
        };
        let bytes = if info.bytes == 0 { 16 } else { info.bytes };
        let (address, base, facts, checked) = match self.target(state, located) {
            Target::Scratch(reach) => {
                return self.scratch_access(state, inst, reach, data, bytes);
            }
            Target::Memory(address) => (address, address, state.facts, false),
            Target::Checked(Checked {
                address,
                base,
                facts,
            }) => (address, base, facts, true),
        };
        let in_scratch = match info.space {
            Space::Flat => self.may_be_scratch(base),
            Space::Buffer => self.may_be_in_given_scratch(base),
            _ => self.is_of_given_scratch(base, MAX_MERGES),
        };
        if state.idle {
            return;
        }
        let reads = info.class != Class::Store;
        let writes = info.class != Class::Load;
        let site = Site {
            address,
            bytes: bytes.into(),
            facts,
            reads,
            writes,
            scalar: false,
        };
        let words = self.stored_words(state, inst);
        self.site(site, words);
        if writes && in_scratch {
            state.lose_scratch();
        }
        let partial = info.flags.contains(Flags::READS_DST) || info.bytes == 0;
        if in_scratch {
            self.lose_results(state, inst, Lost::Scratch);
        } else if info.class == Class::Load && !partial && !inst.lds {
            let signed = matches!(
                inst.op,
                Op::flat_load_sbyte
                    | Op::global_load_sbyte
                    | Op::buffer_load_sbyte
                    | Op::flat_load_sshort
                    | Op::global_load_sshort
                    | Op::buffer_load_sshort
            );
            let mut values = self.load(address, facts, bytes, signed, false, true);
            if checked {
                values = self.or_zero(values);
            }
            for (register, value) in values.into_iter().enumerate() {
                self.set_result(state, inst.dsts[0], register, value);
            }
        } else {
            self.lose_results(state, inst, Lost::Memory);
        }
    }

    fn target(&mut self, state: &mut State, located: &Located) -> Target {
        let inst = &located.inst;
        let info = inst.op.info();
        match info.space {
            Space::Scratch => Target::Scratch(self.scratch_target(state, located)),
            Space::Buffer => self.buffer_target(state, located),
            Space::Global if inst.srcs[2] != Operand::None => {
                let base = self.scalar64(state, inst.srcs[2]);
                let offset = self.word(state, inst.srcs[0]);
                let offset = self.arena.zero64(offset);
                let address = self.arena.add64(base, offset);
                Target::Memory(self.arena.offset(address, inst.imm.into()))
            }
            _ => {
                let address = self.scalar64(state, inst.srcs[0]);
                let address = self.arena.offset(address, inst.imm.into());
                match self.scratch_offset(address) {
                    Some((low, offset)) if info.space == Space::Flat => {
                        Target::Scratch(match self.is_wave_flat(state) {
                            true => self.reach(state, located.pc, low, offset),
                            false => Reach::Anywhere,
                        })
                    }
                    _ => Target::Memory(address),
                }
            }
        }
    }

    /// If the address is in the scratch aperture: its offset there, less a constant, and that.
    fn scratch_offset(&mut self, address: Id) -> Option<(Id, i64)> {
        let (base, offset) = self.arena.base_and_offset(address);
        Some((self.offset_in_scratch(base, MAX_MERGES)?, offset))
    }

    /// The offset of an address in the scratch aperture, be it with indices.
    fn offset_in_scratch(&mut self, address: Id, depth: u32) -> Option<Id> {
        let depth = depth.checked_sub(1)?;
        match self.arena.node(address) {
            // Or null: nobody comes back from there.
            Node::Select64(_, yes, no) => {
                return match [yes, no].map(|one| self.arena.as_const64(one)) {
                    [_, Some(0)] => self.offset_in_scratch(yes, depth),
                    [Some(0), _] => self.offset_in_scratch(no, depth),
                    _ => None,
                };
            }
            Node::Add64(a, b) if self.arena.is_index(a) || self.arena.is_index(b) => {
                let [base, index] = if self.arena.is_index(a) {
                    [b, a]
                } else {
                    [a, b]
                };
                let base = self.offset_in_scratch(base, depth)?;
                let index = self.arena.low(index);
                return Some(self.arena.add(base, index));
            }
            _ => {}
        }
        let high = self.arena.high(address);
        let Node::High(whole) = self.arena.node(high) else {
            return None;
        };
        let is_scratch = self.arena.node(whole) == Node::Symbol(Symbolic::Scratch);
        is_scratch.then(|| self.arena.low(address))
    }
}
