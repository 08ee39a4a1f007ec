//! Submission contexts and buffer lists.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Context operations (`AMDGPU_CTX_OP_*`).
pub const CTX_ALLOC: u32 = 1;
pub const CTX_FREE: u32 = 2;
pub const CTX_QUERY_STATE: u32 = 3;
pub const CTX_QUERY_STATE2: u32 = 4;

/// Buffer list operations (`AMDGPU_BO_LIST_OP_*`).
pub const LIST_CREATE: u32 = 0;
pub const LIST_DESTROY: u32 = 1;
pub const LIST_UPDATE: u32 = 2;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Ctx {
    /// In: the operation. Out of an allocation: the context id.
    pub op: u32,
    pub flags: u32,
    pub ctx_id: u32,
    pub priority: i32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BoList {
    /// In: the operation. Out of a creation: the list handle.
    pub operation: u32,
    pub list_handle: u32,
    pub bo_number: u32,
    pub bo_info_size: u32,
    /// Pointer to `bo_number` [`BoListEntry`].
    pub bo_info_ptr: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BoListEntry {
    pub bo_handle: u32,
    pub bo_priority: u32,
}

requests! {
    Ctx = 3, b'd', 0x42, 16, "DRM_IOCTL_AMDGPU_CTX";
    BoList = 3, b'd', 0x43, 24, "DRM_IOCTL_AMDGPU_BO_LIST";
}
