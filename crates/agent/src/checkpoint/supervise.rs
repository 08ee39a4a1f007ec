//! Calls of HIP that may never come back, made where that hurts nobody.
//!
//! HIP holds locks while it waits for the GPU: behind a kernel that never ends, even the creation of
//! a stream can hang. So such calls run on a thread of their own. One that takes too long is left
//! alone; until it has come back no other is started.

use crate::call::thread::mark_own_thread;
use crate::fault::guarded;
use crossbeam::channel::{self, Receiver};
use parking_lot::Mutex;
use std::time::Instant;
use strobe_hip::{CAPTURE_MODE_RELAXED, next};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    /// Closed when the call that was left alone has come back.
    left_alone: Mutex<Option<Receiver<()>>>,
}

/// It has not come back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck;

impl Supervisor {
    /// Runs `call` and waits for it until `deadline`.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        deadline: Instant,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Stuck> {
        let mut left_alone = self.left_alone.lock();
        if let Some(before) = &*left_alone {
            match before.recv_deadline(deadline) {
                Err(channel::RecvTimeoutError::Timeout) => return Err(Stuck),
                _ => *left_alone = None,
            }
        }
        let (result, received) = channel::bounded(1);
        let (running, ended) = channel::bounded::<()>(0);
        let thread = std::thread::Builder::new().name("strobe-hip".into());
        let started = thread.spawn(move || {
            prepare_own_thread();
            if let Some(value) = guarded(call) {
                // Nobody listens any more when it took too long.
                let _ = result.send(value);
            }
            drop(running);
        });
        if started.is_err() {
            return Err(Stuck);
        }
        received.recv_deadline(deadline).map_err(|_| {
            *left_alone = Some(ended);
            Stuck
        })
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
    use std::time::Duration;

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
}
