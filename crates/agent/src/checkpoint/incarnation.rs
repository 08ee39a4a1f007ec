//! Whether a thread is still the one that it was, and not its copy out of an image.
//!
//! Told without opening a file, for the freeze comes at any moment, and CRIU would save the file as the
//! program's. The kernel counts how often a thread has gone to sleep, nobody can set that, and it only
//! rises: a thread that comes out of an image begins anew. At the cut it is in the hundreds (216 to 928
//! measured: the thread sleeps for 2 ms at a time while CRIU starts). One that was restored has had to wait
//! for the other threads (10 or 11 times), and no more.

/// A thread's, as far as it was seen.
pub(super) struct Incarnation {
    slept: Option<libc::c_long>,
}

impl Incarnation {
    /// The calling thread's.
    pub(super) fn of_this_thread() -> Self {
        Self { slept: slept() }
    }

    /// Whether the calling thread has slept less often than it had the last time.
    pub(super) fn is_another(&mut self) -> bool {
        let before = std::mem::replace(&mut self.slept, slept());
        self.slept.zip(before).is_some_and(|(now, then)| now < then)
    }
}

/// How often the calling thread has given the processor away of its own will (getrusage(2)); `None` where that
/// cannot be told, and a thread is taken for what it was.
fn slept() -> Option<libc::c_long> {
    // SAFETY: plain data, and a valid place for it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        match libc::getrusage(libc::RUSAGE_THREAD, &mut usage) {
            0 => Some(usage.ru_nvcsw),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thread_that_sleeps_is_itself_and_a_new_one_is_another() {
        let mut incarnation = Incarnation::of_this_thread();
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(1));
            assert!(!incarnation.is_another());
        }
        assert!(incarnation.slept >= Some(50), "{:?}", incarnation.slept);
        let told = std::thread::spawn(move || {
            let first = incarnation.is_another();
            (first, incarnation.is_another())
        });
        assert_eq!(told.join().expect("it ends"), (true, false));
    }
}
