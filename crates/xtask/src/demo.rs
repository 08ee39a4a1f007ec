//! `cargo xtask demo`: the main job, as a user would do it, on the software GPU.

mod report;
mod training;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use strobe_evaluation::strobe::ModeOption;
use strobe_evaluation::{Rates, Session, Strobe, compile, session};

use crate::workspace::Workspace;
use crate::{build, setup};
use report::Report;
use training::Training;

/// Longest that any part of the demo may take.
const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let json = match arguments {
        [] => None,
        ["--json", file] => Some(Path::new(file)),
        _ => bail!("usage: cargo xtask demo [--json FILE]"),
    };
    step("1. set-up and build");
    setup::run()?;
    build::run(workspace)?;
    let folder = Folder::create()?;
    let report = play(workspace, &folder.path)?;
    step("7. result");
    print!("{}", report.table());
    if let Some(path) = json {
        let text = format!("{:#}\n", report.json());
        fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    }
    if !report.bit_identical {
        bail!("bit-identical: no");
    }
    println!("bit-identical: yes");
    Ok(())
}

fn play(workspace: &Workspace, folder: &Path) -> anyhow::Result<Report> {
    let strobe = Strobe::new(workspace.release().join("strobe"));
    step("2. compile a training program with hipcc and start it under strobe run");
    let program = compile::hip("train/train.cpp", "-O3", &workspace.target.join("programs"))?;
    let reference = Training::in_folder(&program, folder.join("reference"))?;
    println!(
        "first without interruption, to compare with ({} steps)",
        training::STEPS
    );
    reference.run_alone(&strobe)?;
    let training = Training::in_folder(&program, folder.join("interrupted"))?;
    let rates = Rates::SLOW.options();
    let command = training.command_line();
    let mut session = Session::start(&strobe, &rates, &command, &training.folder)?;
    println!("then under strobe run: process {}", session.pid());
    training.wait_for_step(&mut session, 4)?;

    step("3. checkpoints while training goes on");
    let images = folder.join("checkpoint");
    println!("soft copy-on-write ...");
    let before = training.steps()?;
    let cow = strobe.checkpoint(session.pid(), &images, ModeOption::Cow)?;
    let during = training.steps()?.saturating_sub(before);
    println!(
        "  stall {:.1} ms; {during} steps were trained meanwhile",
        cow.stall_ms
    );
    training.wait_for_step(&mut session, training.steps()? + 2)?;
    println!("stop-the-world, to compare ...");
    let stop = strobe.checkpoint(session.pid(), &folder.join("stopped"), ModeOption::Stop)?;
    println!("  stall {:.1} ms", stop.stall_ms);
    training.wait_for_step(&mut session, training.steps()? + 1)?;

    step("4. kill the program, destroy the device");
    let pid = session.pid();
    let steps = training.steps()?;
    session.kill()?;
    println!("process {pid} was killed after {steps} steps; its device is gone, VRAM with it");

    step("5. restore on a new device");
    let start = Instant::now();
    let restored = restore(&strobe, &rates, &images, &training)?;
    println!(
        "  runs again after {:.0} ms, and has ended well",
        restored.restore_ms
    );
    println!(
        "  ({:.1} s with the rest of the training)",
        start.elapsed().as_secs_f64()
    );

    step("6. compare with the run that was never interrupted");
    let bit_identical = training.is_identical_to(&reference)?;
    Ok(Report {
        bit_identical,
        cow,
        stop,
        restore_ms: restored.restore_ms,
        rates: Rates::SLOW,
    })
}

struct Restored {
    restore_ms: f64,
}

/// Restores, and waits for the program to end by itself.
fn restore(
    strobe: &Strobe,
    rates: &[String],
    images: &Path,
    training: &Training,
) -> anyhow::Result<Restored> {
    let folder = images.with_extension("restore");
    fs::create_dir(&folder)?;
    let mut command = strobe.command();
    command
        .arg("softgpu")
        .args(rates)
        .arg("--")
        .arg(strobe.path());
    command.args(["restore", "--wait", "--json"]).arg(images);
    let mut child = session::spawn(command, &folder)?;
    let Some(status) = session::wait(&mut child, LIMIT)? else {
        let _ = child.kill();
        bail!(
            "the restored program does not end; it is at step {}",
            training.steps()?
        );
    };
    if !status.success() {
        bail!(
            "strobe restore ended with {status}: {}",
            session::said(&folder)
        );
    }
    let report = fs::read_to_string(folder.join("stdout"))?;
    let report: serde_json::Value =
        serde_json::from_str(&report).context("the report of strobe restore")?;
    let restore_ms = report["restore_ms"]
        .as_f64()
        .context("restore_ms is missing")?;
    Ok(Restored { restore_ms })
}

fn step(text: &str) {
    println!("\n{text}");
}

/// A folder that is gone when the demo is.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("strobe-demo-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
