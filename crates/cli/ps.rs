//! `strobe ps`: the programs that run under strobe.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use strobe_program::agent::{RemoteAgent, Snapshot};
use strobe_program::process;

use crate::arguments::PsArguments;
use crate::outcome::Outcome;
use crate::output::answer;
use crate::size::show_size;

#[derive(Debug, Serialize)]
struct Row {
    pid: u32,
    phase: String,
    tracked_bytes: u64,
    allocations: u64,
    launches: u64,
    checkpoints: u64,
    command: String,
}

pub(crate) fn run(arguments: &PsArguments) -> Outcome {
    let rows: Vec<Row> = process::all()?.into_iter().filter_map(row).collect();
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&rows)?,
        false => table(&rows),
    };
    answer(text, ExitCode::SUCCESS)
}

/// `None`: no agent, gone meanwhile, or somebody else's.
fn row(pid: u32) -> Option<Row> {
    let snapshot: Snapshot = RemoteAgent::find(pid).ok()?.snapshot().ok()?;
    let phase = snapshot
        .phase
        .map_or("unknown".into(), |phase| format!("{phase:?}"));
    Some(Row {
        pid,
        phase: phase.to_lowercase(),
        tracked_bytes: snapshot.tracked_bytes,
        allocations: snapshot.allocations,
        launches: snapshot.launches,
        checkpoints: snapshot.checkpoints,
        command: process::command_line(pid).unwrap_or_default().join(" "),
    })
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:>7}  {:<9} {:>10} {:>9} {:>11}  COMMAND",
        "PID", "PHASE", "MEMORY", "LAUNCHES", "CHECKPOINTS"
    );
    for row in rows {
        let (memory, launches) = (show_size(row.tracked_bytes), row.launches);
        let _ = write!(
            text,
            "\n{:>7}  {:<9} {memory:>10} {launches:>9} {:>11}  {}",
            row.pid, row.phase, row.checkpoints, row.command
        );
    }
    text
}
