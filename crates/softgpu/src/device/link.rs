//! The link to the host, as the time model keeps it: who copies takes time on it.

use std::sync::atomic::{AtomicU64, Ordering};

/// No copy packet takes so long: what lies further ahead is no reservation of this link's.
const FURTHEST_NS: u64 = 10_000_000_000;

/// When the link is free again, by direction, in nanoseconds since the epoch. (Of the clocks, only the
/// wall clock is the same for a program that CRIU has restored.)
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Link {
    free_ns: [AtomicU64; 2],
}

impl Link {
    /// Takes one direction for `took` nanoseconds, not before `began`; when that ends.
    pub(crate) fn reserve(&self, direction: usize, began: u64, took: u64) -> u64 {
        let end = |free: u64| {
            let free = if free > began.saturating_add(FURTHEST_NS) {
                0
            } else {
                free
            };
            free.max(began).saturating_add(took)
        };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let reserved =
            self.free_ns[direction].fetch_update(order.0, order.1, |free| Some(end(free)));
        end(reserved.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_in_one_direction_take_turns() {
        let link = Link {
            free_ns: [const { AtomicU64::new(0) }; 2],
        };
        assert_eq!(link.reserve(0, 1000, 500), 1500);
        assert_eq!(link.reserve(0, 1200, 500), 2000, "it waits for the first");
        assert_eq!(
            link.reserve(1, 1200, 500),
            1700,
            "the other direction is free"
        );
        assert_eq!(link.reserve(0, 9000, 500), 9500, "idle time is lost");
        let far = 9000 + 2 * FURTHEST_NS;
        link.free_ns[0].store(far, Ordering::Relaxed);
        assert_eq!(link.reserve(0, 9000, 500), 9500, "the clock was put back");
    }
}
