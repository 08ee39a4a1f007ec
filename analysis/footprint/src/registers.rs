//! Sets of registers.

use std::array;

use strobe_isa::scalar_register::{self, EXEC};
use strobe_isa::{Class, Flags, Inst, Op, Operand};

/// Scalar registers by operand code; `exec` is not among them.
pub(crate) const SCALARS: usize = EXEC as usize;
/// Vector registers, and behind them accumulation registers: two files, or parts of one that do not overlap.
pub(crate) const VECTORS: usize = 512;
/// The number of the first accumulation register among them.
pub(crate) const ACCUMULATORS: usize = 256;
pub(crate) const VCC: usize = scalar_register::VCC as usize;
pub(crate) const M0: usize = scalar_register::M0 as usize;

/// Registers that some code may define.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Defined {
    scalars: [u64; 2],
    vectors: [u64; VECTORS / 64],
}

impl Defined {
    pub(crate) const ALL: Self = Self {
        scalars: [u64::MAX; 2],
        vectors: [u64::MAX; VECTORS / 64],
    };

    pub(crate) fn scalar(&self, register: usize) -> bool {
        self.scalars[register / 64] >> (register % 64) & 1 != 0
    }

    pub(crate) fn vector(&self, register: usize) -> bool {
        self.vectors[register / 64] >> (register % 64) & 1 != 0
    }

    pub(crate) fn vectors(&self) -> &[u64; VECTORS / 64] {
        &self.vectors
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            scalars: array::from_fn(|word| self.scalars[word] | other.scalars[word]),
            vectors: array::from_fn(|word| self.vectors[word] | other.vectors[word]),
        }
    }

    /// The registers that an instruction defines.
    pub(crate) fn add(&mut self, inst: &Inst) {
        let info = inst.op.info();
        for (dst, place) in inst.dsts.iter().zip(info.dsts) {
            let count = usize::from(place.dwords(inst.wave)) + usize::from(inst.tfe);
            if let Some(first) = vector_number(*dst) {
                for register in first..(first + count).min(VECTORS) {
                    self.vectors[register / 64] |= 1 << (register % 64);
                }
            } else if let Operand::Scalar(first) = *dst {
                let first = usize::from(first);
                for register in first..(first + count).min(scalar_register::CODES) {
                    self.scalars[register / 64] |= 1 << (register % 64);
                }
            }
        }
        if info.flags.contains(Flags::WRITES_VCC) {
            let mask = (1 << inst.wave.mask_dwords()) - 1;
            self.scalars[VCC / 64] |= mask << (VCC % 64);
        }
        if info.flags.contains(Flags::WRITES_M0) {
            self.scalars[M0 / 64] |= 1 << (M0 % 64);
        }
        // Destinations by index: any register.
        if matches!(inst.op, Op::s_movreld_b32 | Op::s_movreld_b64) {
            self.scalars = [u64::MAX; 2];
        }
        if inst.op == Op::s_set_gpr_idx_on || inst.op == Op::s_set_gpr_idx_mode {
            self.vectors = [u64::MAX; VECTORS / 64];
        }
        if inst.op == Op::v_swap_b32
            && let Operand::Vector(register) = inst.srcs[0]
        {
            self.vectors[usize::from(register) / 64] |= 1 << (register % 64);
        }
        if info.class == Class::Call {
            *self = Self::ALL;
        }
    }
}

/// The number of the first vector register, or accumulation register, that an operand names.
pub(crate) fn vector_number(operand: Operand) -> Option<usize> {
    match operand {
        Operand::Vector(register) => Some(register.into()),
        Operand::Accumulator(register) => Some(ACCUMULATORS + usize::from(register)),
        _ => None,
    }
}
