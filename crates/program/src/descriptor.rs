//! Another process's descriptors: what they lead to, and copies of them (pidfd_getfd(2); needs the right to
//! trace it).

use nix::libc;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// Its descriptors, by number, and what they lead to, as /proc/PID/fd has it. Of a process that runs, those
/// that are closed meanwhile are missing.
pub fn links(pid: u32) -> io::Result<Vec<(i32, String)>> {
    let mut links = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.parse().ok());
        if let Some((number, link)) = number.zip(fs::read_link(&path).ok()) {
            links.push((number, link.to_string_lossy().into_owned()));
        }
    }
    links.sort_unstable();
    Ok(links)
}

/// Whether a descriptor is open for writing: the mode of its link has that (proc_pid_fd(5)). Not of one that is
/// closed.
pub fn is_written(pid: u32, number: i32) -> bool {
    let link = fs::symlink_metadata(format!("/proc/{pid}/fd/{number}"));
    link.is_ok_and(|link| link.mode() & 0o200 != 0)
}

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

    #[test]
    fn descriptors_are_listed_with_what_they_lead_to() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let own = links(std::process::id()).unwrap();
        assert!(own.contains(&(file.as_file().as_raw_fd(), path)), "{own:?}");
    }

    #[test]
    fn a_file_is_written_through_what_is_open_for_that() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = fs::File::open(file.path()).unwrap();
        let own = std::process::id();
        assert!(is_written(own, file.as_file().as_raw_fd()));
        assert!(!is_written(own, read.as_raw_fd()));
        assert!(!is_written(own, 1 << 20));
    }

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
