//! Accesses through buffer descriptors: base, offsets, and the check that leaves out what lies beyond.
//!
//! (AMD's "Vega" instruction set architecture, "Vector memory buffer instructions".)

use strobe_isa::Operand;

use crate::access::Target;
use crate::block::Located;
use crate::broken::Rule;
use crate::expr::{Arena, Binary, FactId, Id, Lost, Node, ZERO};
use crate::indexed::Reach;
use crate::state::State;
use crate::walk::Walk;

/// Where a lane goes whose offset passes the check.
pub(crate) struct Checked {
    pub(crate) address: Id,
    /// Of the buffer.
    pub(crate) base: Id,
    /// What holds for such a lane.
    pub(crate) facts: FactId,
}

/// Choices inside each other that are looked through for an offset out of range.
const MAX_CHOICES: usize = 6;

impl Walk<'_> {
    /// What lanes load: nothing, that is zero, where the offset is out of range.
    pub(crate) fn or_zero(&mut self, values: Vec<Id>) -> Vec<Id> {
        let in_range = self.arena.unknown();
        let values = values.into_iter();
        values
            .map(|value| self.arena.select(in_range, value, ZERO))
            .collect()
    }

    /// The address in a buffer descriptor: 48 bits of its first two dwords.
    pub(crate) fn buffer_base(&mut self, state: &State, first: u8) -> Id {
        let low = self.scalar(state, first.into());
        let mut high = self.scalar(state, usize::from(first) + 1);
        // Addresses have 48 bits, so what masks the stride away leaves the address as it was.
        if let Node::Binary(Binary::And, inner, mask) = self.arena.node(high)
            && self.arena.as_const(mask) == Some(0xffff)
        {
            high = inner;
        } else if let Node::Binary(Binary::Or, inner, stride) = self.arena.node(high)
            && self
                .arena
                .as_const(stride)
                .is_some_and(|stride| stride & 0xffff == 0)
        {
            high = inner;
            if let Node::Binary(Binary::And, inner, mask) = self.arena.node(high)
                && self.arena.as_const(mask) == Some(0xffff)
            {
                high = inner;
            }
        } else if let Some(value) = self.arena.as_const(high) {
            high = self.arena.constant(value & 0xffff);
        }
        self.arena.pair(low, high)
    }

    pub(crate) fn buffer_target(&mut self, state: &mut State, located: &Located) -> Target {
        let inst = &located.inst;
        let Operand::Scalar(first) = inst.srcs[1] else {
            let lost = self.lost64();
            return Target::Memory(lost);
        };
        let descriptor = [0, 1, 2, 3].map(|word| self.scalar(state, usize::from(first) + word));
        let soffset = self.word(state, inst.srcs[2]);
        let mut next = match inst.srcs[0] {
            Operand::Vector(register) => usize::from(register),
            _ => 0,
        };
        let index = inst.idxen.then(|| {
            next += 1;
            self.vector(state, next - 1)
        });
        let voffset = if inst.offen {
            self.vector(state, next)
        } else {
            ZERO
        };
        if self.is_wave_buffer(descriptor) {
            // The scalar offset counts bytes of the wave, the others bytes of the lane.
            let reach = match (self.arena.as_const(soffset), index) {
                (Some(wave), None) if wave % 256 == 0 => {
                    let constant = i64::from(wave / 64) + i64::from(inst.imm);
                    self.reach(state, located.pc, voffset, constant)
                }
                _ => Reach::Anywhere,
            };
            return Target::Scratch(reach);
        }
        let base = self.buffer_base(state, first);
        let (swizzled, stride) = match self.arena.node(descriptor[1]) {
            Node::Const(word) => (word >> 31 == 1, Some(word >> 16 & 0x3fff)),
            Node::Binary(Binary::And, _, mask) if self.arena.as_const(mask) == Some(0xffff) => {
                (false, Some(0))
            }
            // What stands above 48 bits of the word below leads nowhere, as with a pointer's.
            Node::Binary(Binary::Or, _, bits) => match self.arena.as_const(bits) {
                Some(word) => (word >> 31 == 1, Some(word >> 16 & 0x3fff)),
                None => (false, None),
            },
            // A pointer's: nothing stands above its 48 bits, or it leads nowhere.
            _ => (false, index.is_none().then_some(0)),
        };
        let last = self.arena.as_const(descriptor[3]);
        // Swizzled buffers and those that add the lane id have addresses of their own kind.
        let plain = !swizzled && last.is_some_and(|last| last >> 23 & 1 == 0);
        let product = match (index, stride) {
            (None, _) => Some(self.arena.constant64(0)),
            (Some(index), Some(stride)) => Some(self.element(index, stride)),
            (Some(_), None) => None,
        };
        let facts = state.facts;
        let Some(product) = product.filter(|_| plain) else {
            // Of 64 bits, as products are.
            let [a, b] = [(); 2].map(|()| self.arena.opaque(Lost::Arithmetic));
            let offset = self.arena.intern(Node::MulU(a, b));
            let address = self.arena.add64(base, offset);
            return Target::Checked(Checked {
                address,
                base,
                facts,
            });
        };
        let (voffset, facts) = match self.arena.as_const(descriptor[2]) {
            Some(records) if stride == Some(0) && index.is_none() && soffset == ZERO => {
                self.in_range(state, voffset, inst.imm.unsigned_abs(), records)
            }
            _ => (voffset, facts),
        };
        let mut address = self.arena.add64(base, product);
        for part in [voffset, soffset] {
            let part = self.arena.zero64(part);
            address = self.arena.add64(address, part);
        }
        let address = self.arena.offset(address, inst.imm.into());
        Target::Checked(Checked {
            address,
            base,
            facts,
        })
    }

    /// Where an element begins. What is beyond 32 bits of the product the hardware may use or leave out: it is not said.
    fn element(&mut self, index: Id, stride: u32) -> Id {
        let fits = match self.arena.node(index) {
            Node::Item(_) => true,
            Node::Const(index) => index.checked_mul(stride).is_some(),
            _ => stride == 0,
        };
        let stride = self.arena.constant(stride);
        let low = self.arena.binary(Binary::Mul, index, stride);
        let low = self.arena.zero64(low);
        if fits || Rule::ProductsAreWide.is_broken() {
            return low;
        }
        let whole = self.arena.intern(Node::MulU(index, stride));
        let either = self.arena.unknown();
        self.arena.intern(Node::Select64(either, whole, low))
    }

    /// The offset of the lanes for which it is in range in a buffer of so many bytes, and what holds for them: kernels
    /// give the others one that is not (Tensile's edges).
    fn in_range(
        &mut self,
        state: &mut State,
        mut offset: Id,
        imm: u32,
        bytes: u32,
    ) -> (Id, FactId) {
        let (facts, wave) = (state.facts, state.wave);
        for _ in 0..MAX_CHOICES {
            let Node::Select(condition, yes, no) = self.arena.node(offset) else {
                break;
            };
            let beyond = |arena: &Arena, one| {
                let first = arena.as_const(one).and_then(|one| one.checked_add(imm));
                first.is_some_and(|first| first >= bytes)
            };
            let holds = match [yes, no].map(|one| beyond(&self.arena, one)) {
                [false, true] => true,
                [true, false] => false,
                _ => break,
            };
            offset = if holds { yes } else { no };
            self.assume(state, condition, holds, false);
        }
        let found = state.facts;
        (state.facts, state.wave) = (facts, wave);
        (offset, found)
    }
}
