//! `cargo xtask fuzz footprints`.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use strobe_fuzz::campaign::{self, Bench, Tally};
use strobe_fuzz::compile::Language;
use strobe_fuzz::judge::Verdict;
use strobe_fuzz::saved;

const HELP: &str = "\
cargo xtask fuzz footprints [--seconds N] [--seed S] [--keep N] [--folder F]
cargo xtask fuzz footprints --replay FILE...

Random kernels run on the software GPU; what they touch must be inside their footprints.

  --seconds N   how long (60)
  --seed S      where to begin; the same seed gives the same kernels (the time)
  --keep N      failures that are shrunk and written to files (10)
  --folder F    where to (target/fuzz)
  --replay      runs saved failures again

Exit codes: 0 all was predicted, 1 something was not, 2 wrong usage.";

struct Options {
    seconds: u64,
    seed: u64,
    keep: usize,
    folder: PathBuf,
    replay: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if matches!(words.first().map(String::as_str), Some("-h" | "--help")) {
        println!("{HELP}");
        return ExitCode::SUCCESS;
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
        keep: 10,
        folder: PathBuf::from("target/fuzz"),
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
        let (value, rest) = rest.split_first()?;
        match word.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
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
    let tally = campaign::run(options.seed, time, options.keep, |seed, tally, found| {
        for (number, text) in found.iter().enumerate() {
            match save(&options.folder, seed, number, text) {
                Ok(path) => println!("fuzz: seed {seed}: {}", path.display()),
                Err(error) => trouble = Some(error),
            }
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            report(tally, start.elapsed());
        }
    })?;
    report(&tally, start.elapsed());
    match trouble {
        Some(error) => Err(error),
        None => Ok(tally.missed == 0),
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

fn report(tally: &Tally, elapsed: Duration) {
    let percent = |part: u64| 100.0 * part as f64 / tally.launches.max(1) as f64;
    println!(
        "fuzz: {} kernels ({:.0}/s), {} launches, writes known {:.0} %, reads known {:.0} %, {} not \
         right, {} not compiled, {} missed",
        tally.kernels,
        tally.kernels as f64 / elapsed.as_secs_f64(),
        tally.launches,
        percent(tally.writes_known),
        percent(tally.reads_known),
        tally.invalid,
        tally.refused,
        tally.missed
    );
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
        well &= matches!(verdict, Verdict::Holds { .. });
        println!("{}: {verdict:?}", file.display());
    }
    Ok(well)
}
