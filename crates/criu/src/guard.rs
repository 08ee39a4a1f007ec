//! A process that sees its command die, and puts in order what the command has left.
//!
//! A command that gets SIGKILL can do nothing any more, and neither CRIU nor what a restore has changed goes with
//! it. So before it changes anything a command forks a guard, which holds the other end of a socket: when that
//! closes, the command has let it go, or is dead.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use crate::fork::{ForkResult, fork};

/// The command's side. Dropped, it lets the guard go, and waits for its end.
#[derive(Debug)]
pub struct Guard {
    link: Option<UnixStream>,
    process: Pid,
}

impl Guard {
    /// Makes the guard, which does `duty` with its end of the socket and ends. It keeps the locks of open files
    /// that the command has by now.
    ///
    /// # Errors
    /// Also where this process has several threads.
    pub fn start(duty: impl FnOnce(UnixStream)) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        match fork()? {
            ForkResult::Parent { child } => Ok(Self {
                link: Some(ours),
                process: child,
            }),
            ForkResult::Child => {
                drop(ours);
                // What is sent to the command's group or terminal is not for the guard, and who reads the
                // command's output does not wait for it. None of these can fail for a reason that matters.
                let _ = setsid();
                let _ = let_go_of_output();
                let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
                let _ = catch_unwind(AssertUnwindSafe(|| duty(theirs)));
                // SAFETY: ends this process, without what the command has to do at its end.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Our end.
    pub fn link(&self) -> &UnixStream {
        self.link.as_ref().expect("there until it is dropped")
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.process.as_raw().cast_unsigned()
    }
}

/// Nobody who reads this process's output waits for its end from now on.
pub fn let_go_of_output() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(dup2_stderr(&nothing)?)
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.link = None;
        // Fails where somebody else has waited for it.
        let _ = waitpid(self.process, None);
    }
}
