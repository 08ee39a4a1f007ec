//! What the demo found, as a table and as JSON.

use serde_json::{Value, json};
use strobe_evaluation::Rates;
use strobe_evaluation::strobe::CheckpointReport;
use strobe_evaluation::table::{Table, mib, ms, rate};

#[derive(Debug)]
pub(super) struct Report {
    pub(super) bit_identical: bool,
    pub(super) cow: CheckpointReport,
    pub(super) stop: CheckpointReport,
    pub(super) restore_ms: f64,
    pub(super) rates: Rates,
}

impl Report {
    pub(super) fn table(&self) -> String {
        let Self { cow, stop, .. } = self;
        let mut table = Table::default();
        table.row(["", "copy-on-write", "stop-the-world"]);
        let mut pair = |name: &str, f: &dyn Fn(&CheckpointReport) -> String| {
            table.row([name.to_owned(), f(cow), f(stop)]);
        };
        pair("state", &|r| mib(r.state_bytes));
        pair("launches traced", &|r| r.launches.to_string());
        pair("  footprints exact", &|r| r.footprints_exact.to_string());
        pair("  footprints conservative", &|r| {
            r.footprints_conservative.to_string()
        });
        pair("CRIU's start (program runs)", &|r| ms(r.criu_start_ms));
        pair("total stall", &|r| ms(r.stall_ms));
        pair("  waiting for GPU work", &|r| ms(r.drain_ms));
        pair("  CRIU's freeze", &|r| ms(r.criu_freeze_ms));
        pair("  fingerprints", &|r| ms(r.fingerprints_ms));
        pair("  residual", &|r| ms(r.residual_ms));
        pair("  added by copying", &|r| ms(r.copy_added_ms));
        pair(
            "through the plugin while frozen",
            &|r| mib(r.residual_bytes),
        );
        pair("set aside at the cut", &|r| mib(r.set_aside_bytes));
        pair("copied aside", &|r| mib(r.copied_aside_bytes));
        pair("copy rate", &|r| rate(r.copy_bytes_per_s));
        pair("  of the link", &|r| {
            format!(
                "{:.0} %",
                100.0 * r.copy_bytes_per_s / self.rates.link as f64
            )
        });
        table.row(["restore".to_owned(), ms(self.restore_ms)]);
        table.text()
    }

    pub(super) fn json(&self) -> Value {
        let Self { cow, stop, .. } = self;
        json!({
            "bit_identical": self.bit_identical,
            "state_bytes": cow.state_bytes,
            "launches": stop.launches,
            "footprints_exact": stop.footprints_exact,
            "footprints_conservative": stop.footprints_conservative,
            "stall_cow_ms": cow.stall_ms,
            "stall_stop_ms": stop.stall_ms,
            "stall_cow_gpu_ms": cow.gpu_ms(),
            "stall_stop_gpu_ms": stop.gpu_ms(),
            "drain_ms": cow.drain_ms,
            "criu_freeze_cow_ms": cow.criu_freeze_ms,
            "criu_freeze_stop_ms": stop.criu_freeze_ms,
            "residual_bytes": cow.residual_bytes,
            "set_aside_bytes": cow.set_aside_bytes,
            "copied_aside_bytes": cow.copied_aside_bytes,
            "copy_bytes_per_s": cow.copy_bytes_per_s,
            "link_bytes_per_s": self.rates.link,
            "restore_ms": self.restore_ms,
        })
    }
}
