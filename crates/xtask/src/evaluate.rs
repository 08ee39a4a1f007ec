//! `cargo xtask evaluate`: the runners in `evaluation` do the work.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use anyhow::{Context, bail};

use crate::corpus::roots;
use crate::workspace::Workspace;
use crate::{build, corpus, setup, shell};

/// Of the packages of `cargo xtask corpus`, unless another folder is given.
pub(crate) fn footprints(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let runner = "strobe-footprints";
    build_runner(workspace, runner)?;
    let folder = corpus::default_folder(workspace);
    run(workspace, runner, &folder, arguments)
}

/// Of programs that are fetched for it, unless logs are there already.
pub(crate) fn launches(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let runner = "strobe-launches";
    build_runner(workspace, runner)?;
    let folder = roots::default_folder(workspace);
    if !arguments.contains(&"--log") {
        setup::run()?;
        corpus::fetch(workspace)?;
        build::run(workspace)?;
        let mut words = arguments.iter();
        let given = words.find(|word| **word == "--folder");
        let given = given.and_then(|_| words.next()).map(PathBuf::from);
        roots::fetch(given.as_ref().unwrap_or(&folder))?;
    }
    run(workspace, runner, &folder, arguments)
}

fn build_runner(workspace: &Workspace, runner: &str) -> anyhow::Result<()> {
    let build = ["build", "--release", "--package", "strobe-evaluation"];
    shell::run(workspace.cargo(&build).args(["--bin", runner]))
}

/// On that folder, unless the arguments have another.
fn run(
    workspace: &Workspace,
    runner: &str,
    folder: &Path,
    arguments: &[&str],
) -> anyhow::Result<()> {
    let mut command = Command::new(workspace.release().join(runner));
    if !arguments.contains(&"--folder") {
        command.arg("--folder").arg(folder);
    }
    let status = command.args(arguments).status();
    let status = status.with_context(|| format!("cannot run {runner}"))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has shown how it is used.
        Some(2) => exit(2),
        _ => bail!("the evaluation ended with {status}"),
    }
}
