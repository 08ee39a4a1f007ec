//! Sharing buffer objects between files and processes as dma-bufs.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::ioctl::requests;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct HandleToFd {
    pub handle: u32,
    /// `O_CLOEXEC`, `O_RDWR`.
    pub flags: u32,
    /// Out.
    pub fd: i32,
}

/// The same layout as [`HandleToFd`].
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FdToHandle {
    /// Out.
    pub handle: u32,
    pub flags: u32,
    pub fd: i32,
}

requests! {
    HandleToFd = 3, b'd', 0x2d, 12, "DRM_IOCTL_PRIME_HANDLE_TO_FD";
    FdToHandle = 3, b'd', 0x2e, 12, "DRM_IOCTL_PRIME_FD_TO_HANDLE";
}

const _: () = assert!(<HandleToFd as crate::Request>::NUMBER == 0xc00c_642d);
