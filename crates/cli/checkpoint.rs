//! `strobe checkpoint`: one checkpoint of a running program, from request to commit.
//!
//! Until the commit everything lies in a staging directory that goes away by itself; whatever
//! fails, the agent learns of it (by a message, by the verdict in its page, or by our end) and the
//! program goes on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use std::{fmt, fs};

use anyhow::{Context, anyhow, bail};
use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::remapped::{self, Linked};
use strobe_criu::run::{RunError, Setting, softgpu_library};
use strobe_criu::{ghosts, left_over, limits, statistics, tcp, timers};
use strobe_engine::Rounds;
use strobe_program::agent::{RemoteAgent, Snapshot};
use strobe_program::awaited::Standstill;
use strobe_program::clock::now_ns;
use strobe_program::lease::Lease;
use strobe_program::namespaces::check_seen;
use strobe_program::process;
use strobe_program::{shared_memory, threads};
use strobe_proto::stats::DumpStats;
use strobe_proto::{
    Abandon, Begin, ByteRange, CheckpointMode, Committed, PluginStatistics, ProgramFiles,
    TcpConnections, Validation, files, frame, to_agent,
};
use strobe_store::{CheckpointWriter, CreateError};

use crate::abandoned::{Attempt, Watched};
use crate::arguments::{self, CheckpointArguments};
use crate::arming::{self, CONNECT};
use crate::commit::{Dumped, Preparation, finish, finish_held};
use crate::course::Timeline;
use crate::delivery::{DamagedBase, Known};
use crate::distrust;
use crate::ended::{Before, Passing, Patience};
use crate::held::Held;
use crate::link::Listener;
use crate::missed::{MissedWrite, MissedWriteReport, MissedWrites, Residual};
use crate::outcome::{Outcome, Refused};
use crate::output::{notice, pass_on, tell};
use crate::requirements::{
    check_all_run, check_descriptors, check_file_size_limits, check_namespaces, check_network_lock,
    check_users,
};
use crate::results::{CheckpointReport, LostWorkReport};
use crate::scratch::Scratch;
use crate::tree::{self, Tree, TreeError, gone};
use crate::{
    capabilities, choosing, directory, interrupt, launches, progress, prospects, release, rounds,
    trace,
};

pub(crate) const INTERRUPTED: &str = "interrupted; the program goes on";
const DRAIN_ATTEMPTS: u32 = 3;
/// Each time a missed write is found the checkpoint is taken again; the last time with everything
/// saved while the program stands still.
const ATTEMPTS: u32 = 3;
/// How often its processes are expected to live until they have delivered.
const DELIVERIES: u32 = 2;
/// Chunks are a fraction of the state, so that one in flight holds little up.
const CHUNK_BYTES: (u64, u64) = (128 << 10, 2 << 20);
const CHUNKS: u64 = 256;
/// The copy-aside pool has room for all the state (a training step writes most of it), and half as
/// much again for what the plugin sets aside at the cut. The agent takes less where memory is short.
const ASIDE_BYTES: (u64, u64) = (32 << 20, 1 << 40);

pub(crate) fn run(arguments: &CheckpointArguments) -> Outcome {
    if arguments.check {
        limits::raise().map_err(refused)?;
        return prospects::run(arguments);
    }
    let watched = begin(arguments)?;
    let report = take_one(arguments, &watched)?;
    match arguments.json {
        true => tell(serde_json::to_string_pretty(&report)?),
        false => tell(report.text()),
    }
    Ok(ExitCode::SUCCESS)
}

/// What comes before all checkpoints of a command, and before any thread or child.
pub(crate) fn begin(arguments: &CheckpointArguments) -> anyhow::Result<Watched> {
    limits::raise().map_err(refused)?;
    let tcp = arguments.tcp.into();
    capabilities::check(capabilities::of_checkpoint(tcp)).map_err(refused)?;
    left_over::clear();
    let watched = Watched::begin().context("nobody can watch this command")?;
    interrupt::watch(INTERRUPTED).context("cannot wait for signals")?;
    Ok(watched)
}

fn staging(writer: &CheckpointWriter) -> PathBuf {
    let folder = writer.criu_dir();
    folder.parent().expect("it is in there").to_owned()
}

/// After this CRIU is killed.
fn criu_limit(arguments: &CheckpointArguments) -> Duration {
    let drain = Duration::from_secs(arguments.drain_timeout.into()) * DRAIN_ATTEMPTS;
    Duration::from_secs(arguments.criu_timeout.into()) + drain
}

