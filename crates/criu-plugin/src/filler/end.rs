//! Ending processes by their descriptors.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Ends a process at once. Of one that has ended already nothing happens.
pub(super) fn kill(process: BorrowedFd<'_>) {
    let (process, none) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: it takes a descriptor of ours and no memory.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process, libc::SIGKILL, none, 0) };
}
