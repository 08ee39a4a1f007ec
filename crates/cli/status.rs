//! `strobe status`: what programs under strobe are doing, as to checkpoints.
//!
//! All of it stands in their agents' pages, which are read from outside: nobody is asked, or waits.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use strobe_program::agent::{AgentError, Copying, LastCheckpoint, RemoteAgent, Snapshot};
use strobe_program::clock::{MonotonicClock, now_ns};
use strobe_program::process::{self, Identity};
use strobe_proto::page::Phase;

use crate::arguments::StatusArguments;
use crate::outcome::{Outcome, Refused};
use crate::output::{answer, one_line};
use crate::size::show_size;

/// A process is started between two ticks of a clock, of which there are a hundred a second at least.
const START: Duration = Duration::from_millis(20);

/// One program. Sizes are bytes, times milliseconds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) command: String,
    /// "idle", "preparing", "armed", "closing", "drained", "cut", "copying", "refused", "loading" or "restoring":
    /// CRIU brings it back, and it has not run yet.
    pub(crate) phase: String,
    /// For how long.
    pub(crate) phase_ms: Option<f64>,
    /// Who takes a checkpoint of it.
    pub(crate) taken_by: Option<TakenBy>,
    /// What is being copied: of a checkpoint, or before the cut of one.
    pub(crate) copying: Option<Progress>,
    /// Bytes that a restore has not loaded yet.
    pub(crate) unloaded_bytes: u64,
    /// Why the last checkpoint was refused, if it was.
    pub(crate) refused: Option<String>,
    /// Those that were complete, and the last of them.
    pub(crate) checkpoints: u64,
    pub(crate) last: Option<Last>,
    pub(crate) launches: u64,
    pub(crate) footprints_exact: u64,
    /// Launches that could have written anything.
    pub(crate) footprints_unknown: u64,
    pub(crate) allocations: u64,
    pub(crate) tracked_bytes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TakenBy {
    pid: u32,
    command: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Progress {
    bytes: u64,
    of_bytes: u64,
    bytes_per_s: f64,
    remaining_ms: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Last {
    directory: String,
    /// When it was complete, in UTC.
    taken: String,
    stall_ms: f64,
}

pub(crate) fn run(arguments: &StatusArguments) -> Outcome {
    let text = match arguments.pid {
        Some(pid) => {
            let status = Status::of(pid).map_err(|error| Refused(error.to_string()))?;
            match arguments.json {
                true => serde_json::to_string_pretty(&status)?,
                false => status.text(),
            }
        }
        None => {
            let all = all()?;
            let texts: Vec<String> = all.iter().map(Status::text).collect();
            match arguments.json {
                true => serde_json::to_string_pretty(&all)?,
                false if all.is_empty() => "no program runs under strobe".into(),
                false => texts.join("\n"),
            }
        }
    };
    answer(text, ExitCode::SUCCESS)
}

/// Of all programs that have an agent, and are not somebody else's.
pub(crate) fn all() -> anyhow::Result<Vec<Status>> {
    let pids = process::all()?;
    Ok(pids.into_iter().flat_map(Status::of).collect())
}

impl Status {
    /// # Errors
    /// It has no agent, or is gone.
    pub(crate) fn of(pid: u32) -> Result<Self, AgentError> {
        let snapshot = RemoteAgent::find(pid)?.snapshot()?;
        let clock = MonotonicClock::of(pid);
        // After what it is compared with.
        let now = now_ns();
        let since = |moment: u64| now.saturating_sub(clock.here(moment));
        let age = Identity::of(pid).ok().and_then(Identity::age);
        Ok(Self::shown(pid, snapshot, since, age))
    }

    fn shown(
        pid: u32,
        snapshot: Snapshot,
        since: impl Fn(u64) -> u64,
        age: Option<Duration>,
    ) -> Self {
        let Snapshot {
            phase,
            controller,
            phase_since_ns,
            copying,
            last,
            reason,
            ..
        } = snapshot;
        let is_under_way = !matches!(
            phase,
            None | Some(Phase::Idle | Phase::Refused | Phase::Loading)
        );
        let was_saved_in_it = is_under_way
            && !controller.is_alive()
            && age.is_some_and(|age| {
                let since = Duration::from_nanos(since(phase_since_ns));
                // Of another machine it may be still to come.
                since.is_zero() || age + START < since
            });
        let is_under_way = is_under_way && !was_saved_in_it;
        Self {
            pid,
            command: command_of(pid),
            phase: match phase {
                _ if was_saved_in_it => "restoring".into(),
                Some(phase) => format!("{phase:?}").to_lowercase(),
                None => "unknown".into(),
            },
            phase_ms: (phase_since_ns > 0 && !was_saved_in_it)
                .then(|| since(phase_since_ns) as f64 / 1e6),
            taken_by: TakenBy::of(controller).filter(|_| is_under_way),
            copying: copying
                .filter(|_| is_under_way)
                .map(|copying| Progress::of(copying, since(copying.began_ns))),
            unloaded_bytes: snapshot.unloaded_bytes,
            refused: (phase == Some(Phase::Refused)).then_some(reason),
            checkpoints: snapshot.checkpoints,
            last: last.map(Last::from),
            launches: snapshot.launches,
            footprints_exact: snapshot.footprints_exact,
            footprints_unknown: snapshot.footprints_conservative,
            allocations: snapshot.allocations,
            tracked_bytes: snapshot.tracked_bytes,
        }
    }

    /// For people.
    fn text(&self) -> String {
        let mut lines = vec![format!("{}  {}", self.pid, self.command)];
        let time = self
            .phase_ms
            .map_or(String::new(), |ms| format!(" for {}", show_time(ms)));
        let by = self.taken_by.as_ref().map_or(String::new(), |by| {
            format!(", by process {} ({})", by.pid, by.command)
        });
        lines.push(format!("  phase        {}{time}{by}", self.phase));
        if let Some(copying) = &self.copying {
            let left = copying.remaining_ms;
            let left = left.map_or(String::new(), |ms| format!(", {} left", show_time(ms)));
            lines.push(format!(
                "  copied       {} of {}, {}/s{left}",
                show_size(copying.bytes),
                show_size(copying.of_bytes),
                show_size(copying.bytes_per_s as u64)
            ));
        }
        if self.unloaded_bytes > 0 {
            lines.push(format!("  to load      {}", show_size(self.unloaded_bytes)));
        }
        if let Some(reason) = &self.refused {
            lines.push(format!("  refused      {reason}"));
        }
        let last = self.last.as_ref().map_or(String::new(), |last| {
            format!(
                ", the last in {}, {}, stall {:.1} ms",
                last.directory, last.taken, last.stall_ms
            )
        });
        lines.push(format!("  checkpoints  {}{last}", self.checkpoints));
        lines.push(format!(
            "  launches     {} ({} exact, {} unknown)",
            self.launches, self.footprints_exact, self.footprints_unknown
        ));
        lines.push(format!(
            "  memory       {} in {} allocations",
            show_size(self.tracked_bytes),
            self.allocations
        ));
        let lines: Vec<String> = lines.into_iter().map(one_line).collect();
        lines.join("\n")
    }
}

impl TakenBy {
    /// Nobody where that process is gone.
    fn of(controller: Identity) -> Option<Self> {
        let pid = controller.pid;
        let command = controller.is_alive().then(|| command_of(pid))?;
        Some(Self { pid, command })
    }
}

impl Progress {
    fn of(copying: Copying, took_ns: u64) -> Self {
        let Copying { bytes, copied, .. } = copying;
        let bytes_per_s = copied as f64 / (took_ns.max(1) as f64 / 1e9);
        let left = bytes.saturating_sub(copied) as f64;
        Self {
            bytes: copied,
            of_bytes: bytes,
            bytes_per_s,
            remaining_ms: (copied > 0).then(|| left / bytes_per_s * 1e3),
        }
    }
}

impl From<LastCheckpoint> for Last {
    fn from(last: LastCheckpoint) -> Self {
        let taken = UNIX_EPOCH.checked_add(Duration::from_nanos(last.unix_ns));
        Self {
            directory: last.directory,
            taken: taken.map_or_else(String::new, |taken| {
                humantime::format_rfc3339_seconds(taken).to_string()
            }),
            stall_ms: last.stall_ns as f64 / 1e6,
        }
    }
}

fn command_of(pid: u32) -> String {
    process::command_line(pid).unwrap_or_default().join(" ")
}

fn show_time(ms: f64) -> String {
    match ms {
        ms if ms < 1e4 => format!("{:.1} s", ms / 1e3),
        ms => {
            let seconds = Duration::from_secs((ms / 1e3) as u64);
            humantime::format_duration(seconds).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_by_what_has_arrived() {
        let copying = |copied| Copying {
            began_ns: 1,
            bytes: 300,
            copied,
        };
        let progress = Progress::of(copying(100), 2_000_000_000);
        assert_eq!(progress.bytes_per_s, 50.0);
        assert_eq!(progress.remaining_ms, Some(4_000.0));
        assert_eq!(Progress::of(copying(0), 0).remaining_ms, None);
        // Words of another process.
        assert_eq!(Progress::of(copying(u64::MAX), 1).remaining_ms, Some(0.0));
    }

    #[test]
    fn a_process_that_is_younger_than_its_phase_is_being_restored() {
        let cut = |controller| Snapshot {
            phase: Some(Phase::Cut),
            verdict: None,
            request: 1,
            controller,
            attempts: 1,
            gate_closed_ns: 1,
            drained_ns: 1,
            opened_ns: 0,
            launches: 0,
            footprints_exact: 0,
            footprints_conservative: 0,
            allocations: 0,
            tracked_bytes: 0,
            unloaded_bytes: 0,
            checkpoints: 0,
            reason: String::new(),
            phase_since_ns: 1,
            copying: None,
            last: None,
        };
        let pid = std::process::id();
        let me = Identity::of(pid).expect("we run");
        let gone = Identity {
            start_time: 1,
            ..me
        };
        let phase = |controller, age| {
            let age = Some(Duration::from_secs(age));
            Status::shown(pid, cut(controller), |_| 60_000_000_000, age).phase
        };
        assert_eq!(phase(gone, 3), "restoring");
        assert_eq!(phase(gone, 90), "cut");
        assert_eq!(phase(me, 90), "cut");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [0.0, 1_234.0, 90_000.0].map(show_time),
            ["0.0 s", "1.2 s", "1m 30s"]
        );
    }
}
