//! The run that nothing interrupts: on the software GPU, without Strobe.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::session::{said, spawn, wait};
use crate::strobe::Strobe;

/// Longest time that a program may take by itself, on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);
/// Fewer lines leave no room for moments.
const FEWEST_LINES: usize = 10;

/// What a program writes when it is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub stdout: String,
    pub stderr: String,
    pub milliseconds: u64,
}

impl Reference {
    /// Runs `program` in `folder`, on a device of these options.
    pub fn make(
        strobe: &Strobe,
        device: &[String],
        program: &[String],
        folder: &Path,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut command = strobe.command();
        command.arg("softgpu").args(device).arg("--").args(program);
        let start = Instant::now();
        let mut child = spawn(command, folder)?;
        let Some(status) = wait(&mut child, LIMIT)? else {
            let _ = child.kill();
            bail!("{program:?} does not end within {LIMIT:?}");
        };
        if !status.success() {
            bail!("{program:?} ends with {status}: {}", said(folder));
        }
        let read = |name: &str| fs::read_to_string(folder.join(name)).context("its output");
        let reference = Self {
            stdout: read("stdout")?,
            stderr: read("stderr")?,
            milliseconds: start.elapsed().as_millis() as u64,
        };
        let lines = reference.lines();
        if lines < FEWEST_LINES {
            bail!("{program:?} writes only {lines} lines");
        }
        Ok(reference)
    }

    pub fn lines(&self) -> usize {
        self.stdout.lines().count()
    }

    /// The line of the moment at so many thousandths of the run.
    pub fn line_at(&self, permille: u64) -> usize {
        (self.lines() as u64 * permille / 1000).max(1) as usize
    }
}
