//! What a launch costs the host: with the agent preloaded and without, no checkpoint running.

use anyhow::Context;
use serde::Serialize;
use strobe_evaluation::compile;
use strobe_evaluation::statistics::{median, quantile};
use strobe_evaluation::strobe::succeed;
use strobe_evaluation::table::Table;

use super::bar::Bar;
use super::setup::Setup;

const LAUNCHES: &str = "4000";

/// Nanoseconds a launch call takes.
#[derive(Clone, Copy, Debug, Serialize)]
struct Times {
    median_ns: f64,
    p99_ns: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    alone: Times,
    strobe: Times,
    added_median_ns: f64,
    added_p99_ns: f64,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        let ns = |value: f64| format!("{value:.0} ns");
        table.row(["launch call", "median", "p99"]);
        table.row([
            "alone".into(),
            ns(self.alone.median_ns),
            ns(self.alone.p99_ns),
        ]);
        table.row([
            "under strobe".into(),
            ns(self.strobe.median_ns),
            ns(self.strobe.p99_ns),
        ]);
        table.row([
            "added".into(),
            ns(self.added_median_ns),
            ns(self.added_p99_ns),
        ]);
        format!(
            "\nadded per launch, no checkpoint running\n{}",
            table.text()
        )
    }
}

impl Results {
    pub(super) fn bar(&self) -> Bar {
        Bar {
            what: "added per launch, no checkpoint running, median".into(),
            wanted: "100 ns at most".into(),
            measured: format!("{:.0} ns", self.added_median_ns),
            is_met: self.added_median_ns <= 100.0,
        }
    }
}

impl Setup {
    /// Both ways in turn, so that the machine's moods hit both; the quietest run of each counts.
    pub(super) fn launches(&self) -> anyhow::Result<Results> {
        let program = compile::hip("launches.cpp", "-O3", &self.programs)?;
        let program = program
            .to_str()
            .context("the program's path is not UTF-8")?;
        let (mut alone, mut strobe) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions.max(3) {
            alone.push(self.measure(&[program, LAUNCHES])?);
            let path = self
                .strobe
                .path()
                .to_str()
                .context("strobe's path is not UTF-8")?;
            strobe.push(self.measure(&[path, "run", "--", program, LAUNCHES])?);
        }
        let quietest = |times: &[Times]| {
            let median_ns = times
                .iter()
                .map(|t| t.median_ns)
                .fold(f64::INFINITY, f64::min);
            let p99_ns = times.iter().map(|t| t.p99_ns).fold(f64::INFINITY, f64::min);
            Times { median_ns, p99_ns }
        };
        let (alone, strobe) = (quietest(&alone), quietest(&strobe));
        Ok(Results {
            alone,
            strobe,
            added_median_ns: strobe.median_ns - alone.median_ns,
            added_p99_ns: strobe.p99_ns - alone.p99_ns,
        })
    }

    fn measure(&self, command: &[&str]) -> anyhow::Result<Times> {
        let mut softgpu = self.strobe.command();
        let output = succeed(softgpu.args(["softgpu", "--"]).args(command))?;
        let text = String::from_utf8(output.stdout)?;
        let samples: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        anyhow::ensure!(!samples.is_empty(), "launches printed no times");
        Ok(Times {
            median_ns: median(&samples),
            p99_ns: quantile(&samples, 0.99),
        })
    }
}
