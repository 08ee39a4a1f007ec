//! Ctrl-C and its kin while a checkpoint is made: nothing half stays behind.
//!
//! The command ends at once, which is what the agent and CRIU are made for: the program goes on. CRIU
//! is left to its end, for it has the program in its hands; it inherits that these signals are
//! blocked. What was staged is removed first. Once the commit has begun it is not disturbed, but by a
//! second signal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use crate::output::notice;

pub(crate) const INTERRUPTS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];
/// CRIU may write while its folder goes away.
const TURNS: u32 = 50;
const BETWEEN_TURNS: Duration = Duration::from_millis(10);

enum Staged {
    Nothing,
    Here(PathBuf),
    Committing,
    /// A signal came then.
    Interrupted(Signal),
}

static STAGED: Mutex<Staged> = Mutex::new(Staged::Nothing);

/// Begins to wait for signals, on which the command ends with this sentence. Call before any other thread or child exists.
pub(crate) fn watch(says: &'static str) -> io::Result<()> {
    let set: SigSet = INTERRUPTS.into_iter().collect();
    set.thread_block()?;
    thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || {
            loop {
                if let Ok(signal) = set.wait() {
                    take(signal, says);
                }
            }
        })?;
    Ok(())
}

/// What an interrupt removes from now on.
pub(crate) fn removes(staging: &Path) {
    set(Staged::Here(staging.to_owned()));
}

/// From now on an interrupt leaves everything to the commit.
pub(crate) fn commits() {
    set(Staged::Committing);
}

/// Nothing is staged, and nothing to be committed; the signal that came while there was.
pub(crate) fn rests() -> Option<Signal> {
    let mut staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
    match std::mem::replace(&mut *staged, Staged::Nothing) {
        Staged::Interrupted(signal) => Some(signal),
        _ => None,
    }
}

/// Call before an error is said: what an interrupt is removing fails here and there, and then it is the interrupt that
/// ends the command.
pub(crate) fn goes_first() {
    // Whoever takes one never lets go of it.
    drop(STAGED.lock());
}

fn set(to: Staged) {
    *STAGED.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

fn take(signal: Signal, says: &str) {
    // Held to the end: a commit must not begin on what is being removed.
    let mut staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*staged, Staged::Committing) {
        *staged = Staged::Interrupted(signal);
        return;
    }
    if let Staged::Here(path) = &*staged {
        remove(path);
    }
    notice(says);
    std::process::exit(code(signal).into());
}

/// How a command ends that a signal has interrupted.
pub(crate) fn code(signal: Signal) -> u8 {
    128 + signal as u8
}

fn remove(path: &Path) {
    for _ in 0..TURNS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(BETWEEN_TURNS),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_not_said_while_an_interrupt_removes_what_is_staged() {
        // As `take` does.
        let staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
        let says = thread::spawn(goes_first);
        thread::sleep(Duration::from_millis(50));
        assert!(!says.is_finished());
        drop(staged);
        says.join().expect("it does not panic");
    }
}
