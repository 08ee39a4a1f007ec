//! How long a program stands still that is checkpointed to be moved (`--kill`): when all is saved while it is frozen, and
//! when its memory was copied in rounds before.
//!
//! The program holds much that it never writes, and writes little all the time, as one does that serves a model.

use std::fs;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::{CheckpointOutcome, CheckpointReport, ModeOption};
use strobe_evaluation::table::{Table, mib, ms};
use strobe_evaluation::{Rates, Session, compile};

use super::setup::Setup;

const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    state_mb: u64,
    link_bytes_per_s: u64,
    stop: Parts,
    recopy: Parts,
}

/// Milliseconds, and bytes that were copied while the program stood still.
#[derive(Debug, Serialize)]
struct Parts {
    stall_ms: Spread,
    criu_freeze_ms: Spread,
    fingerprints_ms: Spread,
    residual_ms: Spread,
    residual_bytes: Spread,
}

impl Parts {
    fn of(reports: &[CheckpointReport]) -> Self {
        let of = |f: fn(&CheckpointReport) -> f64| {
            Spread::of(&reports.iter().map(f).collect::<Vec<_>>())
        };
        Self {
            stall_ms: of(|r| r.stall_ms),
            criu_freeze_ms: of(|r| r.criu_freeze_ms),
            fingerprints_ms: of(|r| r.fingerprints_ms),
            residual_ms: of(|r| r.residual_ms),
            residual_bytes: of(|r| r.residual_bytes as f64),
        }
    }
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row(["", "stop-the-world", "recopy", "of it"]);
        let mut row = |name: &str, of: fn(&Parts) -> &Spread, show: fn(f64) -> String| {
            let (stop, recopy) = (of(&self.stop), of(&self.recopy));
            let ratio = recopy.median / stop.median;
            table.row([
                name.to_owned(),
                stop.show(show),
                recopy.show(show),
                format!("{ratio:.3}"),
            ]);
        };
        row("stands still", |p| &p.stall_ms, ms);
        row("  CRIU's freeze", |p| &p.criu_freeze_ms, ms);
        row("  fingerprints", |p| &p.fingerprints_ms, ms);
        row("  residual", |p| &p.residual_ms, ms);
        row(
            "copied then",
            |p| &p.residual_bytes,
            |bytes| mib(bytes as u64),
        );
        format!(
            "\nmoving a program of {} MB (--kill), time model\n{}",
            self.state_mb,
            table.text()
        )
    }
}

impl Setup {
    /// By turns, each time a new program on a new device.
    pub(super) fn moving(&self, state_mb: u64) -> anyhow::Result<Results> {
        let (mut stop, mut recopy) = (Vec::new(), Vec::new());
        for run in 0..self.repetitions {
            for (mode, reports) in [
                (ModeOption::Stop, &mut stop),
                (ModeOption::Recopy, &mut recopy),
            ] {
                reports.push(self.moved(state_mb, mode, run)?);
            }
        }
        Ok(Results {
            state_mb,
            link_bytes_per_s: Rates::MODEL.link,
            stop: Parts::of(&stop),
            recopy: Parts::of(&recopy),
        })
    }

    fn moved(
        &self,
        state_mb: u64,
        mode: ModeOption,
        run: usize,
    ) -> anyhow::Result<CheckpointReport> {
        let program = compile::hip("serves.cpp", "-O2", &self.programs)?;
        let program = program
            .to_str()
            .context("the program's path is not UTF-8")?;
        let size = state_mb.to_string();
        let command = [program, &size, "1000000", "log"];
        let name = format!("moving-{state_mb}/{run}-{}", mode.name());
        self.measured(&name, |folder| {
            let device = Rates::MODEL.measured_options(folder);
            let mut session = Session::start(&self.strobe, &device, &command, folder)?;
            session.wait_for("log", "round 3 ", LIMIT)?;
            let (pid, images) = (session.pid(), folder.join("images"));
            let taken = self
                .strobe
                .try_checkpoint(pid, &images, mode, true, LIMIT)?;
            let CheckpointOutcome::Done(report) = taken else {
                bail!("{taken:?}");
            };
            session.wait(LIMIT)?;
            fs::remove_dir_all(&images)?;
            Ok(*report)
        })
    }
}
