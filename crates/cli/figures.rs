//! What a checkpoint has cost, from what CRIU, the plugin and the agents have measured.

use strobe_proto::stats::DumpStats;
use strobe_proto::{CheckpointMode, PluginStatistics, Statistics};

use crate::arguments::{self, CheckpointArguments};
use crate::results::CheckpointReport;
use crate::tree::Tree;

/// Those of several processes as one: what was done is summed up, and a time lasts from the first that
/// begins to the last that ends. A moment of 0 is none: who copied nothing never began.
pub(crate) fn of_all(processes: &[Statistics]) -> Statistics {
    let sum = |of: fn(&Statistics) -> u64| processes.iter().map(of).sum();
    let first = |of: fn(&Statistics) -> u64| {
        let moments = processes.iter().map(of).filter(|moment| *moment != 0);
        moments.min().unwrap_or(0)
    };
    let last = |of: fn(&Statistics) -> u64| processes.iter().map(of).max().unwrap_or(0);
    Statistics {
        launches: sum(|p| p.launches),
        footprints_exact: sum(|p| p.footprints_exact),
        footprints_conservative: sum(|p| p.footprints_conservative),
        tracked_bytes: sum(|p| p.tracked_bytes),
        copied_out_bytes: sum(|p| p.copied_out_bytes),
        copied_aside_bytes: sum(|p| p.copied_aside_bytes),
        gate_closed_ns: first(|p| p.gate_closed_ns),
        drained_ns: last(|p| p.drained_ns),
        opened_ns: last(|p| p.opened_ns),
        copy_started_ns: first(|p| p.copy_started_ns),
        copy_finished_ns: last(|p| p.copy_finished_ns),
        launch_wait_ns: last(|p| p.launch_wait_ns),
        kernels_since_open: sum(|p| p.kernels_since_open),
        fingerprints_ns: last(|p| p.fingerprints_ns),
        fingerprinted_bytes: sum(|p| p.fingerprinted_bytes),
        held_before_ns: last(|p| p.held_before_ns),
        unchanged_bytes: sum(|p| p.unchanged_bytes),
        under_way: processes
            .iter()
            .filter_map(|p| p.under_way)
            .reduce(|a, b| a + b),
    }
}

/// As `--mode` has it.
pub(crate) fn mode_name(mode: CheckpointMode) -> &'static str {
    match mode {
        CheckpointMode::Cow => "cow",
        CheckpointMode::Recopy => "recopy",
        CheckpointMode::Stop | CheckpointMode::Unspecified => "stop",
    }
}

/// How long a program was held back, and for what; milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    pub(crate) total: f64,
    /// Waiting for GPU work.
    pub(crate) drain: f64,
    pub(crate) fingerprints: f64,
    /// CRIU, without the plugin's copying.
    pub(crate) criu_freeze: f64,
    pub(crate) residual: f64,
    /// Copying after the freeze.
    pub(crate) copying: f64,
}

impl Stall {
    /// That of a checkpoint of this mode, whose program CRIU has kept frozen for so many microseconds.
    pub(crate) fn of(
        mode: CheckpointMode,
        killed: bool,
        frozen_us: u64,
        plugin: &PluginStatistics,
        agent: &Statistics,
    ) -> Self {
        let residual = plugin.residual_ns as f64 / 1e6;
        let waited = agent.launch_wait_ns as f64 / 1e6;
        let closed = ms(agent.copy_started_ns, agent.opened_ns);
        Self {
            total: ms(agent.gate_closed_ns, agent.opened_ns) + waited,
            drain: ms(agent.gate_closed_ns, agent.drained_ns),
            fingerprints: agent.fingerprints_ns as f64 / 1e6,
            criu_freeze: (frozen_us as f64 / 1e3 - residual).max(0.0),
            residual,
            copying: match mode {
                // What is copied after the cut is residual.
                _ if killed => 0.0,
                // Where work was under way its memory is put aside before all goes on.
                CheckpointMode::Cow => waited + closed,
                _ => closed,
            },
        }
    }
}

fn ms(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}

/// The report of a checkpoint that has come so far.
pub(crate) fn report(
    arguments: &CheckpointArguments,
    tree: &Tree,
    criu: &DumpStats,
    plugin: &PluginStatistics,
    agent: &Statistics,
    started_ns: u64,
) -> CheckpointReport {
    let copying = ms(agent.copy_started_ns, agent.copy_finished_ns);
    let stall = Stall::of(
        arguments.mode(),
        arguments.kill,
        criu.frozen_time.into(),
        plugin,
        agent,
    );
    CheckpointReport {
        directory: arguments.output().display().to_string(),
        mode: mode_name(arguments.mode()).into(),
        pid: tree.root.pid,
        gpu_processes: tree.agents.len(),
        killed: arguments.kill,
        stall_ms: stall.total,
        // The program's clock may be another than ours, the plugin's is not.
        criu_start_ms: ms(
            started_ns,
            plugin.cut_seen_ns.saturating_sub(plugin.gate_wait_ns),
        ),
        held_before_ms: agent.held_before_ns as f64 / 1e6,
        drain_ms: stall.drain,
        under_way: agent.under_way,
        criu_freeze_ms: stall.criu_freeze,
        residual_ms: stall.residual,
        validate: match arguments.validate {
            arguments::Validate::Full => "full",
            arguments::Validate::Sampled => "sampled",
            arguments::Validate::Off => "off",
        }
        .into(),
        fingerprints_ms: stall.fingerprints,
        fingerprinted_bytes: agent.fingerprinted_bytes,
        missed_writes: Vec::new(),
        copy_added_ms: stall.copying,
        state_bytes: agent.tracked_bytes + agent.unchanged_bytes + plugin.residual_bytes,
        unchanged_bytes: agent.unchanged_bytes,
        rounds: None,
        choice: None,
        lost: None,
        held: Vec::new(),
        device_waits: 0,
        residual_bytes: plugin.residual_bytes,
        set_aside_bytes: plugin.set_aside_bytes,
        warnings: plugin.warnings.clone(),
        copied_out_bytes: agent.copied_out_bytes,
        copied_aside_bytes: agent.copied_aside_bytes,
        copy_bytes_per_s: if copying > 0.0 {
            agent.copied_out_bytes as f64 / copying * 1e3
        } else {
            0.0
        },
        launches: agent.launches,
        footprints_exact: agent.footprints_exact,
        footprints_conservative: agent.footprints_conservative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_copied_nothing_or_has_ended_did_not_begin_at_the_beginning_of_time() {
        let copied = Statistics {
            gate_closed_ns: 5_000,
            opened_ns: 9_000,
            copy_started_ns: 6_000,
            copy_finished_ns: 8_000,
            launches: 3,
            ..Statistics::default()
        };
        let nothing = Statistics {
            gate_closed_ns: 4_000,
            opened_ns: 9_500,
            launches: 4,
            ..Statistics::default()
        };
        let all = of_all(&[Statistics::default(), copied, nothing]);
        assert_eq!((all.gate_closed_ns, all.opened_ns), (4_000, 9_500));
        assert_eq!((all.copy_started_ns, all.copy_finished_ns), (6_000, 8_000));
        assert_eq!(all.launches, 7);
        assert_eq!(of_all(&[]), Statistics::default());
    }
}
