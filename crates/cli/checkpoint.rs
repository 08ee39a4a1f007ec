//! `strobe checkpoint`: one checkpoint of a running program, from request to commit.
//!
//! Until the commit everything lies in a staging directory that goes away by itself; whatever
//! fails, the agent learns of it (by a message, by the verdict in its page, or by our end) and the
//! program goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use nix::time::{ClockId, clock_gettime};
use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::{RunError, Setting, softgpu_library};
use strobe_criu::{ghosts, statistics, timers};
use strobe_extent::Extent;
use strobe_graph::Window;
use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::awaited::{Awaited, Standstill};
use strobe_program::lease::Lease;
use strobe_program::namespaces::check_seen;
use strobe_program::process::{self, Identity};
use strobe_program::{program_files, shared_memory, threads};
use strobe_proto::page::{Phase, Verdict};
use strobe_proto::stats::DumpStats;
use strobe_proto::{
    Abandon, Begin, ByteRange, CheckpointMode, Committed, Manifest, Missed, PluginStatistics,
    ProgramFiles, Promise, SharedMemoryFile, Statistics, Validation, files, frame, from_agent,
    to_agent,
};
use strobe_store::{CheckpointWriter, CreateError};

use crate::arguments::{self, CheckpointArguments};
use crate::delivery::{self, Expected};
use crate::distrust;
use crate::held::Held;
use crate::link::{Link, Listener};
use crate::missed::{MissedWrite, MissedWriteReport, Residual, pieces};
use crate::outcome::{Outcome, Refused};
use crate::output::{notice, pass_on, tell};
use crate::report::CheckpointReport;
use crate::scratch::Scratch;
use crate::{interrupt, launches, progress, release};

/// For the agent to connect, and to get ready.
const CONNECT: Duration = Duration::from_secs(20);
const ARM: Duration = Duration::from_secs(10);
const DRAIN_ATTEMPTS: u32 = 3;
/// Each time a missed write is found the checkpoint is taken again; the last time with everything
/// saved while the program stands still.
const ATTEMPTS: u32 = 3;
/// CRIU makes a file in the program's name, of the size of its own code and of what it says of each
/// mapping; a smaller limit would end the program by SIGXFSZ.
const CRIU_FILE_BYTES: u64 = 64 << 20;
/// Chunks are a fraction of the state, so that one in flight holds little up.
const CHUNK_BYTES: (u64, u64) = (128 << 10, 2 << 20);
const CHUNKS: u64 = 256;
/// The copy-aside pool has room for all the state (a training step writes most of it), and half as
/// much again for what the plugin sets aside at the cut. The agent takes less where memory is short.
const ASIDE_BYTES: (u64, u64) = (32 << 20, 1 << 40);

