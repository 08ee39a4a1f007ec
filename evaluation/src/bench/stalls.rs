//! How long a checkpoint holds the training program back, both ways, on the same state.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::statistics::median;
use strobe_evaluation::strobe::{CheckpointReport, Mode};
use strobe_evaluation::table::{Table, mib, ms, rate};
use strobe_evaluation::{Rates, Session, compile};

use super::Bench;

const LIMIT: Duration = Duration::from_secs(600);

/// Medians over the repetitions.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Parts {
    pub(super) stall_ms: f64,
    criu_start_ms: f64,
    drain_ms: f64,
    pub(super) criu_freeze_ms: f64,
    residual_ms: f64,
    copy_added_ms: f64,
    gpu_ms: f64,
    copied_aside_bytes: u64,
    copy_bytes_per_s: f64,
    state_bytes: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(super) state_mb: u64,
    /// With the rates of [`Rates::MODEL`]; else as fast as the software GPU goes.
    modelled: bool,
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
        pair("total stall", &|p| ms(p.stall_ms));
        pair("  waiting for GPU work", &|p| ms(p.drain_ms));
        pair("  CRIU's freeze", &|p| ms(p.criu_freeze_ms));
        pair("  residual", &|p| ms(p.residual_ms));
        pair("  added by copying", &|p| ms(p.copy_added_ms));
        pair("GPU part", &|p| ms(p.gpu_ms));
        pair("copied aside", &|p| mib(p.copied_aside_bytes));
        pair("copy rate", &|p| rate(p.copy_bytes_per_s));
        if let Some(link) = self.link_bytes_per_s {
            pair("  of the link", &|p| {
                format!("{:.0} %", 100.0 * p.copy_bytes_per_s / link as f64)
            });
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

fn medians(reports: &[CheckpointReport]) -> Parts {
    let of = |f: fn(&CheckpointReport) -> f64| median(&reports.iter().map(f).collect::<Vec<_>>());
    Parts {
        stall_ms: of(|r| r.stall_ms),
        criu_start_ms: of(|r| r.criu_start_ms),
        drain_ms: of(|r| r.drain_ms),
        criu_freeze_ms: of(|r| r.criu_freeze_ms),
        residual_ms: of(|r| r.residual_ms),
        copy_added_ms: of(|r| r.copy_added_ms),
        gpu_ms: of(CheckpointReport::gpu_ms),
        copied_aside_bytes: of(|r| r.copied_aside_bytes as f64) as u64,
        copy_bytes_per_s: of(|r| r.copy_bytes_per_s),
        state_bytes: of(|r| r.state_bytes as f64) as u64,
    }
}

impl Bench {
    /// Checkpoints one training program in turn both ways.
    pub(super) fn stalls(&self, state_mb: u64, modelled: bool) -> anyhow::Result<Results> {
        let program = compile::hip("train/train.cpp", "-O3", &self.programs)?;
        let program = program
            .to_str()
            .context("the program's path is not UTF-8")?;
        let folder = self.new_folder(&format!("stalls-{state_mb}-{modelled}"))?;
        let device = if modelled {
            Rates::MODEL.options()
        } else {
            Vec::new()
        };
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
        let mut session = Session::start(&self.strobe, &device, &command, &folder)?;
        session.wait_for("log", "step 2 ", LIMIT)?;
        let (mut cow, mut stop) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            for (mode, reports) in [(Mode::Cow, &mut cow), (Mode::Stop, &mut stop)] {
                let images = folder.join("images");
                reports.push(self.strobe.checkpoint(session.pid(), &images, mode)?);
                fs::remove_dir_all(&images)?;
            }
        }
        let host_bytes = anonymous_bytes(session.pid())?;
        session.kill()?;
        Ok(Results {
            state_mb,
            modelled,
            link_bytes_per_s: modelled.then_some(Rates::MODEL.link),
            cow: medians(&cow),
            stop: medians(&stop),
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
