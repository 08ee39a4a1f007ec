//! Threads that are gone when the call returns.
//!
//! A scope of the standard library waits for what its threads do, not for the threads: their way out (the C
//! library's part of it, and the kernel's, which writes to a thread's memory of restartable sequences) goes on. In a
//! restored process CRIU takes all memory away next, and a thread that is still there ends the program by SIGSEGV.
//! Joining waits until the kernel is done with the thread.

use std::thread;

use strobe_program::signals::without_signals;

/// Runs each of these in a thread of its own that takes no signal. Results are in their order, an error for one
/// that panicked.
pub(crate) fn run<T: Send>(
    bodies: impl IntoIterator<Item = impl FnOnce() -> T + Send>,
) -> Vec<thread::Result<T>> {
    thread::scope(|scope| {
        let started = bodies.into_iter().map(|body| scope.spawn(body));
        let threads: Vec<_> = without_signals(|| started.collect());
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.collect()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    /// Its end takes a while.
    struct Slow;

    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(200));
        }
    }

    thread_local!(static SLOW: Slow = const { Slow });

    #[test]
    fn nothing_of_a_thread_is_left() {
        let body = || {
            SLOW.with(|_| ());
            nix::unistd::gettid()
        };
        for thread in run([body, body]) {
            let number = thread.expect("it does not panic");
            let task = format!("/proc/self/task/{number}");
            assert!(!Path::new(&task).exists(), "it is on its way out");
        }
    }
}
