//! What a software GPU is made like.

use std::path::PathBuf;

use crate::device::GPUS;
use crate::faults::FaultPlan;
use crate::target::{MODELS, Model};

/// Properties of new devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What processors the GPUs are.
    pub model: &'static Model,
    /// Bytes of VRAM of each GPU; rounded up to 2 MiB.
    pub vram_bytes: u64,
    /// Whether the CPU may map VRAM (public memory), or not (private memory).
    pub large_bar: bool,
    /// The ids of the GPUs in ioctls and sysfs, in the order of their nodes: one for each GPU there is,
    /// at most as many as [`DEFAULT_GPU_IDS`] has.
    pub gpu_ids: Vec<u32>,
    /// How they reach each other.
    pub links: Interconnect,
    /// Whether the driver lets processes share memory by IPC handles, as AMD's out-of-tree driver does
    /// and upstream's does not.
    pub ipc: bool,
    /// Durations to imitate; at full speed without.
    pub time: Option<TimeModel>,
    /// Append one JSON line a dispatch to this file: what it really read and wrote.
    pub access_log: Option<PathBuf>,
    /// Log there, too, what each dispatch was given: code as it was loaded, mapped memory, and what stood behind
    /// its pointers.
    pub log_launches: bool,
    /// Requests that fail on purpose.
    pub faults: FaultPlan,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            model: &MODELS[0],
            vram_bytes: 2 << 30,
            large_bar: true,
            gpu_ids: vec![DEFAULT_GPU_IDS[0]],
            links: Interconnect::default(),
            ipc: false,
            time: None,
            access_log: None,
            log_launches: false,
            faults: FaultPlan::default(),
        }
    }
}

/// How GPUs reach each other's memory. The numbers stand in the device file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Interconnect {
    /// Not at all.
    None = 0,
    /// By links of their own, all in one hive.
    #[default]
    Xgmi = 1,
    /// Over PCIe, by the links that they have to the host; only where VRAM is public.
    Pcie = 2,
}

/// Arbitrary, as the kernel's are: a hash of the device.
pub const DEFAULT_GPU_IDS: [u32; GPUS] = [
    0x9a3c, 0x3e51, 0xc277, 0x58b2, 0xe40d, 0x16f9, 0x7b84, 0xad2e,
];

/// Rates that the device's engines sleep to keep to, in place of the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeModel {
    /// Bytes a second between host and device memory, each direction and GPU.
    pub link_bytes_per_s: u64,
    /// Bytes a second from one GPU to another, each direction; over PCIe those of the link to the host
    /// count.
    pub peer_bytes_per_s: u64,
    /// Bytes a second of a copy by SDMA inside device memory.
    pub device_bytes_per_s: u64,
    /// A kernel lasts at least this many nanoseconds.
    pub kernel_floor_ns: u64,
}
