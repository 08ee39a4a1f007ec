//! User-mode queues.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Queue types (`KFD_IOC_QUEUE_TYPE_*`).
pub const COMPUTE: u32 = 0;
pub const SDMA: u32 = 1;
pub const COMPUTE_AQL: u32 = 2;
pub const SDMA_XGMI: u32 = 3;
pub const SDMA_BY_ENGINE: u32 = 4;

/// The smallest ring, in bytes; rings are powers of two.
pub const MIN_RING_SIZE: u32 = 1024;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CreateQueue {
    pub ring_base_address: u64,
    /// Address of the 64-bit write pointer.
    pub write_pointer_address: u64,
    /// Address of the 64-bit read pointer.
    pub read_pointer_address: u64,
    /// Out: mmap offset of the doorbell page, plus the doorbell's place in it.
    pub doorbell_offset: u64,
    /// Bytes.
    pub ring_size: u32,
    pub gpu_id: u32,
    pub queue_type: u32,
    pub queue_percentage: u32,
    pub queue_priority: u32,
    /// Out.
    pub queue_id: u32,
    pub eop_buffer_address: u64,
    pub eop_buffer_size: u64,
    pub ctx_save_restore_address: u64,
    pub ctx_save_restore_size: u32,
    pub ctl_stack_size: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DestroyQueue {
    pub queue_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct UpdateQueue {
    pub ring_base_address: u64,
    pub queue_id: u32,
    pub ring_size: u32,
    pub queue_percentage: u32,
    pub queue_priority: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SetCuMask {
    pub queue_id: u32,
    /// Bits, a multiple of 32.
    pub num_cu_mask: u32,
    pub cu_mask_ptr: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetQueueWaveState {
    pub ctl_stack_address: u64,
    pub ctl_stack_used_size: u32,
    pub save_area_used_size: u32,
    pub queue_id: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AllocQueueGws {
    pub queue_id: u32,
    pub num_gws: u32,
    pub first_gws: u32,
    pub pad: u32,
}

requests! {
    CreateQueue = 3, b'K', 0x02, 88, "AMDKFD_IOC_CREATE_QUEUE";
    DestroyQueue = 3, b'K', 0x03, 8, "AMDKFD_IOC_DESTROY_QUEUE";
    UpdateQueue = 1, b'K', 0x07, 24, "AMDKFD_IOC_UPDATE_QUEUE";
    SetCuMask = 1, b'K', 0x1a, 16, "AMDKFD_IOC_SET_CU_MASK";
    GetQueueWaveState = 3, b'K', 0x1b, 24, "AMDKFD_IOC_GET_QUEUE_WAVE_STATE";
    AllocQueueGws = 3, b'K', 0x1e, 16, "AMDKFD_IOC_ALLOC_QUEUE_GWS";
}