fn refused(error: impl fmt::Display) -> anyhow::Error {
    Refused(error.to_string()).into()
}

/// Takes the checkpoint that the arguments describe.
pub(crate) fn take_one(
    arguments: &CheckpointArguments,
    watched: &Watched,
) -> anyhow::Result<CheckpointReport> {
    let taken = take_validated(arguments, watched);
    watched.note(None);
    taken
}

/// Takes the checkpoint, again where a write was missed.
fn take_validated(
    arguments: &CheckpointArguments,
    watched: &Watched,
) -> anyhow::Result<CheckpointReport> {
    let mut arguments = arguments.clone();
    let mut residual = Residual::default();
    let mut missed_writes = Vec::new();
    let mut attempt = 0;
    let mut patience = Patience::default();
    let mut undelivered = 0;
    // What was named may end before its tree does.
    let root = tree::root_of(arguments.pid);
    let mut pid = arguments.pid;
    loop {
        let error = match take(&arguments, watched, pid, &residual) {
            Ok(mut report) => {
                report.missed_writes = missed_writes;
                return Ok(report);
            }
            Err(error) => error,
        };
        pid = root;
        if error.is::<DamagedBase>() {
            notice(format_args!("{error}; taken again"));
            wait_until_idle(root);
            arguments.base = None;
            continue;
        }
        if let Some(why) = error.downcast_ref::<Passing>() {
            patience.wait(why, arguments.json)?;
            // Who ends soon delivers nothing afterwards.
            undelivered += u32::from(!matches!(why, Passing::Nobody(_)));
            residual.everything |= undelivered >= DELIVERIES;
            wait_until_idle(root);
            continue;
        }
        let Some(MissedWrites(missed)) = error.downcast_ref() else {
            return Err(match patience.last() {
                Some(begun) if error.is::<Refused>() => after_all(begun, &error),
                _ => error,
            });
        };
        for missed in missed {
            if let Err(error) = distrust::note(missed.pid, &missed.suspects) {
                tracing::warn!("later runs will find out again: {error:#}");
            }
            missed_writes.push(MissedWriteReport::from(missed));
            residual.add(missed);
        }
        attempt += 1;
        if attempt >= ATTEMPTS {
            return Err(refused(error));
        }
        if !arguments.json {
            notice(format_args!("{error}; taken again"));
        }
        wait_until_idle(root);
        residual.everything |= attempt + 1 >= ATTEMPTS;
    }
}

/// What to say where another attempt, after one that had begun, is refused: the checkpoint has failed.
fn after_all(begun: &str, refused: &anyhow::Error) -> anyhow::Error {
    // That it has ended need not be said twice.
    match begun.starts_with(&refused.to_string()) {
        true => anyhow!("{begun}"),
        false => anyhow!("{begun}; tried again: {refused:#}"),
    }
}

/// Waits for the end of an attempt in the agents too.
fn wait_until_idle(pid: u32) {
    // What is not over then, or is gone, the next attempt finds out.
    if let Ok(tree) = Tree::of(pid) {
        let over = tree.agents.iter().try_for_each(arming::wait_until_over);
        over.unwrap_or_else(|error| tracing::debug!("{error:#}"));
    }
}

fn take(
    arguments: &CheckpointArguments,
    watched: &Watched,
    pid: u32,
    residual: &Residual,
) -> anyhow::Result<CheckpointReport> {
    let _whole = tracing::debug_span!("checkpoint", pid).entered();
    let before = Before::of(pid);
    // Of such a process everything else says that it has ended.
    threads_are_whole(pid)?;
    let tree = Tree::of(pid).map_err(|error| match before.not_begun(None, error.into()) {
        error if error.is::<TreeError>() => refused(error),
        error => error,
    })?;
    let timeline = Timeline::begin();
    let prepared = timeline.time("prepare", || prepare(arguments, tree.clone(), &timeline));
    let preparation = prepared.map_err(|error| before.not_begun(Some(&tree), error))?;
    let staging = staging(&preparation.writer);
    let limit = criu_limit(arguments);
    watched.note(Some(Attempt::new(staging, &preparation.tree, limit)));
    take_prepared(arguments, residual, preparation).map_err(|error| before.begun(&tree, error))
}

/// Before all else: with its first thread a process seems to have ended.
fn threads_are_whole(pid: u32) -> anyhow::Result<()> {
    for pid in process::tree(tree::root_of(pid)).unwrap_or_default() {
        threads::check(pid).map_err(refused)?;
    }
    Ok(())
}

