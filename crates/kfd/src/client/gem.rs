//! Buffer objects by the handles that an open render node has of them: those of a program that is saved, and of one
//! that is brought back.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::render::gem::{
    Close, Create, GemOp, ListEntry, ListHandles, Mmap, OP_GET_CREATE_INFO, OP_GET_MAPPING_INFO,
    VA_MAP, Va, VmEntry, WaitIdle,
};
use crate::render::prime::{FdToHandle, HandleToFd};

/// More handles, or mappings of one buffer object, than this are a defect of the driver.
const LIST_LIMIT: u32 = 1 << 20;
const PAGE: usize = 4096;

/// The buffer objects that a program holds by handle through this file of a render node, by ascending handles. None
/// where the driver does not tell (`DRM_AMDGPU_GEM_LIST_HANDLES` came with Linux 6.18).
pub fn handles(file: BorrowedFd<'_>) -> io::Result<Option<Vec<ListEntry>>> {
    let mut entries = Vec::new();
    loop {
        let mut args = ListHandles {
            entries: entries.as_mut_ptr() as u64,
            num_entries: entries.len() as u32,
            pad: 0,
        };
        // SAFETY: the pointer is to a live vector of the length beside it.
        match unsafe { crate::ioctl::call(file, &mut args) } {
            Ok(()) => {}
            Err(error) => match error.raw_os_error() {
                Some(libc::EINVAL | libc::ENOTTY) => return Ok(None),
                _ => return Err(error),
            },
        }
        match room(entries.len(), args.num_entries)? {
            None => {
                entries.truncate(args.num_entries as usize);
                return Ok(Some(entries));
            }
            Some(more) => entries.resize(more, ListEntry::default()),
        }
    }
}

/// The room that a list needs which did not fit; the kernel fills in none of such.
fn room(had: usize, needed: u32) -> io::Result<Option<usize>> {
    match needed {
        needed if needed as usize <= had => Ok(None),
        needed if needed > LIST_LIMIT => Err(io::ErrorKind::InvalidData.into()),
        needed => Ok(Some(needed as usize)),
    }
}

/// Where a buffer object is mapped in the file's address space.
pub fn mappings(file: BorrowedFd<'_>, handle: u32) -> io::Result<Vec<VmEntry>> {
    let mut entries = Vec::new();
    loop {
        let mut args = GemOp {
            handle,
            op: OP_GET_MAPPING_INFO,
            value: entries.as_mut_ptr() as u64,
            num_entries: entries.len() as u32,
            pad: 0,
        };
        // SAFETY: the pointer is to a live vector of the length beside it.
        match unsafe { crate::ioctl::call(file, &mut args) } {
            Ok(()) => {}
            // It never was.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        match room(entries.len(), args.num_entries)? {
            None => {
                entries.truncate(args.num_entries as usize);
                return Ok(entries);
            }
            Some(more) => entries.resize(more, VmEntry::default()),
        }
    }
}

/// Bytes of a buffer object.
pub fn size(file: BorrowedFd<'_>, handle: u32) -> io::Result<u64> {
    let mut reply = Create::default();
    let mut args = GemOp {
        handle,
        op: OP_GET_CREATE_INFO,
        value: &raw mut reply as u64,
        ..GemOp::default()
    };
    // SAFETY: the pointer is to a live block of the kind that this operation fills.
    unsafe { crate::ioctl::call(file, &mut args) }?;
    Ok(reply.bo_size)
}

