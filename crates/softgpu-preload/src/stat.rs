//! The `stat` family: libdrm believes only in the character device 226:128.
//!
//! CRIU must see what the files really are, so in its process nothing is disguised. A dma-buf has an
//! inode of its own everywhere, for that says which are of one memory.

use std::sync::atomic::{AtomicU8, Ordering};

use libc::{c_char, c_int, c_uint};
use strobe_softgpu::preload;

/// Whether this process is CRIU: its executable exports the functions that plugins call.
fn in_criu() -> bool {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static CRIU: AtomicU8 = AtomicU8::new(UNKNOWN);
    match CRIU.load(Ordering::Relaxed) {
        UNKNOWN => {
            // SAFETY: the name is a C string.
            let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"criu_get_image_dir".as_ptr()) };
            let answer = if symbol.is_null() { NO } else { YES };
            CRIU.store(answer, Ordering::Relaxed);
            answer == YES
        }
        answer => answer == YES,
    }
}

/// Disguises a filled `stat`.
///
/// # Safety
/// `stat` must be valid when `result` is 0.
unsafe fn disguise(result: c_int, stat: *mut libc::stat) -> c_int {
    if result == 0 {
        // SAFETY: the caller's promise.
        let stat = unsafe { &mut *stat };
        if stat.st_mode & libc::S_IFMT == libc::S_IFBLK && !in_criu() {
            let answer = std::panic::catch_unwind(|| preload::disguise(stat.st_mode, stat.st_rdev));
            if let Ok(Some((mode, rdev))) = answer {
                stat.st_mode = mode;
                stat.st_rdev = rdev;
            }
        }
    }
    result
}

unsafe fn by_fd(fd: c_int, stat: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_fstat, fd, stat) as c_int };
    if result == 0 {
        // SAFETY: the call filled it.
        let stat = unsafe { &mut *stat };
        if stat.st_mode & libc::S_IFMT == libc::S_IFBLK
            && let Ok(Some(inode)) = std::panic::catch_unwind(|| preload::dma_buf_inode(fd))
        {
            stat.st_ino = inode;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { disguise(result, stat) }
}

unsafe fn by_path(path: *const c_char, stat: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { disguise(libc::syscall(libc::SYS_stat, path, stat) as c_int, stat) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fstat(fd: c_int, stat: *mut libc::stat) -> c_int {
    // SAFETY: passed on.
    unsafe { by_fd(fd, stat) }
}

/// # Safety
/// As for the C function; `struct stat64` is `struct stat` on x86-64.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fstat64(fd: c_int, stat: *mut libc::stat) -> c_int {
    // SAFETY: passed on.
    unsafe { by_fd(fd, stat) }
}

/// # Safety
/// As for the C function, through which programs built before glibc 2.33 call `fstat`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __fxstat(
    _version: c_int,
    fd: c_int,
    stat: *mut libc::stat,
) -> c_int {
    // SAFETY: passed on.
    unsafe { by_fd(fd, stat) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __fxstat64(
    _version: c_int,
    fd: c_int,
    stat: *mut libc::stat,
) -> c_int {
    // SAFETY: passed on.
    unsafe { by_fd(fd, stat) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn stat(path: *const c_char, stat: *mut libc::stat) -> c_int {
    // SAFETY: passed on.
    unsafe { by_path(path, stat) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn stat64(path: *const c_char, stat: *mut libc::stat) -> c_int {
    // SAFETY: passed on.
    unsafe { by_path(path, stat) }
}

/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    statx: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller's promise.
    let result =
        unsafe { libc::syscall(libc::SYS_statx, directory, path, flags, mask, statx) as c_int };
    if result == 0 {
        // SAFETY: the call filled it.
        let statx = unsafe { &mut *statx };
        let mode = u32::from(statx.stx_mode);
        if mode & libc::S_IFMT == libc::S_IFBLK && !in_criu() {
            let rdev = libc::makedev(statx.stx_rdev_major, statx.stx_rdev_minor);
            if let Ok(Some((mode, rdev))) =
                std::panic::catch_unwind(|| preload::disguise(mode, rdev))
            {
                statx.stx_mode = mode as u16;
                statx.stx_rdev_major = libc::major(rdev);
                statx.stx_rdev_minor = libc::minor(rdev);
            }
        }
    }
    result
}