fn take_prepared(
    arguments: &CheckpointArguments,
    residual: &Residual,
    mut preparation: Preparation,
) -> anyhow::Result<CheckpointReport> {
    let tree = preparation.tree.clone();
    let id = hex(&preparation.id);
    let snapshots = tree.agents.iter().map(RemoteAgent::snapshot);
    let snapshots = snapshots.collect::<Result<Vec<_>, _>>()?;
    let tracked_bytes: u64 = snapshots.iter().map(|now| now.tracked_bytes).sum();
    let chunk_bytes = (tracked_bytes / CHUNKS)
        .clamp(CHUNK_BYTES.0, CHUNK_BYTES.1)
        .next_power_of_two();
    let is_chosen = arguments.mode == arguments::Mode::Auto;
    let begin = |agent: &RemoteAgent, now: &Snapshot| Begin {
        checkpoint_id: preparation.id.clone(),
        mode: arguments.mode().into(),
        kill: arguments.kill,
        chunk_bytes,
        aside_bytes: now.tracked_bytes.clamp(ASIDE_BYTES.0, ASIDE_BYTES.1) / 2 * 3,
        drain_timeout_ms: arguments.drain_timeout.saturating_mul(1000),
        drain_attempts: DRAIN_ATTEMPTS,
        validate: validate(arguments).into(),
        residual: residual
            .of(agent.identity().pid)
            .iter()
            .copied()
            .map(ByteRange::from)
            .collect(),
        all_residual: residual.everything,
        max_hold_ms: arguments.max_hold * 1000,
        run_ahead_ms: arguments.run_ahead,
        cut: strobe_proto::Cut::from(arguments.cut).into(),
        trace: arguments.trace.is_some(),
        choose: is_chosen,
    };
    let begins = tree.agents.iter().zip(&snapshots);
    let begins: Vec<Begin> = begins.map(|(agent, now)| begin(agent, now)).collect();
    let mut arguments = arguments.clone();
    let mut listeners = Vec::new();
    let mut windows = Vec::new();
    let mut facts = Vec::new();
    let timeline = preparation.timeline.clone();
    let arm_all = || {
        let mut links = Vec::new();
        for (agent, begin) in tree.agents.iter().zip(begins) {
            let pid = agent.identity().pid;
            let listener = Listener::open(agent.identity(), &format!("{id}-{pid}"))?;
            let known = Known::of(preparation.writer.base(), pid, chunk_bytes);
            let call = || arming::call(agent, &listener, &known, begin);
            let called = timeline.time("call", call)?;
            launches::save(&preparation.writer.criu_dir(), pid, &called.launches)?;
            windows.push((pid, called.launches));
            facts.extend(called.facts);
            listeners.push(listener);
            preparation.known.push(known);
            links.push(called.link);
        }
        let mut copies = rounds::Copies::new(
            &tree.agents,
            &mut links,
            &mut preparation.known,
            chunk_bytes,
            &mut preparation.writer,
        );
        if is_chosen {
            let choose = || choosing::choose(&facts, arguments.kill, &mut copies);
            let (mode, choice) = timeline.time("choose", choose)?;
            arguments.mode = mode;
            preparation.choice = Some(choice);
        }
        if arguments.mode() == CheckpointMode::Recopy {
            let copied = timeline.time("rounds", || copies.copy())?;
            (preparation.rounds, preparation.rounds_taken) = copied;
        }
        if is_chosen || arguments.mode() == CheckpointMode::Recopy {
            copies.end()?;
        }
        drop(links);
        let arm = || tree.agents.iter().try_for_each(arming::wait_until_armed);
        timeline.time("arm", arm)
    };
    let armed = arm_all();
    let mut dumped = armed
        .and_then(|()| timeline.time("dump", || dump(&arguments, &mut preparation)))
        .map_err(|error| arming::disarm(&tree.agents, error))?;
    if let Some(held) = dumped.held.take() {
        return finish_held(&arguments, preparation, held, dumped, chunk_bytes);
    }
    let links = tree.agents.iter().zip(&listeners).map(|(agent, listener)| {
        let accepted = listener.accept(CONNECT).map(Some);
        accepted.or_else(|error| match owes_nothing(&dumped, agent) {
            true => Ok(None),
            false => Err(error),
        })
    });
    // Those that have come hang up where another does not, and their agents give up.
    let mut links = links.collect::<anyhow::Result<Vec<_>>>()?;
    let finished = finish(&arguments, preparation, &mut links, dumped, chunk_bytes);
    for (agent, link) in tree.agents.iter().zip(&mut links) {
        let Some(link) = link else { continue };
        let last = match &finished {
            Ok(report) => to_agent::Body::Committed(Committed {
                directory: report.directory.clone(),
            }),
            Err(error) if is_known_to_the_agent(agent, error) => continue,
            Err(error) => to_agent::Body::Abandon(Abandon {
                reason: error.to_string(),
            }),
        };
        // The checkpoint is what it is, whether the agent hears of it or not.
        if let Err(error) = link.send(last) {
            tracing::debug!("{error:#}");
        }
    }
    drop(links);
    finished.map(|report| CheckpointReport {
        lost: launches::lost(&windows).map(LostWorkReport::from),
        ..report
    })
}

