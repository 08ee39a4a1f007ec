//! What a checkpoint and a restore report: for people and, with `--json`, for programs.
//!
//! The total stall comes first; its parts follow. Times are milliseconds, sizes bytes.

use serde::Serialize;
use strobe_engine::{Outcome, Rounds};
use strobe_graph::LostWork;
use strobe_proto::{HeldBack, HeldBy};

use crate::choosing::ChoiceReport;
use crate::missed::MissedWriteReport;
use crate::output::one_line;
use crate::size::show_size;

/// One finished checkpoint.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct CheckpointReport {
    pub(crate) directory: String,
    /// "cow", "stop" or "recopy".
    pub(crate) mode: String,
    /// Of the root of all its processes.
    pub(crate) pid: u32,
    /// How many of them use a GPU.
    pub(crate) gpu_processes: usize,
    pub(crate) killed: bool,
    /// How long the program was held back in all.
    pub(crate) stall_ms: f64,
    /// From the start of CRIU to the closing of the gate; the program runs meanwhile.
    pub(crate) criu_start_ms: f64,
    /// Before that, how long a thread of the program was held back so as not to be far ahead of the GPU, which works
    /// meanwhile where it does not wait for that thread. No part of the stall.
    pub(crate) held_before_ms: f64,
    /// Waiting for GPU work, the gate closed.
    pub(crate) drain_ms: f64,
    /// Where that was not waited for: how many operations were stopped in the middle or before.
    pub(crate) under_way: Option<u64>,
    /// CRIU's own frozen time, without the plugin's copying.
    pub(crate) criu_freeze_ms: f64,
    /// The plugin's copying of what the agent does not deliver, inside the freeze.
    pub(crate) residual_ms: f64,
    /// "full", "sampled" or "off".
    pub(crate) validate: String,
    /// Of the stall, computing fingerprints at the cut.
    pub(crate) fingerprints_ms: f64,
    /// Bytes that were fingerprinted at the cut.
    pub(crate) fingerprinted_bytes: u64,
    /// The attempts before this one: each was given up for writes that nobody had announced.
    pub(crate) missed_writes: Vec<MissedWriteReport>,
    /// Added by copying after the freeze: the closed gate (stop), or launches held back (cow).
    pub(crate) copy_added_ms: f64,
    /// Bytes of GPU memory in the checkpoint.
    pub(crate) state_bytes: u64,
    /// Of it, what passed through the plugin while the program was frozen.
    pub(crate) residual_bytes: u64,
    /// Of it, what the plugin set aside on the device, to be copied out afterwards.
    pub(crate) set_aside_bytes: u64,
    /// Of it, what is as it was at the checkpoint before (--base, --every), or as a round has copied it: it was not
    /// copied after the cut.
    pub(crate) unchanged_bytes: u64,
    /// By what the mode was chosen (--mode auto).
    pub(crate) choice: Option<ChoiceReport>,
    /// What was copied before the cut (--mode recopy).
    pub(crate) rounds: Option<RoundsReport>,
    /// What it has cost the program up to the end of the command, where that goes round a loop.
    pub(crate) lost: Option<LostWorkReport>,
    /// Calls of the program that were held back, before the cut and after it, by what held them.
    pub(crate) held: Vec<HeldReport>,
    /// Streams of the program that were told to wait for a copy; how long each did, only the device knows.
    pub(crate) device_waits: u64,
    pub(crate) copied_out_bytes: u64,
    pub(crate) copied_aside_bytes: u64,
    pub(crate) copy_bytes_per_s: f64,
    /// Launches traced since the program started.
    pub(crate) launches: u64,
    pub(crate) footprints_exact: u64,
    pub(crate) footprints_conservative: u64,
    /// What a restored program will find otherwise than it is; a sentence each.
    pub(crate) warnings: Vec<String>,
}

