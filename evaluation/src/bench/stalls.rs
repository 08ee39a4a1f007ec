//! How long a checkpoint holds the training program back, both ways, on the same state.
//!
//! One run says little: what the program happens to have enqueued at the cut, and what else the
//! machine does, move every figure. So each repetition starts the program and its device anew, and
//! what is shown is the median and the range.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::{CheckpointReport, ModeOption};
use strobe_evaluation::table::{Table, mib, ms, rate};
use strobe_evaluation::{Rates, Session, compile};

use super::bar::Bar;
use super::setup::Setup;

const LIMIT: Duration = Duration::from_secs(600);

/// What the repetitions gave. Milliseconds and bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Parts {
    pub(super) stall_ms: Spread,
    criu_start_ms: Spread,
    drain_ms: Spread,
    pub(super) criu_freeze_ms: Spread,
    residual_ms: Spread,
    fingerprints_ms: Spread,
    copy_added_ms: Spread,
    gpu_ms: Spread,
    copied_aside_bytes: Spread,
    copy_bytes_per_s: Spread,
    state_bytes: Spread,
}

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(super) state_mb: u64,
    /// With the rates of [`Rates::MODEL`]; else as fast as the software GPU goes.
    pub(super) modelled: bool,
    link_bytes_per_s: Option<u64>,
    pub(super) cow: Parts,
    stop: Parts,
    /// Anonymous host memory of the program.
    pub(super) host_bytes: u64,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row(["", "copy-on-write", "stop-the-world"]);
        let mut pair = |name: &str, f: &dyn Fn(&Parts) -> String| {
            table.row([name.to_owned(), f(&self.cow), f(&self.stop)]);
        };
        pair("total stall", &|p| p.stall_ms.show(ms));
        pair("  waiting for GPU work", &|p| p.drain_ms.show(ms));
        pair("  CRIU's freeze", &|p| p.criu_freeze_ms.show(ms));
        pair("  residual", &|p| p.residual_ms.show(ms));
        pair("  fingerprints", &|p| p.fingerprints_ms.show(ms));
        pair("  added by copying", &|p| p.copy_added_ms.show(ms));
        pair("GPU part", &|p| p.gpu_ms.show(ms));
        pair("copied aside", &|p| {
            p.copied_aside_bytes.show(|b| mib(b as u64))
        });
        pair("copy rate", &|p| p.copy_bytes_per_s.show(rate));
        if let Some(link) = self.link_bytes_per_s {
            let part = |rate: f64| format!("{:.0} %", 100.0 * rate / link as f64);
            pair("  of the link", &|p| p.copy_bytes_per_s.show(part));
        }
        let speed = if self.modelled {
            "time model"
        } else {
            "full speed"
        };
        format!(
            "\ncheckpoint of {} MB, {speed}\n{}",
            self.state_mb,
            table.text()
        )
    }
}

impl Results {
    /// Of one under the time model.
    pub(super) fn bars(&self) -> Vec<Bar> {
        let bar = |what: &str, wanted: &str, measured, is_met| Bar {
            what: format!("{what}, {} MB", self.state_mb),
            wanted: wanted.into(),
            measured,
            is_met,
        };
        let gpu = self.cow.gpu_ms.median / self.stop.gpu_ms.median;
        let mut bars = vec![bar(
            "the GPU's part of a copy-on-write stall, of stop-the-world's",
            "1 % at most",
            format!("{:.1} %", 100.0 * gpu),
            gpu <= 0.01,
        )];
        if let Some(link) = self.link_bytes_per_s {
            let part = self.cow.copy_bytes_per_s.median / link as f64;
            bars.push(bar(
                "copied out, of the link's rate",
                "95 %",
                format!("{:.0} %", 100.0 * part),
                part >= 0.95,
            ));
        }
        bars
    }
}

fn spreads(reports: &[CheckpointReport]) -> Parts {
    let of =
        |f: fn(&CheckpointReport) -> f64| Spread::of(&reports.iter().map(f).collect::<Vec<_>>());
    Parts {
        stall_ms: of(|r| r.stall_ms),
        criu_start_ms: of(|r| r.criu_start_ms),
        drain_ms: of(|r| r.drain_ms),
        criu_freeze_ms: of(|r| r.criu_freeze_ms),
        residual_ms: of(|r| r.residual_ms),
        fingerprints_ms: of(|r| r.fingerprints_ms),
        copy_added_ms: of(|r| r.copy_added_ms),
        gpu_ms: of(CheckpointReport::gpu_ms),
        copied_aside_bytes: of(|r| r.copied_aside_bytes as f64),
        copy_bytes_per_s: of(|r| r.copy_bytes_per_s),
        state_bytes: of(|r| r.state_bytes as f64),
    }
}

impl Setup {
    /// Checkpoints a training program both ways, each time a new one.
    pub(super) fn stalls(&self, state_mb: u64, modelled: bool) -> anyhow::Result<Results> {
        let program = compile::hip("train/train.cpp", "-O3", &self.programs)?;
        let program = program
            .to_str()
            .context("the program's path is not UTF-8")?;
        let size = state_mb.to_string();
        let command = [
            program,
            "--state-mb",
            &size,
            "--steps",
            "1000000",
            "--log",
            "log",
        ];
        let (mut cow, mut stop) = (Vec::new(), Vec::new());
        let mut host_bytes = 0;
        for run in 0..self.repetitions {
            let name = format!("stalls-{state_mb}-{modelled}/{run}");
            let (copied, stopped, bytes) = self.measured(&name, |folder| {
                let device = match modelled {
                    true => Rates::MODEL.measured_options(folder),
                    false => Vec::new(),
                };
                let mut session = Session::start(&self.strobe, &device, &command, folder)?;
                session.wait_for("log", "step 2 ", LIMIT)?;
                let checkpoint = |mode| {
                    let images = folder.join("images");
                    let report = self.strobe.checkpoint(session.pid(), &images, mode)?;
                    fs::remove_dir_all(&images)?;
                    anyhow::Ok(report)
                };
                let reports = (checkpoint(ModeOption::Cow)?, checkpoint(ModeOption::Stop)?);
                let bytes = anonymous_bytes(session.pid())?;
                session.kill()?;
                Ok((reports.0, reports.1, bytes))
            })?;
            cow.push(copied);
            stop.push(stopped);
            host_bytes = bytes;
        }
        Ok(Results {
            state_mb,
            modelled,
            link_bytes_per_s: modelled.then_some(Rates::MODEL.link),
            cow: spreads(&cow),
            stop: spreads(&stop),
            host_bytes,
        })
    }
}

/// Memory of a process that CRIU has to save by content.
fn anonymous_bytes(pid: u32) -> anyhow::Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kib = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:")?.trim().strip_suffix("kB"))
        .context("no Anonymous in smaps_rollup")?;
    Ok(kib.trim().parse::<u64>()? << 10)
}
