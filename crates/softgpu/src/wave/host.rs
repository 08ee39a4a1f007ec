//! What is around the waves: the device that they call, and who makes them let go.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a wave can ask of the device around it.
pub trait Host: Sync {
    /// `s_sendmsg(MSG_INTERRUPT)`: an event id is in `m0`'s low 8 bits (0: look at all events).
    fn interrupt(&self, m0: u32);
    /// The GPU's constant-rate counter (`s_memrealtime`), as `GET_CLOCK_COUNTERS` reports it.
    fn ticks(&self) -> u64;
    /// The barrier of global wave sync (`grid_barrier.rs`); none: the waves' queue has none.
    fn grid_barrier(&self) -> Option<&AtomicU64> {
        None
    }
}

/// How a worker is told to let go, and who answers its waves.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Read once every basic block: while it has one of `reasons`, workgroups stop with [`super::Stop::Evicted`].
    pub word: &'a AtomicU32,
    /// Bits of it.
    pub reasons: u32,
    /// Whom a wave calls outside of its work-group.
    pub host: &'a dyn Host,
}

impl Control<'_> {
    /// Whether to let go.
    #[inline(always)]
    pub fn evicts(&self) -> bool {
        self.word.load(Ordering::Relaxed) & self.reasons != 0
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control")
            .field("word", &self.word)
            .finish_non_exhaustive()
    }
}
