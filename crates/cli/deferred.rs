//! Ctrl-C and its kin while a program is brought back: what is half made goes first, then we do.

use std::io;
use strobe_proto::kernel_text;

use nix::sys::signal::{SigSet, Signal};

use crate::interrupt::INTERRUPTS;

/// Interrupts wait while it lives, and come when it goes.
pub(crate) struct Deferred {
    before: SigSet,
    /// Bits as in [`of_status`].
    awaited: u64,
}

impl Deferred {
    /// Call before any other thread or child exists: they inherit it.
    pub(crate) fn begin() -> io::Result<Self> {
        let status = kernel_text::read("/proc/self/status")?;
        // One that is ignored waits too while it is blocked, and is to be ignored all the same.
        let ignored = of_status(&status, "SigIgn:");
        let awaited = INTERRUPTS
            .into_iter()
            .filter(|signal| ignored & bit(*signal) == 0);
        let set: SigSet = awaited.clone().collect();
        let before = SigSet::thread_get_mask()?;
        set.thread_block()?;
        let awaited = awaited.map(bit).fold(0, |all, bit| all | bit);
        Ok(Self { before, awaited })
    }

    /// Whether one waits.
    pub(crate) fn is_interrupted(&self) -> bool {
        let status = kernel_text::read("/proc/self/status").unwrap_or_default();
        let pending = of_status(&status, "ShdPnd:") | of_status(&status, "SigPnd:");
        pending & self.awaited != 0
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        // Fails for a wrong argument only.
        let _ = self.before.thread_set_mask();
    }
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as i32 - 1)
}

/// A set of signals as `/proc/PID/status` prints it (proc_pid_status(5)).
fn of_status(status: &str, name: &str) -> u64 {
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix(name));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_as_the_kernel_prints_them() {
        let status = "Name:\tstrobe\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004003\n";
        let pending = of_status(status, "ShdPnd:");
        assert_eq!(pending & bit(Signal::SIGINT), bit(Signal::SIGINT));
        assert_eq!(pending & bit(Signal::SIGTERM), bit(Signal::SIGTERM));
        assert_eq!(pending & bit(Signal::SIGUSR1), 0);
        assert_eq!(
            of_status(status, "SigPnd:") | of_status(status, "SigIgn:"),
            0
        );
    }
}
