//! `cargo xtask test`: everything there is to check. Nothing passes by being skipped: a test that
//! cannot run here is a failure.

mod counts;
mod lanes;
mod parts;

use std::time::{Duration, Instant};

use anyhow::bail;

use crate::shell::heading;
use crate::workspace::Workspace;
use crate::{build, corpus, setup, shell, tidy};
use counts::Counts;
use parts::Part;

/// Each program once, the same cycles every time: two to three minutes.
const SOAK: [&str; 4] = ["--minutes", "2", "--seed", "1"];

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut counts = Counts::default();
    let mut times = Vec::new();
    let mut step = |name: &str, start: Instant| times.push((name.to_owned(), start.elapsed()));
    heading("setup");
    let start = Instant::now();
    setup::run()?;
    corpus::fetch(workspace)?;
    step("setup", start);
    // The whole suite runs even when one part fails: all failures are worth knowing.
    heading("format, lints, tidy");
    let start = Instant::now();
    let format = ["fmt", "--all", "--check"];
    let lint = ["clippy", "--workspace", "--all-targets", "--all-features"];
    let deny = ["--keep-going", "--", "-D", "warnings"];
    counts.check(shell::run(&mut workspace.cargo(&format)));
    counts.check(shell::run(workspace.cargo(&lint).args(deny)));
    counts.check(tidy::run(workspace));
    step("lints", start);
    heading("build");
    let start = Instant::now();
    build::run(workspace)?;
    for mut build in parts::builds(workspace) {
        shell::run(&mut build)?;
    }
    step("build", start);
    heading("tests");
    let mut all = parts::system(workspace);
    all.push(parts::unit(workspace));
    all.push(Part {
        name: "soak".to_owned(),
        command: build::soak_again(workspace, &SOAK),
        is_one_check: true,
    });
    times.extend(lanes::run(all, &mut counts));
    heading("result");
    show(&times);
    for failure in &counts.failures {
        println!("FAILED {failure}");
    }
    println!(
        "xtask test: {} passed, {} failed",
        counts.passed,
        counts.failed()
    );
    if counts.failed() > 0 {
        bail!("the test suite failed");
    }
    Ok(())
}

fn show(times: &[(String, Duration)]) {
    for (name, time) in times {
        println!("{name:<12} {:>6.0} s", time.as_secs_f64());
    }
}
