//! The phases of a checkpoint, as whoever goes through them notes them for its record.

use crate::Span;

/// Of one process; attempts, rounds, processes and GPUs make more than there are names.
const MOST: usize = 512;

/// Phases that are over, in the order of their ends. Those that there is no room for are left out.
#[derive(Clone, Debug, Default)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// A phase, from then to then on CLOCK_MONOTONIC, in nanoseconds.
    pub fn add(&mut self, name: &str, start_ns: u64, end_ns: u64) {
        if self.0.len() < MOST {
            self.0.push(Span {
                name: name.into(),
                start_ns,
                end_ns,
            });
        }
    }
}

impl From<Spans> for Vec<Span> {
    fn from(spans: Spans) -> Self {
        spans.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut spans = Spans::default();
        (0..2 * MOST as u64).for_each(|at| spans.add("round", at, at + 1));
        let kept = Vec::from(spans);
        assert_eq!((kept.len(), kept[MOST - 1].end_ns), (MOST, MOST as u64));
    }
}
