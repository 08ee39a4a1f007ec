//! What the preload library's hooks ask: three questions, answered without touching anything when
//! the file is not ours.

use std::sync::OnceLock;

use nix::errno::Errno;

use crate::device::{DRM_MAJOR, Device, RENDER_MINOR, fd, place};
use crate::driver;
use crate::gpu::Gpu;

/// The one of this process's namespace: a system call comes with a descriptor, and with nothing of ours.
fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    GPU.get_or_init(Gpu::open).as_ref()
}

/// Which of its nodes `fd` is open on. Only a block device has the GPU looked for.
fn node(fd: i32) -> Option<(&'static Gpu, fd::Node)> {
    let number = fd::block_device(fd)?;
    let gpu = gpu()?;
    Some((gpu, fd::node_of(&gpu.device, number)?))
}

/// Answers an ioctl, when `fd` is one of the software GPU's nodes.
///
/// # Safety
/// As for the system call: `argument` must satisfy the contract of the request.
pub unsafe fn ioctl(fd: i32, request: u32, argument: *mut u8) -> Option<Result<(), Errno>> {
    let (gpu, node) = node(fd)?;
    // SAFETY: passed on.
    Some(unsafe { driver::answer(gpu, (fd, node), request, argument) })
}

/// What a mapping of `fd` needs beyond the system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Added to the offset: where a dma-buf's memory stands in its node.
    pub moved_by: i64,
    /// A forked child has none of it: amdkfd maps doorbells, MMIO registers and events with
    /// `VM_DONTCOPY` (Linux, kfd_doorbell.c, kfd_chardev.c and kfd_events.c).
    pub stays_at_fork: bool,
}

/// How to map `fd`; all zero for files that are not ours.
pub fn mapped(fd: i32) -> Mapped {
    match node(fd) {
        Some((_, fd::Node::Kfd)) => Mapped {
            stays_at_fork: true,
            ..Mapped::default()
        },
        Some((gpu, fd::Node::Render)) => Mapped {
            moved_by: place_of_dma_buf(&gpu.device, fd).unwrap_or(0),
            ..Mapped::default()
        },
        None => Mapped::default(),
    }
}

fn place_of_dma_buf(device: &Device, fd: i32) -> Option<i64> {
    let Ok(fd::Meaning::DmaBuf { object, .. }) = fd::meaning(device, fd) else {
        return None;
    };
    let tables = device.lock().ok()?;
    let object = tables.objects.get(object)?;
    matches!(object.place, place::VRAM | place::GTT).then(|| object.offset.cast_signed())
}

/// The (mode, device number) that a stat of the render node must report: libdrm insists on the
/// character device 226:128. The answer depends on the stat alone.
pub fn disguise(mode: u32, rdev: u64) -> Option<(u32, u64)> {
    if mode & libc::S_IFMT != libc::S_IFBLK {
        return None;
    }
    let header = gpu()?.device.header();
    let disguised = mode & !libc::S_IFMT | libc::S_IFCHR;
    (rdev == header.memory_rdev).then(|| (disguised, libc::makedev(DRM_MAJOR, RENDER_MINOR)))
}
