//! What is around the waves: the device that they call, and who makes them let go.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::stop::Stop;

/// What a wave can ask of the device around it.
pub trait Host: Sync {
    /// `s_sendmsg(MSG_INTERRUPT)`: an event id is in `m0`'s low 8 bits (0: look at all events).
    fn interrupt(&self, m0: u32);
    /// The GPU's constant-rate counter (`s_memrealtime`), as `GET_CLOCK_COUNTERS` reports it.
    fn ticks(&self) -> u64;
    /// This worker begins or ends to be held.
    fn held(&self, begins: bool);
}

/// The bit of [`Control::word`] that holds the waves where they are.
pub const HELD: u32 = 1;
/// How often a held worker looks whether it may go on.
const HOLD_PERIOD: Duration = Duration::from_micros(200);

/// How a worker is told to let go, and who answers its waves.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Read once every basic block. When it is `generation` with [`HELD`], the waves wait; when it
    /// differs otherwise, the workgroup stops with [`Stop::Evicted`].
    pub word: &'a AtomicU32,
    /// Without [`HELD`].
    pub generation: u32,
    /// Whom a wave calls outside of its work-group.
    pub host: &'a dyn Host,
}

impl Control<'_> {
    /// What to do now that the word is not `generation`.
    #[cold]
    pub(super) fn wait_or_stop(&self) -> Result<(), Box<Stop>> {
        let mut word = self.word.load(Ordering::Acquire);
        if word == self.generation | HELD {
            self.host.held(true);
            while word == self.generation | HELD {
                std::thread::sleep(HOLD_PERIOD);
                word = self.word.load(Ordering::Acquire);
            }
            self.host.held(false);
        }
        if word == self.generation {
            Ok(())
        } else {
            Err(Box::new(Stop::Evicted))
        }
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control")
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
