//! All libraries in one report.

use serde::Serialize;

use super::tally::LibraryTally;
use crate::launches::LaunchReport;
use crate::table::{Table, mib};

/// Functions named for each reason.
pub(super) const FAMILIES: usize = 8;

/// What was found in a folder of libraries.
#[derive(Debug, Serialize)]
pub struct FootprintReport {
    pub target: String,
    pub libraries: Vec<LibraryTally>,
    /// All of them as one.
    pub total: LibraryTally,
    /// Folders without code for the target.
    pub without: Vec<String>,
    /// Libraries whose evaluation failed, and how.
    pub failed: Vec<String>,
    /// What was measured of launches, if anything was.
    pub launches: Option<LaunchReport>,
}

impl FootprintReport {
    /// In the order of the libraries' names.
    pub fn new(
        target: &str,
        found: Vec<LibraryTally>,
        failed: Vec<String>,
        launches: Option<LaunchReport>,
    ) -> Self {
        let (libraries, without): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|library| library.kernels > 0);
        Self {
            target: target.to_owned(),
            total: LibraryTally::sum("all", &libraries),
            libraries,
            without: without.into_iter().map(|library| library.library).collect(),
            failed,
            launches,
        }
    }

    /// A line for each library.
    pub fn table(&self) -> String {
        let mut table = Table::default();
        table.row([
            "writes exact, in percent",
            "kernels",
            "no body",
            "signature",
            "misses",
            "metadata",
            "misses",
            "machine code",
            "or by tables",
            "in words",
            "reads",
            "kernels/s",
            "slowest",
            "memory",
        ]);
        for library in self.libraries.iter().chain([&self.total]) {
            let percent = |part| format!("{:.1}", library.share(part));
            let missed = |way: &super::WayTally| {
                percent(way.writes.findings.missed + way.writes.findings.beyond)
            };
            table.row([
                library.library.clone(),
                library.kernels.to_string(),
                library.empty.to_string(),
                percent(library.signature.writes.exact),
                missed(&library.signature),
                percent(library.metadata.writes.exact),
                missed(&library.metadata),
                percent(library.machine.writes.exact),
                percent(library.machine.writes.exact + library.writes_by_tables),
                percent(library.writes_worded),
                percent(library.machine.reads.exact),
                format!("{:.0}", library.rate()),
                format!("{:.2} s", library.slowest.seconds),
                mib(library.peak_memory),
            ]);
        }
        table.text()
    }

    /// The most frequent reasons why writes are not exact by machine code, with the functions of most kernels.
    pub fn reasons(&self) -> String {
        let mut table = Table::default();
        table.row(["writes not exact by machine code, because of", "kernels"]);
        let ranked = self.total.machine.writes.ranked();
        for (reason, count) in &ranked {
            table.row([(*reason).to_owned(), count.kernels.to_string()]);
            for (family, kernels) in count.most(FAMILIES) {
                table.row([format!("  {family}"), kernels.to_string()]);
            }
        }
        if ranked.is_empty() {
            return String::new();
        }
        table.text()
    }
}
