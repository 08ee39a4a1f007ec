//! Questions about the device.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Queries (`AMDGPU_INFO_*`).
pub const ACCEL_WORKING: u32 = 0x00;
pub const HW_IP_INFO: u32 = 0x02;
pub const HW_IP_COUNT: u32 = 0x03;
pub const FW_VERSION: u32 = 0x0e;
pub const VRAM_USAGE: u32 = 0x10;
pub const GTT_USAGE: u32 = 0x11;
pub const VRAM_GTT: u32 = 0x14;
pub const READ_MMR_REG: u32 = 0x15;
pub const DEV_INFO: u32 = 0x16;
pub const VIS_VRAM_USAGE: u32 = 0x17;
pub const MEMORY: u32 = 0x19;

/// Vega's family number (`AMDGPU_FAMILY_AI`); from it on, SDMA byte counts are encoded minus one.
pub const FAMILY_AI: u32 = 141;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Info {
    pub return_pointer: u64,
    /// Bytes at `return_pointer`; the answer is cut to it.
    pub return_size: u32,
    pub query: u32,
    /// What depends on the query: READ_MMR_REG dword offset, count, instance, flags; HW_IP_INFO type,
    /// instance; FW_VERSION type, instance, index.
    pub words: [u32; 4],
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DeviceInfo {
    pub device_id: u32,
    pub chip_rev: u32,
    pub external_rev: u32,
    pub pci_rev: u32,
    pub family: u32,
    pub num_shader_engines: u32,
    pub num_shader_arrays_per_engine: u32,
    /// kHz.
    pub gpu_counter_freq: u32,
    /// kHz.
    pub max_engine_clock: u64,
    /// kHz.
    pub max_memory_clock: u64,
    pub cu_active_number: u32,
    pub cu_ao_mask: u32,
    pub cu_bitmap: [[u32; 4]; 4],
    pub enabled_rb_pipes_mask: u32,
    pub num_rb_pipes: u32,
    pub num_hw_gfx_contexts: u32,
    pub pcie_gen: u32,
    pub ids_flags: u64,
    pub virtual_address_offset: u64,
    pub virtual_address_max: u64,
    pub virtual_address_alignment: u32,
    pub pte_fragment_size: u32,
    pub gart_page_size: u32,
    pub ce_ram_size: u32,
    pub vram_type: u32,
    pub vram_bit_width: u32,
    pub vce_harvest_config: u32,
    pub gc_double_offchip_lds_buf: u32,
    pub prim_buf_gpu_addr: u64,
    pub pos_buf_gpu_addr: u64,
    pub cntl_sb_buf_gpu_addr: u64,
    pub param_buf_gpu_addr: u64,
    pub prim_buf_size: u32,
    pub pos_buf_size: u32,
    pub cntl_sb_buf_size: u32,
    pub param_buf_size: u32,
    pub wave_front_size: u32,
    pub num_shader_visible_vgprs: u32,
    pub num_cu_per_sh: u32,
    pub num_tcc_blocks: u32,
    pub gs_vgt_table_depth: u32,
    pub gs_prim_buffer_depth: u32,
    pub max_gs_waves_per_vgt: u32,
    pub pcie_num_lanes: u32,
    pub cu_ao_bitmap: [[u32; 4]; 4],
    pub high_va_offset: u64,
    pub high_va_max: u64,
    pub pa_sc_tile_steering_override: u32,
    pub pad: u32,
    pub tcc_disabled_mask: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct HwIp {
    pub major: u32,
    pub minor: u32,
    pub capabilities_flags: u64,
    pub ib_start_alignment: u32,
    pub ib_size_alignment: u32,
    /// One bit a ring.
    pub available_rings: u32,
    pub ip_discovery_version: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct VramGtt {
    pub vram_size: u64,
    pub vram_cpu_accessible_size: u64,
    pub gtt_size: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Heap {
    pub total_heap_size: u64,
    pub usable_heap_size: u64,
    pub heap_usage: u64,
    pub max_allocation: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Memory {
    pub vram: Heap,
    pub cpu_accessible_vram: Heap,
    pub gtt: Heap,
}

requests! {
    Info = 1, b'd', 0x45, 32, "DRM_IOCTL_AMDGPU_INFO";
}

const _: () = assert!(<Info as crate::Request>::NUMBER == 0x4020_6445);
const _: () = assert!(size_of::<DeviceInfo>() == 368);
