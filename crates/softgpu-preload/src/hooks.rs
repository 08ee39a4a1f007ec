//! `ioctl` and `mmap`.

use libc::{c_int, c_ulong, c_void, off_t, size_t};
use strobe_softgpu::preload::{self, Mapped};

fn set_errno(errno: c_int) {
    // SAFETY: the C library's errno of this thread.
    unsafe { *libc::__errno_location() = errno };
}

/// amdkfd's and DRM's requests go to the software GPU when the file is one of its nodes.
///
/// # Safety
/// As for the C function (its variable argument is passed in the same register).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if matches!((request >> 8) as u8, b'K' | b'd') {
        // Nothing may unwind into the program.
        let answer = std::panic::catch_unwind(|| {
            // SAFETY: the caller's promise.
            unsafe { preload::ioctl(fd, request as u32, argument.cast()) }
        });
        match answer {
            Ok(Some(Ok(()))) => return 0,
            Ok(Some(Err(errno))) => {
                set_errno(errno as c_int);
                return -1;
            }
            Ok(None) => {}
            Err(_) => {
                set_errno(libc::EIO);
                return -1;
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) as c_int }
}

unsafe fn map(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let mapped = if fd >= 0 && flags & libc::MAP_ANONYMOUS == 0 {
        std::panic::catch_unwind(|| preload::mapped(fd, offset)).unwrap_or(Ok(Mapped::default()))
    } else {
        Ok(Mapped::default())
    };
    let mapped = match mapped {
        Ok(mapped) => mapped,
        Err(error) => {
            set_errno(error as c_int);
            return libc::MAP_FAILED;
        }
    };
    let offset = offset.wrapping_add(mapped.moved_by);
    // SAFETY: the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            address,
            length,
            protection,
            flags,
            fd,
            offset,
        )
    };
    // -1 is MAP_FAILED, with errno set.
    let result = result as *mut c_void;
    if mapped.stays_at_fork && result != libc::MAP_FAILED {
        // SAFETY: the mapping was made above and nobody else knows of it yet.
        unsafe { libc::syscall(libc::SYS_madvise, result, length, libc::MADV_DONTFORK) };
    }
    result
}

/// Mappings of a dma-buf are moved to its memory's place; those of amdkfd stay behind at a fork.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { map(address, length, protection, flags, fd, offset) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { map(address, length, protection, flags, fd, offset) }
}
