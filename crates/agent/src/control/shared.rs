//! What the control thread and others tell each other.

use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::supervise::Supervisor;
use crate::control::own_thread::OwnThread;
use crate::fault;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};
use strobe_proto::page::{AgentPage, Phase};

/// How long a reset of the device waits for a checkpoint to be given up.
const GIVE_UP_PATIENCE: Duration = Duration::from_secs(30);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(super) started: AtomicBool,
    pub(super) thread: Mutex<Option<OwnThread>>,
    pub(super) exiting: AtomicBool,
    /// Resets of the device that have begun, that are over, and that were over when the checkpoint under
    /// way began. No work of ours may be on the device during one: HIP takes its memory away.
    resets: AtomicU32,
    resets_over: AtomicU32,
    resets_before: AtomicU32,
    /// The number of the last request that was taken up.
    pub(super) taken_up: AtomicU32,
    pub(crate) supervisor: Supervisor,
}

impl Shared {
    /// Why the checkpoint under way is to be given up, if it is.
    pub(crate) fn given_up(&self) -> Option<Refusal> {
        if self.exiting.load(Ordering::Acquire) {
            return Some(Refusal::Exiting);
        }
        if fault::is_off() {
            return Some(Refusal::Failed);
        }
        // A reset that is over by now has taken what the checkpoint had on the device all the same.
        let resets = self.resets.load(Ordering::Acquire);
        (resets != self.resets_before.load(Ordering::Relaxed)).then_some(Refusal::Resets)
    }

    /// A checkpoint begins: its first phase is set. [`Self::begin_reset`] looks at the phase after it has
    /// counted itself, so either sees the other.
    pub(crate) fn begin_checkpoint(&self) {
        fence(Ordering::SeqCst);
        let over = self.resets_over.load(Ordering::Acquire);
        self.resets_before.store(over, Ordering::Relaxed);
    }

    pub(crate) fn is_exiting(&self) -> bool {
        self.exiting.load(Ordering::Acquire)
    }

    /// Gives up a checkpoint under way, waits until that has happened, and lets no other begin until
    /// [`Self::reset_is_over`].
    pub(crate) fn begin_reset(&self, page: &AgentPage) {
        self.resets.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let deadline = Instant::now() + GIVE_UP_PATIENCE;
        while !is_at_rest(page) {
            if Instant::now() >= deadline {
                fault::turn_off(
                    "a checkpoint cannot be given up, and the program resets the device",
                );
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn reset_is_over(&self) {
        self.resets_over.fetch_add(1, Ordering::AcqRel);
    }
}

fn is_at_rest(page: &AgentPage) -> bool {
    let phase = Phase::from_word(page.phase.load(Ordering::Acquire));
    matches!(phase, None | Some(Phase::Idle | Phase::Refused))
}
