//! How floats are rounded: quotients and roots that are made of floats are right where it is to the nearest.

use strobe_code_object::Kernel;
use strobe_isa::Inst;

/// The register that `s_setreg` calls `MODE`; the rounding stands in its first bits.
const MODE: i32 = 1;
const ROUNDING_BITS: i32 = 4;

/// What a walk has met, in whichever order the code is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounding {
    /// Something was made of floats.
    relied_on: bool,
    changed: bool,
}

impl Rounding {
    pub(crate) fn is_broken(self) -> bool {
        self.relied_on && self.changed
    }

    /// Whether something may be made of a kernel's floats.
    pub(crate) fn is_to_nearest(&mut self, kernel: &Kernel) -> bool {
        self.relied_on = true;
        kernel.descriptor.rounds_to_nearest()
    }

    /// `s_setreg`: the register stands in bits 5:0, the first bit in 10:6.
    pub(crate) fn set(&mut self, inst: &Inst) {
        let (id, first) = (inst.imm & 0x3f, inst.imm >> 6 & 0x1f);
        self.changed |= id == MODE && first < ROUNDING_BITS;
    }
}
