//! `cargo xtask test`: everything there is to check. Nothing passes by being skipped: a test that
//! cannot run here is a failure.

mod counts;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::shell::heading;
use crate::workspace::Workspace;
use crate::{build, corpus, setup, shell, tidy};
use counts::Counts;

/// Features of tests that need more than a Rust toolchain.
const FEATURES: [&str; 3] = ["oracle", "rocm", "system"];

/// Each program once, the same cycles every time: two to three minutes.
const SOAK: [&str; 4] = ["--minutes", "2", "--seed", "1"];

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    heading("setup");
    setup::run()?;
    corpus::fetch(workspace)?;
    // The whole suite runs even when one part fails: all failures are worth knowing.
    let mut counts = Counts::default();
    heading("format, lints, tidy");
    let format = ["fmt", "--all", "--check"];
    let lint = ["clippy", "--workspace", "--all-targets", "--all-features"];
    let deny = ["--keep-going", "--", "-D", "warnings"];
    counts.check(shell::run(&mut workspace.cargo(&format)));
    counts.check(shell::run(workspace.cargo(&lint).args(deny)));
    counts.check(tidy::run(workspace));
    heading("build");
    build::run(workspace)?;
    heading("tests that need nothing but Rust");
    count(
        workspace.cargo(&["test", "--workspace", "--no-fail-fast"]),
        &mut counts,
    )?;
    for feature in FEATURES {
        heading(&format!("tests with feature {feature}"));
        let packages = packages_with(workspace, feature);
        if packages.is_empty() {
            counts.fail(format!("no package has the feature {feature}"));
        }
        for package in packages {
            let features = format!("{package}/{feature}");
            let mut arguments = vec!["test", "--release", "--no-fail-fast", "--package", &package];
            arguments.extend(["--features", &features]);
            arguments.extend(["--tests", "--", "--test-threads=1"]);
            if feature == "oracle" {
                // Ignored where the libraries are not at hand; here they are.
                arguments.push("--include-ignored");
            }
            let mut command = workspace.cargo(&arguments);
            command.env("STROBE_CORPUS", corpus::folder(workspace));
            count(command, &mut counts)?;
        }
    }
    heading("soak");
    counts.check(build::soak_again(workspace, &SOAK).context("soak"));
    heading("result");
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

fn packages_with(workspace: &Workspace, feature: &str) -> Vec<String> {
    let has = |package: &&serde_json::Value| package["features"].get(feature).is_some();
    let names = workspace
        .packages
        .iter()
        .filter(has)
        .filter_map(|p| p["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Runs one `cargo test`, shows what it says, and counts.
fn count(mut command: Command, counts: &mut Counts) -> anyhow::Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .env("CARGO_TERM_COLOR", "never")
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("no output of cargo test")?;
    let before = counts.failed();
    let mut screen = std::io::stdout().lock();
    for line in BufReader::new(output).lines() {
        let line = line?;
        writeln!(screen, "{line}")?;
        counts.line(&line);
    }
    let status = child.wait()?;
    if !status.success() && counts.failed() == before {
        // It did not build, or a test took the process with it.
        counts.fail(format!("cargo test ended with {status}"));
    }
    Ok(())
}