impl CheckpointReport {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut lines = vec![
            match self.gpu_processes {
                0 | 1 => format!("checkpoint of {} in {}", self.pid, self.directory),
                several => format!(
                    "checkpoint of {} with {several} GPU processes in {}",
                    self.pid, self.directory
                ),
            },
            format!("  state          {}", show_size(self.state_bytes)),
        ];
        lines.extend(self.choice.iter().flat_map(ChoiceReport::lines));
        lines.extend([
            format!("  stall          {:.1} ms", self.stall_ms),
            match self.under_way {
                None => format!("    GPU work     {:.1} ms", self.drain_ms),
                Some(operations) => format!(
                    "    GPU work     {:.1} ms, then {operations} operations stopped in the middle",
                    self.drain_ms
                ),
            },
            format!("    fingerprints {:.1} ms", self.fingerprints_ms),
            format!("    CRIU freeze  {:.1} ms", self.criu_freeze_ms),
            format!("    residual     {:.1} ms", self.residual_ms),
            format!("    copying      {:.1} ms", self.copy_added_ms),
            format!("  held before    {:.1} ms", self.held_before_ms),
            format!(
                "  copied         {}/s",
                show_size(self.copy_bytes_per_s as u64)
            ),
            format!("  unchanged      {}", show_size(self.unchanged_bytes)),
            format!("  copied aside   {}", show_size(self.copied_aside_bytes)),
            format!(
                "  validated      {}: {} in {:.1} ms",
                self.validate,
                show_size(self.fingerprinted_bytes),
                self.fingerprints_ms
            ),
            format!(
                "  launches       {} ({} exact, {} conservative)",
                self.launches, self.footprints_exact, self.footprints_conservative
            ),
        ]);
        lines.extend(self.rounds.as_ref().map(RoundsReport::line));
        lines.extend(self.lost.as_ref().map(LostWorkReport::line));
        lines.extend(self.held.iter().map(HeldReport::line));
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|warning| format!("  warning        {warning}")));
        let lines: Vec<_> = lines.into_iter().map(one_line).collect();
        lines.join("\n")
    }
}

/// Rounds of copying before a cut.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RoundsReport {
    count: u32,
    copied_bytes: u64,
    /// Of all of them.
    ms: f64,
    /// Of the last one.
    last_bytes: u64,
    /// That was little. Else the program writes about as fast as is copied.
    converged: bool,
}

impl From<Rounds> for RoundsReport {
    fn from(rounds: Rounds) -> Self {
        Self {
            count: rounds.count(),
            copied_bytes: rounds.copied(),
            ms: rounds.took().as_secs_f64() * 1e3,
            last_bytes: rounds.last().copied,
            converged: rounds.outcome() == Some(Outcome::Converged),
        }
    }
}

impl RoundsReport {
    fn line(&self) -> String {
        let Self {
            count,
            copied_bytes,
            ms,
            last_bytes,
            converged,
        } = self;
        let (copied, last) = (show_size(*copied_bytes), show_size(*last_bytes));
        let end = match converged {
            true => "",
            false => ", which the program writes as fast",
        };
        format!("  rounds         {count}: {copied} in {ms:.1} ms, the last {last}{end}")
    }
}

/// What a program has lost that goes round a loop. Times are those at which launches were seen: they may be ten milliseconds late.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LostWorkReport {
    /// By how much longer it took to get as far as it has than in rounds before.
    pub(crate) ms: f64,
    /// How long that took.
    pub(crate) took_ms: f64,
    /// The longest round since.
    pub(crate) slowest_round_ms: f64,
    /// How long one took before.
    pub(crate) usual_round_ms: f64,
}

impl From<LostWork> for LostWorkReport {
    fn from(lost: LostWork) -> Self {
        Self {
            ms: lost.ns() as f64 / 1e6,
            took_ms: lost.took_ns as f64 / 1e6,
            slowest_round_ms: lost.slowest_ns as f64 / 1e6,
            usual_round_ms: lost.usual_ns as f64 / 1e6,
        }
    }
}

impl LostWorkReport {
    fn line(&self) -> String {
        let Self {
            ms,
            took_ms,
            slowest_round_ms: slowest,
            usual_round_ms: usual,
        } = self;
        format!(
            "  lost           {ms:.0} ms of the {took_ms:.0} ms since, the slowest round {slowest:.0} ms and not {usual:.0}"
        )
    }
}

