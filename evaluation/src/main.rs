//! The benchmark: runs each experiment, writes the results as JSON, prints them as tables.
//!
//!     strobe-evaluation [--json FILE] [--report FILE] [--quick] [--runs N] [--busy] [EXPERIMENT...]
//!
//! Experiments: launches, stalls, choice (of --mode auto), workloads and restore (which need CRIU's own plugin, of `cargo xtask
//! setup --tests`), moving, validation, interpreter, demand (which needs 12 GB of memory and disk); all of them without a name. `--quick`
//! leaves out the large states and the repetitions; `--report` writes a page of Markdown, with what is wanted beside; `--runs` says how often each checkpoint is
//! measured (5); `--busy` keeps every core busy with something else meanwhile.

#![forbid(unsafe_code)]

mod bench;

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use strobe_evaluation::Strobe;

use bench::{Bench, EXPERIMENTS, Setup};

const USAGE: &str = "usage: strobe-evaluation [--json FILE] [--report FILE] [--quick] [--runs N] [--busy] \
                     [launches] [stalls] [choice] [workloads] [validation] [interpreter] [restore] [demand] [moving]";

fn main() -> anyhow::Result<()> {
    let (mut json, mut report): (Option<PathBuf>, Option<PathBuf>) = (None, None);
    let (mut quick, mut busy) = (false, false);
    let mut runs = None;
    let mut wanted = Vec::new();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().context("--json wants a file")?.into()),
            "--report" => report = Some(arguments.next().context("--report wants a file")?.into()),
            "--quick" => quick = true,
            "--busy" => busy = true,
            "--runs" => {
                let count: usize = arguments.next().context("--runs wants a number")?.parse()?;
                ensure!((1..=100).contains(&count), "--runs: 1 to 100");
                runs = Some(count);
            }
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            name if EXPERIMENTS.contains(&name) => wanted.push(name.to_owned()),
            _ => bail!(USAGE),
        }
    }
    if wanted.is_empty() {
        wanted.extend(EXPERIMENTS.map(str::to_owned));
    }
    let executable = env::current_exe()?;
    let release = executable.parent().context("the folder of this program")?;
    let folder = tempfile::Builder::new().prefix("strobe-bench-").tempdir();
    let folder = folder.context("make a folder")?.keep();
    let repetitions = runs.unwrap_or(if quick { 1 } else { 5 });
    let bench = Bench {
        setup: Setup {
            strobe: Strobe::new(release.join("strobe")),
            programs: release.with_file_name("programs"),
            folder: folder.clone(),
            repetitions,
        },
        state_mb: if quick { vec![32] } else { vec![32, 256] },
        restored_mb: if quick {
            vec![64, 256]
        } else {
            vec![64, 256, 1024, 4096]
        },
        wanted,
    };
    if busy {
        println!("with another thread busy on every core");
        occupy_cores();
    }
    let results = bench.run();
    let _ = fs::remove_dir_all(&folder);
    let (results, printed) = results?;
    if let Some(path) = report {
        bench::report::write(&path, &results, &printed, repetitions)?;
    }
    if let Some(path) = json {
        fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// As long as this process lives.
fn occupy_cores() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..cores {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
}
