//! `strobe checkpoint --every`: one after the other, until the program ends.
//!
//! Each is a checkpoint like any other, with the one before as its base. What goes wrong with one is said, and the
//! next is taken in its turn; nothing older goes before something newer is complete.

use std::fs::File;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use strobe_program::process::Identity;
use strobe_store::Series;

use crate::abandoned::Watched;
use crate::arguments::CheckpointArguments;
use crate::checkpoint::INTERRUPTED;
use crate::outcome::{Outcome, Refused};
use crate::output::{notice, one_line, sentence, tell};
use crate::results::CheckpointReport;
use crate::size::show_size;
use crate::{checkpoint, directory, interrupt, tree};

/// How soon the end of the program is seen.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &CheckpointArguments, every: Duration) -> Outcome {
    let watched = checkpoint::begin(arguments)?;
    let folder = arguments.output();
    let program = Identity::of(tree::root_of(arguments.pid));
    let program = program.map_err(|_| Refused(format!("there is no process {}", arguments.pid)))?;
    let series = Series::make(folder)?;
    let lock = File::open(folder).context("cannot open the folder")?;
    if lock.try_lock().is_err() {
        let folder = folder.display();
        let why = format!("{folder} gets the checkpoints of another command: take another folder");
        return Err(Refused(why).into());
    }
    directory::clear(folder);
    let mut taken = 0;
    let mut failed = None;
    let mut next = Instant::now() + every;
    loop {
        while Instant::now() < next && program.is_alive() {
            thread::sleep(LOOK_AGAIN.min(next.saturating_duration_since(Instant::now())));
        }
        if !program.is_alive() {
            break;
        }
        next = Instant::now() + every;
        match take(arguments, &series, &watched) {
            Ok(()) => taken += 1,
            // It was why.
            Err(_) if !program.is_alive() => break,
            Err(error) => {
                interrupt::goes_first();
                let wait = humantime::format_duration(every);
                let why = sentence(&error);
                notice(format_args!("{why}; the next one in {wait}"));
                failed = Some(error);
            }
        }
        if let Some(signal) = interrupt::rests() {
            notice(INTERRUPTED);
            return Ok(ExitCode::from(interrupt::code(signal)));
        }
    }
    match failed {
        Some(error) if taken == 0 => Err(error.context("none was taken")),
        None if taken == 0 => {
            bail!("the program has ended before the first checkpoint: none was taken")
        }
        _ => {
            let folder = folder.display();
            notice(format_args!(
                "the program has ended; {taken} checkpoints were taken in {folder}"
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Takes the next one, and removes those that are one too many then.
fn take(arguments: &CheckpointArguments, series: &Series, watched: &Watched) -> anyhow::Result<()> {
    let path = series.next()?;
    let arguments = CheckpointArguments {
        base: series.checkpoints()?.pop(),
        output: Some(path.clone()),
        ..arguments.clone()
    };
    let report = checkpoint::take_one(&arguments, watched)?;
    match arguments.json {
        true => tell(serde_json::to_string(&report)?),
        false => tell(line(&report)),
    }
    // It is complete whatever becomes of the rest.
    series.point_at(&path).context("it is complete, but")?;
    if let Some(keep) = arguments.keep {
        let removed = series.remove_but(keep as usize);
        removed.context("it is complete, but")?;
    }
    Ok(())
}

fn line(report: &CheckpointReport) -> String {
    let mut lines = vec![format!(
        "{}: {}, stall {:.1} ms",
        report.directory,
        show_size(report.state_bytes),
        report.stall_ms
    )];
    let warnings = report.warnings.iter();
    lines.extend(warnings.map(|warning| format!("  warning        {warning}")));
    let lines: Vec<_> = lines.into_iter().map(one_line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_and_files_make_no_lines() {
        let report = CheckpointReport {
            directory: "a\nb/000001".into(),
            warnings: vec!["c\n\x1b[2J".into(), "d".into()],
            ..CheckpointReport::default()
        };
        let said = line(&report);
        let lines: Vec<_> = said.split('\n').collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert!(lines[0].starts_with("a\\nb/000001: "), "{said}");
        assert!(!report.text().contains("a\nb"), "{}", report.text());
    }
}