/// Calls of the program that were held back for one cause.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HeldReport {
    /// "lead", "cut", "room", "aside", "link" or "free".
    pub(crate) by: &'static str,
    pub(crate) calls: u64,
    /// Of all threads together.
    pub(crate) ms: f64,
    /// The longest of one call.
    pub(crate) longest_ms: f64,
}

impl From<HeldBack> for HeldReport {
    fn from(held: HeldBack) -> Self {
        Self {
            by: cause_name(held.cause()),
            calls: held.calls,
            ms: held.ns as f64 / 1e6,
            longest_ms: held.longest_ns as f64 / 1e6,
        }
    }
}

impl HeldReport {
    fn line(&self) -> String {
        let Self {
            by,
            calls,
            ms,
            longest_ms,
        } = self;
        format!("  held by {by:<6} {calls} calls, {ms:.1} ms, the longest {longest_ms:.1} ms")
    }
}

/// What held calls back, in a word.
pub(crate) fn cause_name(by: HeldBy) -> &'static str {
    match by {
        HeldBy::Unspecified => "unknown",
        HeldBy::Lead => "lead",
        HeldBy::Cut => "cut",
        HeldBy::Room => "room",
        HeldBy::Aside => "aside",
        HeldBy::Link => "link",
        HeldBy::Free => "free",
    }
}

/// One finished restore.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct RestoreReport {
    pub(crate) directory: String,
    /// As the command's PID namespace has it.
    pub(crate) pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<InstanceReport>,
    /// Until the program runs again.
    pub(crate) restore_ms: f64,
    /// It ran before all its memory was loaded.
    pub(crate) on_demand: bool,
    /// Until it was; absent where the program has ended before.
    pub(crate) loaded_ms: Option<f64>,
    /// The program's files that were not what they were at the checkpoint.
    pub(crate) files: Vec<FileReport>,
    /// What was not undone, a sentence each.
    pub(crate) remarks: Vec<String>,
}

/// An instance, as the report of its restore names it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InstanceReport {
    /// Where it is.
    pub(crate) directory: String,
    /// The number of its first process in there.
    pub(crate) pid: u32,
}

/// Whether a restore would be refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReadinessReport {
    pub(crate) directory: String,
    pub(crate) ready: bool,
    /// What would refuse it, a sentence each.
    pub(crate) findings: Vec<String>,
    /// What would be done to the program's files.
    pub(crate) files: Vec<String>,
    /// What would not be undone, a sentence each.
    pub(crate) remarks: Vec<String>,
}

impl ReadinessReport {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let directory = &self.directory;
        let mut lines = match self.ready {
            true => vec![format!("{directory} can be restored here")],
            false => vec![format!("{directory} cannot be restored here:")],
        };
        let rest = self.findings.iter().chain(&self.files).chain(&self.remarks);
        lines.extend(rest.map(|sentence| one_line(format_args!("  {sentence}"))));
        lines.join("\n")
    }
}

/// Whether a checkpoint would be refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProspectsReport {
    /// Of the root of all its processes.
    pub(crate) pid: u32,
    pub(crate) ready: bool,
    /// What would refuse it, a sentence each.
    pub(crate) findings: Vec<String>,
    /// What a restored program would find otherwise.
    pub(crate) warnings: Vec<String>,
}

impl ProspectsReport {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let pid = self.pid;
        let mut lines = match self.ready {
            true => vec![format!("a checkpoint of {pid} can be taken now")],
            false => vec![format!("a checkpoint of {pid} cannot be taken now:")],
        };
        lines.extend(self.findings.iter().map(|finding| format!("  {finding}")));
        lines.extend(
            self.warnings
                .iter()
                .map(|warning| format!("  warning: {warning}")),
        );
        lines.join("\n")
    }
}

/// A file that is now what it was.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileReport {
    pub(crate) path: String,
    /// Where what it had become is kept.
    pub(crate) kept: Option<String>,
    /// For people.
    #[serde(skip)]
    pub(crate) sentence: String,
}
