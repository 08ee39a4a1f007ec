//! `strobe list`: the checkpoints in a folder.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use strobe_proto::files::MANIFEST;
use strobe_store::Checkpoint;

use crate::arguments::ListArguments;
use crate::outcome::Outcome;
use crate::output::{answer, one_line};
use crate::size::show_size;
use crate::summary::Summary;

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Row {
    Whole(Summary),
    Damaged { directory: String, damage: String },
}

pub(crate) fn run(arguments: &ListArguments) -> Outcome {
    let folder = &arguments.folder;
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot list {}", folder.display()))?;
    let mut rows = Vec::new();
    for entry in entries.flatten() {
        // No link, as the newest of a series has one: each once.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let path = entry.path();
        if !is_folder || hidden || !path.join(MANIFEST).exists() {
            continue;
        }
        rows.push(match Checkpoint::open(&path) {
            Ok(checkpoint) => Row::Whole(Summary::of(&checkpoint)),
            Err(damage) => Row::Damaged {
                directory: path.display().to_string(),
                damage: damage.to_string(),
            },
        });
    }
    rows.sort_by(|a, b| order(a).cmp(&order(b)));
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&rows)?,
        false => table(&rows),
    };
    answer(text, ExitCode::SUCCESS)
}

fn order(row: &Row) -> (&str, &str) {
    match row {
        Row::Whole(summary) => (&summary.taken, &summary.directory),
        Row::Damaged { directory, .. } => ("", directory),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<20}  {:>10} {:>10} {:>10} {:>10} {:>9}  {:<16} COMMAND",
        "TAKEN", "GPU", "HOST", "DISK", "OWN", "STALL", "DIRECTORY"
    );
    for row in rows {
        let line = match row {
            Row::Whole(row) => {
                let [device, host, disk, own] = [
                    row.device_bytes,
                    row.host_bytes,
                    row.disk_bytes,
                    row.own_bytes,
                ]
                .map(show_size);
                let stall = row.stall_ms.map_or("-".into(), |ms| format!("{ms:.0} ms"));
                format!(
                    "{:<20}  {device:>10} {host:>10} {disk:>10} {own:>10} {stall:>9}  {:<16} {}",
                    row.taken, row.directory, row.command
                )
            }
            Row::Damaged { directory, damage } => format!("{directory}: {damage}"),
        };
        let _ = write!(text, "\n{}", one_line(line));
    }
    text
}
