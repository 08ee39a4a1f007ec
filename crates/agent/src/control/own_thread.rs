//! A thread of the agent's, until the kernel has taken it away.
//!
//! What a thread runs last, the destructors of its thread-local objects, is HIP's in part: a thread is over
//! when it was joined, not when its function has returned.

use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct OwnThread {
    /// Neither joined nor detached.
    thread: libc::pthread_t,
    started: Instant,
}

impl OwnThread {
    /// To be called at once when it was started.
    pub(crate) fn new(thread: JoinHandle<()>) -> OwnThread {
        OwnThread {
            thread: thread.into_pthread_t(),
            started: Instant::now(),
        }
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Waits for its end until `deadline`, and no longer once `given_up` says so. The thread itself where it is not over
    /// by then.
    pub(crate) fn join(
        self,
        deadline: Instant,
        given_up: impl Fn() -> bool,
    ) -> Result<(), OwnThread> {
        loop {
            // SAFETY: a thread that was not joined before: that takes this object, and forgets it.
            match unsafe { libc::pthread_tryjoin_np(self.thread, std::ptr::null_mut()) } {
                libc::EBUSY if Instant::now() < deadline && !given_up() => {
                    std::thread::sleep(LOOK_AGAIN)
                }
                libc::EBUSY => return Err(self),
                // Joined. It fails otherwise for a thread that is not there.
                _ => return Ok(()),
            }
        }
    }
}

/// Runs `body` with all signals blocked: a thread started in it inherits that.
pub(crate) fn without_signals<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: plain data; both sets are valid when they are used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = body();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}
