//! Mutated inputs in a process of their own, which is watched: it may fail in ways that take a process
//! with them.
//!
//! The child writes each input to a file before it reads it, so that the last one is there whatever
//! becomes of it. Its address space is bounded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};

use super::mutate::mutate;
use super::{Format, find};
use crate::random::Random;

/// Address space of the child: its own, and some hundred times what its largest input has.
const MOST_KIB: u64 = 256 << 10;
/// Nothing takes as long on the busiest machine.
const LONGEST: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    Time(Duration),
    Inputs(u64),
}

/// An input that was not read as it should be.
#[derive(Debug)]
pub struct Finding {
    /// What became of its reader.
    pub how: String,
    /// The input, saved.
    pub input: PathBuf,
}

/// Reads mutations of a format's valid inputs, in this process, the first of a seed first.
///
/// # Errors
/// If inputs cannot be written to `current`.
pub fn read_all(format: &Format, seed: u64, length: Length, current: &Path) -> anyhow::Result<u64> {
    let valid = (format.valid)();
    let mut random = Random::new(seed);
    let start = Instant::now();
    let mut inputs = 0;
    while match length {
        Length::Time(time) => start.elapsed() < time,
        Length::Inputs(most) => inputs < most,
    } {
        let input = mutate(&mut random, &valid);
        fs::write(current, &input).with_context(|| format!("write {}", current.display()))?;
        (format.read)(&input);
        inputs += 1;
    }
    Ok(inputs)
}

/// Has `program`, this crate's, read mutations of a format in a process of its own; the failing input
/// is saved in `folder`.
///
/// # Errors
/// If the process cannot be run, or the input not be saved.
pub fn run(
    program: &Path,
    format: &Format,
    seed: u64,
    length: Length,
    folder: &Path,
) -> anyhow::Result<Option<Finding>> {
    let length = match length {
        Length::Time(time) => ["--seconds".to_owned(), time.as_secs().to_string()],
        Length::Inputs(most) => ["--inputs".to_owned(), most.to_string()],
    };
    let scratch = tempfile::tempdir().context("a folder for inputs")?;
    let current = scratch.path().join("current");
    let mut child = bounded(program);
    child.args(["--one", format.name, "--seed", &seed.to_string()]);
    child.args(length).arg("--current").arg(&current);
    let Some(how) = watch(child.spawn().context("start the reader")?, &current)? else {
        return Ok(None);
    };
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let input = folder.join(format!("{}-{seed}.bin", format.name));
    fs::copy(&current, &input).with_context(|| format!("{how}; save {}", input.display()))?;
    Ok(Some(Finding { how, input }))
}

/// Reads a saved input again, in a process of its own.
///
/// # Errors
/// If its name begins with no format, or the process cannot be run.
pub fn replay(program: &Path, input: &Path) -> anyhow::Result<Option<String>> {
    let format = format_of(input)?;
    let mut child = bounded(program);
    child.args(["--one", format.name, "--read"]).arg(input);
    watch(child.spawn().context("start the reader")?, input)
}

/// The format that the name of a saved input begins with.
///
/// # Errors
/// If there is none.
pub fn format_of(input: &Path) -> anyhow::Result<Format> {
    let name = input.file_stem().unwrap_or_default().to_string_lossy();
    let (format, _) = name.rsplit_once('-').unwrap_or((&name, ""));
    find(format).with_context(|| format!("{}: no format is called {format:?}", input.display()))
}

fn bounded(program: &Path) -> Command {
    let mut command = Command::new("sh");
    let limit = format!("ulimit -v {MOST_KIB}; exec \"$0\" inputs \"$@\"");
    command.arg("-c").arg(limit).arg(program);
    command
}

/// What became of a reader that failed.
fn watch(mut child: Child, current: &Path) -> anyhow::Result<Option<String>> {
    let mut moved = Instant::now();
    let mut last: Option<SystemTime> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            // Wrong usage is this program's own mistake.
            ensure!(
                status.code() != Some(2),
                "the reader was not called as it is used"
            );
            return Ok((!status.success()).then(|| said(status)));
        }
        let now = fs::metadata(current).and_then(|file| file.modified()).ok();
        if now != last {
            (last, moved) = (now, Instant::now());
        }
        if moved.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!(
                "it read for more than {} s",
                LONGEST.as_secs()
            )));
        }
        std::thread::sleep(POLL);
    }
}

fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(101) => "it panicked".to_owned(),
        _ => format!("its process ended with {status}"),
    }
}
