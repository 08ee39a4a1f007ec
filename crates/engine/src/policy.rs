//! Which way a checkpoint is taken, by what each would cost the program.
//!
//! What is predicted is the stall, what is lost besides while copies are under way, and the device memory that is
//! borrowed. Two of the three ways differ by what happens to the bytes that have to leave the device:
//!
//! - Stop-the-world: all of them pass the link while the program stands still.
//! - Copy-on-write: what the program writes in its next round is copied aside first, inside the device. What finds no
//!   room there waits for the link.
//! - In rounds: what it writes during the last round passes the link while it stands still.
//!
//! Where something is not known the program is taken to write all it has at once, and a way whose rates are not known is not
//! chosen: so a wrong prediction costs what stop-the-world does.

use crate::recopy::{Round, Rounds};
use std::time::Duration;

/// Of the time that copies are under way so much is lost to the program, which shares memory and host with them.
const SLOWED: u32 = 50;
/// What copying adds to the stall must be at most this part of what it adds with stop-the-world: rates are those of a moment.
const GAIN: (u32, u32) = (4, 5);
/// So much less than copy-on-write has to be lost by who is copied in rounds, which keep the disk busy with what is in vain.
const ROUNDS_GAIN: (u32, u32) = (4, 5);
/// What the rest of a stall takes (the GPU's work, CRIU's freeze) where no checkpoint of the program has shown it.
const UNMEASURED: Duration = Duration::from_millis(100);
/// Nothing takes longer.
const LONGEST: Duration = Duration::from_secs(1 << 20);

/// A way to take a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyWay {
    /// The program goes on while memory is copied.
    Cow,
    /// It is copied in rounds while the program runs, and the rest while it stands still.
    Recopy,
    /// The program stands still until all is copied.
    Stop,
}

/// Bytes a second, where that was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyRates {
    /// From the device into the checkpoint.
    pub link: Option<u64>,
    /// Inside the device, beside what the program does there.
    pub aside: Option<u64>,
    /// Of fingerprints.
    pub fingerprints: Option<u64>,
}

/// What is known of a program that is about to be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Bytes that would be promised.
    pub tracked: u64,
    /// Of these, what needs no copy because an earlier checkpoint has it.
    pub unchanged: u64,
    /// Bytes besides that are saved while the program is frozen.
    pub residual: u64,
    /// Device memory to copy aside into.
    pub room: u64,
    /// Bytes of the chunks that it writes in a round of its loop.
    pub written: Option<u64>,
    /// In how long it writes half of them.
    pub half: Option<Duration>,
    /// How fast all is copied.
    pub rates: CopyRates,
    /// What of the last stall was neither fingerprints nor copying.
    pub rest: Option<Duration>,
    /// All is saved while the program is frozen, whatever is chosen.
    pub only_frozen: bool,
    /// The program does not go on afterwards.
    pub killed: bool,
}

/// What a way would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The way.
    pub way: CopyWay,
    /// How long the program is held back, on the host or in its streams.
    pub stall: Duration,
    /// Of it, what copying adds.
    pub copying: Duration,
    /// What it loses in all.
    pub lost: Duration,
    /// Device memory that is borrowed.
    pub memory: u64,
}

/// Why a way was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenFor {
    /// It loses the program least.
    LosesLeast,
    /// Nothing gains enough on stop-the-world.
    NothingGains,
    /// Nothing has to be copied while the program would run.
    OnlyFrozen,
    /// It is not known how fast copies are.
    NotMeasured,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The way.
    pub way: CopyWay,
    /// Why.
    pub why: ChosenFor,
    /// What the ways would cost that were possible, stop-the-world last. Nothing where copies were not measured.
    pub predicted: Vec<Predicted>,
}

impl Choice {
    /// What the way that was chosen is expected to cost.
    pub fn expected(&self) -> Option<Predicted> {
        self.predicted
            .iter()
            .find(|one| one.way == self.way)
            .copied()
    }
}

impl Facts {
    /// Those of several processes that are saved at once, on one link.
    pub fn join(all: impl IntoIterator<Item = Facts>) -> Facts {
        all.into_iter().reduce(Facts::and).unwrap_or_default()
    }

    fn and(self, other: Facts) -> Facts {
        // Who has nothing to be copied has measured nothing.
        let (with, without) = match (self.has_content(), other.has_content()) {
            (true, true) => return self.and_other(&other),
            (true, false) => (self, other),
            (false, _) => (other, self),
        };
        Facts {
            only_frozen: with.only_frozen || without.only_frozen,
            rest: with.rest.max(without.rest),
            ..with
        }
    }

