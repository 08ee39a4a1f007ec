//! `--mode auto`: which way a checkpoint is taken, from what the agents know of their programs.

use std::time::Duration;

use serde::Serialize;
use strobe_engine::{ChosenFor, CopyRates, CopyWay, Facts, Predicted};
use strobe_proto::{CheckpointMode, CopyFacts, ModeChoice, PredictedCost};

use crate::arguments::Mode;
use crate::figures::mode_name;
use crate::rounds::Copies;
use crate::size::show_size;

/// Where no checkpoint has shown how fast contents are stored, so many bytes are copied to find out, by the part of all.
const TRIED: (u64, u64) = (1 << 20, 8 << 20);
const TRIED_PART: u64 = 32;

/// Chooses for all processes, and tells their agents.
pub(crate) fn choose(
    of_each: &[CopyFacts],
    killed: bool,
    copies: &mut Copies<'_>,
) -> anyhow::Result<(Mode, ModeChoice)> {
    let mut facts: Vec<Facts> = of_each.iter().map(|one| facts_of(one, killed)).collect();
    let all = Facts::join(facts.iter().copied());
    if all.rates.link.is_none() && all.tracked > 0 && !all.only_frozen {
        let most = (all.tracked / TRIED_PART).clamp(TRIED.0, TRIED.1);
        for (facts, round) in facts.iter_mut().zip(copies.round(most)?) {
            let rate = Some(round.rate).filter(|rate| *rate > 0);
            facts.rates.link = facts.rates.link.or(rate);
        }
    }
    let all = Facts::join(facts);
    let choice = all.choose();
    tracing::debug!(facts = ?all, ?choice, "chosen");
    let (mode, named) = match choice.way {
        CopyWay::Cow => (Mode::Cow, CheckpointMode::Cow),
        CopyWay::Recopy => (Mode::Recopy, CheckpointMode::Recopy),
        CopyWay::Stop => (Mode::Stop, CheckpointMode::Stop),
    };
    copies.choose(named)?;
    let predicted = choice.predicted.iter().map(cost);
    let choice = ModeChoice {
        mode: named.into(),
        why: sentence(&all, choice.why),
        predicted: predicted.collect(),
    };
    Ok((mode, choice))
}

fn facts_of(one: &CopyFacts, killed: bool) -> Facts {
    Facts {
        tracked: one.promised_bytes,
        unchanged: one.unchanged_bytes,
        residual: one.residual_bytes,
        room: one.aside_bytes,
        written: one.written_bytes,
        half: one.half_ns.map(Duration::from_nanos),
        rates: CopyRates {
            link: one.link_rate,
            aside: one.aside_rate,
            fingerprints: one.fingerprint_rate,
        },
        rest: one.rest_ns.map(Duration::from_nanos),
        only_frozen: one.only_frozen,
        killed,
    }
}

fn sentence(facts: &Facts, why: ChosenFor) -> String {
    let rate = |rate: Option<u64>| {
        let rate = rate.map(|rate| format!("{}/s", show_size(rate)));
        rate.unwrap_or_else(|| "an unknown rate".into())
    };
    let written = match (facts.written, facts.half) {
        (Some(written), Some(half)) => format!(
            "the program writes {} of {} in a round, half of that in {} ms",
            show_size(written),
            show_size(facts.tracked),
            half.as_millis()
        ),
        _ => format!(
            "the program is in no loop, and may write all of {} at once",
            show_size(facts.tracked)
        ),
    };
    let copied = format!(
        "{} are copied into the checkpoint, {} inside the device",
        rate(facts.rates.link),
        rate(facts.rates.aside)
    );
    match why {
        ChosenFor::LosesLeast => format!("it loses least: {written}, {copied}"),
        ChosenFor::NothingGains => format!("nothing gains enough on it: {written}, {copied}"),
        ChosenFor::OnlyFrozen => {
            "nothing has to be copied that could be while the program runs".into()
        }
        ChosenFor::NotMeasured => "it is not known how fast contents are copied".into(),
    }
}

fn cost(predicted: &Predicted) -> PredictedCost {
    let mode = match predicted.way {
        CopyWay::Cow => CheckpointMode::Cow,
        CopyWay::Recopy => CheckpointMode::Recopy,
        CopyWay::Stop => CheckpointMode::Stop,
    };
    PredictedCost {
        mode: mode.into(),
        stall_ns: predicted.stall.as_nanos() as u64,
        lost_ns: predicted.lost.as_nanos() as u64,
        memory_bytes: predicted.memory,
    }
}

/// The same in a report. The outcome is the report's own.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChoiceReport {
    /// "cow", "stop" or "recopy".
    mode: &'static str,
    why: String,
    /// Of the modes that were possible.
    predicted: Vec<PredictedReport>,
}

/// What a mode was expected to cost.
#[derive(Clone, Debug, Serialize)]
struct PredictedReport {
    mode: &'static str,
    stall_ms: f64,
    lost_ms: f64,
    /// Of the device, borrowed.
    memory_bytes: u64,
}

impl From<&ModeChoice> for ChoiceReport {
    fn from(choice: &ModeChoice) -> Self {
        let predicted = choice.predicted.iter().map(|one| PredictedReport {
            mode: mode_name(one.mode()),
            stall_ms: one.stall_ns as f64 / 1e6,
            lost_ms: one.lost_ns as f64 / 1e6,
            memory_bytes: one.memory_bytes,
        });
        Self {
            mode: mode_name(choice.mode()),
            why: choice.why.clone(),
            predicted: predicted.collect(),
        }
    }
}

impl ChoiceReport {
    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let chosen = format!("  mode           {}: {}", self.mode, self.why);
        let predicted = self.predicted.iter().map(|one| {
            let PredictedReport {
                mode,
                stall_ms,
                lost_ms,
                memory_bytes,
            } = one;
            format!(
                "    {mode:<6} expected to stall {stall_ms:.1} ms, lose {lost_ms:.1} ms, borrow {}",
                show_size(*memory_bytes)
            )
        });
        std::iter::once(chosen).chain(predicted).collect()
    }
}
