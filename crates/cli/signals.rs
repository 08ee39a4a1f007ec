//! Signals that would end this command go to the program instead.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

/// A terminal's interrupt reaches only its foreground group, which the program is not in.
const PASSED_ON: [Signal; 5] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
];

fn set() -> SigSet {
    let mut set: SigSet = PASSED_ON.into_iter().collect();
    set.add(Signal::SIGCHLD);
    set
}

/// Blocks what [`wait`] takes. Call before any thread or child exists.
pub(crate) fn hold() -> nix::Result<()> {
    set().thread_block()
}

/// Undoes [`hold`], which children inherit.
pub(crate) fn release() -> nix::Result<()> {
    set().thread_unblock()
}

/// Passes signals on to `child` until `ended` says so; asks again after each signal.
pub(crate) fn forward<T>(
    child: u32,
    mut ended: impl FnMut() -> std::io::Result<Option<T>>,
) -> std::io::Result<T> {
    loop {
        if let Some(status) = ended()? {
            return Ok(status);
        }
        match set().wait() {
            Ok(Signal::SIGCHLD) | Err(Errno::EINTR) => {}
            // It may have ended meanwhile; the next turn finds out.
            Ok(signal) => drop(kill(Pid::from_raw(child.cast_signed()), signal)),
            Err(error) => return Err(error.into()),
        }
    }
}
