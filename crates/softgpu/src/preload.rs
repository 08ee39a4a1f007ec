//! What the preload library's hooks ask: three questions, answered without touching anything when
//! the file is not ours.

use nix::errno::Errno;

use crate::device::{DRM_MAJOR, Device, RENDER_MINOR, fd, place};
use crate::driver;

/// Answers an ioctl, when `fd` is one of the software GPU's nodes.
///
/// # Safety
/// As for the system call: `argument` must satisfy the contract of the request.
pub unsafe fn ioctl(fd: i32, request: u32, argument: *mut u8) -> Option<Result<(), Errno>> {
    // SAFETY: passed on.
    unsafe { driver::answer(fd, request, argument) }
}

/// The offset at which a dma-buf's memory stands in its node; 0 for other files.
pub fn mmap_offset(fd: i32) -> i64 {
    let Some((device, fd::Node::Render)) = fd::node(fd) else {
        return 0;
    };
    let Ok(fd::Meaning::DmaBuf { object, .. }) = fd::meaning(device, fd) else {
        return 0;
    };
    let Ok(tables) = device.lock() else { return 0 };
    tables
        .objects
        .get(object)
        .filter(|object| matches!(object.place, place::VRAM | place::GTT))
        .map_or(0, |object| object.offset.cast_signed())
}

/// The (mode, device number) that a stat of the render node must report: libdrm insists on the
/// character device 226:128. The answer depends on the stat alone.
pub fn disguise(mode: u32, rdev: u64) -> Option<(u32, u64)> {
    if mode & libc::S_IFMT != libc::S_IFBLK {
        return None;
    }
    let header = Device::get()?.header();
    let disguised = mode & !libc::S_IFMT | libc::S_IFCHR;
    (rdev == header.memory_rdev).then(|| (disguised, libc::makedev(DRM_MAJOR, RENDER_MINOR)))
}
