//! How much of a dispatch is on the GPU at once.

use crate::device::geometry;
use crate::target::WAVE;
use crate::wave::Dispatch;

/// Vector registers that the waves of one SIMD unit share, in each lane.
const REGISTERS_OF_A_SIMD: u64 = 256;
pub(super) const LDS_BYTES: u32 = 64 << 10;
const LDS_GRANULE: u32 = 512;

fn waves_of_a_group(dispatch: &Dispatch) -> u64 {
    let sizes = dispatch.packet.workgroup_size;
    let items: u64 = sizes.map(|size| u64::from(size.max(1))).iter().product();
    items.div_ceil(WAVE.lanes().into())
}

/// Waves of a dispatch that a compute unit has registers for.
fn waves_of_a_unit(dispatch: &Dispatch) -> u64 {
    let each = dispatch.vector_registers().max(1) as u64;
    let of_a_simd = (REGISTERS_OF_A_SIMD / each).min(geometry::WAVES_PER_SIMD.into());
    of_a_simd * u64::from(geometry::SIMD_PER_CU)
}

/// Whether a work-group has room on one compute unit.
pub(super) fn has_room(dispatch: &Dispatch) -> bool {
    waves_of_a_group(dispatch) <= waves_of_a_unit(dispatch)
}

/// Work-groups that run at once, where nothing else does: those that may wait for one another.
pub(super) fn groups(dispatch: &Dispatch) -> u64 {
    let lds = dispatch.packet.group_segment_size;
    let by_lds = LDS_BYTES / lds.next_multiple_of(LDS_GRANULE).max(1);
    let by_waves = waves_of_a_unit(dispatch) / waves_of_a_group(dispatch).max(1);
    by_waves.min(by_lds.into()).max(1) * u64::from(geometry::COMPUTE_UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_waves_and_lds_bound_what_runs_at_once() {
        let dispatch = |items: u16, granules: u32, lds| {
            let mut dispatch = Dispatch::default();
            dispatch.packet.workgroup_size = [items, 1, 1];
            dispatch.packet.group_segment_size = lds;
            dispatch.descriptor.rsrc1 = granules - 1;
            dispatch
        };
        let units = u64::from(geometry::COMPUTE_UNITS);
        // Granules of four registers.
        for (items, granules, lds, of_a_unit) in [
            (256, 1, 0, 10),
            (256, 16, 0, 4),
            (64, 1, 0, 40),
            (1024, 16, 0, 1),
            (64, 1, 32 << 10, 2),
            (64, 1, (32 << 10) + 1, 1),
        ] {
            let dispatch = dispatch(items, granules, lds);
            assert!(has_room(&dispatch));
            assert_eq!(groups(&dispatch), of_a_unit * units, "{dispatch:?}");
        }
        assert!(!has_room(&dispatch(1024, 17, 0)));
        assert!(has_room(&dispatch(256, 64, 0)));
        assert!(!has_room(&dispatch(257, 64, 0)));
    }
}
