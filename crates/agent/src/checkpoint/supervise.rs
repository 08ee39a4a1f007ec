//! Calls of HIP that may never come back, made where that hurts nobody.
//!
//! HIP holds locks while it waits for the GPU: behind a kernel that never ends, even the creation of
//! a stream can hang. So such calls run on a thread of their own. One that takes too long is left
//! alone; until it has come back no other is started.
//!
//! The program's exit takes away under a call what the libraries have: HIP, and the compiler that it calls.
//! So it waits for the thread, and lets no other begin.

use crate::call::thread::mark_own_thread;
use crate::control::own_thread::OwnThread;
use crate::fault::guarded;
use crossbeam::channel::{self, Receiver};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use strobe_hip::{CAPTURE_MODE_RELAXED, next};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    /// Runs the last call, and is on its way out or left alone when that has been answered.
    thread: Mutex<Option<OwnThread>>,
    /// No other may begin.
    are_over: AtomicBool,
}

/// It has not come back in time, or the program exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck;

impl Supervisor {
    /// Runs `call` and waits for it until `deadline`. By one thread at a time.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        deadline: Instant,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Stuck> {
        let received = self.start(deadline, call)?;
        received.recv_deadline(deadline).map_err(|_| Stuck)
    }

    /// Begins `call`, when the one before is over, by `deadline` at the latest; its answer will be there.
    pub(crate) fn start<R: Send + 'static>(
        &self,
        deadline: Instant,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> Result<Receiver<R>, Stuck> {
        let mut last = self.thread.lock();
        // An exit wants the lock, and has a patience of its own.
        let are_over = || self.are_over.load(Ordering::SeqCst);
        if let Some(Err(before)) = last.take().map(|before| before.join(deadline, are_over)) {
            *last = Some(before);
            return Err(Stuck);
        }
        if are_over() {
            return Err(Stuck);
        }
        let (result, received) = channel::bounded(1);
        let thread = std::thread::Builder::new().name("strobe-hip".into());
        let started = thread.spawn(move || {
            prepare_own_thread();
            if let Some(value) = guarded(call) {
                // Nobody listens any more when it took too long.
                let _ = result.send(value);
            }
        });
        *last = Some(OwnThread::new(started.map_err(|_| Stuck)?));
        Ok(received)
    }

    /// The program exits: lets no other call begin, and waits for the one under way until it has taken
    /// `patience`. One that takes longer may never come back.
    pub(crate) fn end(&self, patience: Duration) {
        self.are_over.store(true, Ordering::SeqCst);
        let mut last = self.thread.lock();
        if let Some(thread) = last.take() {
            let deadline = thread.started() + patience;
            *last = thread.join(deadline, || false).err();
        }
    }
}

/// Makes the calling thread one of the agent's: invisible to wrappers and to stream captures.
pub(crate) fn prepare_own_thread() {
    mark_own_thread();
    let mut mode = CAPTURE_MODE_RELAXED;
    // SAFETY: sets the mode of this thread.
    let _ = unsafe { next::hipThreadExchangeStreamCaptureMode(&mut mode) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn after(milliseconds: u64) -> Instant {
        Instant::now() + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_call_that_hangs_is_left_alone_and_blocks_the_next_until_it_is_back() {
        let supervisor = Supervisor::default();
        assert_eq!(supervisor.run(after(5000), || 7), Ok(7));
        let (release, released) = channel::bounded::<()>(0);
        let hangs = move || {
            let _ = released.recv();
        };
        assert_eq!(supervisor.run(after(20), hangs), Err(Stuck));
        assert_eq!(supervisor.run(after(20), || 8), Err(Stuck), "one at a time");
        drop(release);
        assert_eq!(supervisor.run(after(5000), || 9), Ok(9));
    }

    /// Takes a moment to be destroyed, as what HIP has for each thread may.
    struct Late(&'static AtomicBool);

    impl Drop for Late {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(100));
            self.0.store(true, Ordering::SeqCst);
        }
    }

    thread_local! {
        static LATE: Cell<Option<Late>> = const { Cell::new(None) };
    }

    #[test]
    fn an_exit_waits_for_the_thread_of_a_call_and_lets_no_other_begin() {
        static GONE: AtomicBool = AtomicBool::new(false);
        let supervisor = Supervisor::default();
        let compiles = || {
            LATE.set(Some(Late(&GONE)));
            std::thread::sleep(Duration::from_millis(200));
        };
        assert_eq!(supervisor.run(after(1), compiles), Err(Stuck));
        supervisor.end(Duration::from_secs(60));
        assert!(GONE.load(Ordering::SeqCst), "it is still in HIP");
        assert_eq!(supervisor.run(after(5000), || 7), Err(Stuck));
    }

    #[test]
    fn an_exit_waits_for_a_call_that_has_been_answered_to_be_gone() {
        static GONE: AtomicBool = AtomicBool::new(false);
        let supervisor = Supervisor::default();
        let answers = || LATE.set(Some(Late(&GONE)));
        assert_eq!(supervisor.run(after(5000), answers), Ok(()));
        supervisor.end(Duration::from_secs(60));
        assert!(GONE.load(Ordering::SeqCst), "it is still in HIP");
    }

    #[test]
    fn an_exit_does_not_wait_for_a_call_that_hangs() {
        let supervisor = Supervisor::default();
        let (_release, released) = channel::bounded::<()>(0);
        let hangs = move || {
            let _ = released.recv();
        };
        assert_eq!(supervisor.run(after(50), hangs), Err(Stuck));
        let before = Instant::now();
        supervisor.end(Duration::from_millis(20));
        assert!(before.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn an_exit_does_not_wait_for_who_waits_for_a_call_that_hangs() {
        let supervisor = Supervisor::default();
        let (_release, released) = channel::bounded::<()>(0);
        let hangs = move || {
            let _ = released.recv();
        };
        assert_eq!(supervisor.run(after(1), hangs), Err(Stuck));
        std::thread::scope(|scope| {
            let next = scope.spawn(|| supervisor.run(after(20_000), || 7));
            std::thread::sleep(Duration::from_millis(50));
            let before = Instant::now();
            supervisor.end(Duration::from_millis(20));
            assert!(before.elapsed() < Duration::from_secs(5));
            assert_eq!(next.join().expect("it does not panic"), Err(Stuck));
        });
    }
}
