//! Buffer objects of the compute driver, and their export as dma-bufs.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Allocation flags (`KFD_IOC_ALLOC_MEM_FLAGS_*`): what memory.
pub const VRAM: u32 = 1 << 0;
pub const GTT: u32 = 1 << 1;
pub const USERPTR: u32 = 1 << 2;
pub const DOORBELL: u32 = 1 << 3;
pub const MMIO_REMAP: u32 = 1 << 4;
/// Allocation flags: how it may be used.
pub const WRITABLE: u32 = 1 << 31;
pub const EXECUTABLE: u32 = 1 << 30;
/// The CPU may map it.
pub const PUBLIC: u32 = 1 << 29;
pub const NO_SUBSTITUTE: u32 = 1 << 28;
pub const AQL_QUEUE_MEM: u32 = 1 << 27;
pub const COHERENT: u32 = 1 << 26;
pub const UNCACHED: u32 = 1 << 25;

/// Bits 63:62 of an mmap offset on /dev/kfd say what it maps; the gpu id stands in bits 61:46.
pub const MMAP_TYPE_SHIFT: u32 = 62;
pub const MMAP_GPU_ID_SHIFT: u32 = 46;
pub const MMAP_TYPE_DOORBELL: u64 = 3;
pub const MMAP_TYPE_EVENTS: u64 = 2;
pub const MMAP_TYPE_MMIO: u64 = 0;

/// A file descriptor field that names no file.
pub const INVALID_FD: u32 = 0xffff_ffff;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AllocMemory {
    pub va_addr: u64,
    pub size: u64,
    /// Out: gpu id << 32 | index.
    pub handle: u64,
    /// In: the host address of user memory; out: where to mmap the rest.
    pub mmap_offset: u64,
    pub gpu_id: u32,
    pub flags: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FreeMemory {
    pub handle: u64,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MapMemory {
    pub handle: u64,
    /// Pointer to `n_devices` u32 gpu ids.
    pub device_ids_array_ptr: u64,
    pub n_devices: u32,
    /// How many devices are done; the kernel goes on from there.
    pub n_success: u32,
}

/// The same layout as [`MapMemory`].
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct UnmapMemory {
    pub handle: u64,
    pub device_ids_array_ptr: u64,
    pub n_devices: u32,
    pub n_success: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GetDmabufInfo {
    pub size: u64,
    pub metadata_ptr: u64,
    pub metadata_size: u32,
    pub gpu_id: u32,
    pub flags: u32,
    pub dmabuf_fd: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ImportDmabuf {
    pub va_addr: u64,
    pub handle: u64,
    pub gpu_id: u32,
    pub dmabuf_fd: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ExportDmabuf {
    pub handle: u64,
    pub flags: u32,
    pub dmabuf_fd: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AvailableMemory {
    pub available: u64,
    pub gpu_id: u32,
    pub pad: u32,
}

/// Of AMD's out-of-tree driver: makes a buffer known by a number that other processes may use.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct IpcExportHandle {
    pub handle: u64,
    /// Out.
    pub share_handle: [u32; 4],
    pub gpu_id: u32,
    pub flags: u32,
}

/// Of AMD's out-of-tree driver: makes a buffer of what another process has exported.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct IpcImportHandle {
    /// Out.
    pub handle: u64,
    pub va_addr: u64,
    /// Out; 0 where the CPU cannot map it.
    pub mmap_offset: u64,
    pub share_handle: [u32; 4],
    pub gpu_id: u32,
    /// Out.
    pub flags: u32,
}

requests! {
    AllocMemory = 3, b'K', 0x16, 40, "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU";
    FreeMemory = 1, b'K', 0x17, 8, "AMDKFD_IOC_FREE_MEMORY_OF_GPU";
    MapMemory = 3, b'K', 0x18, 24, "AMDKFD_IOC_MAP_MEMORY_TO_GPU";
    UnmapMemory = 3, b'K', 0x19, 24, "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU";
    GetDmabufInfo = 3, b'K', 0x1c, 32, "AMDKFD_IOC_GET_DMABUF_INFO";
    ImportDmabuf = 3, b'K', 0x1d, 24, "AMDKFD_IOC_IMPORT_DMABUF";
    AvailableMemory = 3, b'K', 0x23, 16, "AMDKFD_IOC_AVAILABLE_MEMORY";
    ExportDmabuf = 3, b'K', 0x24, 16, "AMDKFD_IOC_EXPORT_DMABUF";
    IpcImportHandle = 3, b'K', 0x80, 48, "AMDKFD_IOC_IPC_IMPORT_HANDLE";
    IpcExportHandle = 3, b'K', 0x81, 32, "AMDKFD_IOC_IPC_EXPORT_HANDLE";
}
