//! Signals are for the thread that was there first.
//!
//! CRIU has one thread, and its handler of SIGCHLD takes up what has happened to a thread that it traces.
//! The kernel takes requests of ptrace from the very thread that traces only; in another one the handler
//! would take note and change nothing, and CRIU wait for ever.

use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};

/// Runs `body`, which no signal interrupts. Threads that it starts never take one.
pub fn without_signals<R>(body: impl FnOnce() -> R) -> R {
    let mut before = SigSet::empty();
    // Fails for a wrong first argument only.
    let blocked = pthread_sigmask(
        SigmaskHow::SIG_BLOCK,
        Some(&SigSet::all()),
        Some(&mut before),
    );
    let result = body();
    if blocked.is_ok() {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::Signal;

    fn blocked() -> SigSet {
        SigSet::thread_get_mask().expect("a mask")
    }

    #[test]
    fn threads_take_no_signal_that_are_started_so_and_who_starts_them_does() {
        let before = blocked();
        let mask = without_signals(|| std::thread::spawn(blocked));
        assert_eq!(blocked(), before);
        let mask = mask.join().expect("it ends");
        for signal in [Signal::SIGCHLD, Signal::SIGALRM, Signal::SIGTERM] {
            assert!(
                mask.contains(signal) && !before.contains(signal),
                "{signal}"
            );
        }
    }
}
