//! `cargo xtask evaluate`: the runner in `evaluation` does the work.

use std::process::{Command, exit};

use anyhow::{Context, bail};

use crate::workspace::Workspace;
use crate::{corpus, shell};

const RUNNER: &str = "strobe-footprints";

/// Of the packages of `cargo xtask corpus`, unless another folder is given.
pub(crate) fn footprints(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let build = ["build", "--release", "--package", "strobe-evaluation"];
    shell::run(workspace.cargo(&build).args(["--bin", RUNNER]))?;
    let mut command = Command::new(workspace.release().join(RUNNER));
    if !arguments.contains(&"--folder") {
        command.arg("--folder");
        command.arg(corpus::default_folder(workspace));
    }
    let status = command.args(arguments).status();
    let status = status.with_context(|| format!("cannot run {RUNNER}"))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has shown how it is used.
        Some(2) => exit(2),
        _ => bail!("the evaluation ended with {status}"),
    }
}
