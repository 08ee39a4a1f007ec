//! A process that sees its command die, and puts in order what the command has left.
//!
//! A command that gets SIGKILL can do nothing any more, and neither CRIU nor what a restore has changed goes with
//! it. So before it changes anything a command forks a guard, which holds the other end of a socket: when that
//! closes, the command has let it go, or is dead.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, setsid};

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
    /// Also where this process has several threads: of those only the calling one would be in the guard, and
    /// what others hold would never be free.
    pub fn start(duty: impl FnOnce(UnixStream)) -> io::Result<Self> {
        if fs::read_dir("/proc/self/task")?.count() != 1 {
            return Err(io::Error::other("a guard is made before any thread is"));
        }
        let (ours, theirs) = UnixStream::pair()?;
        // SAFETY: this process has one thread, so that the child is as whole as its parent.
        match unsafe { fork() }? {
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

fn let_go_of_output() -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_gets_no_guard() {
        // Tests have threads.
        let other = std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(1)));
        assert!(Guard::start(|_| ()).is_err());
        other.join().unwrap();
    }
}
