//! `strobe restore --instance DIR`: one of many that run at once from one checkpoint.
//!
//! Processes come back by their old numbers and write to their old files, so each instance has PID and IPC namespaces of
//! its own, and a view of all file systems in which what it changes is its own (`view.rs`). Three processes take part,
//! each a copy of the one before: this command; the first process of the instance (`first.rs`), which lives as long as
//! anything in there; and an ordinary restore, which finds everything under the names that it knows.

mod first;
mod folder;
mod likeness;
mod mounts;
pub(crate) mod own;
mod view;

use std::fs::{self, File};
use std::io::BufReader;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use anyhow::Context;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use strobe_criu::fork::{ForkResult, fork};
use strobe_criu::wrapper::{self, Held};
use strobe_program::process;
use strobe_store::Checkpoint;

use crate::arguments::RestoreArguments;
use crate::guard_link::{receive, send};
use crate::interrupt::INTERRUPTS;
use crate::outcome::{Outcome, Refused, of_program};
use crate::output::notice;
use crate::{capabilities, directory, signals};
use folder::Folder;

/// What the instance tells the command.
#[derive(Debug, Serialize, Deserialize)]
enum Told {
    /// The program runs.
    Restored,
    /// The restore has ended, with this status as wait(2) has it.
    Ended(i32),
}

/// A restore in an instance: what it has of the world outside.
#[derive(Debug)]
pub(crate) struct Inside {
    /// /proc of the command's PID namespace.
    numbers: File,
    /// The command's root.
    root: File,
    command: UnixStream,
    folder: PathBuf,
    checkpoint: PathBuf,
}

/// What is the command's, until each process of the instance has its own.
struct Outside {
    /// Nobody removes it meanwhile.
    checkpoint: Checkpoint,
    /// The signals that were blocked.
    mask: SigSet,
}

impl Inside {
    /// The number of a process outside.
    pub(crate) fn number_outside(&self, pid: u32) -> Option<u32> {
        let numbers = format!("/proc/self/fd/{}", self.numbers.as_raw_fd());
        process::number_elsewhere(Path::new(&numbers), pid).ok()?
    }

    /// A path that leads to the root of who has given the command.
    pub(crate) fn root_outside(&self) -> PathBuf {
        mounts::link(&self.root).into()
    }

    /// The instance's folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The checkpoint, by a path that is no link.
    pub(crate) fn checkpoint(&self) -> &Path {
        &self.checkpoint
    }

    /// Tells the command that the program runs.
    pub(crate) fn is_restored(&self) {
        // A command that is gone needs no word.
        let _ = send(&self.command, &Told::Restored);
    }
}

/// Makes an instance in this folder, and sees to its end what brings the program back in there.
pub(crate) fn run(
    arguments: &RestoreArguments,
    folder: &Path,
    bring_back: impl FnOnce(&Inside) -> Outcome,
) -> Outcome {
    let refused = |error: &dyn std::fmt::Display| Refused(error.to_string());
    capabilities::check(capabilities::RESTORE).map_err(|error| refused(&error))?;
    // What is no checkpoint makes no folder.
    let path = fs::canonicalize(&arguments.directory);
    let path = path.unwrap_or_else(|_| arguments.directory.clone());
    let outside = Outside {
        checkpoint: directory::open(&path).map_err(|error| refused(&error))?,
        mask: SigSet::thread_get_mask()?,
    };
    // From here on there is something to take back.
    let held = Held::hold()?;
    let folder = Folder::make(folder).map_err(|error| refused(&error))?;
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let numbers = open("/proc", flags, Mode::empty()).context("/proc cannot be opened")?;
    let root = open("/", flags, Mode::empty()).context("/ cannot be opened")?;
    let own = open("/proc/self/ns/pid", OFlag::O_CLOEXEC, Mode::empty())?;
    let (ours, theirs) = UnixStream::pair()?;
    // The next child is the first process in there.
    unshare(CloneFlags::CLONE_NEWPID).context("no PID namespace for the instance")?;
    let first = match fork()? {
        ForkResult::Child => {
            drop(ours);
            let inside = Inside {
                numbers: numbers.into(),
                root: root.into(),
                command: theirs,
                folder: folder.path().to_path_buf(),
                checkpoint: path,
            };
            return first::run(&folder, inside, outside, bring_back);
        }
        ForkResult::Parent { child } => child,
    };
    drop((theirs, numbers, root));
    // Threads are made only where children would be of the same namespace.
    setns(own, CloneFlags::CLONE_NEWPID)?;
    let (is_restored, status) = see_to_the_end(&held, ours, first)?;
    if is_restored {
        if !arguments.json {
            let files = folder.files();
            notice(format_args!("what it writes is in {}", files.display()));
        }
    } else if status.signal().is_none_or(is_an_interrupt) {
        // By its own word nothing of the program has run, and all in there has ended, or does so. What was killed says nothing.
        let _ = waitpid(first, None);
        folder.remove();
    }
    if let Some(signal) = status.signal() {
        wrapper::end_by(signal);
    }
    Ok(of_program(status))
}

/// Whether the program was restored, and how the restore has ended.
fn see_to_the_end(held: &Held, link: UnixStream, first: Pid) -> anyhow::Result<(bool, ExitStatus)> {
    let told = listen(link);
    let mut is_restored = false;
    let status = signals::forward(held, first.as_raw().cast_unsigned(), || {
        loop {
            match told.try_recv() {
                Ok(Told::Restored) => is_restored = true,
                Ok(Told::Ended(status)) => return Ok(Some(Some(status))),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Ok(Some(None)),
            }
        }
    })?;
    let status = match status {
        Some(status) => status,
        // It has said itself why it could not begin.
        None => match waitpid(first, None)? {
            WaitStatus::Signaled(_, signal, _) => signal as i32,
            WaitStatus::Exited(_, code) => code << 8,
            _ => 1 << 8,
        },
    };
    Ok((is_restored, ExitStatus::from_raw(status)))
}

/// Whether a restore that it ends puts things in order, and says before whether the program runs.
fn is_an_interrupt(signal: i32) -> bool {
    INTERRUPTS
        .iter()
        .any(|interrupt| *interrupt as i32 == signal)
}

/// What the instance tells; each time, and when it has nothing more to tell, who waits for signals is woken.
fn listen(link: UnixStream) -> mpsc::Receiver<Told> {
    let (sender, told) = mpsc::channel();
    thread::spawn(move || {
        let wake = || kill(Pid::this(), Signal::SIGCHLD);
        let mut link = BufReader::new(link);
        while let Ok(Some(word)) = receive(&mut link) {
            let _ = sender.send(word);
            let _ = wake();
        }
        drop(sender);
        let _ = wake();
    });
    told
}
