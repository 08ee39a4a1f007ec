//! What has been found, in figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strobe_footprint::LaunchTally;

use super::judge::{Judged, KernelTally};
use super::way::Way;
use crate::footprints::family::family;
use crate::table::Table;

/// Families of kernels that are listed for what they are predicted to write and do not.
const WIDEST: usize = 40;

/// One way, over the launches of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WayReport {
    pub way: String,
    pub launches: u64,
    pub writes_exact: u64,
    pub reads_exact: u64,
    pub missed_writes: u64,
    pub missed_reads: u64,
    /// Of exact launches: bytes predicted written, and written.
    pub predicted: u64,
    pub written: u64,
    /// Predicted over written, of the median exact launch and that at 90 in a hundred; null where nothing was written.
    pub median: Option<f64>,
    pub p90: Option<f64>,
    pub needless: u64,
    /// Exact launches that have written all that was predicted.
    pub to_the_byte: u64,
}

/// Kernels made of one function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FamilyReport {
    pub family: String,
    pub example: String,
    /// At launch, nothing in memory being known; and what did stand there being known.
    pub launch: WayReport,
    pub known: WayReport,
    /// Why writes are not exact though tables are known, and of how many launches.
    pub reasons: BTreeMap<String, u64>,
    /// Needless bytes by what they are part of.
    pub needless: BTreeMap<String, u64>,
}

/// One run of a program, or all of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    pub name: String,
    /// Processes that were run.
    pub processes: u64,
    pub kernels: u64,
    pub launches: u64,
    /// Dispatches of the runtime's own kernels, and of what is no kernel of a code object; not among the launches.
    pub runtime: u64,
    pub nameless: u64,
    /// Only the first launches.
    pub cut: bool,
    pub ways: Vec<WayReport>,
    pub reasons: BTreeMap<String, u64>,
    /// Of what was touched though it was not predicted, some of each kernel.
    pub missed: Vec<String>,
    /// Needless bytes with tables known, by what they are part of.
    pub needless: BTreeMap<String, u64>,
    /// By the bytes that they are predicted to write and do not.
    pub widest: Vec<FamilyReport>,
    /// By the launches whose writes are not exact though tables are known.
    pub inexact: Vec<FamilyReport>,
    /// Processes that did not end well; what they had launched by then counts.
    pub failed: Vec<String>,
}

/// All runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LaunchReport {
    pub runs: Vec<RunReport>,
    pub total: RunReport,
}

fn in_words(tally: &KernelTally) -> BTreeMap<String, u64> {
    let shapes = tally.needless.iter();
    shapes
        .map(|(shape, bytes)| (shape.text(), *bytes))
        .collect()
}

impl WayReport {
    fn new(way: Way, tally: &LaunchTally) -> Self {
        let [predicted, written] = tally.written();
        let width = |part| tally.width(part).filter(|width| width.is_finite());
        Self {
            way: way.name().to_owned(),
            launches: tally.launches,
            writes_exact: tally.writes_exact,
            reads_exact: tally.reads_exact,
            missed_writes: tally.missed_writes,
            missed_reads: tally.missed_reads,
            predicted,
            written,
            median: width(0.5),
            p90: width(0.9),
            needless: tally.needless(),
            to_the_byte: tally.to_the_byte() as u64,
        }
    }

    /// Bytes predicted over bytes written, of all exact launches together.
    pub fn width(&self) -> Option<f64> {
        (self.written > 0).then(|| self.predicted as f64 / self.written as f64)
    }

    /// In percent of the launches.
    pub fn share(&self, part: u64) -> f64 {
        100.0 * part as f64 / self.launches.max(1) as f64
    }
}

impl FamilyReport {
    /// What most of its needless bytes are part of.
    pub fn most(&self) -> &str {
        let most = self.needless.iter().max_by_key(|(_, bytes)| **bytes);
        most.map_or("", |(shape, _)| shape.as_str())
    }
}