pub(crate) fn run(arguments: &CheckpointArguments) -> Outcome {
    interrupt::watch().context("cannot wait for signals")?;
    let report = take_validated(arguments)?;
    match arguments.json {
        true => tell(serde_json::to_string_pretty(&report)?),
        false => tell(report.text()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything a dump needs, found before the program is touched.
struct Preparation {
    agent: RemoteAgent,
    criu: Criu,
    plugin: PathBuf,
    softgpu: Option<PathBuf>,
    writer: CheckpointWriter,
    id: Vec<u8>,
    _lease: Lease,
}

/// What CRIU and the plugin left.
struct Dumped {
    criu: DumpStats,
    plugin: PluginStatistics,
    files: ProgramFiles,
    shared_memory: Vec<SharedMemoryFile>,
    /// CLOCK_MONOTONIC, nanoseconds.
    started_ns: u64,
    /// With --kill.
    held: Option<Held>,
}

fn refused(error: impl std::fmt::Display) -> anyhow::Error {
    Refused(error.to_string()).into()
}

/// Takes the checkpoint, again where a write was missed.
fn take_validated(arguments: &CheckpointArguments) -> anyhow::Result<CheckpointReport> {
    let mut residual = Residual::default();
    let mut missed_writes = Vec::new();
    loop {
        let error = match take(arguments, &residual) {
            Ok(mut report) => {
                report.missed_writes = missed_writes;
                return Ok(report);
            }
            Err(error) => error,
        };
        let Some(missed) = error.downcast_ref::<MissedWrite>() else {
            return Err(error);
        };
        if let Err(error) = distrust::note(arguments.pid, &missed.suspects) {
            tracing::warn!("later runs will find out again: {error:#}");
        }
        missed_writes.push(MissedWriteReport::from(missed));
        if missed_writes.len() >= ATTEMPTS as usize {
            return Err(refused(missed));
        }
        if !arguments.json {
            notice(format_args!("{missed}; taken again"));
        }
        residual.add(missed);
        wait_until_idle(arguments.pid)?;
        residual.everything |= missed_writes.len() + 1 >= ATTEMPTS as usize;
    }
}

/// Waits for the end of an attempt in the agent too.
fn wait_until_idle(pid: u32) -> anyhow::Result<()> {
    let agent = RemoteAgent::find(pid)?;
    let deadline = std::time::Instant::now() + ARM;
    let mut awaited = Awaited::new(agent.identity());
    while !matches!(agent.phase()?, Some(Phase::Idle | Phase::Refused)) {
        awaited.look()?;
        if std::time::Instant::now() > deadline {
            bail!("the agent does not end its part of the checkpoint");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn take(arguments: &CheckpointArguments, residual: &Residual) -> anyhow::Result<CheckpointReport> {
    // Before all else: with its first thread a process seems to have ended.
    for pid in process::tree(arguments.pid).unwrap_or_default() {
        threads::check(pid).map_err(refused)?;
    }
    let _whole = tracing::debug_span!("checkpoint", pid = arguments.pid).entered();
    let before = Identity::of(arguments.pid);
    let preparation = prepare(arguments).map_err(|error| match before {
        Ok(program) => unless_ended(program, error),
        Err(_) => error,
    })?;
    let agent = preparation.agent;
    take_prepared(arguments, residual, preparation).map_err(|error| unless_gone(&agent, error))
}

fn take_prepared(
    arguments: &CheckpointArguments,
    residual: &Residual,
    mut preparation: Preparation,
) -> anyhow::Result<CheckpointReport> {
    let agent = preparation.agent;
    let id = hex(&preparation.id);
    let snapshot = agent.snapshot()?;
    let chunk_bytes = (snapshot.tracked_bytes / CHUNKS)
        .clamp(CHUNK_BYTES.0, CHUNK_BYTES.1)
        .next_power_of_two();
    let begin = Begin {
        checkpoint_id: preparation.id.clone(),
        mode: mode(arguments).into(),
        kill: arguments.kill,
        chunk_bytes,
        aside_bytes: snapshot.tracked_bytes.clamp(ASIDE_BYTES.0, ASIDE_BYTES.1) / 2 * 3,
        drain_timeout_ms: arguments.drain_timeout.saturating_mul(1000),
        drain_attempts: DRAIN_ATTEMPTS,
        validate: validate(arguments).into(),
        residual: residual
            .extents
            .iter()
            .copied()
            .map(ByteRange::from)
            .collect(),
        all_residual: residual.everything || arguments.kill,
        max_hold_ms: arguments.max_hold * 1000,
    };
    let listener = Listener::open(agent.identity(), &id)?;
    arm(&agent, &listener, begin)
        .and_then(|window| launches::save(&preparation.writer.criu_dir(), &window))
        .and_then(|()| dump(arguments, &mut preparation))
        .map_err(|error| disarm(&agent, error))
        .and_then(|mut dumped| {
            if let Some(held) = dumped.held.take() {
                return finish_held(arguments, preparation, held, dumped, chunk_bytes);
            }
            let mut link = listener.accept(CONNECT)?;
            let finished = finish(arguments, preparation, &mut link, dumped, chunk_bytes);
            let last = match &finished {
                Ok(_) => to_agent::Body::Committed(Committed {}),
                // It knows already.
                Err(error) if is_known_to_the_agent(error) => return finished,
                Err(error) => to_agent::Body::Abandon(Abandon {
                    reason: error.to_string(),
                }),
            };
            // The checkpoint is what it is, whether the agent hears of it or not.
            if let Err(error) = link.send(last) {
                tracing::debug!("{error:#}");
            }
            finished
        })
}

/// Why the preparation failed. Of a program that has ended, what was asked for is not there any more,
/// whatever that was.
fn unless_ended(program: Identity, error: anyhow::Error) -> anyhow::Error {
    // Its memory goes before its number does.
    match program.is_alive() && process::has_memory(program.pid) {
        true => error,
        false => refused(format!("process {} has ended", program.pid)),
    }
}

/// Why a checkpoint failed that had begun: of a program that is not there any more, that it is not.
fn unless_gone(agent: &RemoteAgent, error: anyhow::Error) -> anyhow::Error {
    let pid = agent.identity().pid;
    let found = RemoteAgent::find(pid);
    match found {
        _ if !agent.identity().is_alive() => {}
        // Its memory goes before its number does.
        Err(AgentError::Gone(_)) => {}
        Ok(found) if found.address() == agent.address() => return error,
        Ok(_) | Err(AgentError::NoAgent(_) | AgentError::Unused(_)) => {
            return anyhow!("process {pid} has become another program during the checkpoint");
        }
        Err(_) => return error,
    }
    anyhow!("process {pid} has ended during the checkpoint")
}

/// Looks at everything first; what is missing is said before the program notices anything.
fn prepare(arguments: &CheckpointArguments) -> anyhow::Result<Preparation> {
    let _phase = tracing::debug_span!("prepare").entered();
    let pid = arguments.pid;
    let agent = RemoteAgent::find(pid).map_err(refused)?;
    if process::stat(pid).is_ok_and(|stat| stat.is_stopped()) {
        return Err(refused(Standstill::Stopped(pid)));
    }
    let criu = Criu::find(None).map_err(refused)?;
    let plugin = locate::find_plugin().map_err(refused)?;
    if !nix::unistd::geteuid().is_root() {
        return Err(refused("CRIU needs root; run this command as root"));
    }
    let softgpu = softgpu_library(pid)?;
    let writer = CheckpointWriter::create(&arguments.output, arguments.base.as_deref()).map_err(
        |e| match e {
            CreateError::Disk(e) => anyhow!(e),
            other => refused(other),
        },
    )?;
    if let Some(staging) = writer.criu_dir().parent() {
        interrupt::removes(staging);
    }
    let paths = [
        Some(&criu.path),
        Some(&plugin),
        softgpu.as_ref(),
        Some(&writer.criu_dir()),
    ]
    .map(Option::<&PathBuf>::cloned);
    for path in paths.iter().flatten() {
        check_seen(pid, path).map_err(refused)?;
    }
    check_file_size_limits(pid)?;
    let id = random_id().context("no random numbers")?;
    let lease = Lease::take(pid).context("checkpoints cannot take turns")?;
    let lease = lease.ok_or_else(|| release::under_way(pid))?;
    release::end_last(&agent)?;
    Ok(Preparation {
        agent,
        criu,
        plugin,
        softgpu,
        writer,
        id,
        _lease: lease,
    })
}

fn check_file_size_limits(pid: u32) -> anyhow::Result<()> {
    for pid in process::tree(pid)? {
        // A child may end meanwhile.
        if let Ok(Some(limit)) = process::file_size_limit(pid)
            && limit < CRIU_FILE_BYTES
        {
            return Err(refused(format!(
                "process {pid} may write files of {limit} bytes at most (RLIMIT_FSIZE), and CRIU needs \
                 {CRIU_FILE_BYTES}"
            )));
        }
    }
    Ok(())
}

/// A program that is killed does nothing after the cut, for what it would do is lost.
fn mode(arguments: &CheckpointArguments) -> CheckpointMode {
    match arguments.mode {
        arguments::Mode::Cow if !arguments.kill => CheckpointMode::Cow,
        _ => CheckpointMode::Stop,
    }
}

fn validate(arguments: &CheckpointArguments) -> Validation {
    match arguments.validate {
        arguments::Validate::Full => Validation::Full,
        arguments::Validate::Sampled => Validation::Sampled,
        arguments::Validate::Off => Validation::Off,
    }
}

/// It was asked for the suspects.
fn is_known_to_the_agent(error: &anyhow::Error) -> bool {
    let missed = error.downcast_ref::<MissedWrite>();
    missed.is_some_and(|missed| !missed.by_cpu)
}

/// Calls the agent and tells it what to expect; what the program has launched. Afterwards nobody is
/// connected.
fn arm(agent: &RemoteAgent, listener: &Listener, begin: Begin) -> anyhow::Result<Window> {
    let _phase = tracing::debug_span!("arm").entered();
    let me = Identity::of(std::process::id())?;
    agent.request(me, listener.name())?;
    let mut link = listener.accept(CONNECT)?;
    link.send(to_agent::Body::Begin(begin))?;
    match link.receive()? {
        from_agent::Body::Prepared(prepared) => {
            tracing::debug!(bytes = prepared.tracked_bytes, "the agent is prepared");
        }
        from_agent::Body::Refused(reason) => return Err(refused(reason.reason)),
        from_agent::Body::Aborted(reason) => bail!("{}", reason.reason),
        _ => bail!("the agent says something unexpected"),
    }
    let launches = launches::receive(&mut link)?;
    drop(link);
    let deadline = std::time::Instant::now() + ARM;
    let mut awaited = Awaited::new(agent.identity());
    while agent.phase()? != Some(Phase::Armed) {
        awaited.look()?;
        if std::time::Instant::now() > deadline {
            bail!("the agent does not get ready");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(launches)
}

/// After a failure before or in the dump: the agent must not wait for a verdict that never comes.
fn disarm(agent: &RemoteAgent, error: anyhow::Error) -> anyhow::Error {
    let Ok(snapshot) = agent.snapshot() else {
        return error;
    };
    // What the agent says may be of an earlier checkpoint, if it is stopped.
    let error = match error.downcast::<Standstill>() {
        Ok(standstill) => refused(standstill),
        Err(error) => error,
    };
    if snapshot.phase == Some(Phase::Refused) && !error.is::<Refused>() {
        return refused(snapshot.reason);
    }
    if snapshot.verdict == Some(Verdict::Pending)
        && let Err(failed) = agent.set_verdict(Verdict::Aborted)
    {
        tracing::debug!("{failed}");
    }
    error
}

/// Runs CRIU, with our plugin in it.
fn dump(arguments: &CheckpointArguments, preparation: &mut Preparation) -> anyhow::Result<Dumped> {
    let _phase = tracing::debug_span!("dump").entered();
    let Preparation {
        agent,
        criu,
        plugin,
        softgpu,
        writer,
        id,
        ..
    } = preparation;
    let pid = agent.identity().pid;
    let work = Scratch::create(&writer.criu_dir().with_file_name("work"))?;
    let mut plugins = vec![plugin.as_path()];
    plugins.extend(softgpu.as_deref());
    let folder = work.path().to_owned();
    let plugins = PluginFolder::create(folder.join("plugins"), &plugins)?;
    let drain = Duration::from_secs(arguments.drain_timeout.into()) * DRAIN_ATTEMPTS;
    let setting = Setting {
        criu,
        images: &writer.criu_dir(),
        work: &folder,
        plugins: plugins.path(),
        plugin,
        softgpu: softgpu.as_deref(),
        time_out: Duration::from_secs(arguments.criu_timeout.into()) + drain,
    };
    let bar = progress::spinner("dumping");
    let started_ns = now_ns()?;
    let mut finished = None;
    let result = setting
        .dump(pid, true, arguments.files_limit)
        .and_then(|running| match arguments.kill {
            true => Held::saved(*agent, running, work).map(Some),
            false => {
                running.finish(|| false)?;
                finished = Some(work);
                Ok(None)
            }
        });
    bar.finish_and_clear();
    // As the plugin has formatted them, which does so where it is asked to.
    for phase in setting.dump_phases() {
        // A report that nobody can read changes nothing.
        pass_on(phase);
    }
    let held = result.map_err(|error| match error {
        RunError::Refused(why) => freed(pid, refused(why)),
        // CRIU's words for it are many.
        RunError::Failed(_) if is_stopped(pid) => freed(pid, refused(Standstill::Stopped(pid))),
        error => freed(pid, error.into()),
    })?;
    let criu = finished.map(|work| statistics::read_dump(work.path()));
    let folder = writer.criu_dir();
    timers::start_again(&folder).context("the program's timers cannot be saved")?;
    ghosts::name_apart(&folder, &hex(id)).context("the program's deleted files cannot be saved")?;
    let plugin: PluginStatistics = read_image(&folder.join(files::STATISTICS))?;
    let files: ProgramFiles = read_image(&folder.join(files::PROGRAM_FILES))?;
    if !files.failure.is_empty() {
        bail!("{}", files.failure);
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

/// Whether a program is stopped, or about to be.
fn is_stopped(pid: u32) -> bool {
    (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        process::stat(pid).is_ok_and(|stat| stat.is_stopped())
    })
}

/// Commits what the program, which is held at its cut, has left; it ends. If that fails, it goes on.
fn finish_held(
    arguments: &CheckpointArguments,
    preparation: Preparation,
    held: Held,
    dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let agent = preparation.agent;
    let snapshot = agent.snapshot()?;
    let figures = Statistics {
        launches: snapshot.launches,
        footprints_exact: snapshot.footprints_exact,
        footprints_conservative: snapshot.footprints_conservative,
        gate_closed_ns: snapshot.gate_closed_ns,
        drained_ns: snapshot.drained_ns,
        opened_ns: dumped.plugin.finished_ns,
        ..Statistics::default()
    };
    let nothing = Expected::new(Vec::new(), chunk_bytes)?;
    let report = commit(arguments, preparation, nothing, figures, dumped)?;
    held.end()?;
    Ok(report)
}

/// After a CRIU that failed: one that did not end by itself has left the program's queues stopped.
fn freed(pid: u32, error: anyhow::Error) -> anyhow::Error {
    match release::let_go_on(pid) {
        Err(failed) if process::stat(pid).is_ok_and(|stat| !stat.is_dead()) => {
            anyhow!("{error:#}; the program's GPU work may stand still: {failed:#}")
        }
        _ => error,
    }
}

/// Takes the contents in and commits.
fn finish(
    arguments: &CheckpointArguments,
    mut preparation: Preparation,
    link: &mut Link,
    mut dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let program = preparation.agent.identity();
    let Promise { tracked, touched } = dumped.plugin.promise.take().unwrap_or_default();
    let mut expected = Expected::new(tracked, chunk_bytes)?;
    let bar = progress::bytes("copying", expected.bytes());
    let writer = &mut preparation.writer;
    let phase = tracing::debug_span!("copy").entered();
    let delivered = delivery::take(link, program.pid, &mut expected, writer, |bytes| {
        bar.inc(bytes)
    });
    drop(phase);
    bar.finish_and_clear();
    let figures = delivered?;
    let chunks = expected.missed();
    if !touched.is_empty() {
        let touched = touched.into_iter().map(Extent::try_from);
        let by_cpu = MissedWrite {
            chunks: touched.collect::<Result<_, _>>()?,
            suspects: Vec::new(),
            by_cpu: true,
        };
        return Err(by_cpu.into());
    }
    if !chunks.is_empty() {
        return Err(missed(link, chunks)?.into());
    }
    commit(arguments, preparation, expected, figures, dumped)
}

/// Writes the manifest: from then on the checkpoint is one.
fn commit(
    arguments: &CheckpointArguments,
    preparation: Preparation,
    expected: Expected,
    figures: Statistics,
    dumped: Dumped,
) -> anyhow::Result<CheckpointReport> {
    let _phase = tracing::debug_span!("commit").entered();
    let Preparation {
        agent,
        criu,
        softgpu,
        writer,
        id,
        ..
    } = preparation;
    let program = agent.identity();
    let mut program_files = dumped.files.files;
    // Not before: what holds the program back came first.
    let root = format!("/proc/{}/root", program.pid);
    program_files::hash_foreign(&mut program_files, Path::new(&root));
    let report = report(
        arguments,
        &dumped.criu,
        &dumped.plugin,
        &figures,
        dumped.started_ns,
    );
    let manifest = Manifest {
        checkpoint_id: id,
        created_unix_ns: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        mode: mode(arguments).into(),
        pid: program.pid,
        pid_start_time: program.start_time,
        executable: process::executable(program.pid)?
            .to_string_lossy()
            .into_owned(),
        command_line: process::command_line(program.pid)?,
        target: dumped.plugin.target.clone(),
        criu_version: criu.version.to_string(),
        chunk_bytes: expected.chunk_bytes(),
        agent_page: agent.address(),
        tracked: expected.into_manifest()?,
        program_files,
        shared_memory: dumped.shared_memory,
        statistics: Some(figures),
        criu_frozen_us: dumped.criu.frozen_time.into(),
        criu_freezing_us: dumped.criu.freezing_time.into(),
        plugin: Some(PluginStatistics {
            promise: None,
            ..dumped.plugin
        }),
        killed: arguments.kill,
        gpu_environment: if softgpu.is_some() {
            "softgpu"
        } else {
            "hardware"
        }
        .into(),
        ..Manifest::default()
    };
    interrupt::commits();
    writer.commit(manifest)?;
    Ok(report)
}

/// Tells the agent what was missed; it tells whom it suspects.
fn missed(link: &mut Link, chunks: Vec<Extent>) -> anyhow::Result<MissedWrite> {
    link.send(to_agent::Body::Missed(Missed {
        chunks: pieces(&chunks).into_iter().map(ByteRange::from).collect(),
    }))?;
    match link.receive()? {
        from_agent::Body::Suspects(suspects) => Ok(MissedWrite {
            chunks,
            suspects: suspects.kernels,
            by_cpu: false,
        }),
        from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
        _ => bail!("the agent says something unexpected"),
    }
}

fn report(
    arguments: &CheckpointArguments,
    criu: &DumpStats,
    plugin: &PluginStatistics,
    agent: &Statistics,
    started_ns: u64,
) -> CheckpointReport {
    let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
    let copying = ms(agent.copy_started_ns, agent.copy_finished_ns);
    let residual = plugin.residual_ns as f64 / 1e6;
    let waited = agent.launch_wait_ns as f64 / 1e6;
    let held_by_copying = match arguments.mode {
        // All of it is residual.
        _ if arguments.kill => 0.0,
        arguments::Mode::Cow => waited,
        arguments::Mode::Stop => ms(agent.copy_started_ns, agent.opened_ns),
    };
    CheckpointReport {
        directory: arguments.output.display().to_string(),
        mode: match mode(arguments) {
            CheckpointMode::Stop => "stop".into(),
            _ => "cow".into(),
        },
        pid: arguments.pid,
        killed: arguments.kill,
        stall_ms: ms(agent.gate_closed_ns, agent.opened_ns) + waited,
        // The program's clock may be another than ours, the plugin's is not.
        criu_start_ms: ms(
            started_ns,
            plugin.cut_seen_ns.saturating_sub(plugin.gate_wait_ns),
        ),
        drain_ms: ms(agent.gate_closed_ns, agent.drained_ns),
        criu_freeze_ms: (f64::from(criu.frozen_time) / 1e3 - residual).max(0.0),
        residual_ms: residual,
        validate: match arguments.validate {
            arguments::Validate::Full => "full",
            arguments::Validate::Sampled => "sampled",
            arguments::Validate::Off => "off",
        }
        .into(),
        fingerprints_ms: agent.fingerprints_ns as f64 / 1e6,
        fingerprinted_bytes: agent.fingerprinted_bytes,
        missed_writes: Vec::new(),
        copy_added_ms: held_by_copying,
        state_bytes: agent.tracked_bytes + plugin.residual_bytes,
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

fn read_image<M: frame::Message + Default>(path: &Path) -> anyhow::Result<M> {
    let read = || frame::read_image(&mut fs::File::open(path)?);
    read().with_context(|| format!("the plugin left no good {}", path.display()))
}

fn random_id() -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut id = vec![0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now_ns() -> anyhow::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_program_that_has_ended_nothing_else_is_said() {
        let other = || refused("something is not there");
        let myself = Identity::of(std::process::id()).expect("we run");
        assert_eq!(
            unless_ended(myself, other()).to_string(),
            other().to_string()
        );
        let mut child = std::process::Command::new("true").spawn().expect("it runs");
        let program = Identity::of(child.id()).expect("nobody has waited for it");
        child.wait().expect("it ends");
        let error = unless_ended(program, other());
        assert!(error.is::<Refused>(), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("process {} has ended", program.pid)
        );
    }
}
