//! `cargo xtask test`: everything there is to check. Nothing passes by being skipped: a test that
//! cannot run here is a failure.

mod autogroup;
mod counts;
mod disk;
mod lanes;
mod parts;

use std::time::{Duration, Instant};

use anyhow::bail;

use crate::shell::heading;
use crate::workspace::Workspace;
use crate::{build, corpus, setup, shell, tidy};
use autogroup::AutogroupOff;
use counts::Counts;
use disk::Disk;
pub(crate) use parts::ORACLE;
use parts::Part;

/// Each program once, the same cycles every time: two to three minutes.
const SOAK: [&str; 4] = ["--minutes", "2", "--seed", "1"];

/// How many of the tests that took longest are named.
const SLOWEST: usize = 50;

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut counts = Counts::default();
    let mut times = Vec::new();
    let mut step = |name: &str, start: Instant| times.push((name.to_owned(), start.elapsed()));
    heading("setup");
    let start = Instant::now();
    setup::run()?;
    setup::for_tests()?;
    corpus::fetch(workspace)?;
    step("setup", start);
    // The whole suite runs even when one part fails: all failures are worth knowing.
    heading("format, lints, tidy");
    let start = Instant::now();
    let format = ["fmt", "--all", "--check"];
    counts.check(shell::run(&mut workspace.cargo(&format)));
    for mut lint in parts::lints(workspace) {
        counts.check(shell::run(&mut lint));
    }
    counts.check(tidy::run(workspace));
    step("lints", start);
    heading("documentation");
    let start = Instant::now();
    counts.check(shell::run(&mut parts::documentation(workspace)));
    step("doc", start);
    heading("build");
    let start = Instant::now();
    parts::build(workspace)?;
    step("build", start);
    heading("tests");
    let mut all = parts::system(workspace);
    all.push(parts::fuzz(workspace));
    all.extend(parts::unit(workspace));
    all.push(Part {
        name: "soak".to_owned(),
        command: build::soak_checked(workspace, &SOAK),
        is_one_check: true,
        is_one_by_one: false,
    });
    let disk = Disk::mount()?;
    let _off = AutogroupOff::set()?;
    for part in &mut all {
        part.command.env("TMPDIR", disk.path());
    }
    let (parts, mut tests) = lanes::run(all, &mut counts);
    times.extend(parts);
    heading("the tests that took longest");
    tests.sort_by_key(|test| std::cmp::Reverse(test.1));
    for (name, time) in tests.iter().take(SLOWEST) {
        println!("{:>5.0} s  {name}", time.as_secs_f64());
    }
    heading("result");
    show(&times);
    for failure in &counts.failures {
        println!("FAILED {}", failure.what);
        for line in &failure.said {
            println!("    {line}");
        }
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
    for row in times.chunks(4) {
        let columns = row
            .iter()
            .map(|(name, time)| format!("{name:<14}{:>5.0} s", time.as_secs_f64()));
        println!("{}", columns.collect::<Vec<_>>().join("    "));
    }
}
