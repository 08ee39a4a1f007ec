//! Writes that have been enqueued and may not have happened yet.
//!
//! HIP cannot be asked without changing what streams wait for, so what is over is learned from the
//! program: where it has waited itself, for a stream or for the device, nothing is left of what had
//! been enqueued when the wait began. A program that never waits has everything in flight.
//!
//! Whoever asks can only lose by too much of it (memory is looked at later than it could be), so bytes
//! are rounded up, and what is too scattered is anything.

use std::collections::{HashMap, VecDeque};
use strobe_extent::{Extent, Reason, Side};

/// Bytes are rounded to multiples of this.
const GRAIN: u64 = 64 << 10;
/// Pieces of a stream's writes in an interval; more are anything.
const MOST_PIECES: usize = 1 << 14;
/// Intervals that are told apart: threads that wait at the same time.
const MOST_INTERVALS: usize = 64;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// Oldest first.
    intervals: VecDeque<Interval>,
}

/// What was enqueued from the beginning of one wait to that of the next.
#[derive(Debug, Default)]
struct Interval {
    /// The wait that it began with, until that is over.
    wait: Option<u64>,
    /// By the stream's number; what is on none ends where the whole device does.
    writes: HashMap<Option<u64>, Side>,
}

impl InFlight {
    /// Something was enqueued that writes this.
    pub(crate) fn enqueued(&mut self, stream: Option<u64>, writes: &Side) {
        if writes.is_none() {
            return;
        }
        if self.intervals.is_empty() {
            self.intervals.push_back(Interval::default());
        }
        let Some(interval) = self.intervals.back_mut() else {
            return;
        };
        let all = interval.writes.entry(stream).or_default();
        match writes {
            Side::Unknown(_) => all.union_with(writes),
            Side::Extents(set) => set.iter().for_each(|extent| add(all, extent)),
        }
    }

    /// A wait of the program begins.
    pub(crate) fn waits(&mut self, wait: u64) {
        if self.intervals.len() >= MOST_INTERVALS
            && let Some(oldest) = self.intervals.pop_front()
            && let Some(next) = self.intervals.front_mut()
        {
            // They end together, with the later wait.
            for (stream, writes) in oldest.writes {
                next.writes.entry(stream).or_default().union_with(&writes);
            }
        }
        self.intervals.push_back(Interval {
            wait: Some(wait),
            writes: HashMap::new(),
        });
    }

    /// That wait is over, for a stream or for the whole device.
    pub(crate) fn waited(&mut self, wait: u64, stream: Option<u64>) {
        let Some(begun) = self.intervals.iter().position(|i| i.wait == Some(wait)) else {
            return;
        };
        for interval in self.intervals.iter_mut().take(begun) {
            match stream {
                Some(_) => drop(interval.writes.remove(&stream)),
                None => interval.writes.clear(),
            }
        }
        self.intervals[begun].wait = None;
        self.intervals
            .retain(|interval| interval.wait.is_some() || !interval.writes.is_empty());
    }

    /// The device is idle.
    pub(crate) fn all_ended(&mut self) {
        self.intervals.clear();
    }

    /// Everything that may still be written.
    pub(crate) fn writes(&self) -> Side {
        let mut all = Side::none();
        for interval in &self.intervals {
            for writes in interval.writes.values() {
                all.union_with(writes);
            }
        }
        all
    }
}

fn add(all: &mut Side, extent: Extent) {
    let start = extent.start() / GRAIN * GRAIN;
    let end = extent.end().checked_next_multiple_of(GRAIN);
    if let Side::Extents(set) = all
        && let Ok(rounded) = Extent::new(start, end.unwrap_or(u64::MAX))
        && !set.contains(rounded)
    {
        set.insert(rounded);
        if set.runs() > MOST_PIECES {
            *all = Side::Unknown(Reason::Budget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(number: u64) -> Extent {
        Extent::with_len(number * 2 * GRAIN, GRAIN).unwrap()
    }

    fn pieces(in_flight: &InFlight) -> Vec<u64> {
        let all = in_flight.writes();
        let set = all.extents().expect("known");
        set.iter().map(|e| e.start() / (2 * GRAIN)).collect()
    }

    #[test]
    fn what_was_enqueued_before_a_wait_is_over_with_it() {
        let mut in_flight = InFlight::default();
        let enqueued = |in_flight: &mut InFlight, stream, number| {
            let byte = Extent::with_len(piece(number).start() + 77, 1).unwrap();
            in_flight.enqueued(stream, &byte.into());
        };
        enqueued(&mut in_flight, Some(1), 1);
        enqueued(&mut in_flight, Some(2), 2);
        enqueued(&mut in_flight, None, 3);
        in_flight.waits(10);
        enqueued(&mut in_flight, Some(1), 4);
        assert_eq!(pieces(&in_flight), [1, 2, 3, 4], "it waits");
        in_flight.waited(10, Some(1));
        assert_eq!(
            pieces(&in_flight),
            [2, 3, 4],
            "its own, and what was before"
        );
        // Two threads wait at the same time; the one that began later is back first.
        in_flight.waits(11);
        enqueued(&mut in_flight, Some(2), 5);
        in_flight.waits(12);
        enqueued(&mut in_flight, Some(2), 6);
        in_flight.waited(12, Some(2));
        assert_eq!(pieces(&in_flight), [3, 4, 6]);
        in_flight.waited(11, None);
        assert_eq!(pieces(&in_flight), [6]);
        in_flight.waited(99, None);
        assert_eq!(pieces(&in_flight), [6], "a wait that nobody saw begin");
        in_flight.all_ended();
        assert!(in_flight.writes().is_none());
    }

    #[test]
    fn waits_that_do_not_end_are_forgotten_and_nothing_else_is() {
        let mut in_flight = InFlight::default();
        for number in 0..1000 {
            in_flight.enqueued(Some(1), &piece(number).into());
            in_flight.waits(number);
        }
        assert!(in_flight.intervals.len() <= MOST_INTERVALS + 1);
        assert_eq!(pieces(&in_flight).len(), 1000);
        in_flight.waited(999, Some(1));
        assert!(in_flight.writes().is_none());
    }

    #[test]
    fn what_is_too_scattered_is_anything() {
        let mut in_flight = InFlight::default();
        for number in 0..=MOST_PIECES as u64 {
            in_flight.enqueued(Some(1), &piece(number).into());
        }
        assert!(in_flight.writes().is_unknown());
        in_flight.waits(0);
        in_flight.waited(0, Some(1));
        assert!(in_flight.writes().is_none());
        in_flight.enqueued(Some(1), &Side::Unknown(Reason::NotAnalysed));
        assert!(in_flight.writes().is_unknown());
    }
}
