//! What it costs to compare a checkpoint with its fingerprints: stall, and time of the program.
//!
//! The link is [`Rates::VALIDATION`]'s, 1/96 of the device memory's rate, as on a large machine. What
//! validation adds to a stall is what is fingerprinted at the cut, and it is held against the stall of
//! stop-the-world beyond CRIU's freeze, on the same state. The time model is one of copies: kernels run
//! as fast as the interpreter is, which may read memory faster than the model's device could. So it is
//! the slower of the two that counts: what was measured, or the bytes at the device's rate.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::{ModeOption, ValidateOption};
use strobe_evaluation::table::{Table, mib, ms};
use strobe_evaluation::{Rates, Session, compile};

use super::bar::Bar;
use super::setup::Setup;

const LIMIT: Duration = Duration::from_secs(600);
/// Of the program whose time is taken.
const STEPS: &str = "30";
/// Validation may add this part of stop-the-world's stall at most.
const BAR: f64 = 1.0 / 60.0;

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    state_mb: u64,
    /// Of a copy-on-write checkpoint, milliseconds and bytes.
    at_cut_ms: Spread,
    at_cut_bytes: Spread,
    /// Stop-the-world's stall beyond CRIU's freeze, without validation.
    stop_ms: Spread,
    /// A whole run with one checkpoint in it.
    program_full_ms: Spread,
    program_off_ms: Spread,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        let bytes = |b: f64| mib(b as u64);
        let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
        row("fingerprints at the cut", self.at_cut_ms.show(ms));
        row("  of", self.at_cut_bytes.show(bytes));
        row("  at the device's rate", ms(self.modelled_ms()));
        row("stop-the-world beyond CRIU's freeze", self.stop_ms.show(ms));
        row(
            "  added by validation",
            format!("1/{:.0}", 1.0 / self.part()),
        );
        row("a run, --validate full", self.program_full_ms.show(ms));
        row("a run, --validate off", self.program_off_ms.show(ms));
        format!(
            "\nvalidation of {} MB, device memory to link 96 : 1\n{}",
            self.state_mb,
            table.text()
        )
    }
}

impl Results {
    /// What the fingerprints at the cut take at the device's rate.
    fn modelled_ms(&self) -> f64 {
        self.at_cut_bytes.median / Rates::VALIDATION.device as f64 * 1e3
    }

    /// The slower of both, of stop-the-world's stall.
    fn part(&self) -> f64 {
        self.at_cut_ms.median.max(self.modelled_ms()) / self.stop_ms.median
    }

    pub(super) fn bar(&self) -> Bar {
        Bar {
            what: "fingerprints at the cut, of stop-the-world's stall beyond CRIU's freeze, link at 1/96 of device memory".into(),
            wanted: format!("1/{:.0} at most", 1.0 / BAR),
            measured: format!("1/{:.0}", 1.0 / self.part()),
            is_met: self.part() <= BAR,
        }
    }
}

impl Setup {
    /// Each repetition starts the programs and their devices anew.
    pub(super) fn validation(&self, state_mb: u64) -> anyhow::Result<Results> {
        let mut reports = Vec::new();
        let mut stop = Vec::new();
        let (mut full, mut off) = (Vec::new(), Vec::new());
        for run in 0..self.repetitions {
            let name = format!("validation-{state_mb}/{run}");
            let (copied, stopped) = self.measured(&name, |folder| {
                let mut session = self.train(state_mb, "1000000", folder)?;
                session.wait_for("log", "step 2 ", LIMIT)?;
                let take = |mode, validate| {
                    let images = folder.join("images");
                    let report =
                        self.strobe
                            .checkpoint_validated(session.pid(), &images, mode, validate)?;
                    fs::remove_dir_all(&images)?;
                    anyhow::Ok(report)
                };
                let copied = take(ModeOption::Cow, ValidateOption::Full)?;
                let stopped = take(ModeOption::Stop, ValidateOption::Off)?;
                session.kill()?;
                Ok((copied, stopped))
            })?;
            reports.push(copied);
            stop.push(stopped.stall_ms - stopped.criu_freeze_ms);
            for (validate, times) in [
                (ValidateOption::Full, &mut full),
                (ValidateOption::Off, &mut off),
            ] {
                times.push(self.whole_run(state_mb, run, validate)?);
            }
        }
        let of = |f: fn(&strobe_evaluation::strobe::CheckpointReport) -> f64| {
            Spread::of(&reports.iter().map(f).collect::<Vec<_>>())
        };
        Ok(Results {
            state_mb,
            at_cut_ms: of(|r| r.fingerprints_ms),
            at_cut_bytes: of(|r| r.fingerprinted_bytes as f64),
            stop_ms: Spread::of(&stop),
            program_full_ms: Spread::of(&full),
            program_off_ms: Spread::of(&off),
        })
    }

    /// Milliseconds from a program's second step to its end, with a checkpoint in between.
    fn whole_run(
        &self,
        state_mb: u64,
        run: usize,
        validate: ValidateOption,
    ) -> anyhow::Result<f64> {
        let name = format!("validation-{state_mb}/{run}-{}", validate.name());
        self.measured(&name, |folder| {
            let mut session = self.train(state_mb, STEPS, folder)?;
            session.wait_for("log", "step 2 ", LIMIT)?;
            let started = Instant::now();
            let images = folder.join("images");
            self.strobe
                .checkpoint_validated(session.pid(), &images, ModeOption::Cow, validate)?;
            session.wait(LIMIT)?;
            let took = started.elapsed();
            fs::remove_dir_all(&images)?;
            Ok(took.as_secs_f64() * 1e3)
        })
    }

    fn train(
        &self,
        state_mb: u64,
        steps: &str,
        folder: &std::path::Path,
    ) -> anyhow::Result<Session> {
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
            steps,
            "--log",
            "log",
        ];
        let device = Rates::VALIDATION.measured_options(folder);
        Session::start(&self.strobe, &device, &command, folder)
    }
}
