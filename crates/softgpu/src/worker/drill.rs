//! Evictions that the device's fault plan wants, at random instructions.

use crate::device::Device;
use crate::wave::ComputeUnit;

/// A new compute unit.
pub(super) fn unit(device: &Device) -> ComputeUnit {
    let mut unit = ComputeUnit::new();
    go_on(device, &mut unit);
    unit
}

/// Has a unit go on to where it lets go unasked the next time.
pub(super) fn go_on(device: &Device, unit: &mut ComputeUnit) {
    let plan = &device.header().faults;
    let instructions = plan.instructions_to_eviction(device.drills());
    unit.let_go_after(instructions.unwrap_or(u64::MAX));
}
