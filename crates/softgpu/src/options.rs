//! What a software GPU is made like.

use std::path::PathBuf;

use crate::faults::FaultPlan;

/// Properties of a new device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of VRAM; rounded up to 2 MiB.
    pub vram_bytes: u64,
    /// Whether the CPU may map VRAM (public memory), or not (private memory).
    pub large_bar: bool,
    /// The id of the GPU in ioctls and sysfs.
    pub gpu_id: u32,
    /// Durations to imitate; at full speed without.
    pub time: Option<TimeModel>,
    /// Append one JSON line a dispatch to this file: what it really read and wrote.
    pub access_log: Option<PathBuf>,
    /// Requests that fail on purpose.
    pub faults: FaultPlan,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            vram_bytes: 2 << 30,
            large_bar: true,
            gpu_id: DEFAULT_GPU_ID,
            time: None,
            access_log: None,
            faults: FaultPlan::default(),
        }
    }
}

/// Arbitrary, as the kernel's are: a hash of the device.
pub const DEFAULT_GPU_ID: u32 = 0x9a3c;

/// Rates that the device's engines sleep to keep to, in place of the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeModel {
    /// Bytes a second between host and device memory, each direction and engine.
    pub link_bytes_per_s: u64,
    /// Bytes a second of a copy by SDMA inside device memory.
    pub device_bytes_per_s: u64,
    /// A kernel lasts at least this many nanoseconds.
    pub kernel_floor_ns: u64,
}