/// Whether a process has ended of which all is saved.
fn owes_nothing(dumped: &Dumped, agent: &RemoteAgent) -> bool {
    let pid = agent.identity().pid;
    let mut promises = dumped
        .plugin
        .promises
        .iter()
        .filter(|promise| promise.pid == pid);
    promises.all(|promise| promise.tracked.is_empty()) && gone(agent).is_some()
}

/// Looks at everything first; what is missing is said before the program notices anything.
fn prepare(
    arguments: &CheckpointArguments,
    tree: Tree,
    timeline: &Timeline,
) -> anyhow::Result<Preparation> {
    let _phase = tracing::debug_span!("prepare").entered();
    let root = tree.root.pid;
    check_all_run(root)?;
    check_namespaces(root)?;
    let criu = Criu::find(None).map_err(refused)?;
    let plugin = locate::find_plugin().map_err(refused)?;
    let softgpu = softgpu_library(tree.agents[0].identity().pid)?;
    let trace = arguments.trace.as_deref().map(|path| {
        trace::check_outside(path, arguments.output())?;
        let opened = trace::Output::open(path);
        opened.map_err(|error| refused(format_args!("cannot write {}: {error}", path.display())))
    });
    let trace = trace.transpose()?;
    directory::clear_beside(arguments.output());
    let writer = CheckpointWriter::create(arguments.output(), arguments.base.as_deref()).map_err(
        |e| match e {
            CreateError::Disk(e) => anyhow!(e),
            other => refused(other),
        },
    )?;
    interrupt::removes(&staging(&writer));
    let paths = [
        Some(&criu.path),
        Some(&plugin),
        softgpu.as_ref(),
        Some(&writer.criu_dir()),
    ]
    .map(Option::<&PathBuf>::cloned);
    for path in paths.iter().flatten() {
        check_seen(root, path).map_err(refused)?;
    }
    check_file_size_limits(root)?;
    check_users(root)?;
    let tcp = arguments.tcp.into();
    check_descriptors(root, tcp)?;
    check_network_lock(&criu, tcp).map_err(refused)?;
    let id = random_id().context("no random numbers")?;
    let mut leases = Vec::new();
    for agent in &tree.agents {
        let pid = agent.identity().pid;
        let lease = Lease::take(pid)
            .map_err(|error| refused(format_args!("checkpoints cannot take turns: {error}")))?;
        leases.push(lease.ok_or_else(|| release::under_way(pid))?);
        release::end_last(agent)?;
    }
    Ok(Preparation {
        tree,
        criu,
        plugin,
        softgpu,
        writer,
        id,
        known: Vec::new(),
        rounds: Rounds::default(),
        rounds_taken: Vec::new(),
        choice: None,
        timeline: timeline.clone(),
        trace,
        _leases: leases,
    })
}

fn validate(arguments: &CheckpointArguments) -> Validation {
    match arguments.validate {
        arguments::Validate::Full => Validation::Full,
        arguments::Validate::Sampled => Validation::Sampled,
        arguments::Validate::Off => Validation::Off,
    }
}

/// It was asked for the suspects.
fn is_known_to_the_agent(agent: &RemoteAgent, error: &anyhow::Error) -> bool {
    let is_known = |missed: &MissedWrite| missed.pid == agent.identity().pid && !missed.by_cpu;
    let missed = error.downcast_ref::<MissedWrites>();
    missed.is_some_and(|MissedWrites(missed)| missed.iter().any(is_known))
}

