//! What happens in a cycle, drawn from its seed.

use std::fmt;
use std::time::Duration;

use super::random::SplitMix64;
use crate::rates::Rates;
use crate::strobe::ModeOption;

/// Longest time between a line of the program's output and the checkpoint.
const MOMENT_US: u64 = 120_000;
/// Longest time that a program runs on before it is killed.
const LATE_MS: u64 = 600;
/// Bounds of the moments of checkpoints, in thousandths of the program's lines.
const EARLIEST_PERMILLE: u64 = 20;
const LATEST_PERMILLE: u64 = 600;

/// How often a cycle that came too late is tried with a longer program.
pub(super) const MOST_LATE: u64 = 3;

/// The device of a cycle; the one of a restore is another of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoakDevice {
    pub private_vram: bool,
    /// `None` is full speed.
    pub rates: Option<Rates>,
}

impl SoakDevice {
    /// Options for `strobe softgpu`.
    pub fn options(self) -> Vec<String> {
        let mut options = self.rates.map_or_else(Vec::new, Rates::options);
        if self.private_vram {
            options.push("--private-vram".into());
        }
        options
    }
}

/// What follows a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The program runs on; the next checkpoint is one of the same process.
    RunOn,
    /// `strobe checkpoint --kill`, and a restore.
    KilledByCommand,
    /// The program runs on, is killed from outside after this time, and restored.
    Killed(Duration),
    /// The program runs to its end, which is compared; then it is restored and ends once more.
    Ends,
}

/// One checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its moment: so many thousandths of the program's lines are written ...
    pub permille: u64,
    /// ... and then so long.
    pub delay: Duration,
    pub mode: ModeOption,
    pub then: Then,
}

/// A cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub device: SoakDevice,
    pub steps: Vec<Step>,
}

impl Plan {
    /// How many times its ordinary number of rounds a program goes on. The part of a seed that is above 32 bits
    /// says how often the cycle came too late: each time its program lasts twice as long.
    pub fn times(seed: u64) -> u32 {
        1 << (seed >> 32).min(MOST_LATE)
    }

    pub fn draw(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let rates = match random.below(4) {
            0 => None,
            1 => Some(Rates {
                link: 40_000_000,
                device: 340_000_000,
            }),
            _ => Some(Rates::SLOW),
        };
        let device = SoakDevice {
            private_vram: random.one_in(2),
            rates,
        };
        let count = 1 + random.below(3);
        let mut moments: Vec<u64> = (0..count)
            .map(|_| EARLIEST_PERMILLE + random.below(LATEST_PERMILLE - EARLIEST_PERMILLE))
            .collect();
        moments.sort_unstable();
        let last = moments.len() - 1;
        let steps = moments
            .into_iter()
            .enumerate()
            .map(|(at, permille)| Step {
                permille,
                delay: Duration::from_micros(random.below(MOMENT_US)),
                mode: match random.below(4) {
                    0 => ModeOption::Stop,
                    1 => ModeOption::Recopy,
                    _ => ModeOption::Cow,
                },
                then: match random.below(3) {
                    0 if at < last => Then::RunOn,
                    0 => Then::Ends,
                    1 => Then::KilledByCommand,
                    _ => Then::Killed(Duration::from_millis(random.below(LATE_MS))),
                },
            })
            .collect();
        Self { device, steps }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = if self.device.private_vram {
            "private"
        } else {
            "BAR"
        };
        match self.device.rates {
            None => write!(f, "{bar}, full speed")?,
            Some(rates) => write!(f, "{bar}, link {:.1} MB/s", rates.link as f64 / 1e6)?,
        }
        for step in &self.steps {
            let (at, delay) = (step.permille as f64 / 10.0, step.delay.as_secs_f64() * 1e3);
            write!(f, "; {} at {at:.1} % + {delay:.0} ms, ", step.mode.name())?;
            match step.then {
                Then::RunOn => write!(f, "runs on")?,
                Then::KilledByCommand => write!(f, "--kill")?,
                Then::Killed(after) => write!(f, "killed after {} ms", after.as_millis())?,
                Then::Ends => write!(f, "ends")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_cover_all_there_is() {
        let plans: Vec<Plan> = (0..400).map(Plan::draw).collect();
        assert_eq!(plans[7], Plan::draw(7));
        let some = |what: &dyn Fn(&Plan) -> bool| plans.iter().any(what);
        for private in [true, false] {
            for full in [true, false] {
                assert!(some(&|plan| plan.device.private_vram == private
                    && plan.device.rates.is_none() == full));
            }
        }
        for mode in [ModeOption::Cow, ModeOption::Stop, ModeOption::Recopy] {
            assert!(some(&|plan| plan.steps.iter().any(|s| s.mode == mode)));
        }
        for count in 1..=3 {
            assert!(some(&|plan| plan.steps.len() == count));
        }
        let then = |wanted: Then| {
            some(&|plan| {
                let kind = std::mem::discriminant(&wanted);
                let mut all = plan.steps.iter();
                all.any(|s| std::mem::discriminant(&s.then) == kind)
            })
        };
        assert!(then(Then::RunOn) && then(Then::Ends) && then(Then::KilledByCommand));
        assert!(then(Then::Killed(Duration::ZERO)));
        for plan in &plans {
            // Something is restored in each, at moments that follow each other.
            let last = plan.steps.last().expect("a checkpoint");
            assert_ne!(last.then, Then::RunOn);
            assert!(plan.steps.is_sorted_by_key(|step| step.permille));
            assert!(last.permille <= 600);
            let early = &plan.steps[..plan.steps.len() - 1];
            assert!(early.iter().all(|step| step.then != Then::Ends));
        }
    }
}
