//! How much of a dispatch is on the GPU at once.

use crate::device::geometry;
use crate::target::{Model, WAVE};
use crate::wave::Dispatch;

pub(super) const LDS_BYTES: u32 = 64 << 10;
const LDS_GRANULE: u32 = 512;

fn waves_of_a_group(dispatch: &Dispatch) -> u64 {
    let sizes = dispatch.packet.workgroup_size;
    let items: u64 = sizes.map(|size| u64::from(size.max(1))).iter().product();
    items.div_ceil(WAVE.lanes().into())
}

/// Waves of a dispatch that a compute unit has registers for.
fn waves_of_a_unit(model: &Model, dispatch: &Dispatch) -> u64 {
    let each = dispatch.vector_registers().max(1) as u64;
    let of_a_simd = (model.registers_of_a_simd / each).min(model.waves_per_simd.into());
    of_a_simd * u64::from(geometry::SIMD_PER_CU)
}

/// Whether a work-group has room on one compute unit.
pub(super) fn has_room(model: &Model, dispatch: &Dispatch) -> bool {
    waves_of_a_group(dispatch) <= waves_of_a_unit(model, dispatch)
}

/// Work-groups that run at once, where nothing else does: those that may wait for one another.
pub(super) fn groups(model: &Model, dispatch: &Dispatch) -> u64 {
    let lds = dispatch.packet.group_segment_size;
    let by_lds = LDS_BYTES / lds.next_multiple_of(LDS_GRANULE).max(1);
    let by_waves = waves_of_a_unit(model, dispatch) / waves_of_a_group(dispatch).max(1);
    by_waves.min(by_lds.into()).max(1) * u64::from(geometry::COMPUTE_UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::MODELS;

    fn dispatch(model: &Model, items: u16, granules: u32, lds: u32) -> Dispatch {
        let mut dispatch = Dispatch {
            target: model.target,
            ..Dispatch::default()
        };
        dispatch.packet.workgroup_size = [items, 1, 1];
        dispatch.packet.group_segment_size = lds;
        dispatch.descriptor.rsrc1 = granules - 1;
        dispatch
    }

    #[test]
    fn registers_waves_and_lds_bound_what_runs_at_once() {
        let [gfx906, gfx90a, gfx942] = MODELS else {
            panic!("a model that nothing here is about")
        };
        let units = u64::from(geometry::COMPUTE_UNITS);
        for (model, items, granules, lds, of_a_unit) in [
            // Granules of four registers, 256 of them.
            (gfx906, 256, 1, 0, 10),
            (gfx906, 256, 16, 0, 4),
            (gfx906, 64, 1, 0, 40),
            (gfx906, 1024, 16, 0, 1),
            (gfx906, 64, 1, 32 << 10, 2),
            (gfx906, 64, 1, (32 << 10) + 1, 1),
            // Of eight, 512 of them.
            (gfx90a, 256, 1, 0, 8),
            (gfx90a, 256, 16, 0, 4),
            (gfx90a, 64, 64, 0, 4),
            (gfx90a, 1024, 16, 0, 1),
            (gfx942, 256, 1, 0, 8),
            (gfx942, 64, 64, 0, 4),
            (gfx942, 64, 1, 32 << 10, 2),
        ] {
            let dispatch = dispatch(model, items, granules, lds);
            assert!(has_room(model, &dispatch));
            assert_eq!(groups(model, &dispatch), of_a_unit * units, "{dispatch:?}");
        }
        for (model, items, granules, has) in [
            (gfx906, 1024, 17, false),
            (gfx906, 256, 64, true),
            (gfx906, 257, 64, false),
            (gfx90a, 1024, 17, false),
            (gfx90a, 256, 64, true),
            (gfx90a, 257, 64, false),
        ] {
            assert_eq!(has_room(model, &dispatch(model, items, granules, 0)), has);
        }
    }
}
