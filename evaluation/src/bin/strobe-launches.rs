//! Footprints of launches, held against what they have touched on the software GPU:
//!
//!     strobe-launches --folder F [--only PART]... [--seed N] [--seconds N] [--json FILE]
//!     strobe-launches --log FILE... [--json FILE]
//!
//! Runs programs of others, or reads what others have run. Exit codes: 0 done, 1 something was touched that was not
//! predicted, or nothing could be run, 2 wrong usage.

#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use strobe_evaluation::ending::{end, wrong_usage};
use strobe_evaluation::launches::{Judged, LaunchReport, RunOptions, RunReport, judge, make};

const PROGRAM: &str = "strobe-launches";
const USAGE: &str = "\
usage: cargo xtask evaluate launches [--folder F] [--only PART]... [--seed N] [--seconds N] [--json FILE]
       cargo xtask evaluate launches --log FILE... [--json FILE]
  (seed 1, 150 seconds for each process; PART of a suite's name; FILE of strobe softgpu --access-log FILE --log-launches)";

#[derive(Debug)]
struct Arguments {
    logs: Vec<PathBuf>,
    json: Option<PathBuf>,
    options: RunOptions,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match parse(&words) {
        Ok(arguments) => end(PROGRAM, evaluate(&arguments)),
        Err(error) => wrong_usage(PROGRAM, error, USAGE),
    }
}

fn parse(words: &[String]) -> anyhow::Result<Arguments> {
    let (mut folder, mut json, mut logs, mut only) = (None, None, Vec::new(), Vec::new());
    let (mut seed, mut seconds) = (1, 150);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            let value = words.next();
            value.with_context(|| format!("{word} wants a value"))
        };
        match word.as_str() {
            "--folder" => folder = Some(value()?.into()),
            "--json" => json = Some(value()?.into()),
            "--log" => logs.push(value()?.into()),
            "--only" => only.push(value()?.clone()),
            "--seed" => seed = value()?.parse().context("a seed")?,
            "--seconds" => seconds = value()?.parse().context("a number of seconds")?,
            _ => bail!("unknown: {word}"),
        }
    }
    ensure!(folder.is_some() || !logs.is_empty(), "which folder?");
    Ok(Arguments {
        logs,
        json,
        options: RunOptions {
            folder: folder.unwrap_or_default(),
            only,
            seed,
            seconds,
        },
    })
}

fn evaluate(arguments: &Arguments) -> anyhow::Result<()> {
    let report = match arguments.logs.is_empty() {
        true => make(&arguments.options)?,
        false => read(&arguments.logs)?,
    };
    print!("{}\n{}", report.table(), report.widest());
    if let Some(path) = &arguments.json {
        fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("write {}", path.display()))?;
    }
    ensure!(report.total.launches > 0, "nothing was launched");
    ensure!(
        report.holds(),
        "not every byte that was touched had been predicted"
    );
    Ok(())
}

/// Logs that are there already.
fn read(logs: &[PathBuf]) -> anyhow::Result<LaunchReport> {
    let (mut runs, mut all) = (Vec::new(), Judged::default());
    for log in logs {
        let judged = judge(log, u64::MAX)?;
        let name = Path::file_name(log).unwrap_or_default().to_string_lossy();
        runs.push(RunReport::new(&name, 1, &judged, Vec::new()));
        all.merge(&judged);
    }
    Ok(LaunchReport::new(runs, &all))
}
