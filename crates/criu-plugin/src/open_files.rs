//! Which descriptors stand for one open file, in one process or in several.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// Whether descriptor `one` of the process `pid` and `other` of this process are copies.
pub(crate) fn is_copy(pid: u32, one: RawFd, other: RawFd) -> bool {
    const KCMP_FILE: libc::c_int = 0;
    let own = std::process::id();
    // SAFETY: the call compares two entries of descriptor tables.
    unsafe { libc::syscall(libc::SYS_kcmp, pid, own, KCMP_FILE, one, other) == 0 }
}

/// A descriptor of the process `pid` that is a copy of ours, `fd`, and is not that itself.
pub(crate) fn copy_in(pid: u32, fd: RawFd) -> Option<RawFd> {
    let device = fs::metadata(format!("/proc/self/fd/{fd}")).ok()?.rdev();
    fs::read_dir(format!("/proc/{pid}/fd"))
        .ok()?
        .flatten()
        .filter(|entry| fs::metadata(entry.path()).is_ok_and(|meta| meta.rdev() == device))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|&copy| (pid != std::process::id() || copy != fd) && is_copy(pid, copy, fd))
}

/// Whether the process `pid` has a file of a device open, by what is `wanted` of device numbers, that is none of
/// these.
pub(crate) fn has_another(pid: u32, wanted: impl Fn(u64) -> bool, known: &[OwnedFd]) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut entries = entries.into_iter().flatten().flatten();
    entries.any(|entry| {
        let is_wanted = fs::metadata(entry.path()).is_ok_and(|meta| wanted(meta.rdev()));
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        let mut known = known.iter();
        is_wanted
            && number.is_some_and(|fd| !known.any(|known| is_copy(pid, fd, known.as_raw_fd())))
    })
}

/// The first of these processes that has the file open.
pub(crate) fn owner(pids: &[u32], fd: RawFd) -> Option<u32> {
    pids.iter().copied().find(|pid| copy_in(*pid, fd).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::process::{Command, Stdio};

    #[test]
    fn a_file_is_of_the_process_that_has_it_open() {
        let open = || File::options().read(true).write(true).open("/dev/null");
        let (shared, ours) = (open().unwrap(), open().unwrap());
        let start = |input: Stdio| {
            Command::new("sleep")
                .arg("60")
                .stdin(input)
                .spawn()
                .unwrap()
        };
        let mut other = start(Stdio::null());
        let mut child = start(shared.try_clone().unwrap().into());
        let pids = [other.id(), child.id()];
        assert_eq!(owner(&pids, shared.as_raw_fd()), Some(child.id()));
        assert_eq!(
            owner(&pids, ours.as_raw_fd()),
            None,
            "the same device, opened anew"
        );
        let copy = ours.try_clone().unwrap();
        let own = std::process::id();
        assert_eq!(copy_in(own, ours.as_raw_fd()), Some(copy.as_raw_fd()));
        drop(copy);
        assert_eq!(copy_in(own, ours.as_raw_fd()), None);
        for process in [&mut other, &mut child] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}
