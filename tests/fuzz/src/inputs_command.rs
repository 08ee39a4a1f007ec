//! `cargo xtask fuzz inputs`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use strobe_fuzz::inputs::watch::{self, Length};
use strobe_fuzz::inputs::{FORMATS, Format, find};

pub(crate) const HELP: &str = "\
cargo xtask fuzz inputs [--seconds N | --inputs N] [--seed S] [--format NAME]... [--folder F]
cargo xtask fuzz inputs --replay FILE...

What is read from files, sockets and other processes must end, without a panic and without more memory
than it is given, whatever the bytes are: each format in turn, over mutations of valid inputs.

  --seconds N    how long, each format (10)
  --inputs N     how many, instead
  --seed S       where to begin; the same seed gives the same inputs (the time)
  --format NAME  one of: instructions, code_objects, manifest, chunk, amdgpu_images, control, hand_over
  --folder F     where a failing input goes (tests/filetests/inputs, which the tests replay)
  --replay       reads saved inputs again

Exit codes: 0 all were read, 1 one was not, 2 wrong usage.";

#[derive(Debug)]
struct Options {
    length: Length,
    seed: u64,
    formats: Vec<Format>,
    folder: PathBuf,
    replay: Vec<PathBuf>,
    /// In this process, which another watches: of the one format, mutations or a file.
    one: Option<Format>,
    current: Option<PathBuf>,
    read: Option<PathBuf>,
}

/// `None`: it was not called as it is used.
pub(crate) fn run(words: &[String]) -> Option<ExitCode> {
    let options = options(words)?;
    let done = match options.one {
        Some(format) => one(&format, &options),
        None if options.replay.is_empty() => all(&options),
        None => replay(&options),
    };
    Some(match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error:#}");
            ExitCode::FAILURE
        }
    })
}

fn options(mut words: &[String]) -> Option<Options> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut options = Options {
        length: Length::Time(Duration::from_secs(10)),
        seed: now.map_or(0, |now| now.as_secs()) << 20,
        formats: Vec::new(),
        folder: PathBuf::from("tests/filetests/inputs"),
        replay: Vec::new(),
        one: None,
        current: None,
        read: None,
    };
    while let Some((word, rest)) = words.split_first() {
        if word == "--replay" && !rest.is_empty() {
            options.replay = rest.iter().map(PathBuf::from).collect();
            break;
        }
        let (value, rest) = rest.split_first()?;
        match word.as_str() {
            "--seconds" => options.length = Length::Time(Duration::from_secs(value.parse().ok()?)),
            "--inputs" => options.length = Length::Inputs(value.parse().ok()?),
            "--seed" => options.seed = value.parse().ok()?,
            "--format" => options.formats.push(find(value)?),
            "--folder" => options.folder = PathBuf::from(value),
            "--one" => options.one = Some(find(value)?),
            "--current" => options.current = Some(PathBuf::from(value)),
            "--read" => options.read = Some(PathBuf::from(value)),
            _ => return None,
        }
        words = rest;
    }
    if options.formats.is_empty() {
        options.formats = FORMATS.to_vec();
    }
    Some(options)
}

fn all(options: &Options) -> anyhow::Result<bool> {
    println!("fuzz: seed {}", options.seed);
    let program = std::env::current_exe().context("own path")?;
    let mut well = true;
    for format in &options.formats {
        let found = watch::run(
            &program,
            format,
            options.seed,
            options.length,
            &options.folder,
        )?;
        if let Some(found) = found {
            well = false;
            println!(
                "fuzz: {}: {}: {}",
                format.name,
                found.how,
                found.input.display()
            );
        }
    }
    Ok(well)
}

fn one(format: &Format, options: &Options) -> anyhow::Result<bool> {
    if let Some(path) = &options.read {
        (format.read)(&fs::read(path).with_context(|| format!("read {}", path.display()))?);
        return Ok(true);
    }
    let current = options.current.as_deref().context("no --current")?;
    let inputs = watch::read_all(format, options.seed, options.length, current)?;
    println!("fuzz: {}: {inputs} inputs", format.name);
    Ok(true)
}

fn replay(options: &Options) -> anyhow::Result<bool> {
    let program = std::env::current_exe().context("own path")?;
    let mut well = true;
    for input in &options.replay {
        let how = watch::replay(&program, input)?;
        well &= how.is_none();
        println!(
            "{}: {}",
            input.display(),
            how.as_deref().unwrap_or("it was read")
        );
    }
    Ok(well)
}
