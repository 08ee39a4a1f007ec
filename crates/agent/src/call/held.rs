//! Calls of the program that were held back, by what held them: how many and how long, and each of them where a
//! checkpoint is traced.
//!
//! Only threads that have waited come here.

use crate::wire::page::now_ns;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_proto::{HeldBack, HeldBy, TraceEvent, TraceKind};

const CAUSES: [HeldBy; 6] = [
    HeldBy::Lead,
    HeldBy::Cut,
    HeldBy::Room,
    HeldBy::Aside,
    HeldBy::Link,
    HeldBy::Free,
];
/// Calls that are kept one by one.
const MOST: usize = 4096;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct HeldCalls {
    by: [Sum; CAUSES.len()],
    one_by_one: Mutex<OneByOne>,
}

#[derive(Debug)]
struct Sum {
    calls: AtomicU64,
    ns: AtomicU64,
    longest_ns: AtomicU64,
}

#[derive(Debug)]
struct OneByOne {
    wanted: bool,
    events: Vec<TraceEvent>,
    left_out: u64,
}

impl HeldCalls {
    pub(crate) const fn new() -> HeldCalls {
        HeldCalls {
            by: [const {
                Sum {
                    calls: AtomicU64::new(0),
                    ns: AtomicU64::new(0),
                    longest_ns: AtomicU64::new(0),
                }
            }; CAUSES.len()],
            one_by_one: Mutex::new(OneByOne {
                wanted: false,
                events: Vec::new(),
                left_out: 0,
            }),
        }
    }

    /// A call of this thread was held back since then, and goes on.
    pub(crate) fn add(&self, by: HeldBy, thread: u32, since_ns: u64) {
        let now = now_ns();
        let held = now.saturating_sub(since_ns);
        let Some(at) = CAUSES.iter().position(|cause| *cause == by) else {
            return;
        };
        let sum = &self.by[at];
        sum.calls.fetch_add(1, Ordering::Relaxed);
        sum.ns.fetch_add(held, Ordering::Relaxed);
        sum.longest_ns.fetch_max(held, Ordering::Relaxed);
        let mut kept = self.one_by_one.lock();
        if kept.wanted && kept.events.len() < MOST {
            kept.events.push(TraceEvent {
                kind: TraceKind::Held.into(),
                start_ns: since_ns,
                end_ns: now,
                lane: thread,
                cause: by.into(),
                ..TraceEvent::default()
            });
        } else if kept.wanted {
            kept.left_out += 1;
        }
    }

    /// A checkpoint begins: nothing was held back so far.
    pub(crate) fn start_over(&self) {
        for sum in &self.by {
            for word in [&sum.calls, &sum.ns, &sum.longest_ns] {
                word.store(0, Ordering::Relaxed);
            }
        }
        self.keep(false);
    }

    /// Whether calls are kept one by one from now on.
    pub(crate) fn keep(&self, wanted: bool) {
        *self.one_by_one.lock() = OneByOne {
            wanted,
            events: Vec::new(),
            left_out: 0,
        };
    }

    /// The causes by which any call was held back.
    pub(crate) fn sums(&self) -> Vec<HeldBack> {
        let sums = CAUSES.iter().zip(&self.by).map(|(by, sum)| HeldBack {
            cause: (*by).into(),
            calls: sum.calls.load(Ordering::Relaxed),
            ns: sum.ns.load(Ordering::Relaxed),
            longest_ns: sum.longest_ns.load(Ordering::Relaxed),
        });
        sums.filter(|held| held.calls > 0).collect()
    }

    /// The calls one by one, as far as they were kept, and how many others there were; forgets them.
    pub(crate) fn take(&self) -> (Vec<TraceEvent>, u64) {
        let mut kept = self.one_by_one.lock();
        kept.wanted = false;
        (std::mem::take(&mut kept.events), kept.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_what_held_them_and_kept_where_that_is_wanted() {
        let held = HeldCalls::new();
        held.add(HeldBy::Room, 7, now_ns());
        held.keep(true);
        for _ in 0..MOST + 2 {
            held.add(HeldBy::Cut, 7, 0);
        }
        let sums = held.sums();
        let sums: Vec<_> = sums.iter().map(|sum| (sum.cause(), sum.calls)).collect();
        assert_eq!(sums, [(HeldBy::Cut, MOST as u64 + 2), (HeldBy::Room, 1)]);
        let (events, left_out) = held.take();
        assert_eq!((events.len(), left_out), (MOST, 2));
        assert_eq!((events[0].lane, events[0].cause()), (7, HeldBy::Cut));
        held.start_over();
        assert!(held.sums().is_empty() && held.take().0.is_empty());
    }
}
