//! What the preload library's hooks ask: questions, answered without touching anything when
//! the file is not ours.

use std::sync::OnceLock;

use nix::errno::Errno;

use crate::device::{DRM_MAJOR, Device, Tables, fd, place, render_minor};
use crate::driver;
use crate::gpus::Gpus;

/// Above the inodes of nodes.
const DMA_BUF_INODES: u64 = 1 << 48;

/// Those of this process's namespace: a system call comes with a descriptor, and with nothing of ours.
fn gpus() -> Option<&'static Gpus> {
    static GPUS: OnceLock<Option<Gpus>> = OnceLock::new();
    GPUS.get_or_init(Gpus::open).as_ref()
}

/// Which of their nodes `fd` is open on. Only a block device has the GPUs looked for.
fn node(fd: i32) -> Option<(&'static Gpus, fd::Node)> {
    let number = fd::block_device(fd)?;
    let gpus = gpus()?;
    Some((gpus, fd::node_of(&gpus.device, number)?))
}

/// Answers an ioctl, when `fd` is one of the software GPU's nodes.
///
/// # Safety
/// As for the system call: `argument` must satisfy the contract of the request.
pub unsafe fn ioctl(fd: i32, request: u32, argument: *mut u8) -> Option<Result<(), Errno>> {
    let (gpus, node) = node(fd)?;
    // SAFETY: passed on.
    Some(unsafe { driver::answer(gpus, (fd, node), request, argument) })
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

/// How to map `fd` at an offset; all zero for files that are not ours.
///
/// # Errors
/// `EACCES` for memory that neither was made by the driver through this render node, nor has a handle in it
/// (`drm_gem_mmap`).
pub fn mapped(fd: i32, offset: i64) -> Result<Mapped, Errno> {
    match node(fd) {
        Some((_, fd::Node::Kfd)) => Ok(Mapped {
            stays_at_fork: true,
            ..Mapped::default()
        }),
        Some((gpus, fd::Node::Render(gpu))) => match fd::meaning(&gpus.device, fd)? {
            fd::Meaning::Slot(file) => {
                let tables = gpus.device.lock()?;
                may_map(&tables, gpu, file as u32 + 1, offset.cast_unsigned())
                    .then(Mapped::default)
                    .ok_or(Errno::EACCES)
            }
            fd::Meaning::DmaBuf { .. } => Ok(Mapped {
                moved_by: place_of_dma_buf(&gpus.device, fd).unwrap_or(0),
                ..Mapped::default()
            }),
            fd::Meaning::Fresh => Err(Errno::EACCES),
        },
        None => Ok(Mapped::default()),
    }
}

fn may_map(tables: &Tables, gpu: usize, file: u32, offset: u64) -> bool {
    let is_meant = |index: u32| {
        tables.objects.get(index as usize).is_some_and(|object| {
            object.gpu as usize == gpu
                && matches!(object.place, place::VRAM | place::GTT)
                && offset.wrapping_sub(object.offset) < object.size
        })
    };
    let is_drivers = |owner: u32| {
        let process = tables.process(owner as usize - 1);
        process.is_some_and(|process| process.devices[gpu].vm == file)
    };
    let mut handles = tables.handles.iter();
    let mut buffers = tables.buffers.iter();
    handles.any(|(_, entry)| entry.file == file && is_meant(entry.object))
        || buffers.any(|(_, buffer)| is_drivers(buffer.owner) && is_meant(buffer.object))
}

fn place_of_dma_buf(device: &Device, fd: i32) -> Option<i64> {
    let Ok(fd::Meaning::DmaBuf { object, .. }) = fd::meaning(device, fd) else {
        return None;
    };
    let tables = device.lock().ok()?;
    let object = tables.objects.get(object)?;
    matches!(object.place, place::VRAM | place::GTT).then(|| object.offset.cast_signed())
}

/// The inode of `fd`, if it is a dma-buf: all of one object have one, and those of another have another.
/// (Linux makes a file system of them, where each has an inode.)
pub fn dma_buf_inode(fd: i32) -> Option<u64> {
    let (gpus, fd::Node::Render(_)) = node(fd)? else {
        return None;
    };
    match fd::meaning(&gpus.device, fd) {
        Ok(fd::Meaning::DmaBuf { object, serial }) => {
            Some(DMA_BUF_INODES | u64::from(serial) << 32 | object as u64)
        }
        _ => None,
    }
}

/// Has the waves of a process let go before CRIU, of which the calling thread is one, freezes it. What cannot be had so is
/// refused later, by the driver.
pub fn freeze(pid: u32) {
    if let Some(gpus) = gpus() {
        driver::freeze(&gpus.device, pid);
    }
}

/// Ends what the calling thread began by [`freeze`].
pub fn thaw() {
    if let Some(gpus) = gpus() {
        driver::thaw(&gpus.device);
    }
}

/// The (mode, device number) that a stat of a render node must report: libdrm insists on
/// character devices of major number 226. The answer depends on the stat alone.
pub fn disguise(mode: u32, rdev: u64) -> Option<(u32, u64)> {
    if mode & libc::S_IFMT != libc::S_IFBLK {
        return None;
    }
    let number = fd::gpu_of(&gpus()?.device, rdev)?;
    let disguised = mode & !libc::S_IFMT | libc::S_IFCHR;
    Some((disguised, libc::makedev(DRM_MAJOR, render_minor(number))))
}
