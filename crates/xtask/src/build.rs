//! `cargo xtask build`, `bench` and `soak`.

use std::fs;
use std::process::{Command, ExitStatus};

use anyhow::{Context, ensure};

use crate::workspace::Workspace;
use crate::{corpus, setup, shell};

/// Builds all and puts it where `strobe` looks: libraries beside it, CRIU's plugin in a folder of
/// its own, because CRIU loads every library it finds there.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    shell::run(&mut workspace.cargo(&["build", "--release", "--workspace"]))?;
    let release = workspace.release();
    let plugins = release.join("criu-plugins");
    fs::create_dir_all(&plugins)?;
    let part = plugins.join("amdgpu_plugin.so.part");
    fs::copy(release.join("libamdgpu_plugin.so"), &part).context("copy CRIU's plugin")?;
    fs::rename(part, plugins.join("amdgpu_plugin.so"))?;
    println!("{} is ready", release.join("strobe").display());
    Ok(())
}

/// Sets up, builds, and hands over to the runner in `evaluation`.
pub(crate) fn bench(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    run(workspace)?;
    runner(workspace, "strobe-evaluation", arguments).and_then(ended_well)
}

/// The same for the soak; its usage is its own.
pub(crate) fn soak(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    corpus::fetch(workspace)?;
    run(workspace)?;
    let status = runner(workspace, SOAK, arguments)?;
    if status.code() == Some(2) {
        std::process::exit(2);
    }
    ended_well(status)
}

/// The soak after a build, for the test suite.
pub(crate) fn soak_again(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    runner(workspace, SOAK, arguments).and_then(ended_well)
}

const SOAK: &str = "strobe-soak";

/// Runs one of the runners that the build made.
fn runner(workspace: &Workspace, name: &str, arguments: &[&str]) -> anyhow::Result<ExitStatus> {
    println!("$ {name} {}", arguments.join(" "));
    Command::new(workspace.release().join(name))
        .args(arguments)
        .env("STROBE_CORPUS", corpus::folder(workspace))
        .current_dir(&workspace.root)
        .status()
        .with_context(|| format!("cannot run {name}"))
}

fn ended_well(status: ExitStatus) -> anyhow::Result<()> {
    ensure!(status.success(), "it ended with {status}");
    Ok(())
}
