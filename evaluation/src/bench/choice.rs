//! What `--mode auto` takes, and what it gains: by turns with both other modes, of one program on one device.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::{CheckpointReport, ModeOption};
use strobe_evaluation::table::{Table, ms};
use strobe_evaluation::{Rates, Session, compile};

use super::setup::Setup;

const LIMIT: Duration = Duration::from_secs(600);

/// The one writes nearly all it has in each step, the other little.
const PROGRAMS: [&str; 2] = ["train/train.cpp", "serves.cpp"];

/// Each with the time model, and as fast as the software GPU goes.
pub(super) fn cases() -> impl Iterator<Item = (&'static str, bool)> {
    let programs = PROGRAMS.into_iter();
    programs.flat_map(|program| [true, false].map(|modelled| (program, modelled)))
}

const MODES: [ModeOption; 3] = [ModeOption::Auto, ModeOption::Stop, ModeOption::Cow];

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    program: &'static str,
    state_mb: u64,
    modelled: bool,
    auto: Costs,
    stop: Costs,
    cow: Costs,
    /// What was chosen in each turn, and what that was expected to stall, in milliseconds.
    chosen: Vec<(String, f64)>,
}

/// Milliseconds.
#[derive(Debug, Serialize)]
struct Costs {
    stall_ms: Spread,
    /// Nothing where no turn has told.
    lost_ms: Option<Spread>,
}

impl Costs {
    fn of(reports: &[CheckpointReport]) -> Self {
        let stalls: Vec<f64> = reports.iter().map(|report| report.stall_ms).collect();
        let lost = reports.iter().filter_map(|report| report.lost);
        let lost: Vec<f64> = lost.map(|lost| lost.ms).collect();
        Self {
            stall_ms: Spread::of(&stalls),
            lost_ms: (!lost.is_empty()).then(|| Spread::of(&lost)),
        }
    }
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row(["", "auto", "stop-the-world", "copy-on-write"]);
        let all = [&self.auto, &self.stop, &self.cow];
        let [auto, stop, cow] = all.map(|costs| costs.stall_ms.show(ms));
        table.row(["total stall".to_owned(), auto, stop, cow]);
        let [auto, stop, cow] = all.map(|costs| {
            let lost = costs.lost_ms.as_ref().map(|lost| lost.show(ms));
            lost.unwrap_or_default()
        });
        table.row(["lost".to_owned(), auto, stop, cow]);
        let of_stop = |costs: &Costs| {
            let ratio = costs.stall_ms.median / self.stop.stall_ms.median;
            format!("{ratio:.2}")
        };
        let [auto, stop, cow] = all.map(of_stop);
        table.row(["stall, of stop's".to_owned(), auto, stop, cow]);
        let chosen: Vec<String> = self
            .chosen
            .iter()
            .map(|(mode, stall)| format!("{mode} ({})", ms(*stall)))
            .collect();
        let speed = match self.modelled {
            true => "time model",
            false => "full speed",
        };
        format!(
            "\nthe mode is chosen: {} of {} MB, {speed}\n{}chosen, with the stall expected: {}\n",
            self.program,
            self.state_mb,
            table.text(),
            chosen.join(", ")
        )
    }
}

impl Setup {
    /// One program, and all modes by turns.
    pub(super) fn choice(
        &self,
        program: &'static str,
        state_mb: u64,
        modelled: bool,
    ) -> anyhow::Result<Results> {
        let path = compile::hip(program, "-O3", &self.programs)?;
        let path = path.to_str().context("the program's path is not UTF-8")?;
        let size = state_mb.to_string();
        let trains = [
            path,
            "--state-mb",
            &size,
            "--steps",
            "1000000",
            "--log",
            "log",
        ];
        let serves = [path, &size, "1000000", "log"];
        let (command, third) = match program == PROGRAMS[0] {
            true => (&trains[..], "step 2 "),
            false => (&serves[..], "round 3 "),
        };
        let name = format!("choice-{state_mb}-{modelled}-{}", command.len());
        let reports = self.measured(&name, |folder| {
            let device = match modelled {
                true => Rates::MODEL.measured_options(folder),
                false => Vec::new(),
            };
            let mut session = Session::start(&self.strobe, &device, command, folder)?;
            session.wait_for("log", third, LIMIT)?;
            let mut reports = MODES.map(|_| Vec::new());
            for _ in 0..self.repetitions {
                for (mode, reports) in MODES.into_iter().zip(&mut reports) {
                    let images = folder.join("images");
                    reports.push(self.strobe.checkpoint(session.pid(), &images, mode)?);
                    fs::remove_dir_all(&images)?;
                }
            }
            session.kill()?;
            Ok(reports)
        })?;
        let [auto, stop, cow] = &reports;
        let chosen = auto.iter().map(|report| {
            let choice = report.choice.as_ref().context("nothing was chosen")?;
            let expected = choice.predicted.iter().find(|one| one.mode == choice.mode);
            let stall_ms = expected.map_or(f64::NAN, |one| one.stall_ms);
            anyhow::Ok((choice.mode.clone(), stall_ms))
        });
        Ok(Results {
            program,
            state_mb,
            modelled,
            chosen: chosen.collect::<Result<_, _>>()?,
            auto: Costs::of(auto),
            stop: Costs::of(stop),
            cow: Costs::of(cow),
        })
    }
}
