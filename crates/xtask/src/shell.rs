//! Running other programs.

use std::process::Command;

use anyhow::{Context, bail};

/// Prints the command line and runs it; an error unless it ends with 0.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    println!("$ {}", line(command));
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs it and answers what it wrote to stdout; an error unless it ends with 0.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", line(command)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            line(command),
            output.status,
            text.trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A heading between the steps of a long command.
pub(crate) fn heading(text: &str) {
    println!("\n== {text}");
}
