//! `strobe checkpoint --check`: what would refuse a checkpoint of a program as it is now, all at once, as
//! far as it can be told without stopping the program: some things only CRIU finds, and what changes from
//! one moment to the next may be otherwise when a checkpoint is taken. Its agent is asked to prepare for one, and told then that it is off.

use anyhow::Context;
use strobe_criu::locate::{self, Criu};
use strobe_program::agent::RemoteAgent;
use strobe_program::lease::Lease;
use strobe_program::namespaces::check_seen;
use strobe_program::pipes::Pipes;
use strobe_program::terminals::Terminals;
use strobe_program::unsaved::Unsaved;
use strobe_program::unwatched::Watch;
use strobe_program::{attributes, events, nameless, process, sockets, system_v, threads, zombies};
use strobe_proto::{Begin, CheckpointMode, Cut, Validation};

use crate::arguments::CheckpointArguments;
use crate::delivery::Known;
use crate::ended::{Before, Passing, Patience};
use crate::link::Listener;
use crate::outcome::{Outcome, Refused};
use crate::output::{answer_whether, sentence};
use crate::results::ProspectsReport;
use crate::tree::{self, Tree};
use crate::{arming, capabilities, checkpoint, release, requirements};

/// The smallest that an agent takes.
const CHUNK_BYTES: u64 = 4096;

pub(crate) fn run(arguments: &CheckpointArguments) -> Outcome {
    // What was named may end before its tree does.
    let root = tree::root_of(arguments.pid);
    let mut pid = arguments.pid;
    let mut patience = Patience::default();
    let report = loop {
        let mut findings = Vec::new();
        let mut warnings = Vec::new();
        let before = Before::of(pid);
        let tree = look(pid, arguments, &mut findings, &mut warnings);
        let findings = findings.into_iter();
        let judged = findings.map(|error| before.not_begun(tree.as_ref(), error));
        let (passing, mut rest): (Vec<_>, Vec<_>) = judged.partition(|error| error.is::<Passing>());
        if rest.is_empty()
            && let Some(why) = passing.first().and_then(|error| error.downcast_ref())
        {
            match patience.wait(why, arguments.json) {
                Ok(()) => {
                    pid = root;
                    continue;
                }
                Err(refused) => rest.push(refused.into()),
            }
        }
        let mut findings: Vec<_> = rest.iter().map(sentence).collect();
        findings.dedup();
        break ProspectsReport {
            pid: root,
            ready: findings.is_empty(),
            findings,
            warnings,
        };
    };
    answer_whether(&report, report.text(), report.ready, arguments.json)
}

/// What was found of the tree.
fn look(
    pid: u32,
    arguments: &CheckpointArguments,
    findings: &mut Vec<anyhow::Error>,
    warnings: &mut Vec<String>,
) -> Option<Tree> {
    fn note<T, E: Into<anyhow::Error>>(
        findings: &mut Vec<anyhow::Error>,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| findings.push(error.into())).ok()
    }
    let tcp = arguments.tcp.into();
    note(
        findings,
        capabilities::check(capabilities::of_checkpoint(tcp)),
    );
    let criu = note(findings, Criu::find(None));
    if let Some(criu) = &criu {
        note(findings, requirements::check_network_lock(criu, tcp));
    }
    let criu = criu.map(|criu| criu.path);
    let plugin = note(findings, locate::find_plugin());
    let tree = note(findings, Tree::of(pid))?;
    let root = tree.root.pid;
    // What is in another namespace cannot be looked at from here.
    if note(findings, requirements::check_namespaces(root)).is_none() {
        return Some(tree);
    }
    for path in [criu, plugin].iter().flatten() {
        note(findings, check_seen(root, path));
    }
    note(findings, requirements::check_file_size_limits(root));
    note(findings, requirements::check_users(root));
    let unsaved = note(findings, requirements::unsaved(root, tcp)).unwrap_or_default();
    let refused = |unsaved: Unsaved| anyhow::Error::from(Refused(unsaved.to_string()));
    findings.extend(unsaved.into_iter().map(refused));
    let (mut pipes, mut terminals) = (Pipes::default(), Terminals::default());
    let mut watch = Watch::default();
    for pid in process::tree(root).unwrap_or_default() {
        note(findings, requirements::check_runs(pid));
        note(findings, threads::check(pid));
        note(findings, zombies::check(pid));
        let lost = attributes::read(pid).lost;
        warnings.extend(lost.iter().map(ToString::to_string));
        if let Some(unread) = note(findings, events::check(pid)) {
            warnings.extend(unread.iter().map(ToString::to_string));
        }
        if let Some(lost) = note(findings, sockets::check(pid)) {
            warnings.extend(lost.iter().map(ToString::to_string));
        }
        if let Some(nameless) = note(findings, nameless::of(pid)) {
            warnings.extend(nameless.iter().map(ToString::to_string));
        }
        if let Some(used) = note(findings, system_v::of(pid)) {
            warnings.extend(used.iter().map(ToString::to_string));
        }
        warnings.extend(watch.add(pid).iter().map(ToString::to_string));
        note(findings, pipes.add(pid));
        note(findings, terminals.add(pid));
    }
    if let Some(lead_out) = note(findings, pipes.that_lead_out()) {
        warnings.extend(lead_out.iter().map(ToString::to_string));
    }
    let foreign = terminals.that_are_foreign();
    warnings.extend(foreign.iter().map(ToString::to_string));
    for agent in &tree.agents {
        // Of one that is stopped it has been said.
        if requirements::check_runs(agent.identity().pid).is_ok() {
            note(findings, rehearse(agent));
        }
    }
    Some(tree)
}

/// Has an agent prepare for a checkpoint, which it refuses if it must, and gives that up.
fn rehearse(agent: &RemoteAgent) -> anyhow::Result<()> {
    let pid = agent.identity().pid;
    let lease = Lease::take(pid).context("checkpoints cannot take turns")?;
    let _lease = lease.ok_or_else(|| release::under_way(pid))?;
    release::end_last(agent)?;
    let id = checkpoint::random_id().context("no random numbers")?;
    let listener = Listener::open(agent.identity(), &format!("{}-{pid}", checkpoint::hex(&id)))?;
    let begin = Begin {
        checkpoint_id: id,
        mode: CheckpointMode::Stop.into(),
        chunk_bytes: CHUNK_BYTES,
        drain_timeout_ms: 1,
        drain_attempts: 1,
        max_hold_ms: 1,
        validate: Validation::Off.into(),
        cut: Cut::Drain.into(),
        all_residual: true,
        ..Begin::default()
    };
    let called = arming::call(agent, &listener, &Known::default(), begin);
    // Nobody is connected then.
    let called = called.map(drop);
    let armed = called.and_then(|()| arming::wait_until_armed(agent));
    let given_up = arming::give_up(agent);
    armed.and(given_up)
}
