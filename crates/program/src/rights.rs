//! The rights of a user, for what is done at places that this user chooses: a path leads wherever who made it has
//! put links, and opening some devices is doing something.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io, thread};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::libc;
use nix::unistd::{AccessFlags, Gid, Uid, faccessat, geteuid, setfsgid, setfsuid};

use strobe_proto::{FileJournal, ProgramFile};

use crate::signals::without_signals;
use crate::{handle, process};

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

    /// Who makes a file what it was: its owner, where nothing is known.
    pub(crate) fn of_file(file: &ProgramFile) -> Self {
        let groups = file.groups.clone();
        Self {
            user: file.user.unwrap_or(file.owner),
            groups,
        }
    }

    pub(crate) fn note_in(&self, file: &mut ProgramFile) {
        file.user = Some(self.user);
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
    /// leads through (a daemon has opened its log before it became another user), or where the file is another's that it
    /// could not open to write (a shell has opened that for it).
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
        let is_another_s =
            fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && !self.may_write(&meta));
        match self.user == 0 || !is_another_s && places.into_iter().any(has_a_say) {
            true => self.clone(),
            false => Self::alone(0),
        }
    }

    /// Whether it has a say in what is held: that is its own, also where it has made it read-only, or the kernel lets it
    /// write there.
    pub(crate) fn has_say(&self, held: &File) -> io::Result<bool> {
        if self.user == 0 || held.metadata()?.uid() == self.user {
            return Ok(true);
        }
        let may_write = || {
            let link = handle::link(held);
            faccessat(AT_FDCWD, &link, AccessFlags::W_OK, AtFlags::AT_EACCESS)
        };
        Ok(self.run(may_write)?.is_ok())
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
        thread::scope(|scope| {
            let thread = without_signals(|| thread::Builder::new().spawn_scoped(scope, taken))?;
            let done = thread.join();
            done.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })
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

#[cfg(test)]
mod tests {
    use nix::sys::signal::{SigSet, Signal};

    use super::*;

    #[test]
    fn who_acts_for_a_user_takes_no_signal() {
        let blocked = || SigSet::thread_get_mask().unwrap();
        let before = blocked();
        let there = Rights::alone(1000).run(blocked).unwrap();
        assert_eq!(blocked(), before);
        for signal in [Signal::SIGCHLD, Signal::SIGALRM] {
            assert!(
                there.contains(signal) && !before.contains(signal),
                "{signal}"
            );
        }
    }

    #[test]
    fn an_older_checkpoint_s_file_is_its_owner_s() {
        let mut file = ProgramFile {
            owner: 1000,
            ..ProgramFile::default()
        };
        assert_eq!(Rights::of_file(&file), Rights::alone(1000));
        Rights::alone(0).note_in(&mut file);
        assert_eq!(Rights::of_file(&file), Rights::alone(0));
    }

    /// A program of a container that may have no more threads.
    #[test]
    fn where_no_thread_can_be_made_there_is_an_error() {
        use nix::sys::wait::{WaitStatus, waitpid};
        use nix::unistd::{ForkResult, fork, setresuid};
        let refused = || {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: reads a local.
            let limited = unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const none) };
            // The first user has no limit.
            let user = Uid::from_raw(54321);
            let is_so = limited == 0 && setresuid(user, user, user).is_ok();
            is_so && Rights::alone(1000).run(|| ()).is_err()
        };
        // SAFETY: the child allocates, which the C library lets it, and ends without going back to other code.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let refused = std::panic::catch_unwind(refused);
                let code = i32::from(!matches!(refused, Ok(true)));
                // SAFETY: takes a number.
                unsafe { libc::_exit(code) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
            }
        }
    }
}
