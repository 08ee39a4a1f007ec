//! The process as the driver sees it: version, apertures, address space, clocks, traps.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetVersion {
    pub major: u32,
    pub minor: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetMemoryPolicy {
    pub alternate_aperture_base: u64,
    pub alternate_aperture_size: u64,
    pub gpu_id: u32,
    pub default_policy: u32,
    pub alternate_policy: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetClockCounters {
    /// Ticks of the GPU's constant clock.
    pub gpu_clock_counter: u64,
    /// `CLOCK_MONOTONIC_RAW`, nanoseconds.
    pub cpu_clock_counter: u64,
    /// `CLOCK_BOOTTIME`, nanoseconds.
    pub system_clock_counter: u64,
    /// Hertz of `system_clock_counter`.
    pub system_clock_freq: u64,
    pub gpu_id: u32,
    pub pad: u32,
}

/// Address ranges of one device in this process; limits are inclusive.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Apertures {
    pub lds_base: u64,
    pub lds_limit: u64,
    pub scratch_base: u64,
    pub scratch_limit: u64,
    pub gpuvm_base: u64,
    pub gpuvm_limit: u64,
    pub gpu_id: u32,
    pub pad: u32,
}

/// The old form with room for seven devices.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetProcessApertures {
    pub apertures: [Apertures; 7],
    pub num_of_nodes: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetProcessAperturesNew {
    /// Pointer to `num_of_nodes` [`Apertures`].
    pub apertures_ptr: u64,
    /// In: room; out: how many there are.
    pub num_of_nodes: u32,
    pub pad: u32,
}

/// Makes a render node's address space that of compute.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AcquireVm {
    pub drm_fd: u32,
    pub gpu_id: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetScratchBackingVa {
    pub va_addr: u64,
    pub gpu_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetTrapHandler {
    pub tba_addr: u64,
    pub tma_addr: u64,
    pub gpu_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetTileConfig {
    /// Pointer to `num_tile_configs` u32.
    pub tile_config_ptr: u64,
    /// Pointer to `num_macro_tile_configs` u32.
    pub macro_tile_config_ptr: u64,
    pub num_tile_configs: u32,
    pub num_macro_tile_configs: u32,
    pub gpu_id: u32,
    pub gb_addr_config: u32,
    pub num_banks: u32,
    pub num_ranks: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetXnackMode {
    /// 0 off, 1 on, negative: only ask.
    pub xnack_enabled: i32,
}

/// Tells the driver that a runtime with a debugger interface has started.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RuntimeEnable {
    pub r_debug: u64,
    /// Bit 0 enable, bit 1 trap-temporary set-up.
    pub mode_mask: u32,
    pub capabilities_mask: u32,
}

/// The fixed head of the shared virtual memory request; attributes follow.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Svm {
    pub start_addr: u64,
    pub size: u64,
    pub op: u32,
    pub nattr: u32,
}

requests! {
    GetVersion = 2, b'K', 0x01, 8, "AMDKFD_IOC_GET_VERSION";
    SetMemoryPolicy = 1, b'K', 0x04, 32, "AMDKFD_IOC_SET_MEMORY_POLICY";
    GetClockCounters = 3, b'K', 0x05, 40, "AMDKFD_IOC_GET_CLOCK_COUNTERS";
    GetProcessApertures = 2, b'K', 0x06, 400, "AMDKFD_IOC_GET_PROCESS_APERTURES";
    SetScratchBackingVa = 3, b'K', 0x11, 16, "AMDKFD_IOC_SET_SCRATCH_BACKING_VA";
    GetTileConfig = 3, b'K', 0x12, 40, "AMDKFD_IOC_GET_TILE_CONFIG";
    SetTrapHandler = 1, b'K', 0x13, 24, "AMDKFD_IOC_SET_TRAP_HANDLER";
    GetProcessAperturesNew = 3, b'K', 0x14, 16, "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW";
    AcquireVm = 1, b'K', 0x15, 8, "AMDKFD_IOC_ACQUIRE_VM";
    Svm = 3, b'K', 0x20, 24, "AMDKFD_IOC_SVM";
    SetXnackMode = 3, b'K', 0x21, 4, "AMDKFD_IOC_SET_XNACK_MODE";
    RuntimeEnable = 3, b'K', 0x25, 16, "AMDKFD_IOC_RUNTIME_ENABLE";
}

const _: () = assert!(<GetVersion as crate::Request>::NUMBER == 0x8008_4b01);
