//! The software GPU by itself: wave-instructions a second.

use std::process::Command;

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::strobe::succeed;

use super::setup::Setup;

/// One kind of kernel, on one thread.
#[derive(Debug, Serialize)]
pub(crate) struct Rate {
    kernel: String,
    million_wave_instructions_per_s: f64,
    gigabytes_per_s: f64,
}

impl Setup {
    /// Runs the interpreter's own measurement, which prints a table.
    pub(super) fn interpreter(&self) -> anyhow::Result<Vec<Rate>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--release", "--package", "strobe-softgpu"]);
        command.args(["--example", "wave-rate"]);
        let output = succeed(command.current_dir(env!("CARGO_MANIFEST_DIR")))?;
        let text = String::from_utf8(output.stdout)?;
        println!("\nsoftware GPU, one thread\n{}", text.trim_end());
        let rows = text.lines().skip(1);
        rows.map(|row| rate(row).with_context(|| format!("wave-rate prints {row:?}")))
            .collect()
    }
}

/// A row: the kernel's name, which has blanks in it, and two numbers.
fn rate(row: &str) -> Option<Rate> {
    let (rest, gigabytes) = row.trim().rsplit_once(' ')?;
    let (kernel, instructions) = rest.trim().rsplit_once(' ')?;
    Some(Rate {
        kernel: kernel.trim().to_owned(),
        million_wave_instructions_per_s: instructions.parse().ok()?,
        gigabytes_per_s: gigabytes.parse().ok()?,
    })
}
