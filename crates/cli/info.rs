//! `strobe info`: what a checkpoint is of, and what it has cost.

use std::process::ExitCode;

use crate::arguments::InfoArguments;
use crate::directory;
use crate::outcome::Outcome;
use crate::output::{answer, one_line};
use crate::size::show_size;
use crate::summary::Summary;

pub(crate) fn run(arguments: &InfoArguments) -> Outcome {
    let checkpoint = directory::open(&arguments.directory)?;
    let summary = Summary::of(&checkpoint);
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&summary)?,
        false => text(&summary),
    };
    answer(text, ExitCode::SUCCESS)
}

fn text(summary: &Summary) -> String {
    let mode = match (summary.mode, summary.killed) {
        (_, true) => "which was ended",
        ("cow", _) => "which went on, by copy-on-write",
        _ => "which went on, after it had stood still",
    };
    let mut lines = vec![
        format!("program   {} ({mode})", summary.command),
        format!("taken     {}, process {}", summary.taken, summary.pid),
        format!(
            "GPU       {} in {} processes, {}",
            show_size(summary.device_bytes),
            summary.gpu_processes,
            match summary.target.as_str() {
                "" => "target not recorded",
                target => target,
            }
        ),
        format!("host      {}", show_size(summary.host_bytes)),
        format!("files     {}", show_size(summary.file_bytes)),
        format!(
            "on disk   {}, of which {} are shared with no other checkpoint",
            show_size(summary.disk_bytes),
            show_size(summary.own_bytes)
        ),
        format!("CRIU      {}", summary.criu_version),
    ];
    if let Some(stall) = summary.stall_ms {
        lines.push(format!("stall     {stall:.1} ms"));
    }
    let lines: Vec<_> = lines.into_iter().map(one_line).collect();
    lines.join("\n")
}
