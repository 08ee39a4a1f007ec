//! The rights of a user, for what is done at places that this user chooses: a path leads wherever who made it has
//! put links, and opening some devices is doing something.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io, thread};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::libc;
use nix::unistd::{AccessFlags, Gid, Uid, faccessat, geteuid, setfsgid, setfsuid};

use strobe_proto::{FileJournal, ProgramFile};

use crate::process;

/// A group that owns nothing (`DEFAULT_OVERFLOWGID` of include/linux/highuid.h).
const NO_GROUP: u32 = 65534;

/// A user with groups, by whose word or with whose rights something is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rights {
    pub(crate) user: u32,
    /// First that which new files get.
    pub(crate) groups: Vec<u32>,
}

impl Rights {
    /// One of whom no groups are known.
    pub(crate) fn alone(user: u32) -> Self {
        let groups = Vec::new();
        Self { user, groups }
    }

    /// The owner of a journal.
    pub(crate) fn of_journal(journal: &FileJournal) -> Self {
        let groups = journal.groups.clone();
        Self {
            user: journal.owner,
            groups,
        }
    }

    /// Who makes a file what it was.
    pub(crate) fn of_file(file: &ProgramFile) -> Self {
        let groups = file.groups.clone();
        Self {
            user: file.user,
            groups,
        }
    }

    pub(crate) fn note_in(&self, file: &mut ProgramFile) {
        file.user = self.user;
        file.groups.clone_from(&self.groups);
    }

    /// The user of a process.
    ///
    /// # Errors
    /// There is none.
    pub fn of(pid: u32) -> io::Result<Self> {
        let user = process::user(pid)?;
        let groups = process::groups(pid)?;
        Ok(Self { user, groups })
    }

    /// By whose rights something is to be made what it was: its own, or ours where it can change nothing that the path
    /// leads through (a daemon has opened its log before it became another user), or where it could not open the file to
    /// write (a shell has opened that for it, or it is read-only by now).
    pub(crate) fn at(&self, path: &Path) -> Self {
        let places = path.ancestors().zip(path.ancestors().skip(1));
        let is_its = |meta: &Metadata| meta.uid() == self.user;
        let has_a_say = |(inside, folder): (&Path, &Path)| {
            let Ok(meta) = fs::symlink_metadata(folder) else {
                return true;
            };
            // Where everybody may make something, and each change what is his (`t` of chmod(1)).
            let is_open = |meta: &Metadata| meta.mode() & libc::S_ISVTX == 0 || inside == path;
            let inside = || fs::symlink_metadata(inside).is_ok_and(|meta| is_its(&meta));
            self.may_write(&meta) && (is_its(&meta) || is_open(&meta) || inside())
        };
        let is_another_s = fs::symlink_metadata(path).is_ok_and(|meta| {
            meta.is_file() && !(self.may_write(&meta) && meta.mode() & 0o222 != 0)
        });
        match self.user == 0 || !is_another_s && places.into_iter().any(has_a_say) {
            true => self.clone(),
            false => Self::alone(0),
        }
    }

    /// Whether the kernel lets it write a file.
    pub(crate) fn can_write(path: &Path) -> bool {
        faccessat(AT_FDCWD, path, AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok()
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
    pub fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.run_after(false, act)
    }

    /// Likewise, but it finds and reads what we can: a program may have its working directory, or a file, where it
    /// could not go to any more.
    pub(crate) fn run_anywhere<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.run_after(true, act)
    }

    fn run_after<T: Send>(&self, anywhere: bool, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        if self.user == 0 || geteuid().as_raw() == self.user {
            return Ok(act());
        }
        // They go with the thread.
        let taken = || self.take().and_then(|()| search(anywhere)).map(|()| act());
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

/// A link on the way to something that is no link of the first user's.
pub(crate) fn foreign_link(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|folder| {
        let meta = fs::symlink_metadata(folder);
        meta.is_ok_and(|meta| meta.is_symlink() && meta.uid() != 0)
    })
}

/// Gives the calling thread the capability back which it loses with the first user (capabilities(7)), if we have it; or
/// takes it.
fn search(anywhere: bool) -> io::Result<()> {
    /// Of include/uapi/linux/capability.h: `_LINUX_CAPABILITY_VERSION_3`, and the number of the capability.
    const VERSION: u32 = 0x2008_0522;
    const DAC_READ_SEARCH: u32 = 2;
    // Version and thread; then twice the effective, the permitted and the inheritable ones.
    let header = [VERSION, 0];
    let mut sets = [0_u32; 6];
    // SAFETY: the kernel reads two words, and writes six.
    if unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [effective, permitted, ..] = &mut sets;
    *effective &= !(1 << DAC_READ_SEARCH);
    if anywhere {
        *effective |= *permitted & 1 << DAC_READ_SEARCH;
    }
    // SAFETY: the kernel reads both; the call changes the calling thread alone.
    match unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
