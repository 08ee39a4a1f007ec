//! The `strobe` command.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::session::{said, spawn, wait};

/// How the program and the copying share the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeOption {
    Auto,
    Cow,
    Stop,
    Recopy,
}

impl ModeOption {
    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cow => "cow",
            Self::Stop => "stop",
            Self::Recopy => "recopy",
        }
    }
}

/// What is compared with its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidateOption {
    Full,
    Off,
}

impl ValidateOption {
    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Off => "off",
        }
    }
}

/// Memory that was written unannounced.
#[derive(Clone, Debug, Deserialize)]
pub struct MissedWrite {
    pub bytes: u64,
    /// The kernels that may have done it; nobody where it was no launch.
    pub suspects: Vec<String>,
    /// It may have been the program's CPU, at the cut.
    pub by_cpu: bool,
}

/// What `strobe checkpoint --json` prints. Milliseconds and bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckpointReport {
    pub stall_ms: f64,
    pub criu_start_ms: f64,
    pub drain_ms: f64,
    pub criu_freeze_ms: f64,
    pub fingerprints_ms: f64,
    pub fingerprinted_bytes: u64,
    pub residual_ms: f64,
    pub copy_added_ms: f64,
    pub state_bytes: u64,
    pub residual_bytes: u64,
    pub set_aside_bytes: u64,
    pub copied_out_bytes: u64,
    pub copied_aside_bytes: u64,
    pub copy_bytes_per_s: f64,
    /// An entry for each attempt that was given up.
    pub missed_writes: Vec<MissedWrite>,
    /// With `auto`.
    pub choice: Option<ChosenMode>,
    /// Where the program goes round a loop.
    pub lost: Option<ReportedLoss>,
    pub launches: u64,
    pub footprints_exact: u64,
    pub footprints_conservative: u64,
}

/// A mode that was chosen, and what each was expected to cost.
#[derive(Clone, Debug, Deserialize)]
pub struct ChosenMode {
    pub mode: String,
    pub predicted: Vec<ExpectedCost>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedCost {
    pub mode: String,
    pub stall_ms: f64,
    pub lost_ms: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ReportedLoss {
    pub ms: f64,
    pub slowest_round_ms: f64,
}

impl CheckpointReport {
    /// The part of the stall that is the GPU's: fingerprints, residual, and what copying added.
    pub fn gpu_ms(&self) -> f64 {
        self.fingerprints_ms + self.residual_ms + self.copy_added_ms
    }
}

/// An executable `strobe` with its libraries beside it.
#[derive(Clone, Debug)]
pub struct Strobe {
    executable: PathBuf,
}

impl Strobe {
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
        }
    }

    /// A command line that starts with it. What it keeps of its programs is not among that of the user's.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.env("XDG_STATE_HOME", env::temp_dir().join("strobe-evaluation"));
        command
    }

    /// The path of the executable.
    pub fn path(&self) -> &Path {
        &self.executable
    }

    /// Takes a checkpoint of `pid` into `directory`.
    pub fn checkpoint(
        &self,
        pid: u32,
        directory: &Path,
        mode: ModeOption,
    ) -> anyhow::Result<CheckpointReport> {
        self.checkpoint_validated(pid, directory, mode, ValidateOption::Full)
    }

    /// The same, with what is to be compared.
    pub fn checkpoint_validated(
        &self,
        pid: u32,
        directory: &Path,
        mode: ModeOption,
        validate: ValidateOption,
    ) -> anyhow::Result<CheckpointReport> {
        let mut command = self.command();
        command.args(["checkpoint", &pid.to_string(), "--json"]);
        command.args(["--mode", mode.name(), "--validate", validate.name()]);
        let output = succeed(command.arg("--output").arg(directory))?;
        serde_json::from_slice(&output.stdout).context("the report of strobe checkpoint")
    }

    /// The same, with `kill` for `--kill`, and with an end that is no error of the caller's.
    pub fn try_checkpoint(
        &self,
        pid: u32,
        directory: &Path,
        mode: ModeOption,
        kill: bool,
        limit: Duration,
    ) -> anyhow::Result<CheckpointOutcome> {
        let mut command = self.command();
        command.args(["checkpoint", &pid.to_string(), "--json"]);
        command
            .args(["--mode", mode.name(), "--output"])
            .arg(directory);
        if kill {
            command.arg("--kill");
        }
        let folder = directory.with_extension("output");
        fs::create_dir(&folder)?;
        let mut child = spawn(command, &folder)?;
        let Some(status) = wait(&mut child, limit)? else {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(CheckpointOutcome::Failed(format!(
                "hang: no end within {limit:?}"
            )));
        };
        Ok(match status.code() {
            Some(0) => {
                let report = fs::read_to_string(folder.join("stdout"))?;
                let report = serde_json::from_str(&report);
                CheckpointOutcome::Done(Box::new(
                    report.context("the report of strobe checkpoint")?,
                ))
            }
            Some(REFUSED) => CheckpointOutcome::Refused(said(&folder)),
            _ => CheckpointOutcome::Failed(format!("{status}: {}", said(&folder))),
        })
    }
}

/// Exit code of a command that refused: nothing was changed.
const REFUSED: i32 = 3;

/// How an attempt at a checkpoint ended; a sentence where there is none.
#[derive(Debug)]
pub enum CheckpointOutcome {
    Done(Box<CheckpointReport>),
    Refused(String),
    Failed(String),
}

/// Runs a command to its end; an error with what it said, unless it ended with 0.
pub fn succeed(command: &mut Command) -> anyhow::Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("run {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}: {}", output.status, said.trim());
    }
    Ok(output)
}
