//! Descriptors of events (eventfd, timerfd, inotify), which CRIU would bring back as others, or not at
//! all. What they are stands in `/proc/PID/fdinfo` (the kernel's Documentation/filesystems/proc.rst).

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use strobe_proto::kernel_text;

use nix::libc;

use crate::descriptor::{copy_descriptor, links, open_process};

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum EventError {
    #[error(
        "descriptor {number} of process {pid} is a semaphore (eventfd, EFD_SEMAPHORE), which CRIU would bring \
         back as a counter"
    )]
    Semaphore { pid: u32, number: i32 },
    #[error(
        "descriptor {number} of process {pid} is a timer (timerfd) of clock {clock}; CRIU brings back \
         those of CLOCK_REALTIME and CLOCK_MONOTONIC only"
    )]
    Clock { pid: u32, number: i32, clock: i32 },
    #[error("the descriptors of process {pid} cannot be looked at: {error}")]
    Look { pid: u32, error: io::Error },
}

/// News of files that nobody has read yet, and that no restored program will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadNews {
    /// In this process's pid namespace.
    pub pid: u32,
    /// The descriptor.
    pub number: i32,
}

impl fmt::Display for UnreadNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, number } = self;
        write!(
            f,
            "descriptor {number} of process {pid} (inotify) has events that were not read yet: a restored \
             program does not get them"
        )
    }
}

/// What one descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Semaphore,
    Timer { clock: i32 },
    Inotify,
}

/// Looks at the descriptors of a process, which is frozen.
pub fn check(pid: u32) -> Result<Vec<UnreadNews>, EventError> {
    let failed = |error| EventError::Look { pid, error };
    let mut unread = Vec::new();
    for (number, link) in links(pid).map_err(failed)? {
        if !link.starts_with("anon_inode:") {
            continue;
        }
        // Of one that runs, it may have been closed.
        let Ok(info) = kernel_text::read(format!("/proc/{pid}/fdinfo/{number}")) else {
            continue;
        };
        match kind(&link, &info) {
            Some(Kind::Semaphore) => return Err(EventError::Semaphore { pid, number }),
            Some(Kind::Timer {
                clock: libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC,
            }) => {}
            Some(Kind::Timer { clock }) => return Err(EventError::Clock { pid, number, clock }),
            Some(Kind::Inotify) if has_news(pid, number).map_err(failed)? => {
                unread.push(UnreadNews { pid, number });
            }
            _ => {}
        }
    }
    Ok(unread)
}

/// What the link and the text say. (Older kernels do not tell a semaphore.)
fn kind(link: &str, info: &str) -> Option<Kind> {
    let field = |name| {
        let mut lines = info.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    match link.strip_prefix("anon_inode:")? {
        "[eventfd]" => (field("eventfd-semaphore:")? != "0").then_some(Kind::Semaphore),
        "[timerfd]" => {
            let clock = field("clockid:")?.parse().ok()?;
            Some(Kind::Timer { clock })
        }
        "inotify" => Some(Kind::Inotify),
        _ => None,
    }
}

fn has_news(pid: u32, number: i32) -> io::Result<bool> {
    let copy = copy_descriptor(&open_process(pid)?, number)?;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int (inotify(7)).
    match unsafe { libc::ioctl(copy.as_raw_fd(), libc::FIONREAD, &raw mut bytes) } {
        0 => Ok(bytes > 0),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::{FromRawFd, OwnedFd};

    fn made(number: libc::c_int) -> OwnedFd {
        assert!(number >= 0, "{}", io::Error::last_os_error());
        // SAFETY: just made, by nobody else.
        unsafe { OwnedFd::from_raw_fd(number) }
    }

    fn of(fd: &OwnedFd) -> Option<Kind> {
        let number = fd.as_raw_fd();
        let link = fs::read_link(format!("/proc/self/fd/{number}")).expect("a link");
        let info = kernel_text::read(format!("/proc/self/fdinfo/{number}")).expect("a text");
        kind(&link.to_string_lossy(), &info)
    }

    #[test]
    fn kinds_are_told_apart_by_what_the_kernel_says() {
        // SAFETY: none of these takes a pointer.
        let (counter, semaphore, timer, boottime, inotify) = unsafe {
            (
                made(libc::eventfd(0, 0)),
                made(libc::eventfd(0, libc::EFD_SEMAPHORE)),
                made(libc::timerfd_create(libc::CLOCK_MONOTONIC, 0)),
                made(libc::timerfd_create(libc::CLOCK_BOOTTIME, 0)),
                made(libc::inotify_init1(0)),
            )
        };
        assert_eq!(of(&counter), None);
        assert_eq!(of(&semaphore), Some(Kind::Semaphore));
        let clock = libc::CLOCK_MONOTONIC;
        assert_eq!(of(&timer), Some(Kind::Timer { clock }));
        let clock = libc::CLOCK_BOOTTIME;
        assert_eq!(of(&boottime), Some(Kind::Timer { clock }));
        assert_eq!(of(&inotify), Some(Kind::Inotify));
    }

    #[test]
    fn news_that_nobody_has_read_are_found() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = std::ffi::CString::new(folder.path().to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: no pointer.
        let inotify = made(unsafe { libc::inotify_init1(0) });
        // SAFETY: a C string, and a descriptor that is open.
        let watch =
            unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), libc::IN_CREATE) };
        assert!(watch >= 0);
        let me = std::process::id();
        let number = inotify.as_raw_fd();
        assert!(!has_news(me, number).expect("it is asked"));
        fs::write(folder.path().join("file"), "").expect("it is written");
        assert!(has_news(me, number).expect("it is asked"));
    }
}
