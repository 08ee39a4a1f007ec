//! What is asked of the kernel inside calls of the program, which notices nothing of it.

use std::ffi::{CStr, c_char, c_int};

/// A path as a program passes it to the kernel; a relative one begins at `folder`, a descriptor or `AT_FDCWD`.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Where a relative path begins.
    pub folder: c_int,
    /// Whatever a program may pass to the kernel as a path.
    pub path: *const c_char,
}

/// Does something of which the program's call is to notice nothing.
pub fn keep_errno(body: impl FnOnce() -> Option<()>) {
    // SAFETY: the calling thread's own.
    let errno = unsafe { *libc::__errno_location() };
    body();
    // SAFETY: likewise.
    unsafe { *libc::__errno_location() = errno };
}

pub(crate) fn is_file(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFREG
}

/// By the kernel alone: the C library's functions are what is watched, and places where a thread is cancelled, which the
/// program's call may be none of.
pub(crate) struct Descriptor(pub(crate) c_int);

impl Descriptor {
    pub(crate) fn open(path: &CStr, flags: c_int) -> Option<Self> {
        let (folder, path) = (libc::AT_FDCWD, path.as_ptr());
        Self::at(Given { folder, path }, flags)
    }

    pub(crate) fn at(given: Given, flags: c_int) -> Option<Self> {
        let Given { folder, path } = given;
        let (flags, mode) = (flags | libc::O_CLOEXEC, 0o600);
        // SAFETY: of what is no string the kernel says `EFAULT`.
        let fd = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) };
        c_int::try_from(fd).ok().filter(|fd| *fd >= 0).map(Self)
    }

    pub(crate) fn read(&self, bytes: &mut [u8]) -> Option<usize> {
        let (to, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: fills our bytes in.
        let got = unsafe { libc::syscall(libc::SYS_read, self.0, to, len) };
        got.try_into().ok()
    }

    pub(crate) fn stat(&self) -> Option<libc::stat> {
        // SAFETY: zeros are a value of it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: fills a local in.
        (unsafe { libc::fstat(self.0, &mut stat) } == 0).then_some(stat)
    }

    /// Of a regular file.
    pub(crate) fn len(&self) -> Option<u64> {
        let stat = self.stat()?;
        is_file(&stat).then_some(stat.st_size as u64)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: ours, and open.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}
