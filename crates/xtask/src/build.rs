//! `cargo xtask build`, `bench` and `soak`.

use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace::{Profile, Workspace};
use crate::{corpus, setup, shell};

/// Builds all, ready to use.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    build(workspace, Profile::Release, &["--workspace"])?;
    println!("{} is ready", workspace.release().join("strobe").display());
    Ok(())
}

/// Builds what `options` choose and puts it where `strobe` looks: libraries beside it, CRIU's plugin in a folder of
/// its own, because CRIU loads every library it finds there.
pub(crate) fn build(
    workspace: &Workspace,
    profile: Profile,
    options: &[&str],
) -> anyhow::Result<()> {
    let arguments = ["build", "--profile", profile.name()];
    shell::run(workspace.cargo(&arguments).args(options))?;
    let built = workspace.built(profile);
    let plugins = built.join("criu-plugins");
    fs::create_dir_all(&plugins)?;
    let part = plugins.join("amdgpu_plugin.so.part");
    fs::copy(built.join("libamdgpu_plugin.so"), &part).context("copy CRIU's plugin")?;
    fs::rename(part, plugins.join("amdgpu_plugin.so"))?;
    Ok(())
}

/// Sets up, builds, and hands over to the runner in `evaluation`.
pub(crate) fn bench(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    run(workspace)?;
    let mut bench = runner(workspace, Profile::Release, "strobe-evaluation", arguments);
    shell::run(&mut bench)
}

/// The same for the soak; its usage is its own.
pub(crate) fn soak(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    setup::run()?;
    corpus::fetch(workspace)?;
    run(workspace)?;
    let status = runner(workspace, Profile::Release, SOAK, arguments)
        .status()
        .with_context(|| format!("cannot run {SOAK}"))?;
    if status.code() == Some(2) {
        std::process::exit(2);
    }
    ensure!(status.success(), "the soak ended with {status}");
    Ok(())
}

/// The soak of the test suite's build.
pub(crate) fn soak_checked(workspace: &Workspace, arguments: &[&str]) -> Command {
    runner(workspace, Profile::Checked, SOAK, arguments)
}

const SOAK: &str = "strobe-soak";

/// Runs one of the runners that the build made.
fn runner(workspace: &Workspace, profile: Profile, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace.built(profile).join(name));
    command.args(arguments).current_dir(&workspace.root);
    command.env("STROBE_CORPUS", corpus::folder(workspace));
    command
}
