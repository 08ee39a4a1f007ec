//! Command submission.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Engines (`AMDGPU_HW_IP_*`).
pub const IP_GFX: u32 = 0;
pub const IP_COMPUTE: u32 = 1;
pub const IP_DMA: u32 = 2;

/// Chunk kinds (`AMDGPU_CHUNK_ID_*`).
pub const CHUNK_IB: u32 = 1;
pub const CHUNK_FENCE: u32 = 2;
pub const CHUNK_DEPENDENCIES: u32 = 3;
pub const CHUNK_BO_HANDLES: u32 = 6;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Submit {
    /// In: context and buffer list. Out: the fence's sequence number, both halves.
    pub ctx_id: u32,
    pub bo_list_handle: u32,
    pub num_chunks: u32,
    pub flags: u32,
    /// Pointer to `num_chunks` pointers to [`Chunk`].
    pub chunks: u64,
}

impl Submit {
    pub fn fence(&self) -> u64 {
        u64::from(self.bo_list_handle) << 32 | u64::from(self.ctx_id)
    }

    pub fn reply(&mut self, fence: u64) {
        self.ctx_id = fence as u32;
        self.bo_list_handle = (fence >> 32) as u32;
    }
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Chunk {
    pub chunk_id: u32,
    /// Dwords at `chunk_data`.
    pub length_dw: u32,
    pub chunk_data: u64,
}

/// An indirect buffer: packets at a GPU address.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ChunkIb {
    pub pad: u32,
    pub flags: u32,
    pub va_start: u64,
    pub ib_bytes: u32,
    pub ip_type: u32,
    pub ip_instance: u32,
    pub ring: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct WaitSubmit {
    /// In: the fence. Out: 0 done, 1 busy.
    pub handle_or_status: u64,
    /// Absolute `CLOCK_MONOTONIC` nanoseconds; `u64::MAX` waits for ever.
    pub timeout: u64,
    pub ip_type: u32,
    pub ip_instance: u32,
    pub ring: u32,
    pub ctx_id: u32,
}

requests! {
    Submit = 3, b'd', 0x44, 24, "DRM_IOCTL_AMDGPU_CS";
    WaitSubmit = 3, b'd', 0x49, 32, "DRM_IOCTL_AMDGPU_WAIT_CS";
}

const _: () = assert!(<Submit as crate::Request>::NUMBER == 0xc018_6444);
const _: () = assert!(size_of::<ChunkIb>() == 32 && size_of::<Chunk>() == 16);
