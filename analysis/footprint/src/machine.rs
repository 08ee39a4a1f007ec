//! The processor that a kernel is for, as far as it is analysed.

use strobe_code_object::{Kernel, TargetId};
use strobe_extent::Reason;
use strobe_isa::{Accumulators, Target, WaveSize};

use crate::registers::{ACCUMULATORS, VECTORS};

/// For what a kernel's code is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) target: &'static Target,
    pub(crate) wave: WaveSize,
}

/// How many lanes the waves of a kernel have.
pub(crate) fn wave(kernel: &Kernel) -> WaveSize {
    match kernel.descriptor.wave32() {
        true => WaveSize::Lanes32,
        false => WaveSize::Lanes64,
    }
}

impl Machine {
    /// What is analysed: known targets, waves of 64 lanes.
    pub(crate) fn of(id: TargetId, kernel: &Kernel) -> Result<Self, Reason> {
        let other = Reason::Target(id.name().unwrap_or("an unknown processor"));
        let target = id.target().ok_or(other)?;
        let wave = wave(kernel);
        // A lane mask is a pair of registers to the walk.
        if wave != WaveSize::Lanes64 || !target.wave_sizes.contains(&wave) {
            return Err(Reason::Other("waves of 32 lanes"));
        }
        Ok(Self { target, wave })
    }

    /// Vector registers of a kernel, its callees included; with accumulation registers, up to the last of those.
    pub(crate) fn vectors(self, kernel: &Kernel) -> usize {
        let granule = usize::from(self.target.vector_granule);
        let all = granule * kernel.descriptor.vgpr_granules();
        let accumulators = match self.target.accumulators {
            Accumulators::None => 0,
            Accumulators::Separate => all,
            Accumulators::Unified => all.saturating_sub(kernel.descriptor.accumulator_offset()),
        };
        match accumulators {
            0 => all.min(ACCUMULATORS),
            some => (ACCUMULATORS + some).min(VECTORS),
        }
    }

    /// Whether waves find their scratch by themselves.
    pub(crate) fn has_architected_scratch(self) -> bool {
        self.target.architected_scratch
    }
}
