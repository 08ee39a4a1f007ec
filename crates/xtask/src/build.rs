//! `cargo xtask build` and `bench`.

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
    setup::run()?;
    run(workspace)?;
    let release = workspace.release();
    shell::run(
        Command::new(release.join("strobe-evaluation"))
            .args(arguments)
            .current_dir(&workspace.root),
    )
}
