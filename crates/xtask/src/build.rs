//! `cargo xtask build`, `bench` and `soak`.

use std::fs;
use std::process::Command;

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
    shell::run(&mut runner(workspace, "strobe-evaluation", arguments))
}

/// The same for the soak; its usage is its own.
pub(crate) fn soak(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    corpus::fetch(workspace)?;
    run(workspace)?;
    let status = runner(workspace, SOAK, arguments)
        .status()
        .with_context(|| format!("cannot run {SOAK}"))?;
    if status.code() == Some(2) {
        std::process::exit(2);
    }
    ensure!(status.success(), "the soak ended with {status}");
    Ok(())
}

/// The soak of a build that is there.
pub(crate) fn soak_again(workspace: &Workspace, arguments: &[&str]) -> Command {
    runner(workspace, SOAK, arguments)
}

const SOAK: &str = "strobe-soak";

/// Runs one of the runners that the build made.
fn runner(workspace: &Workspace, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace.release().join(name));
    command.args(arguments).current_dir(&workspace.root);
    command.env("STROBE_CORPUS", corpus::folder(workspace));
    command
}
