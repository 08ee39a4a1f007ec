//! `cargo xtask fuzz`: tests/fuzz does the work.

use std::process::{Command, exit};

use anyhow::{Context, bail};

use crate::workspace::Workspace;
use crate::{setup, shell};

pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    // Kernels need a compiler; what is read from outside needs nothing.
    if arguments.first() != Some(&"inputs") {
        setup::run()?;
    }
    let build = ["build", "--release", "--package", "strobe-fuzz"];
    shell::run(&mut workspace.cargo(&build))?;
    let program = workspace.release().join("strobe-fuzz");
    let status = Command::new(&program)
        .args(arguments)
        .current_dir(&workspace.root)
        .status()
        .with_context(|| format!("run {}", program.display()))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has shown how it is used.
        Some(2) => exit(2),
        _ => bail!("the fuzzer ended with {status}"),
    }
}
