//! The benchmark: runs each experiment, writes the results as JSON, prints them as tables.
//!
//!     strobe-evaluation [--json FILE] [--quick]
//!
//! `--quick` leaves out the large state and the repetitions.

#![forbid(unsafe_code)]

mod bench;

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use strobe_evaluation::Strobe;

use bench::Bench;

fn main() -> anyhow::Result<()> {
    let mut json: Option<PathBuf> = None;
    let mut quick = false;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().context("--json wants a file")?.into()),
            "--quick" => quick = true,
            _ => bail!("usage: strobe-evaluation [--json FILE] [--quick]"),
        }
    }
    let executable = env::current_exe()?;
    let release = executable.parent().context("the folder of this program")?;
    let folder = env::temp_dir().join(format!("strobe-bench-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("make {}", folder.display()))?;
    let bench = Bench {
        strobe: Strobe::new(release.join("strobe")),
        programs: release.with_file_name("programs"),
        folder: folder.clone(),
        repetitions: if quick { 1 } else { 3 },
        state_mb: if quick { vec![32] } else { vec![32, 256] },
    };
    let results = bench.run();
    let _ = fs::remove_dir_all(&folder);
    let results = results?;
    if let Some(path) = json {
        fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
