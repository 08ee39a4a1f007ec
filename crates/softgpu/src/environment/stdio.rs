//! The standard files of a program that changes its mount namespace.

use std::io;

use nix::sys::stat::{SFlag, fstat};

/// Opens regular files and devices among the standard files again, in the current namespace, with
/// the same access mode and position. Pipes and sockets belong to no namespace and stay.
pub(super) fn reopen() -> io::Result<()> {
    for number in 0..3 {
        // SAFETY: the borrow ends before the descriptor is replaced below.
        let standard = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let Ok(stat) = fstat(standard) else { continue };
        let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFREG && kind != SFlag::S_IFCHR {
            continue;
        }
        let link = std::fs::read_link(format!("/proc/self/fd/{number}"))?;
        let Some(path) = link
            .to_str()
            .and_then(|path| std::ffi::CString::new(path).ok())
        else {
            continue;
        };
        // SAFETY: F_GETFL, lseek and open take no pointers but `path`, a live C string.
        let (flags, position) = unsafe {
            (
                libc::fcntl(number, libc::F_GETFL),
                libc::lseek(number, 0, libc::SEEK_CUR),
            )
        };
        // The two open files do not share a position, so one that stood at the end appends.
        let at_end = kind == SFlag::S_IFREG && position > 0 && position == stat.st_size;
        let append = if at_end { libc::O_APPEND } else { 0 };
        // SAFETY: as above; O_CREAT and O_TRUNC are never in F_GETFL's answer.
        let again = unsafe { libc::open(path.as_ptr(), flags | append | libc::O_NOCTTY) };
        if again < 0 {
            // A deleted file, or one of a place that is not mounted here: keep the old one.
            continue;
        }
        // SAFETY: both descriptors are open and ours; the old one is replaced on purpose.
        unsafe {
            if position > 0 {
                libc::lseek(again, position, libc::SEEK_SET);
            }
            libc::dup2(again, number);
            libc::close(again);
        }
    }
    Ok(())
}

/// Moves the positions of this process's output files to where its child stopped writing.
pub(super) fn follow_child() {
    for number in 1..3 {
        // SAFETY: the descriptor is only looked at.
        let standard = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let regular = fstat(standard)
            .is_ok_and(|stat| SFlag::from_bits_truncate(stat.st_mode).contains(SFlag::S_IFREG));
        if regular {
            // SAFETY: no pointers.
            unsafe { libc::lseek(number, 0, libc::SEEK_END) };
        }
    }
}

/// Whether any standard file is a terminal.
pub(super) fn has_terminal() -> bool {
    // SAFETY: isatty takes no pointers.
    (0..3).any(|number| unsafe { libc::isatty(number) } == 1)
}

/// Keeps the program from inheriting anything but its standard files.
pub(super) fn close_others_on_exec() {
    // SAFETY: takes no pointers; marking descriptors close-on-exec affects this process only.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