    fn and_other(self, other: &Facts) -> Facts {
        fn both<T>(one: Option<T>, other: Option<T>, f: impl Fn(T, T) -> T) -> Option<T> {
            Some(f(one?, other?))
        }
        Facts {
            tracked: self.tracked.saturating_add(other.tracked),
            unchanged: self.unchanged.saturating_add(other.unchanged),
            residual: self.residual.saturating_add(other.residual),
            room: self.room.saturating_add(other.room),
            half: both(self.half, other.half, Duration::min),
            written: both(self.written, other.written, u64::saturating_add),
            rates: CopyRates {
                link: both(self.rates.link, other.rates.link, u64::min),
                aside: both(self.rates.aside, other.rates.aside, u64::min),
                fingerprints: both(self.rates.fingerprints, other.rates.fingerprints, u64::min),
            },
            rest: self.rest.max(other.rest),
            only_frozen: self.only_frozen || other.only_frozen,
            killed: self.killed || other.killed,
        }
    }

    fn has_content(&self) -> bool {
        self.tracked > 0 || self.residual > 0
    }

    /// Chooses.
    pub fn choose(&self) -> Choice {
        let stop = |why, predicted| Choice {
            way: CopyWay::Stop,
            why,
            predicted,
        };
        let is_idle = self.bytes_to_copy() == 0 && self.residual == 0;
        let Some(link) = self.rates.link.filter(|link| *link > 0) else {
            return match is_idle || self.only_frozen {
                true => stop(ChosenFor::OnlyFrozen, Vec::new()),
                false => stop(ChosenFor::NotMeasured, Vec::new()),
            };
        };
        let stopped = self.stopped(link);
        if self.only_frozen || is_idle {
            return stop(ChosenFor::OnlyFrozen, vec![stopped]);
        }
        let others = [self.cow(link), Some(self.recopied(link))];
        let mut predicted: Vec<Predicted> = others.into_iter().flatten().collect();
        let gains = |one: &&Predicted| {
            let least = u128::from(GAIN.0) * stopped.copying.as_nanos();
            let is_shorter = u128::from(GAIN.1) * one.copying.as_nanos() <= least;
            is_shorter && one.stall <= stopped.stall && one.lost <= stopped.lost
        };
        let best = predicted.iter().filter(gains).reduce(|cow, rounds| {
            let is_worth_it = rounds.lost * ROUNDS_GAIN.1 <= cow.lost * ROUNDS_GAIN.0;
            if is_worth_it { rounds } else { cow }
        });
        let (way, why) = match best {
            Some(best) => (best.way, ChosenFor::LosesLeast),
            None => (CopyWay::Stop, ChosenFor::NothingGains),
        };
        predicted.push(stopped);
        Choice {
            way,
            why,
            predicted,
        }
    }

    /// Bytes that have to be copied of what is promised.
    fn bytes_to_copy(&self) -> u64 {
        self.tracked.saturating_sub(self.unchanged)
    }

    /// Of these, what the program writes next.
    fn written(&self) -> u64 {
        self.written.unwrap_or(u64::MAX).min(self.bytes_to_copy())
    }

    /// Of every stall, what copying has nothing to do with.
    fn rest(&self) -> Duration {
        let fingerprints = self.rates.fingerprints.map(|rate| time(self.tracked, rate));
        (self.rest.unwrap_or(UNMEASURED) + fingerprints.unwrap_or_default()).min(LONGEST)
    }

    fn predicted(
        &self,
        way: CopyWay,
        copying: Duration,
        beside: Duration,
        memory: u64,
    ) -> Predicted {
        let stall = self.rest() + copying;
        Predicted {
            way,
            stall,
            copying,
            lost: stall + beside / SLOWED,
            memory,
        }
    }

    fn stopped(&self, link: u64) -> Predicted {
        let bytes = self.bytes_to_copy().saturating_add(self.residual);
        self.predicted(CopyWay::Stop, time(bytes, link), Duration::ZERO, 0)
    }

    /// Nothing where it cannot be.
    fn cow(&self, link: u64) -> Option<Predicted> {
        let aside = self.rates.aside.filter(|aside| *aside > 0)?;
        if self.killed || self.room == 0 {
            return None;
        }
        let inside = self.written().saturating_add(self.residual);
        let aside =
            time(inside.min(self.room), aside) + time(inside.saturating_sub(self.room), link);
        let beside = time(self.bytes_to_copy().saturating_add(self.residual), link);
        Some(self.predicted(CopyWay::Cow, aside, beside, self.room))
    }

    fn recopied(&self, link: u64) -> Predicted {
        let mut rounds = Rounds::default();
        let mut copied = self.bytes_to_copy();
        let left = loop {
            let took = time(copied, link);
            let left = self.written_in(took);
            if !rounds.ended(Round { copied, took }) {
                break left;
            }
            copied = left;
        };
        let bytes = left.saturating_add(self.residual);
        self.predicted(CopyWay::Recopy, time(bytes, link), rounds.took(), 0)
    }

    /// Bytes that the program writes in this time, if it writes all the time.
    fn written_in(&self, time: Duration) -> u64 {
        let written = self.written();
        match self.half {
            Some(half) if time / 2 < half => {
                let part = u128::from(written) * time.as_nanos() / half.as_nanos() / 2;
                part.try_into().unwrap_or(written)
            }
            _ => written,
        }
    }
}

/// How long so many bytes take.
fn time(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(nanoseconds.try_into().unwrap_or(u64::MAX)).min(LONGEST)
}
