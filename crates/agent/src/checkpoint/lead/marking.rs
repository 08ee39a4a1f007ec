//! Whether markers may be made behind the program's work: its threads say so, and who makes them asks.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a look at the markers may take, of which those of whom they are in the way await the end.
const ONE_LOOK: Duration = Duration::from_secs(1);
/// How long one takes that does not wait for anything.
const LEAST_LOOK: Duration = Duration::from_millis(2);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    /// Calls under way before which no marker may be made. Held while HIP is asked for anything.
    pub(super) in_the_way: Mutex<u32>,
    /// Nothing is to be bounded any more.
    pub(super) over: AtomicBool,
    /// It is as short as it shall be.
    pub(super) is_short: AtomicBool,
    /// Nanoseconds that the gate was closed in vain.
    pub(super) held_ns: AtomicU64,
}

impl Lead {
    /// A call begins that begins the capture of a stream, or a reset: no marker is made any more until
    /// [`Self::may_mark`].
    pub(crate) fn mark_no_more(&self) {
        if let Some(mut in_the_way) = self.in_the_way.try_lock_for(ONE_LOOK) {
            *in_the_way += 1;
        }
    }

    /// What began with [`Self::mark_no_more`] is over, or known from elsewhere.
    pub(crate) fn may_mark(&self) {
        // Who makes them may wait for HIP, and nobody of the program for that: none are made any more then.
        if let Some(mut in_the_way) = self.in_the_way.try_lock_for(ONE_LOOK) {
            *in_the_way = in_the_way.saturating_sub(1);
        }
    }

    /// The gate was closed for so many nanoseconds, and no cut came of it.
    pub(crate) fn was_held(&self, ns: u64) {
        self.held_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// How long the gate was closed in vain; forgets it.
    pub(crate) fn take_held(&self) -> u64 {
        self.held_ns.swap(0, Ordering::Relaxed)
    }

    /// Waits until no marker is made or asked for; whether that came before the deadline. To be asked when no more are
    /// made.
    pub(crate) fn wait_for_look(&self, deadline: Instant) -> bool {
        let least = Instant::now() + LEAST_LOOK;
        self.in_the_way
            .try_lock_until(deadline.max(least))
            .is_some()
    }
}
