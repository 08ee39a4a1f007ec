//! Checkpoint and restore of a process's compute state.
//!
//! A dump is PROCESS_INFO, CHECKPOINT, UNPAUSE on the target's own fd, issued by its ptrace parent;
//! a restore is RESTORE in the new process, then RESUME by its parent.

#![expect(
    missing_docs,
    reason = "a mirror of the kernel's header, which says what its names mean"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

/// Operations (`KFD_CRIU_OP_*`).
pub const PROCESS_INFO: u32 = 0;
pub const CHECKPOINT: u32 = 1;
pub const UNPAUSE: u32 = 2;
pub const RESTORE: u32 = 3;
pub const RESUME: u32 = 4;

/// The driver's interface version from which these operations exist: 1.8.
pub const MINIMUM_MINOR: u32 = 8;

/// Sizes in the private blob that the kernel of Linux 6.x and 7.x writes, in its order: one
/// process, then every device, buffer object, queue (plus its register state) and event.
pub const PRIVATE_PROCESS_SIZE: usize = 8;
pub const PRIVATE_DEVICE_SIZE: usize = 8;
pub const PRIVATE_BO_SIZE: usize = 272;
pub const PRIVATE_QUEUE_SIZE: usize = 120;
pub const PRIVATE_EVENT_SIZE: usize = 64;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CriuOp {
    /// Pointer to `num_devices` [`DeviceBucket`].
    pub devices: u64,
    /// Pointer to `num_bos` [`BoBucket`].
    pub bos: u64,
    /// Pointer to `priv_data_size` bytes that only the driver understands.
    pub priv_data: u64,
    pub priv_data_size: u64,
    pub num_devices: u32,
    pub num_bos: u32,
    /// Queues, events and SVM ranges.
    pub num_objects: u32,
    /// PROCESS_INFO: out, the target's pid in its own namespace; RESUME: in.
    pub pid: u32,
    pub op: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DeviceBucket {
    /// The id the program knows, unchanged since its start.
    pub user_gpu_id: u32,
    /// The id of this machine's device.
    pub actual_gpu_id: u32,
    /// RESTORE: the render node that becomes the address space.
    pub drm_fd: u32,
    pub pad: u32,
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BoBucket {
    pub addr: u64,
    pub size: u64,
    /// The mmap offset at the checkpoint.
    pub offset: u64,
    /// RESTORE, out: the mmap offset now.
    pub restored_offset: u64,
    /// The user gpu id.
    pub gpu_id: u32,
    pub alloc_flags: u32,
    /// Out, VRAM and GTT: a dma-buf of the content; [`crate::memory::INVALID_FD`] otherwise.
    pub dmabuf_fd: u32,
    pub pad: u32,
}

requests! {
    CriuOp = 3, b'K', 0x22, 56, "AMDKFD_IOC_CRIU_OP";
}

const _: () = assert!(<CriuOp as crate::Request>::NUMBER == 0xc038_4b22);
const _: () = assert!(size_of::<DeviceBucket>() == 16 && size_of::<BoBucket>() == 48);
