//! An engine's thread before those of programs, while a time model says how long its work takes.
//!
//! The engines of a GPU share no processor with programs. Here they do, and a copy that is modelled with some tens of
//! microseconds loses milliseconds to whoever is given the processor meanwhile.

use std::ffi::c_int;

use crate::device::Device;
use crate::time_model;

/// The calling thread's, until this is dropped. An engine drops it before its packet is over: nobody saves a program
/// with a thread that has it.
#[derive(Debug)]
#[must_use]
pub(crate) struct Precedence {
    /// What the thread had; none: it has kept that.
    before: Option<c_int>,
}

impl Precedence {
    /// Where `device` has a time model, and this process may have such threads.
    pub(crate) fn take(device: &Device) -> Self {
        Self::take_if(time_model::is_limited(device))
    }

    fn take_if(is_wanted: bool) -> Self {
        let before = is_wanted.then(policy).filter(|policy| {
            let policy = policy & !libc::SCHED_RESET_ON_FORK;
            // Whoever has more, as an engine that does part of its own work, keeps it.
            matches!(
                policy,
                libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE
            )
        });
        // No child of the program inherits it.
        let taken = |_: &c_int| schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1);
        Self {
            before: before.filter(taken),
        }
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            schedule(before, 0);
        }
    }
}

/// Of the calling thread. Negative where the kernel does not say.
fn policy() -> c_int {
    // SAFETY: it takes a number.
    unsafe { libc::sched_getscheduler(0) }
}

fn schedule(policy: c_int, priority: c_int) -> bool {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameters live during the call, which is about the calling thread alone.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_afterwards_what_it_had_before() {
        let before = policy();
        drop(Precedence::take_if(false));
        assert_eq!(policy(), before);
        let outer = Precedence::take_if(true);
        let taken = policy();
        // Where nobody may have it, nobody has.
        assert_eq!(taken != before, outer.before.is_some());
        drop(Precedence::take_if(true));
        assert_eq!(policy(), taken, "an inner one takes nothing from the outer");
        drop(outer);
        assert_eq!(policy(), before);
    }
}
