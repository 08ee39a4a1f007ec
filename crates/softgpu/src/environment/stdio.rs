//! The standard files of a program that changes its mount namespace.
//!
//! What must hold: descriptors that shared an open file share one afterwards. They have one position
//! then, so that `> file 2>&1` loses nothing.

use std::ffi::CString;
use std::io;

use nix::sys::stat::{FileStat, SFlag, fstat};

/// One of the standard descriptors.
#[derive(Clone, Copy)]
struct Standard {
    number: i32,
    stat: FileStat,
    /// Access mode and status flags, and the position (negative: it has none).
    flags: i32,
    position: i64,
}

impl Standard {
    /// `None` when it is closed.
    fn look(number: i32) -> Option<Self> {
        // SAFETY: the borrow ends with the call.
        let stat = fstat(unsafe { std::os::fd::BorrowedFd::borrow_raw(number) }).ok()?;
        // SAFETY: F_GETFL and lseek take no pointers.
        let (flags, position) = unsafe {
            (
                libc::fcntl(number, libc::F_GETFL),
                libc::lseek(number, 0, libc::SEEK_CUR),
            )
        };
        Some(Self {
            number,
            stat,
            flags,
            position,
        })
    }

    fn kind(&self) -> SFlag {
        SFlag::from_bits_truncate(self.stat.st_mode) & SFlag::S_IFMT
    }

    /// Whether this is a name in a mount namespace. Pipes and sockets belong to none.
    fn has_place(&self) -> bool {
        self.kind() == SFlag::S_IFREG || self.kind() == SFlag::S_IFCHR
    }

    fn is_same_file(&self, stat: &FileStat) -> bool {
        if self.kind() == SFlag::S_IFCHR {
            // The nodes of the namespace's /dev are others, of the same devices.
            stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == self.stat.st_rdev
        } else {
            (stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino)
        }
    }

    /// Whether both descriptors are of one open file.
    fn shares_with(&self, other: &Self) -> bool {
        const KCMP_FILE: i32 = 0;
        // SAFETY: no pointers.
        let order = unsafe {
            let own = libc::getpid();
            libc::syscall(
                libc::SYS_kcmp,
                own,
                own,
                KCMP_FILE,
                self.number,
                other.number,
            )
        };
        if order >= 0 {
            return order == 0;
        }
        // A kernel that does not tell: by what they have in common.
        self.is_same_file(&other.stat)
            && (self.flags, self.position) == (other.flags, other.position)
    }

    /// Opens the file again, with the same access mode and position. False when its name leads
    /// nowhere or to another file: it was deleted, or is in a place that is not mounted here.
    fn open_again(&self) -> io::Result<bool> {
        let number = self.number;
        let link = std::fs::read_link(format!("/proc/self/fd/{number}"))?;
        let Some(path) = link.to_str().and_then(|path| CString::new(path).ok()) else {
            return Ok(false);
        };
        // This open file and that of whoever started this process do not share a position, so one
        // that stood at the end appends.
        let at_end = self.kind() == SFlag::S_IFREG
            && self.position > 0
            && self.position == self.stat.st_size;
        let append = if at_end { libc::O_APPEND } else { 0 };
        // SAFETY: `path` is a live C string; O_CREAT and O_TRUNC are never in F_GETFL's answer.
        let again = unsafe { libc::open(path.as_ptr(), self.flags | append | libc::O_NOCTTY) };
        if again < 0 {
            return Ok(false);
        }
        // SAFETY: the borrow ends with the call.
        let stat = fstat(unsafe { std::os::fd::BorrowedFd::borrow_raw(again) });
        let same = stat.is_ok_and(|stat| self.is_same_file(&stat));
        // SAFETY: both descriptors are open and ours; the old one is replaced on purpose.
        unsafe {
            if same && self.position > 0 {
                libc::lseek(again, self.position, libc::SEEK_SET);
            }
            if same {
                libc::dup2(again, number);
            }
            libc::close(again);
        }
        Ok(same)
    }
}

/// Opens regular files and devices among the standard files again, in the current namespace, each
/// open file once. What cannot be opened again stays.
pub(super) fn reopen() -> io::Result<()> {
    let before = [0, 1, 2].map(Standard::look);
    // All comparisons come first: afterwards a replaced descriptor tells nothing.
    let shared = |index: usize| {
        let own = before[index].as_ref()?;
        (0..index).find(|&earlier| {
            before[earlier]
                .as_ref()
                .is_some_and(|earlier| earlier.shares_with(own))
        })
    };
    let shared = [0, 1, 2].map(shared);
    let mut opened = [false; 3];
    for index in 0..3 {
        let Some(standard) = before[index].filter(Standard::has_place) else {
            continue;
        };
        opened[index] = match shared[index] {
            // SAFETY: both are open standard descriptors; the second is replaced on purpose.
            Some(first) if opened[first] => unsafe {
                libc::dup2(first as i32, standard.number);
                true
            },
            Some(_) => false,
            None => standard.open_again()?,
        };
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
