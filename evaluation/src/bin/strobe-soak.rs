//! The soak:
//!
//!     strobe-soak [--minutes N] [--cycles N] [--seed S] [--program NAME]... [--json F] [--workers N]
//!     strobe-soak --program NAME --repeat SEED
//!
//! Exit codes: 0 every cycle was identical or refused as expected, 1 one was not, or nothing could
//! be tried, 2 wrong usage.

#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use strobe_evaluation::Strobe;
use strobe_evaluation::ending::{end, wrong_usage};
use strobe_evaluation::soak::cycle::Cycle;
use strobe_evaluation::soak::programs::PROGRAMS;
use strobe_evaluation::soak::schedule::Schedule;
use strobe_evaluation::soak::summary::SoakSummary;
use strobe_evaluation::soak::{Plan, Reference, SoakProgram};

const PROGRAM: &str = "strobe-soak";
const USAGE: &str = "\
usage: cargo xtask soak [--minutes N] [--cycles N] [--seed S] [--program NAME]... [--json FILE]
                        [--workers N]
       cargo xtask soak --program NAME --repeat SEED";

#[derive(Debug)]
struct Arguments {
    minutes: f64,
    cycles: u64,
    seed: Option<u64>,
    programs: Vec<&'static SoakProgram>,
    repeat: Option<u64>,
    json: Option<PathBuf>,
    workers: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["cycle", program, seed, reference, folder] = words[..] {
        return end(
            PROGRAM,
            cycle(program, seed, Path::new(reference), Path::new(folder)),
        );
    }
    match parse(&words) {
        Ok(arguments) => end(PROGRAM, soak(&arguments)),
        Err(error) => wrong_usage(PROGRAM, error, USAGE),
    }
}

fn parse(words: &[&str]) -> anyhow::Result<Arguments> {
    let mut arguments = Arguments {
        minutes: 10.0,
        cycles: u64::MAX,
        seed: None,
        programs: Vec::new(),
        repeat: None,
        json: None,
        workers: 2,
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} wants a value"))
        };
        match word {
            "--minutes" => arguments.minutes = value()?.parse().context("minutes")?,
            "--cycles" => arguments.cycles = value()?.parse().context("cycles")?,
            "--seed" => arguments.seed = Some(value()?.parse().context("a seed")?),
            "--repeat" => arguments.repeat = Some(value()?.parse().context("a seed")?),
            "--workers" => arguments.workers = value()?.parse().context("workers")?,
            "--json" => arguments.json = Some(value()?.into()),
            "--program" => {
                let name = value()?;
                let all = || PROGRAMS.map_names();
                let program = SoakProgram::find(name)
                    .with_context(|| format!("no program {name}; there are {}", all()))?;
                arguments.programs.push(program);
            }
            _ => bail!("unknown: {word}"),
        }
    }
    if !(arguments.minutes >= 0.0 && arguments.minutes <= 1e6) || arguments.workers == 0 {
        bail!("minutes and workers are positive");
    }
    if arguments.programs.is_empty() {
        arguments.programs = PROGRAMS.iter().collect();
    }
    if arguments.repeat.is_some() && arguments.programs.len() != 1 {
        bail!("--repeat wants one --program");
    }
    Ok(arguments)
}

trait Names {
    fn map_names(&self) -> String;
}

impl Names for [SoakProgram] {
    fn map_names(&self) -> String {
        let names: Vec<&str> = self.iter().map(|program| program.name).collect();
        names.join(", ")
    }
}

fn soak(arguments: &Arguments) -> anyhow::Result<()> {
    let player = env::current_exe()?;
    let release = player.parent().context("the folder of this program")?;
    let drawn = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = arguments.repeat.or(arguments.seed).unwrap_or(drawn);
    let folder = tempfile::Builder::new().prefix("strobe-soak-").tempdir();
    let folder = folder.context("make a folder")?.keep();
    let schedule = Schedule {
        strobe: Strobe::new(release.join("strobe")),
        programs: arguments.programs.clone(),
        compiled: release.with_file_name("programs"),
        folder: folder.clone(),
        seed,
        time: Duration::from_secs_f64(arguments.minutes * 60.0),
        cycles: if arguments.repeat.is_some() {
            1
        } else {
            arguments.cycles
        },
        workers: arguments.workers,
        player,
    };
    println!("soak: seed {seed}, {} programs", schedule.programs.len());
    let summary = SoakSummary::new(schedule.run()?);
    println!("\n{}", summary.table());
    if let Some(path) = &arguments.json {
        fs::write(path, serde_json::to_string_pretty(&summary)? + "\n")
            .with_context(|| format!("write {}", path.display()))?;
    }
    for failure in summary.failures() {
        println!("FAILED {failure}");
    }
    let objections = summary.objections();
    if objections.is_empty() {
        fs::remove_dir_all(&folder)?;
        return Ok(());
    }
    bail!("{}; see {}", objections.join("; "), folder.display());
}

/// Plays one cycle here and prints its verdict.
fn cycle(program: &str, seed: &str, reference: &Path, folder: &Path) -> anyhow::Result<()> {
    let release = env::current_exe()?;
    let release = release.parent().context("the folder of this program")?;
    let program = SoakProgram::find(program).context("no such program")?;
    let reference: Reference = serde_json::from_slice(&fs::read(reference)?)?;
    let seed = seed.parse()?;
    let command = program.command(&release.with_file_name("programs"), Plan::times(seed))?;
    let cycle = Cycle {
        strobe: &Strobe::new(release.join("strobe")),
        program,
        command: &command,
        reference: &reference,
        seed,
        folder,
    };
    println!("{}", serde_json::to_string(&cycle.run())?);
    Ok(())
}
