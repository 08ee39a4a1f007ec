//! The results as a page of Markdown: the bars, each met or not, and below them what was printed.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use strobe_evaluation::Rates;
use strobe_evaluation::strobe::succeed;

use super::Results;

/// Writes the page.
pub(crate) fn write(
    path: &Path,
    results: &Results,
    printed: &[String],
    repetitions: usize,
) -> anyhow::Result<()> {
    let mut page = head(repetitions)?;
    page.push_str("\n## What is wanted\n\n| what | wanted | measured | |\n|---|---|---|---|\n");
    for bar in results.bars() {
        let met = if bar.is_met { "met" } else { "**not met**" };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {met} |",
            bar.what, bar.wanted, bar.measured
        );
    }
    page.push_str("\n## What was measured\n");
    for table in printed {
        let (title, rows) = table.trim().split_once('\n').context("an empty table")?;
        let _ = write!(page, "\n### {title}\n\n```text\n{rows}\n```\n");
    }
    fs::write(path, page).with_context(|| format!("write {}", path.display()))
}

fn head(repetitions: usize) -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let said = |command: &str, arguments: &[&str]| -> anyhow::Result<String> {
        let output = succeed(std::process::Command::new(command).args(arguments))?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let day = said("date", &["-u", "+%F"])?;
    let commit = said(
        "git",
        &[
            "-C",
            env!("CARGO_MANIFEST_DIR"),
            "describe",
            "--always",
            "--dirty",
        ],
    )?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments = arguments.join(" ");
    let Rates { link, device } = Rates::MODEL;
    Ok(format!(
        "# What checkpoints cost\n\n\
         Made by `cargo xtask bench {arguments}` at {commit}, {day}, on {cores} cores without a GPU: the software GPU\n\
         with a time model, in which the link moves {link} MB/s and device memory {device} MB/s. (On real machines device memory is 30 to 100\n\
         times as fast as the link, too.) Where the machine was too slow for the model, it was measured again. Medians of {repetitions}, and their\n\
         range. Every checkpoint was validated in full. *stop* copies all memory at the link's rate while the program stands still, which is the\n\
         least that a checkpoint without concurrency costs; *CRIU's own plugin* is the one that CRIU 4.1.1 has for AMD's GPUs, unchanged.\n\
         Kernels take as long as the interpreter does: how long a program's own rounds are says nothing of real ones.\n",
        link = link / 1_000_000,
        device = device / 1_000_000,
    ))
}
