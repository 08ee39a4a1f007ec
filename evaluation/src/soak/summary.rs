//! All cycles of a soak in one table.

use serde::Serialize;

use super::{CycleOutcome, CycleVerdict, Figures};
use crate::statistics::{median, quantile};
use crate::table::{Table, mib, ms};

/// Cycles of one program, or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SummaryRow {
    pub program: String,
    pub identical: u64,
    pub refused: u64,
    pub too_late: u64,
    pub failed: u64,
    pub figures: Figures,
}

/// The whole.
#[derive(Debug, Serialize)]
pub struct SoakSummary {
    pub rows: Vec<SummaryRow>,
    pub total: SummaryRow,
    pub cycles: Vec<CycleOutcome>,
}

impl SummaryRow {
    fn add(&mut self, outcome: &CycleOutcome) {
        match outcome.verdict {
            CycleVerdict::Identical => self.identical += 1,
            CycleVerdict::Refused(_) => self.refused += 1,
            CycleVerdict::TooLate(_) => self.too_late += 1,
            CycleVerdict::Failed(_) => self.failed += 1,
        }
        self.figures.merge(&outcome.figures);
    }

    fn cycles(&self) -> u64 {
        self.identical + self.refused + self.failed
    }
}

impl SoakSummary {
    pub fn new(cycles: Vec<CycleOutcome>) -> Self {
        let mut rows: Vec<SummaryRow> = Vec::new();
        let mut total = SummaryRow {
            program: "all".into(),
            ..SummaryRow::default()
        };
        for outcome in &cycles {
            let at = rows.iter().position(|row| row.program == outcome.program);
            let at = at.unwrap_or_else(|| {
                rows.push(SummaryRow {
                    program: outcome.program.clone(),
                    ..SummaryRow::default()
                });
                rows.len() - 1
            });
            rows[at].add(outcome);
            total.add(outcome);
        }
        rows.sort_by(|a, b| a.program.cmp(&b.program));
        Self {
            rows,
            total,
            cycles,
        }
    }

    /// What must be so for the soak to have passed; a sentence for each thing that is not.
    pub fn objections(&self) -> Vec<String> {
        let mut objections = Vec::new();
        if self.total.failed > 0 {
            objections.push(format!("{} cycles failed", self.total.failed));
        }
        for row in &self.rows {
            // A program that is never caught at work proves nothing.
            if row.cycles() == 0 {
                objections.push(format!("{}: every cycle came too late", row.program));
            }
        }
        if self.total.cycles() == 0 {
            objections.push("no cycle ran".into());
        }
        objections
    }

    pub fn table(&self) -> String {
        let mut table = Table::default();
        table.row([
            "program",
            "cycles",
            "identical",
            "refused",
            "failed",
            "too late",
            "checkpoints",
            "restores",
            "state",
            "aside",
            "stall cow",
            "p90",
            "stall stop",
        ]);
        for row in self.rows.iter().chain([&self.total]) {
            let figures = &row.figures;
            let stall = |samples: &[f64], value: f64| match samples {
                [] => "-".to_owned(),
                _ => ms(value),
            };
            let (cow, stop) = (&figures.cow_stalls_ms, &figures.stop_stalls_ms);
            table.row([
                row.program.clone(),
                row.cycles().to_string(),
                row.identical.to_string(),
                row.refused.to_string(),
                row.failed.to_string(),
                row.too_late.to_string(),
                figures.checkpoints.to_string(),
                figures.restores.to_string(),
                mib(figures.state_bytes),
                mib(figures.copied_aside_bytes),
                stall(cow, median(cow)),
                stall(cow, quantile(cow, 0.9)),
                stall(stop, median(stop)),
            ]);
        }
        table.text()
    }

    /// The failed ones again, for those who read the end only.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.cycles
            .iter()
            .filter_map(|outcome| match &outcome.verdict {
                CycleVerdict::Failed(reason) => Some(format!(
                    "--program {} --repeat {} ({}): {reason}",
                    outcome.program, outcome.seed, outcome.plan
                )),
                _ => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(program: &str, verdict: CycleVerdict) -> CycleOutcome {
        CycleOutcome {
            program: program.into(),
            seed: 1,
            plan: String::new(),
            seconds: 1.0,
            verdict,
            figures: Figures::default(),
        }
    }

    #[test]
    fn only_identical_and_expected_refusals_pass() {
        let objections = |verdicts: Vec<CycleVerdict>| {
            let outcomes = verdicts.into_iter().map(|v| outcome("a", v)).collect();
            SoakSummary::new(outcomes).objections().len()
        };
        assert_eq!(objections(vec![CycleVerdict::Identical]), 0);
        assert_eq!(objections(vec![CycleVerdict::Refused("x".into())]), 0);
        let failed = CycleVerdict::Failed("x".into());
        let late = || CycleVerdict::TooLate("x".into());
        assert_eq!(objections(vec![CycleVerdict::Identical, failed]), 1);
        assert_eq!(objections(vec![late(), CycleVerdict::Identical]), 0);
        assert_eq!(objections(vec![late()]), 2);
        assert_eq!(objections(vec![]), 1);
    }

    #[test]
    fn failures_say_how_to_repeat_them() {
        let summary = SoakSummary::new(vec![outcome("a", CycleVerdict::Failed("lost".into()))]);
        let said: Vec<String> = summary.failures().collect();
        assert_eq!(said, ["--program a --repeat 1 (): lost"]);
        assert!(summary.table().contains("program"));
    }
}
