//! What a checkpoint costs programs of several kinds, in each way that there is, and in that of CRIU's own plugin.
//!
//! The program goes on in all of them. Ours are taken by turns of one program on one device; CRIU with its own plugin has
//! another one, without our agent.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::{CheckpointReport, ModeOption};
use strobe_evaluation::table::{Table, mib, ms};
use strobe_evaluation::{Rates, Session, compile};

use super::setup::Setup;
use super::upstream;

const LIMIT: Duration = Duration::from_secs(600);

/// A program, and the line of its log after which it does what it does all the time.
struct Workload {
    name: &'static str,
    source: &'static str,
    /// `{}` is how many megabytes it has.
    arguments: &'static [&'static str],
    line: &'static str,
}

const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "trains: nearly all is written in each step",
        source: "train/train.cpp",
        arguments: &["--state-mb", "{}", "--steps", "1000000", "--log", "log"],
        line: "step 2 ",
    },
    Workload {
        name: "serves: much is read, little is written",
        source: "serves.cpp",
        arguments: &["{}", "1000000", "log"],
        line: "round 3 ",
    },
    Workload {
        name: "256 tensors in one allocation, a tenth is written in each round",
        source: "tensors.cpp",
        arguments: &["{}", "10", "1000000", "log"],
        line: "round 3 ",
    },
    Workload {
        name: "the same, and all are written over and over",
        source: "tensors.cpp",
        arguments: &["{}", "100", "1000000", "log"],
        line: "round 2 ",
    },
];

const MODES: [ModeOption; 3] = [ModeOption::Cow, ModeOption::Recopy, ModeOption::Stop];

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    workload: &'static str,
    state_mb: u64,
    /// In the order of [`MODES`].
    ways: Vec<Costs>,
    /// Of CRIU's own plugin, which has no other figure.
    upstream_stall_ms: Spread,
}

/// Milliseconds, and bytes over the link.
#[derive(Debug, Serialize)]
struct Costs {
    mode: &'static str,
    stall_ms: Spread,
    gpu_ms: Spread,
    /// Nothing where no turn could tell.
    lost_ms: Option<Spread>,
    slowest_round_ms: Option<Spread>,
    moved_bytes: Spread,
}

impl Costs {
    fn of(mode: ModeOption, reports: &[CheckpointReport]) -> Self {
        let all = |f: &dyn Fn(&CheckpointReport) -> f64| {
            Spread::of(&reports.iter().map(f).collect::<Vec<_>>())
        };
        let lost = |f: fn(&strobe_evaluation::strobe::ReportedLoss) -> f64| {
            let lost = reports.iter().filter_map(|report| report.lost.as_ref());
            let lost: Vec<f64> = lost.map(f).collect();
            (!lost.is_empty()).then(|| Spread::of(&lost))
        };
        Self {
            mode: mode.name(),
            stall_ms: all(&|r| r.stall_ms),
            gpu_ms: all(&CheckpointReport::gpu_ms),
            lost_ms: lost(|lost| lost.ms),
            slowest_round_ms: lost(|lost| lost.slowest_round_ms),
            moved_bytes: all(&|r| (r.copied_out_bytes + r.residual_bytes) as f64),
        }
    }
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        let head = [
            "",
            "stands still",
            "of CRIU's own plugin",
            "of it for the GPU",
            "lost",
            "slowest round",
            "moved",
        ];
        table.row(head);
        let upstream = self.upstream_stall_ms.median;
        for costs in &self.ways {
            let told = |spread: &Option<Spread>| {
                let shown = spread.as_ref().map(|spread| spread.show(ms));
                shown.unwrap_or_else(|| "not told".into())
            };
            table.row([
                costs.mode.to_owned(),
                costs.stall_ms.show(ms),
                format!("{:.3}", costs.stall_ms.median / upstream),
                costs.gpu_ms.show(ms),
                told(&costs.lost_ms),
                told(&costs.slowest_round_ms),
                costs.moved_bytes.show(|bytes| mib(bytes as u64)),
            ]);
        }
        let row = ["CRIU's own plugin", &self.upstream_stall_ms.show(ms), "1"];
        table.row(row.into_iter().chain([""; 4]));
        format!(
            "\n{} MB, {}, time model\n{}",
            self.state_mb,
            self.workload,
            table.text()
        )
    }
}

impl Setup {
    /// All kinds of programs, with so much memory.
    pub(super) fn workloads(
        &self,
        state_mb: u64,
    ) -> impl Iterator<Item = anyhow::Result<Results>> + '_ {
        let each = WORKLOADS.iter();
        each.map(move |workload| self.workload(workload, state_mb))
    }

    fn workload(&self, workload: &Workload, state_mb: u64) -> anyhow::Result<Results> {
        let program = compile::hip(workload.source, "-O3", &self.programs)?;
        let program = program.display().to_string();
        let size = state_mb.to_string();
        let arguments = workload.arguments.iter();
        let arguments = arguments.map(|word| if *word == "{}" { &size } else { *word });
        let words: Vec<&str> = [&program[..]].into_iter().chain(arguments).collect();
        let name = format!(
            "workloads-{state_mb}-{}-{}",
            workload.source.replace('/', "-"),
            words[2]
        );
        let device = |folder: &_| {
            let mut device = Rates::MODEL.measured_options(folder);
            device.extend(["--vram".into(), format!("{}M", state_mb + 512)]);
            device
        };
        let reports = self.measured(&name, |folder| {
            let mut session = Session::start(&self.strobe, &device(folder), &words, folder)?;
            session.wait_for("log", workload.line, LIMIT)?;
            let mut reports = MODES.map(|_| Vec::new());
            for _ in 0..self.repetitions {
                for (mode, reports) in MODES.into_iter().zip(&mut reports) {
                    let images = folder.join("images");
                    let report = self.strobe.checkpoint(session.pid(), &images, mode);
                    reports.push(report.with_context(|| format!("{name}: {}", mode.name()))?);
                    fs::remove_dir_all(&images)?;
                }
            }
            session.kill()?;
            Ok(reports)
        })?;
        let nodes = compile::shared("char_nodes.c", &self.programs)?;
        let upstream = (0..self.repetitions).map(|run| {
            self.measured(&format!("{name}-upstream-{run}"), |folder| {
                let until = (&words[..], workload.line);
                upstream::frozen_ms(&self.strobe, &device(folder), until, &nodes, folder, LIMIT)
            })
        });
        let upstream: Vec<f64> = upstream.collect::<anyhow::Result<_>>()?;
        Ok(Results {
            workload: workload.name,
            state_mb,
            ways: MODES
                .into_iter()
                .zip(&reports)
                .map(|(mode, reports)| Costs::of(mode, reports))
                .collect(),
            upstream_stall_ms: Spread::of(&upstream),
        })
    }
}
