//! Graphics buffer objects. The kernel's in/out unions are one struct each here: the reply overlays
//! the first words, read and written by methods.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Memory domains (`AMDGPU_GEM_DOMAIN_*`).
pub const DOMAIN_CPU: u64 = 1;
pub const DOMAIN_GTT: u64 = 2;
pub const DOMAIN_VRAM: u64 = 4;

/// Address space operations (`AMDGPU_VA_OP_*`).
pub const VA_MAP: u32 = 1;
pub const VA_UNMAP: u32 = 2;
pub const VA_CLEAR: u32 = 3;
pub const VA_REPLACE: u32 = 4;
/// Mapping flags (`AMDGPU_VM_PAGE_*`).
pub const PAGE_READABLE: u32 = 1 << 1;
pub const PAGE_WRITEABLE: u32 = 1 << 2;
pub const PAGE_EXECUTABLE: u32 = 1 << 3;

/// Buffer operations (`AMDGPU_GEM_OP_*`).
pub const OP_GET_CREATE_INFO: u32 = 0;
pub const OP_SET_PLACEMENT: u32 = 1;
pub const OP_GET_MAPPING_INFO: u32 = 2;

/// Listed handle came from another file (`AMDGPU_GEM_LIST_HANDLES_FLAG_IS_IMPORT`).
pub const LIST_IS_IMPORT: u32 = 1;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Create {
    /// In: bytes. Out: the handle in the low half.
    pub bo_size: u64,
    pub alignment: u64,
    pub domains: u64,
    pub domain_flags: u64,
}

impl Create {
    pub fn handle(&self) -> u32 {
        self.bo_size as u32
    }

    pub fn reply(&mut self, handle: u32) {
        self.bo_size = u64::from(handle);
    }
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Mmap {
    /// In: the handle in the low half. Out: the mmap offset.
    pub word: u64,
}

impl Mmap {
    pub fn new(handle: u32) -> Self {
        Self {
            word: u64::from(handle),
        }
    }

    pub fn handle(&self) -> u32 {
        self.word as u32
    }
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Close {
    pub handle: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ChangeHandle {
    pub handle: u32,
    pub new_handle: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Userptr {
    pub addr: u64,
    pub size: u64,
    pub flags: u32,
    /// Out.
    pub handle: u32,
}

/// Newer kernels append fields for timeline points (64 bytes in all) and accept both sizes.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Va {
    pub handle: u32,
    pub pad: u32,
    pub operation: u32,
    pub flags: u32,
    pub va_address: u64,
    pub offset_in_bo: u64,
    pub map_size: u64,
}

/// Before GET_MAPPING_INFO the struct ended after `value`; the kernel accepts both sizes.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GemOp {
    pub handle: u32,
    pub op: u32,
    pub value: u64,
    /// GET_MAPPING_INFO: room at `value` in, mappings there are out.
    pub num_entries: u32,
    pub pad: u32,
}

/// One mapping that GET_MAPPING_INFO reports.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct VmEntry {
    pub addr: u64,
    pub size: u64,
    pub offset: u64,
    pub flags: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ListHandles {
    /// Pointer to `num_entries` [`ListEntry`].
    pub entries: u64,
    pub num_entries: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ListEntry {
    pub handle: u32,
    pub flags: u32,
    pub size: u64,
    pub preferred_domains: u64,
    pub alloc_flags: u64,
    pub alignment: u64,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Metadata {
    pub handle: u32,
    pub op: u32,
    pub flags: u64,
    pub tiling_info: u64,
    pub data_size_bytes: u32,
    pub data: [u32; 64],
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct WaitIdle {
    /// In: handle and flags. Out: status (0 idle) and domain.
    pub handle_or_status: u32,
    pub flags_or_domain: u32,
    pub timeout: u64,
}

requests! {
    Close = 1, b'd', 0x09, 8, "DRM_IOCTL_GEM_CLOSE";
    ChangeHandle = 3, b'd', 0xd2, 8, "DRM_IOCTL_GEM_CHANGE_HANDLE";
    Create = 3, b'd', 0x40, 32, "DRM_IOCTL_AMDGPU_GEM_CREATE";
    Mmap = 3, b'd', 0x41, 8, "DRM_IOCTL_AMDGPU_GEM_MMAP";
    Metadata = 3, b'd', 0x46, 288, "DRM_IOCTL_AMDGPU_GEM_METADATA";
    WaitIdle = 3, b'd', 0x47, 16, "DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE";
    Va = 1, b'd', 0x48, 40, "DRM_IOCTL_AMDGPU_GEM_VA";
    GemOp = 3, b'd', 0x50, 24, "DRM_IOCTL_AMDGPU_GEM_OP";
    Userptr = 3, b'd', 0x51, 24, "DRM_IOCTL_AMDGPU_GEM_USERPTR";
    ListHandles = 3, b'd', 0x59, 16, "DRM_IOCTL_AMDGPU_GEM_LIST_HANDLES";
}

const _: () = assert!(<Create as crate::Request>::NUMBER == 0xc020_6440);
const _: () = assert!(<Close as crate::Request>::NUMBER == 0x4008_6409);
const _: () = assert!(<GemOp as crate::Request>::NUMBER == 0xc018_6450);
const _: () = assert!(<ListHandles as crate::Request>::NUMBER == 0xc010_6459);
const _: () = assert!(size_of::<VmEntry>() == 32 && size_of::<ListEntry>() == 40);
