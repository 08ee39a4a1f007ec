//! The target of the software GPU, and the waves that follow from it.

use strobe_isa::{Accumulators, Target, WaveSize};

pub(crate) const TARGET: &Target = Target::DEFAULT;
/// Of every kernel.
pub(crate) const WAVE: WaveSize = TARGET.wave_sizes[0];
pub(crate) const LANES: usize = WAVE.lanes() as usize;
/// One bit a lane.
pub(crate) type LaneMask = u64;

// What waves of this interpreter have. A target that needs more has it added first.
const _: () = {
    assert!(LaneMask::BITS == WAVE.lanes());
    assert!(matches!(TARGET.accumulators, Accumulators::None));
    assert!(!TARGET.packed_work_item_ids);
};
