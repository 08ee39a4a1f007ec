//! Which process something belongs to, whoever looks.
//!
//! A driver sees through PID namespaces, and this one is a part of each of its processes, which do not: a
//! container's process knows itself by a number that means another process outside, or none. So a process is
//! noted by what all can compare: its number, the namespace in which that is its number, and an identity that
//! no other process has.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};
use strobe_proto::kernel_text;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::statfs::{FsType, fstatfs};

/// Of the kernel's own filesystem of processes (linux/magic.h), in which each has an inode.
const PIDFS: FsType = FsType(0x5049_4446);

/// A process, as it is noted in the tables. The default is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ProcessId {
    /// By which it knows itself.
    pub(crate) pid: u32,
    /// Inode of its PID namespace; 0 where there is no /proc to tell it.
    namespace: u32,
    identity: u64,
}

impl ProcessId {
    /// The calling process.
    pub(crate) fn own() -> Result<Self, Errno> {
        let pid = own_pid();
        Ok(Self {
            pid,
            namespace: own_namespace(),
            identity: identity(pid)?.ok_or(Errno::ESRCH)?.number,
        })
    }

    pub(crate) fn is_nobody(&self) -> bool {
        self.pid == 0
    }

    /// Whether it is the calling process.
    pub(crate) fn is_own(&self) -> bool {
        let is_it = || are(self.pid).is_ok_and(|is_it| is_it(self));
        self.pid == own_pid() && (self.is_of_our_namespace() || is_it())
    }

    /// Whether its number is one that the calling process can use.
    pub(crate) fn is_of_our_namespace(&self) -> bool {
        self.namespace == own_namespace()
    }

    /// Whether it has ended, which the calling process saw by this number. What cannot be found out, for want of a
    /// descriptor, is not so.
    pub(crate) fn has_ended(&self, pid: u32) -> bool {
        let known = identity(pid);
        known.is_ok_and(|known| known.is_none_or(|known| known.number != self.identity))
    }

    /// The number by which the calling process sees it, if it does.
    pub(crate) fn seen_as(&self) -> io::Result<Option<u32>> {
        let pid = match self.is_of_our_namespace() {
            true => Some(self.pid),
            false => seen_as(self.pid, |namespace| namespace == self.namespace)?,
        };
        Ok(pid.filter(|pid| !self.has_ended(*pid)))
    }
}

/// Tells whether somebody is the process that lives and that the calling process sees as `pid`.
pub(super) fn are(pid: u32) -> Result<impl Fn(&ProcessId) -> bool, Errno> {
    let known = identity(pid)?;
    Ok(move |id: &ProcessId| {
        // Where identities are all alike, numbers are all there is to compare.
        known.as_ref().is_some_and(|known| {
            known.number == id.identity
                && (known.is_unique || id.pid == pid && id.is_of_our_namespace())
        })
    })
}

pub(crate) fn own_pid() -> u32 {
    nix::unistd::getpid().as_raw().cast_unsigned()
}

/// Inode of the PID namespace of the calling process. Not remembered: a restore may bring it back in another.
pub(super) fn own_namespace() -> u32 {
    namespace("self")
}

fn namespace(process: &str) -> u32 {
    // The kernel numbers namespaces by words of 32 bits.
    fs::metadata(format!("/proc/{process}/ns/pid")).map_or(0, |file| file.ino() as u32)
}

/// The number here of a process that has the number `pid` in a namespace further in.
pub(super) fn seen_as(pid: u32, is_its: impl Fn(u32) -> bool) -> io::Result<Option<u32>> {
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(here) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let status = format!("/proc/{here}/status");
        if number_inside(Path::new(&status))? == Some(pid) && is_its(namespace(&here.to_string())) {
            return Ok(Some(here));
        }
    }
    Ok(None)
}

/// The number of a process or thread in its own namespace; none of one that has ended.
pub(super) fn number_inside(status: &Path) -> io::Result<Option<u32>> {
    let text = match kernel_text::read(status) {
        Ok(text) => text,
        Err(error) if has_ended(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let number = numbers.and_then(|numbers| numbers.split_whitespace().next_back());
    Ok(number.and_then(|number| number.parse().ok()))
}

/// What a file in /proc of a process that has ended answers (proc(5)).
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

struct Identity {
    number: u64,
    is_unique: bool,
}

/// A number of a process that lives that no other one has, ever: its inode in the kernel's pidfs. On kernels
/// without it the number is the same for all. Start times will not do: they look different from inside the time
/// namespace that CRIU restores into.
///
/// # Errors
/// Where it cannot be found out whether there is such a process: a descriptor is needed.
fn identity(pid: u32) -> Result<Option<Identity>, Errno> {
    // SAFETY: no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    if fd < 0 {
        return match Errno::last() {
            // By now it may be the number of a thread (pidfd_open(2)).
            Errno::ESRCH | Errno::EINVAL | Errno::ENOENT => Ok(None),
            error => Err(error),
        };
    }
    // SAFETY: the descriptor was opened above and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // Readable means that the process has ended.
    let mut ended = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    if poll(&mut ended, PollTimeout::ZERO)? != 0 {
        return Ok(None);
    }
    Ok(Some(Identity {
        number: nix::sys::stat::fstat(&fd)?.st_ino,
        is_unique: fstatfs(&fd)?.filesystem_type() == PIDFS,
    }))
}
