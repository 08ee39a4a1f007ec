//! The rights of a user, for what is done at places that this user chooses: a path leads wherever who made it has
//! put links, and opening some devices is doing something.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::{io, thread};

use nix::libc;
use nix::unistd::{Gid, Uid, geteuid, setfsgid, setfsuid};

use crate::process;

/// A group that owns nothing (`DEFAULT_OVERFLOWGID` of include/linux/highuid.h).
const NO_GROUP: u32 = 65534;

/// A user with groups, by whose word or with whose rights something is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Writer {
    pub(crate) user: u32,
    /// First that which new files get.
    groups: Vec<u32>,
}

impl Writer {
    /// One of whom no groups are known.
    pub(crate) fn alone(user: u32) -> Self {
        let groups = Vec::new();
        Self { user, groups }
    }

    /// The user of a process.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let user = process::user(pid)?;
        let groups = process::groups(pid)?;
        Ok(Self { user, groups })
    }

    /// Whether a file's mode lets it write there.
    pub(crate) fn may_write(&self, meta: &Metadata) -> bool {
        let by = |bit| meta.mode() & bit != 0;
        let of_group = self.groups.contains(&meta.gid()) && by(0o020);
        self.user == 0 || meta.uid() == self.user || of_group || by(0o002)
    }

    /// Runs `act` with its rights to files. The first user's are ours.
    ///
    /// # Errors
    /// Where this process may not take them.
    pub(crate) fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        if self.user == 0 || geteuid().as_raw() == self.user {
            return Ok(act());
        }
        // They go with the thread.
        let taken = || self.take().map(|()| act());
        let done = thread::scope(|scope| scope.spawn(taken).join());
        done.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Makes its rights those of the calling thread, and of no other one.
    fn take(&self) -> io::Result<()> {
        let (count, groups) = (self.groups.len(), self.groups.as_ptr());
        // SAFETY: reads as many numbers as there are; the system call changes the calling thread alone, which the C
        // library's function does not.
        if unsafe { libc::syscall(libc::SYS_setgroups, count, groups) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let user = Uid::from_raw(self.user);
        let group = Gid::from_raw(self.groups.first().copied().unwrap_or(NO_GROUP));
        setfsgid(group);
        setfsuid(user);
        // They say what was before, and nothing of a failure.
        match (setfsgid(group), setfsuid(user)) {
            (now, its) if now == group && its == user => Ok(()),
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}