/// The offset by which the CPU maps a buffer object; none where it may not.
pub fn mmap_offset(file: BorrowedFd<'_>, handle: u32) -> io::Result<Option<u64>> {
    let mut args = Mmap::new(handle);
    // SAFETY: the block holds no pointers.
    match unsafe { crate::ioctl::call(file, &mut args) } {
        Ok(()) => Ok(Some(args.word)),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A dma-buf of a buffer object; none where the driver makes none: of the program's own memory, and of what is bound
/// to the file's address space.
pub fn export(file: BorrowedFd<'_>, handle: u32) -> io::Result<Option<OwnedFd>> {
    let mut args = HandleToFd {
        handle,
        flags: (libc::O_CLOEXEC | libc::O_RDWR).cast_unsigned(),
        fd: -1,
    };
    // SAFETY: the block holds no pointers.
    match unsafe { crate::ioctl::call(file, &mut args) } {
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(()) => Ok(Some(unsafe { OwnedFd::from_raw_fd(args.fd) })),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether all that was submitted with a buffer object is done at `deadline_ns` (`CLOCK_MONOTONIC`).
pub fn is_idle(file: BorrowedFd<'_>, handle: u32, deadline_ns: u64) -> io::Result<bool> {
    let mut args = WaitIdle {
        handle_or_status: handle,
        flags_or_domain: 0,
        timeout: deadline_ns,
    };
    // SAFETY: the block holds no pointers.
    unsafe { crate::ioctl::call(file, &mut args) }?;
    Ok(args.handle_or_status == 0)
}

/// Makes a buffer object; its handle, the lowest that is free.
pub fn create(file: BorrowedFd<'_>, mut what: Create) -> io::Result<u32> {
    // SAFETY: the block holds no pointers.
    unsafe { crate::ioctl::call(file, &mut what) }?;
    Ok(what.handle())
}

/// A handle of what a dma-buf is of: the lowest that is free, unless the file has one of it.
pub fn import(file: BorrowedFd<'_>, dmabuf: BorrowedFd<'_>) -> io::Result<u32> {
    let mut args = FdToHandle {
        handle: 0,
        flags: 0,
        fd: dmabuf.as_raw_fd(),
    };
    // SAFETY: the block holds no pointers.
    unsafe { crate::ioctl::call(file, &mut args) }?;
    Ok(args.handle)
}

/// Gives a handle back.
pub fn close(file: BorrowedFd<'_>, handle: u32) -> io::Result<()> {
    let mut args = Close { handle, pad: 0 };
    // SAFETY: the block holds no pointers.
    unsafe { crate::ioctl::call(file, &mut args) }
}

/// Maps a buffer object in the file's address space, as it was.
pub fn map(file: BorrowedFd<'_>, handle: u32, place: VmEntry) -> io::Result<()> {
    let flags = u32::try_from(place.flags).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut args = Va {
        handle,
        pad: 0,
        operation: VA_MAP,
        flags,
        va_address: place.addr,
        offset_in_bo: place.offset,
        map_size: place.size,
    };
    // SAFETY: the block holds no pointers into our memory; the address is the device's.
    unsafe { crate::ioctl::call(file, &mut args) }
}

/// Whether the compute driver has made its buffer objects through this file of a render node: it lets only that one map
/// them (`drm_vma_node_allow`). `offset` is the mmap offset of one of them, of which the file has no handle.
pub fn is_of_the_driver(file: BorrowedFd<'_>, offset: u64) -> io::Result<bool> {
    let offset = i64::try_from(offset).map_err(io::Error::other)?;
    let len = PAGE.try_into().map_err(io::Error::other)?;
    let shared = MapFlags::MAP_SHARED;
    // SAFETY: a fresh mapping at an address of the kernel's choice, which nobody reads.
    match unsafe { mmap(None, len, ProtFlags::PROT_READ, shared, file, offset) } {
        Ok(mapping) => unmap(mapping).map(|()| true),
        Err(Errno::EACCES) => Ok(false),
        // So it says of what the CPU may not see, after it has looked whose it is.
        Err(Errno::EPERM) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn unmap(mapping: NonNull<libc::c_void>) -> io::Result<()> {
    // SAFETY: the mapping was just made with this length, and is unmapped once.
    Ok(unsafe { munmap(mapping, PAGE) }?)
}
