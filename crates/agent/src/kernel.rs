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

    /// Of a folder, whether something is in it, as far as that can be told.
    pub(crate) fn has_entries(&self) -> bool {
        /// Bytes before the name of a `linux_dirent64`, and where its length is: getdents64(2).
        const HEAD: usize = 19;
        const LEN: usize = 16;
        // Room for three of the longest names, in whose place such a structure may lie.
        let mut entries = [0_u64; 104];
        let (to, len) = (entries.as_mut_ptr(), size_of_val(&entries));
        // SAFETY: fills our bytes in.
        let got = unsafe { libc::syscall(libc::SYS_getdents64, self.0, to, len) };
        let got = usize::try_from(got).unwrap_or(0).min(len);
        // SAFETY: plain bytes, of our own.
        let bytes = unsafe { std::slice::from_raw_parts(entries.as_ptr().cast::<u8>(), got) };
        let mut at = 0;
        while let Some(entry) = bytes.get(at..).filter(|entry| entry.len() > HEAD) {
            let name = entry[HEAD..].split(|byte| *byte == 0).next();
            if name.is_some_and(|name| name != b"." && name != b"..") {
                return true;
            }
            at += usize::from(u16::from_ne_bytes([entry[LEN], entry[LEN + 1]])).max(1);
        }
        false
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
