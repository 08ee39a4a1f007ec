//! Footprints of the kernels in a folder of libraries, one folder in it for each:
//!
//!     strobe-footprints --folder F [--launches FILE] [--json FILE] [--html FILE] [--target T] [--limit N]
//!
//! Each library is evaluated by a process of its own, so that what one of them does to it is named, and its peak
//! of memory is its own. Exit codes: 0 done, 1 something could not be evaluated, 2 wrong usage.

#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use strobe_evaluation::ending::{end, wrong_usage};
use strobe_evaluation::footprints::{
    FootprintReport, LibraryOptions, LibraryTally, evaluate_library, page,
};
use strobe_evaluation::launches::LaunchReport;

const PROGRAM: &str = "strobe-footprints";
const USAGE: &str = "\
usage: cargo xtask evaluate footprints [--folder F] [--launches FILE] [--json FILE] [--html FILE] [--target T] [--limit N]
  (gfx906; N kernels of each library at the most; FILE of `cargo xtask evaluate launches --json FILE`)";

#[derive(Debug)]
struct Arguments {
    folder: PathBuf,
    launches: Option<PathBuf>,
    json: Option<PathBuf>,
    html: Option<PathBuf>,
    options: LibraryOptions,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["library", folder, target, limit] = words[..] {
        return end(PROGRAM, library(Path::new(folder), target, limit));
    }
    match parse(&words) {
        Ok(arguments) => end(PROGRAM, evaluate(&arguments)),
        Err(error) => wrong_usage(PROGRAM, error, USAGE),
    }
}

fn parse(words: &[&str]) -> anyhow::Result<Arguments> {
    let (mut folder, mut launches, mut json, mut html) = (None, None, None, None);
    let mut options = LibraryOptions {
        target: "gfx906".into(),
        limit: usize::MAX,
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} wants a value"))
        };
        match word {
            "--folder" => folder = Some(value()?.into()),
            "--launches" => launches = Some(value()?.into()),
            "--json" => json = Some(value()?.into()),
            "--html" => html = Some(value()?.into()),
            "--target" => options.target = (*value()?).into(),
            "--limit" => options.limit = value()?.parse().context("a number of kernels")?,
            _ => bail!("unknown: {word}"),
        }
    }
    Ok(Arguments {
        folder: folder.context("which folder?")?,
        launches,
        json,
        html,
        options,
    })
}

fn evaluate(arguments: &Arguments) -> anyhow::Result<()> {
    let launches = arguments.launches.as_deref().map(launches).transpose()?;
    let folder = &arguments.folder;
    let read = || format!("read {} (`cargo xtask corpus` fills it)", folder.display());
    let mut libraries = Vec::new();
    for entry in fs::read_dir(folder).with_context(read)? {
        let path = entry?.path();
        // `cargo xtask corpus` may be at work.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with("part-") {
            libraries.push(path);
        }
    }
    libraries.sort_unstable();
    ensure!(!libraries.is_empty(), "no library in {}", folder.display());
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for (index, path) in libraries.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        eprintln!("{name} ({} of {})", index + 1, libraries.len());
        match apart(path, &arguments.options) {
            Ok(tally) => found.push(tally),
            Err(error) => {
                eprintln!("  failed: {error:#}");
                failed.push(format!("{name}: {error:#}"));
            }
        }
    }
    let report = FootprintReport::new(&arguments.options.target, found, failed, launches);
    print!("{}\n{}", report.table(), report.reasons());
    if let Some(launches) = &report.launches {
        print!("\n{}\n{}", launches.table(), launches.widest());
    }
    if let Some(path) = &arguments.json {
        fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("write {}", path.display()))?;
    }
    if let Some(path) = &arguments.html {
        fs::write(path, page(&report)).with_context(|| format!("write {}", path.display()))?;
    }
    ensure!(report.failed.is_empty(), "{}", report.failed.join("; "));
    Ok(())
}

/// What has been measured of launches.
fn launches(path: &Path) -> anyhow::Result<LaunchReport> {
    let read = || format!("read {}", path.display());
    let text = fs::read_to_string(path).with_context(read)?;
    serde_json::from_str(&text).with_context(read)
}

/// By a process of its own.
fn apart(folder: &Path, options: &LibraryOptions) -> anyhow::Result<LibraryTally> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("library").arg(folder).arg(&options.target);
    command.arg(options.limit.to_string());
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "ended with {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Evaluates one here and prints what was found.
fn library(folder: &Path, target: &str, limit: &str) -> anyhow::Result<()> {
    let options = LibraryOptions {
        target: target.into(),
        limit: limit.parse()?,
    };
    println!(
        "{}",
        serde_json::to_string(&evaluate_library(folder, &options)?)?
    );
    Ok(())
}
