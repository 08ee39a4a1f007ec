//! `cargo xtask fuzz`.

#![forbid(unsafe_code)]

mod inputs_command;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use serde::Serialize;
use strobe_fuzz::campaign::{self, Bench, Tallies};
use strobe_fuzz::compile::Language;
use strobe_fuzz::judge::Judgement;
use strobe_fuzz::saved;

const HELP: &str = "\
cargo xtask fuzz footprints [--seconds N] [--seed S] [--language L] [--keep N] [--folder F] [--json]
cargo xtask fuzz footprints --replay FILE...

Random kernels run on the software GPU; what they touch must be inside their footprints. Half of the
files are HIP source at a random level of optimisation, half are machine code.

  --seconds N   how long (60)
  --seed S      where to begin; the same seed gives the same kernels (the time)
  --language L  hip or machine alone
  --keep N      failures that are shrunk and written to files (10)
  --folder F    where to (tests/filetests/footprint/fuzz, which the tests replay)
  --json        ends with one line of JSON
  --replay      runs saved failures again

Exit codes: 0 all was predicted, 1 something was not, 2 wrong usage.";

struct Options {
    seconds: u64,
    seed: u64,
    languages: Vec<Language>,
    keep: usize,
    folder: PathBuf,
    json: bool,
    replay: Vec<PathBuf>,
}

/// The last line of a run, if it is asked for.
#[derive(Serialize)]
struct Sum<'a> {
    seed: u64,
    seconds: f64,
    #[serde(flatten)]
    tallies: &'a Tallies,
    files: &'a [PathBuf],
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if matches!(words.first().map(String::as_str), Some("-h" | "--help")) {
        println!("{HELP}\n\n{}", inputs_command::HELP);
        return ExitCode::SUCCESS;
    }
    if let Some((first, rest)) = words.split_first()
        && first == "inputs"
    {
        return inputs_command::run(rest).unwrap_or_else(|| {
            eprintln!("{}", inputs_command::HELP);
            ExitCode::from(2)
        });
    }
    let Some(options) = options(&words) else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let result = if options.replay.is_empty() {
        fuzz(&options)
    } else {
        replay(&options.replay)
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[String]) -> Option<Options> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut options = Options {
        seconds: 60,
        seed: now.map_or(0, |now| now.as_secs()) << 20,
        languages: vec![Language::Hip, Language::Assembly],
        keep: 10,
        folder: PathBuf::from("tests/filetests/footprint/fuzz"),
        json: false,
        replay: Vec::new(),
    };
    let (first, mut words) = words.split_first()?;
    if first != "footprints" {
        return None;
    }
    while let Some((word, rest)) = words.split_first() {
        if word == "--replay" && !rest.is_empty() {
            options.replay = rest.iter().map(PathBuf::from).collect();
            return Some(options);
        }
        if word == "--json" {
            options.json = true;
            words = rest;
            continue;
        }
        let (value, rest) = rest.split_first()?;
        match word.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--language" => {
                options.languages = vec![match value.as_str() {
                    "hip" => Language::Hip,
                    "machine" => Language::Assembly,
                    _ => return None,
                }];
            }
            "--keep" => options.keep = value.parse().ok()?,
            "--folder" => options.folder = PathBuf::from(value),
            _ => return None,
        }
        words = rest;
    }
    Some(options)
}

fn fuzz(options: &Options) -> anyhow::Result<bool> {
    println!("fuzz: seed {}", options.seed);
    let start = Instant::now();
    let mut told = Instant::now();
    let time = Duration::from_secs(options.seconds);
    let mut trouble = None;
    let mut files = Vec::new();
    let tell = |seed: u64, tallies: &Tallies, found: &[String]| {
        for (number, text) in found.iter().enumerate() {
            match save(&options.folder, seed, number, text) {
                Ok(path) => {
                    println!("fuzz: seed {seed}: {}", path.display());
                    files.push(path);
                }
                Err(error) => trouble = Some(error),
            }
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            report(tallies, start.elapsed());
        }
    };
    let tallies = campaign::run(&options.languages, options.seed, time, options.keep, tell)?;
    report(&tallies, start.elapsed());
    if options.json {
        let sum = Sum {
            seed: options.seed,
            seconds: start.elapsed().as_secs_f64(),
            tallies: &tallies,
            files: &files,
        };
        println!("{}", serde_json::to_string(&sum)?);
    }
    match trouble {
        Some(error) => Err(error),
        None => Ok(tallies.missed() == 0),
    }
}

fn save(folder: &Path, seed: u64, number: usize, text: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let language = if text.contains(".amdhsa_kernel") {
        Language::Assembly
    } else {
        Language::Hip
    };
    let path = folder.join(format!("{seed}-{number}.{}", language.extension()));
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}

fn report(tallies: &Tallies, elapsed: Duration) {
    for (name, tally) in [("HIP", &tallies.hip), ("machine code", &tallies.machine)] {
        if tally.rounds == 0 {
            continue;
        }
        let percent = |part: u64| 100.0 * part as f64 / tally.launches.max(1) as f64;
        println!(
            "fuzz: {:.0} s, {name}: {} kernels, {} launches, writes known {:.0} %, reads known {:.0} %, \
             pointers left {:.1} %, {} not right, {} not compiled, {} missed",
            elapsed.as_secs_f64(),
            tally.kernels,
            tally.launches,
            percent(tally.writes_known),
            percent(tally.reads_known),
            percent(tally.pointers_known),
            tally.invalid,
            tally.refused,
            tally.missed
        );
    }
}

fn replay(files: &[PathBuf]) -> anyhow::Result<bool> {
    let mut bench = Bench::new()?;
    let mut well = true;
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        let language = match file.extension().and_then(|e| e.to_str()) {
            Some("s") => Language::Assembly,
            _ => Language::Hip,
        };
        let verdict = saved::replay(&mut bench, language, &text)?;
        well &= matches!(verdict, Judgement::Holds { .. });
        println!("{}: {verdict:?}", file.display());
    }
    Ok(well)
}
