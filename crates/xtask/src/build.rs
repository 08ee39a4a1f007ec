//! `cargo xtask build`, `bench` and `soak`.

use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::workspace::Workspace;
use crate::{setup, shell};

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
    hand_over(workspace, "strobe-evaluation", arguments)
}

/// The same for the soak.
pub(crate) fn soak(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    hand_over(workspace, SOAK, arguments)
}

/// The executable of the soak.
pub(crate) const SOAK: &str = "strobe-soak";

fn hand_over(workspace: &Workspace, name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    run(workspace)?;
    runner(workspace, name, arguments)
}

/// Runs one of the runners that the build made.
pub(crate) fn runner(workspace: &Workspace, name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    shell::run(
        Command::new(workspace.release().join(name))
            .args(arguments)
            .current_dir(&workspace.root),
    )
}