impl RunReport {
    pub fn new(name: &str, processes: u64, judged: &Judged, failed: Vec<String>) -> Self {
        let mut families: BTreeMap<String, (String, KernelTally)> = BTreeMap::new();
        let (mut all, mut missed) = (KernelTally::default(), Vec::new());
        for (name, tally) in &judged.kernels {
            all.merge(tally);
            missed.extend(tally.missed.iter().map(|what| format!("{name}: {what}")));
            let of = families.entry(family(name));
            let (_, sum) = of.or_insert_with(|| (name.clone(), KernelTally::default()));
            sum.merge(tally);
        }
        let mut widest: Vec<FamilyReport> = families
            .into_iter()
            .map(|(family, (example, tally))| FamilyReport {
                family,
                example,
                launch: WayReport::new(Way::Launch, tally.of(Way::Launch)),
                known: WayReport::new(Way::Known, tally.of(Way::Known)),
                needless: in_words(&tally),
                reasons: tally.reasons,
            })
            .collect();
        let mut inexact = widest.clone();
        widest.sort_by_key(|family| std::cmp::Reverse(family.known.needless));
        widest.truncate(WIDEST);
        inexact.retain(|family| !family.reasons.is_empty());
        inexact.sort_by_key(|family| std::cmp::Reverse(family.reasons.values().sum::<u64>()));
        inexact.truncate(WIDEST);
        Self {
            name: name.to_owned(),
            processes,
            kernels: judged.kernels.len() as u64,
            launches: all.of(Way::Known).launches,
            runtime: judged.runtime,
            nameless: judged.nameless,
            cut: judged.cut,
            ways: Way::ALL.map(|way| WayReport::new(way, all.of(way))).into(),
            needless: in_words(&all),
            reasons: all.reasons,
            missed,
            widest,
            inexact,
            failed,
        }
    }
}

impl LaunchReport {
    pub fn new(runs: Vec<RunReport>, all: &Judged) -> Self {
        let processes = runs.iter().map(|run| run.processes).sum();
        Self {
            total: RunReport::new("all", processes, all, Vec::new()),
            runs,
        }
    }

    /// Whether machine code has predicted every byte that was touched.
    pub fn holds(&self) -> bool {
        let by_launch = self.total.ways.iter().rev().take(2);
        by_launch
            .map(|way| way.missed_writes + way.missed_reads)
            .sum::<u64>()
            == 0
    }

    /// A line for each run and way.
    pub fn table(&self) -> String {
        let mut table = Table::default();
        table.row([
            "launches of",
            "by",
            "launches",
            "writes exact %",
            "reads exact %",
            "missed bytes",
            "width: median",
            "p90",
            "together",
            "needless MB",
        ]);
        for run in self.runs.iter().chain([&self.total]) {
            for way in &run.ways {
                let width = |width: Option<f64>| match width {
                    Some(width) => format!("{width:.2}"),
                    None => "-".to_owned(),
                };
                table.row([
                    run.name.clone(),
                    way.way.clone(),
                    way.launches.to_string(),
                    format!("{:.1}", way.share(way.writes_exact)),
                    format!("{:.1}", way.share(way.reads_exact)),
                    (way.missed_writes + way.missed_reads).to_string(),
                    width(way.median),
                    width(way.p90),
                    width(way.width()),
                    format!("{:.1}", way.needless as f64 / 1e6),
                ]);
            }
        }
        table.text()
    }

    /// What keeps launches from being exact, and which kernels write least of what they are predicted to.
    pub fn widest(&self) -> String {
        let mut table = Table::default();
        table.row([
            "kernels with needless bytes",
            "launches",
            "exact",
            "width: median",
            "p90",
            "together",
            "needless MB",
            "most of it",
        ]);
        for family in &self.total.widest {
            let way = &family.known;
            let width =
                |width: Option<f64>| width.map_or("-".to_owned(), |width| format!("{width:.2}"));
            table.row([
                family.family.clone(),
                way.launches.to_string(),
                way.writes_exact.to_string(),
                width(way.median),
                width(way.p90),
                width(way.width()),
                format!("{:.2}", way.needless as f64 / 1e6),
                family.most().to_owned(),
            ]);
        }
        for (shape, bytes) in &self.total.needless {
            table.row([
                format!("needless: {shape}"),
                format!("{:.2} MB", *bytes as f64 / 1e6),
            ]);
        }
        for missed in &self.total.missed {
            table.row([format!("missed: {missed}")]);
        }
        table.row([
            "writes not exact though tables are known, because of",
            "launches",
        ]);
        for (reason, launches) in &self.total.reasons {
            table.row([reason.clone(), launches.to_string()]);
        }
        for family in &self.total.inexact {
            let launches: u64 = family.reasons.values().sum();
            table.row([format!("  {}", family.family), launches.to_string()]);
        }
        table.text()
    }
}
