//! The links, as the time model keeps them: who copies takes time on them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::tables::GPUS;

/// No copy packet takes so long: what lies further ahead is no reservation of this link's.
const FURTHEST_NS: u64 = 10_000_000_000;

/// One direction of a link: when it is free again, in nanoseconds since the epoch. (Of the clocks, only
/// the wall clock is the same for a program that CRIU has restored.)
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lane {
    free_ns: AtomicU64,
}

impl Lane {
    /// Takes it for `took` nanoseconds, not before `began`; when that ends.
    pub(crate) fn reserve(&self, began: u64, took: u64) -> u64 {
        let end = |free: u64| {
            let free = if free > began.saturating_add(FURTHEST_NS) {
                0
            } else {
                free
            };
            free.max(began).saturating_add(took)
        };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let reserved = self
            .free_ns
            .fetch_update(order.0, order.1, |free| Some(end(free)));
        end(reserved.unwrap_or(0))
    }
}

/// The links of all GPUs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Links {
    pub(crate) to_host: [Lane; GPUS],
    pub(crate) from_host: [Lane; GPUS],
    /// By the GPU that the bytes come from, then by that which they go to.
    pub(crate) peers: [[Lane; GPUS]; GPUS],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_in_one_direction_take_turns() {
        let lane = Lane {
            free_ns: AtomicU64::new(0),
        };
        assert_eq!(lane.reserve(1000, 500), 1500);
        assert_eq!(lane.reserve(1200, 500), 2000, "it waits for the first");
        assert_eq!(lane.reserve(9000, 500), 9500, "idle time is lost");
        let far = 9000 + 2 * FURTHEST_NS;
        lane.free_ns.store(far, Ordering::Relaxed);
        assert_eq!(lane.reserve(9000, 500), 9500, "the clock was put back");
    }
}
