//! When copying in rounds has done what it can.
//!
//! While the program runs each round copies what the rounds before it have not, or what has been written since. The less
//! it copies, the sooner it ends, and the less is written meanwhile: rounds shrink until what is left is short enough to be
//! copied while the program stands still, or until they shrink no more, because the program writes as fast as the link
//! copies.

use std::time::Duration;

/// What is left is short when the link copies it in so long.
const SHORT: Duration = Duration::from_millis(10);
/// A round that copies more than this part of the one before does not get ahead of the program.
const SHRINKS: (u64, u64) = (4, 5);
/// Rounds, at the most: each shrinks by a fifth, so that less than a hundredth is left.
const MOST: u32 = 24;

/// One round: what it has copied, and how long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Bytes.
    pub copied: u64,
    /// From its begin to its end.
    pub took: Duration,
}

/// The rounds of one checkpoint so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    count: u32,
    copied: u64,
    took: Duration,
    last: Option<Round>,
    outcome: Option<Outcome>,
}

/// Why no other round is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What is left is short.
    Converged,
    /// The program writes about as fast as is copied.
    GaveUp,
}

impl Rounds {
    /// A round has ended; whether another one is worth it.
    pub fn ended(&mut self, round: Round) -> bool {
        self.count += 1;
        self.copied += round.copied;
        self.took += round.took;
        let before = self.last.replace(round);
        let shrinks = before.is_none_or(|before| {
            u128::from(round.copied) * u128::from(SHRINKS.1)
                <= u128::from(before.copied) * u128::from(SHRINKS.0)
        });
        self.outcome = if self.is_short(round.copied) {
            Some(Outcome::Converged)
        } else if !shrinks || self.count >= MOST {
            Some(Outcome::GaveUp)
        } else {
            None
        };
        self.outcome.is_none()
    }

    /// Whether the link copies this in a short time, judged by all that it has copied.
    fn is_short(&self, bytes: u64) -> bool {
        u128::from(bytes) * self.took.as_nanos() <= u128::from(self.copied) * SHORT.as_nanos()
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes that they have copied.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// How long they took together.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// The last one.
    pub fn last(&self) -> Round {
        self.last.unwrap_or_default()
    }

    /// How they ended, if they have.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a program that writes `written` bytes, again and again, at a rate beside a link with another; bytes of
    /// each round.
    fn rounds(state: u64, written: u64, write_rate: u64, link: u64) -> (Vec<u64>, Rounds) {
        let mut rounds = Rounds::default();
        let (mut bytes, mut all) = (state, Vec::new());
        loop {
            let took =
                Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(link)) as u64);
            all.push(bytes);
            if !rounds.ended(Round {
                copied: bytes,
                took,
            }) {
                return (all, rounds);
            }
            let new = u128::from(write_rate) * took.as_nanos() / 1_000_000_000;
            bytes = (new as u64).min(written);
        }
    }

    #[test]
    fn they_shrink_until_the_rest_is_short() {
        // A quarter of what the link copies meanwhile is written.
        let (all, rounds) = rounds(1 << 30, 1 << 30, 50_000_000, 200_000_000);
        assert_eq!(rounds.outcome(), Some(Outcome::Converged));
        assert!(all.last().unwrap() * 100 <= 200_000_000, "{all:?}");
        assert!(all[all.len() - 2] * 100 > 200_000_000, "{all:?}");
        assert_eq!(rounds.copied(), all.iter().sum::<u64>());
        assert_eq!(rounds.count() as usize, all.len());
    }

    #[test]
    fn a_program_that_writes_nothing_takes_two() {
        let (all, rounds) = rounds(1 << 30, 0, 0, 200_000_000);
        assert_eq!((all.len(), rounds.outcome()), (2, Some(Outcome::Converged)));
    }

    #[test]
    fn a_program_that_outruns_the_link_is_found_out_at_once() {
        let (all, rounds) = rounds(1 << 30, 1 << 30, 400_000_000, 200_000_000);
        assert_eq!((all.len(), rounds.outcome()), (2, Some(Outcome::GaveUp)));
        // What it writes is always the same part.
        let (all, rounds) = self::rounds(1 << 30, 1 << 28, 400_000_000, 200_000_000);
        assert_eq!((all.len(), rounds.outcome()), (3, Some(Outcome::GaveUp)));
    }

    #[test]
    fn they_end_whatever_is_reported() {
        for copied in [0, 1, u64::MAX / 64] {
            for took in [
                Duration::ZERO,
                Duration::from_nanos(1),
                Duration::from_secs(3600),
            ] {
                let mut rounds = Rounds::default();
                while rounds.ended(Round { copied, took }) {}
                assert!(rounds.count() <= MOST);
            }
        }
    }
}
