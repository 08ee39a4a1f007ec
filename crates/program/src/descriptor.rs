//! Copies of another process's descriptors (pidfd_getfd(2); needs the right to trace it).

use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A handle of a process.
pub fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes two numbers.
    descriptor(unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) })
}

/// A copy of its descriptor of this number; the open file is the same.
pub fn copy_descriptor(process: &OwnedFd, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes three numbers.
    descriptor(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })
}

/// What a system call that makes a descriptor answers.
fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_copied_descriptor_is_the_same_file() {
        let file = tempfile::tempfile().unwrap();
        let process = open_process(std::process::id()).unwrap();
        let copy = copy_descriptor(&process, file.as_raw_fd()).unwrap();
        let inode = |path: String| fs::metadata(path).unwrap().ino();
        assert_eq!(
            inode(format!("/proc/self/fd/{}", copy.as_raw_fd())),
            inode(format!("/proc/self/fd/{}", file.as_raw_fd()))
        );
        let error = copy_descriptor(&process, 1 << 20).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
}
