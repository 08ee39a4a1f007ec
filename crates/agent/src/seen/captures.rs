//! Stream captures under way: between the begin and the end of one there is no cut.
//!
//! HIP alone knows: a begin fails, an end without a begin fails too, an end that finds branches not
//! joined leaves the capture where it was, and a stream is destroyed while it captures. So this holds
//! only the streams on which HIP has begun a capture and has not said that it ended, and each is asked
//! whether it still captures.
//!
//! The own stream of a thread can be asked only by its thread. For it HIP's answers to begin and end
//! are all there is; its capture is over with its thread, too.

use crate::call::gate::is_alive;
use crate::seen::observed::RawStream;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use strobe_hip::{CAPTURE_MODE_RELAXED, CAPTURE_STATUS_ACTIVE, CaptureMode, Status, next};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// With the thread that began it.
    begun: Mutex<Vec<(RawStream, u32)>>,
    /// How many those are. Orders nothing: who is to see a capture that another thread began comes after
    /// its begin, by the program's own doing or through the closed gate, and what is known of it has its lock.
    count: AtomicUsize,
}

impl Captures {
    /// HIP has begun a capture on `stream` for `thread`.
    pub(crate) fn began(&self, stream: RawStream, thread: u32) {
        let mut begun = self.begun.lock();
        begun.retain(|(known, _)| *known != stream);
        begun.push((stream, thread));
        self.count.store(begun.len(), Ordering::Relaxed);
    }

    /// HIP has answered `status` to the end of a capture.
    pub(crate) fn ended(&self, stream: RawStream, status: Status) {
        const OVER: [Status; 3] = [
            Status::SUCCESS,
            Status::CAPTURE_INVALIDATED,
            Status::CAPTURE_UNMATCHED,
        ];
        if status == Status::SUCCESS || (stream.is_of_thread() && OVER.contains(&status)) {
            self.forget(|known| known == stream);
        }
    }

    /// `stream` is about to be destroyed, whatever it is doing.
    pub(crate) fn destroyed(&self, stream: RawStream) {
        self.forget(|known| known == stream);
    }

    pub(crate) fn clear(&self) {
        self.forget(|_| true);
    }

    /// Whether a launch has to ask its stream. Takes no lock.
    #[inline]
    pub(crate) fn may_be_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Asks HIP, which may not come back, whether a capture is under way.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any_by(is_capturing)
    }

    fn is_any_by(&self, is_capturing: impl Fn(RawStream) -> bool) -> bool {
        if !self.may_be_any() {
            return false;
        }
        // While it is held nobody destroys one of these streams.
        let mut begun = self.begun.lock();
        begun.retain(|(stream, thread)| {
            if stream.is_of_thread() {
                is_alive(*thread)
            } else {
                is_capturing(*stream)
            }
        });
        self.count.store(begun.len(), Ordering::Relaxed);
        !begun.is_empty()
    }

    fn forget(&self, is: impl Fn(RawStream) -> bool) {
        if self.may_be_any() {
            let mut begun = self.begun.lock();
            begun.retain(|(stream, _)| !is(*stream));
            self.count.store(begun.len(), Ordering::Relaxed);
        }
    }
}

/// What HIP says of a stream that the calling thread can name.
pub(crate) fn is_capturing(stream: RawStream) -> bool {
    let mut status = 0;
    // SAFETY: asks about a stream of the program that is not destroyed meanwhile; writes to a local.
    let answer = unsafe { next::hipStreamIsCapturing(stream.handle(), &mut status) };
    answer == Status::SUCCESS && status == CAPTURE_STATUS_ACTIVE
}

/// While the program captures streams, calls of ours from its threads must not disturb that.
pub(crate) struct RelaxedCapture(Option<CaptureMode>);

impl RelaxedCapture {
    pub(crate) fn begin(captures: &Captures) -> RelaxedCapture {
        if !captures.may_be_any() {
            return RelaxedCapture(None);
        }
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: exchanges the mode of this thread.
        let exchanged = unsafe { next::hipThreadExchangeStreamCaptureMode(&mut mode) };
        RelaxedCapture(exchanged.ok().is_ok().then_some(mode))
    }

    pub(crate) fn end(self) {
        if let RelaxedCapture(Some(mut mode)) = self {
            // SAFETY: as above.
            let _ = unsafe { next::hipThreadExchangeStreamCaptureMode(&mut mode) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RawStream = RawStream(0x100);
    const TWO: RawStream = RawStream(0x200);
    const UNJOINED: Status = Status(904);

    fn own() -> u32 {
        // SAFETY: no arguments, cannot fail.
        unsafe { libc::gettid() as u32 }
    }

    #[test]
    fn what_hip_says_counts_and_not_how_often_it_was_asked() {
        let captures = Captures::default();
        assert!(!captures.is_any_by(|_| panic!("nothing to ask")));
        captures.began(ONE, own());
        captures.ended(TWO, Status::CAPTURE_UNMATCHED);
        captures.ended(ONE, UNJOINED);
        assert!(captures.is_any_by(|stream| stream == ONE), "still there");
        captures.ended(ONE, Status::SUCCESS);
        assert!(!captures.may_be_any());
        captures.began(ONE, own());
        assert!(!captures.is_any_by(|_| false), "HIP knows of none");
        assert!(!captures.may_be_any());
        captures.began(TWO, own());
        captures.destroyed(TWO);
        assert!(!captures.may_be_any());
    }

    #[test]
    fn a_threads_own_stream_captures_until_hip_or_the_thread_has_ended_it() {
        let captures = Captures::default();
        let stream = RawStream::of_this_thread();
        let ask = || captures.is_any_by(|_| panic!("nobody else can ask"));
        captures.began(stream, own());
        captures.ended(stream, UNJOINED);
        assert!(ask());
        captures.ended(stream, Status::CAPTURE_INVALIDATED);
        assert!(!ask());
        let thread = std::thread::spawn(own).join().unwrap();
        captures.began(stream, thread);
        assert!(!ask());
    }
}