/// Runs CRIU, with our plugin in it.
fn dump(arguments: &CheckpointArguments, preparation: &mut Preparation) -> anyhow::Result<Dumped> {
    let _phase = tracing::debug_span!("dump").entered();
    let Preparation {
        tree,
        criu,
        plugin,
        softgpu,
        writer,
        id,
        ..
    } = preparation;
    let pid = tree.root.pid;
    let staging = staging(writer);
    let work = Scratch::create(&staging.join(release::WORK))?;
    let mut plugins = vec![plugin.as_path()];
    plugins.extend(softgpu.as_deref());
    let folder = work.path().to_owned();
    let plugins = PluginFolder::create(folder.join("plugins"), &plugins)?;
    let setting = Setting {
        criu,
        images: &writer.criu_dir(),
        work: &folder,
        plugins: plugins.path(),
        plugin,
        softgpu: softgpu.as_deref(),
        tcp: arguments.tcp.into(),
        time_out: criu_limit(arguments),
    };
    let bar = progress::spinner("dumping");
    let started_ns = now_ns();
    let result = setting
        .dump(pid, true, arguments.files_limit)
        .and_then(|running| match arguments.kill {
            true => Held::saved(tree, running).map(Some),
            false => running.finish(|| false).map(|()| None),
        });
    bar.finish_and_clear();
    // As the plugin has formatted them, which does so where it is asked to.
    for phase in setting.dump_phases() {
        // A report that nobody can read changes nothing.
        pass_on(phase);
    }
    let mut held = result.map_err(|error| {
        let error = match error {
            RunError::Refused(why) => refused(why),
            RunError::NotNow(why) => Passing::NotNow(why).into(),
            // CRIU's words for it are many.
            error @ RunError::Failed(_) => match stopped(pid) {
                Some(stopped) => refused(Standstill::Stopped(stopped)),
                None => error.into(),
            },
            error => error.into(),
        };
        freed(pid, &staging, error)
    })?;
    let criu = match &mut held {
        Some(held) => {
            held.keep(work);
            None
        }
        None => Some(statistics::read_dump(&folder)),
    };
    let folder = writer.criu_dir();
    // Made since it was looked for. CRIU lets one pass that is over already.
    if setting.tcp == TcpConnections::Refused && tcp::has_connection(&folder)? {
        return Err(refused(
            "the program has made a TCP connection; --tcp says what shall become of it",
        ));
    }
    timers::start_again(&folder).context("the program's timers cannot be saved")?;
    ghosts::name_apart(&folder, &hex(id)).context("the program's deleted files cannot be saved")?;
    let plugin: PluginStatistics = read_image(&folder.join(files::STATISTICS))?;
    let mut files: ProgramFiles = read_image(&folder.join(files::PROGRAM_FILES))?;
    if !files.failure.is_empty() {
        bail!("{}", files.failure);
    }
    for Linked { opened_as, link } in remapped::linked(&folder)? {
        let name = opened_as.to_string_lossy();
        let known = files.files.iter_mut();
        let file = known.filter(|file| file.opened_as.iter().any(|gone| *gone == name));
        let mut file = file;
        let file = file.next().ok_or_else(|| {
            let other = "has another name, which is not in the same folder";
            refused(format!(
                "{name}, which the program has open and has removed, {other}"
            ))
        })?;
        file.links.push(link.to_string_lossy().into_owned());
    }
    let dumped = Dumped {
        // CRIU counts to the end, which is not there yet where it holds the program.
        criu: criu.transpose()?.unwrap_or_else(|| DumpStats {
            frozen_time: (plugin.finished_ns.saturating_sub(plugin.cut_seen_ns) / 1000) as u32,
            ..DumpStats::default()
        }),
        plugin,
        files,
        shared_memory: shared_memory::save(pid, &writer.files_dir())?,
        started_ns,
        held,
    };
    Ok(dumped)
}

/// A process of a tree that is stopped, or about to be.
fn stopped(root: u32) -> Option<u32> {
    let is_stopped = |pid: &u32| process::stat(*pid).is_ok_and(|stat| stat.is_stopped());
    (0..50).find_map(|_| {
        thread::sleep(Duration::from_millis(1));
        let tree = process::tree(root).unwrap_or_default();
        tree.into_iter().find(is_stopped)
    })
}

/// After a CRIU that failed: one that did not end by itself has left the program's queues stopped.
fn freed(pid: u32, staging: &Path, error: anyhow::Error) -> anyhow::Error {
    match release::put_in_order(pid, Some(staging)) {
        Err(failed) if process::stat(pid).is_ok_and(|stat| !stat.is_dead()) => {
            anyhow!("{error:#}; the program's GPU work may stand still: {failed:#}")
        }
        _ => error,
    }
}

fn read_image<M: frame::Message + Default>(path: &Path) -> anyhow::Result<M> {
    let read = || frame::read_image(&mut fs::File::open(path)?);
    read().with_context(|| format!("the plugin left no good {}", path.display()))
}

pub(crate) fn random_id() -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut id = vec![0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
