//! `strobe ps`: the programs that run under strobe, a line each.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::PsArguments;
use crate::outcome::Outcome;
use crate::output::{answer, one_line};
use crate::size::show_size;
use crate::status::{self, Status};

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

impl From<Status> for Row {
    fn from(status: Status) -> Self {
        Self {
            pid: status.pid,
            phase: status.phase,
            tracked_bytes: status.tracked_bytes,
            allocations: status.allocations,
            launches: status.launches,
            checkpoints: status.checkpoints,
            command: status.command,
        }
    }
}

pub(crate) fn run(arguments: &PsArguments) -> Outcome {
    let rows: Vec<Row> = status::all()?.into_iter().map(Row::from).collect();
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&rows)?,
        false => table(&rows),
    };
    answer(text, ExitCode::SUCCESS)
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
            row.pid,
            row.phase,
            row.checkpoints,
            one_line(&row.command)
        );
    }
    text
}
