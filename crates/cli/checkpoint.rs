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
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use strobe_criu::agent::RemoteAgent;
use strobe_criu::lease::Lease;
use strobe_criu::locate::{self, Criu};
use strobe_criu::namespaces::check_seen;
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::process::{self, Identity};
use strobe_criu::run::{Setting, softgpu_library};
use strobe_criu::{shared_memory, statistics};
use strobe_proto::page::{Phase, Verdict};
use strobe_proto::stats::DumpStats;
use strobe_proto::{
    Abandon, Begin, Committed, Extent, Manifest, Missed, Mode, PluginStatistics, SharedMemoryFile,
    Statistics, Validate, WritableFiles, frame, from_agent, to_agent,
};
use strobe_store::{CreateError, Writer};

use crate::arguments::{self, CheckpointArguments};
use crate::delivery::{self, Expected};
use crate::distrust;
use crate::link::{Link, Listener};
use crate::missed::{MissedWrite, MissedWriteReport, Residual, pieces};
use crate::outcome::{Outcome, Refused};
use crate::report::CheckpointReport;
use crate::{interrupt, progress, release};

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
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print();
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything a dump needs, found before the program is touched.
struct Preparation {
    agent: RemoteAgent,
    criu: Criu,
    plugin: PathBuf,
    softgpu: Option<PathBuf>,
    writer: Writer,
    id: Vec<u8>,
    _lease: Lease,
}

/// What CRIU and the plugin left.
struct Dumped {
    criu: DumpStats,
    plugin: PluginStatistics,
    files: WritableFiles,
    tracked: Vec<Extent>,
    shared_memory: Vec<SharedMemoryFile>,
    /// CLOCK_MONOTONIC, nanoseconds.
    started_ns: u64,
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
            println!("{missed}; taken again");
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
    while !matches!(agent.phase()?, Some(Phase::Idle | Phase::Refused)) {
        if std::time::Instant::now() > deadline {
            bail!("the agent does not end its part of the checkpoint");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn take(arguments: &CheckpointArguments, residual: &Residual) -> anyhow::Result<CheckpointReport> {
    let before = Identity::of(arguments.pid);
    let mut preparation = prepare(arguments).map_err(|error| match before {
        Ok(program) => unless_ended(program, error),
        Err(_) => error,
    })?;
    let agent = preparation.agent;
    let program = agent.identity();
    let id = hex(&preparation.id);
    let snapshot = agent.snapshot()?;
    let chunk_bytes = (snapshot.tracked_bytes / CHUNKS)
        .clamp(CHUNK_BYTES.0, CHUNK_BYTES.1)
        .next_power_of_two();
    let begin = Begin {
        checkpoint_id: preparation.id.clone(),
        mode: mode(arguments).into(),
        chunk_bytes,
        aside_bytes: snapshot.tracked_bytes.clamp(ASIDE_BYTES.0, ASIDE_BYTES.1) / 2 * 3,
        drain_timeout_ms: arguments.drain_timeout.saturating_mul(1000),
        drain_attempts: DRAIN_ATTEMPTS,
        validate: validate(arguments).into(),
        residual: residual.extents.clone(),
        all_residual: residual.everything,
        max_hold_ms: arguments.max_hold * 1000,
    };
    let listener = Listener::open(program, &id)?;
    let result = arm(&agent, &listener, begin)
        .and_then(|()| dump(arguments, &mut preparation))
        .map_err(|error| disarm(&agent, error))
        .and_then(|dumped| {
            let mut link = listener.accept(CONNECT)?;
            let finished = finish(arguments, preparation, &mut link, dumped, chunk_bytes);
            let last = match &finished {
                Ok(_) => to_agent::Body::Committed(Committed {}),
                // It knows already.
                Err(error) if error.is::<MissedWrite>() => return finished,
                Err(error) => to_agent::Body::Abandon(Abandon {
                    reason: error.to_string(),
                }),
            };
            // The checkpoint is what it is, whether the agent hears of it or not.
            if let Err(error) = link.send(last) {
                tracing::debug!("{error:#}");
            }
            finished
        });
    let report = result.map_err(|error| match program.is_alive() {
        true => error,
        false => ended(program.pid),
    })?;
    if arguments.kill {
        end(program)?;
    }
    Ok(report)
}

/// Why the preparation failed. Of a program that has ended, what was asked for is not there any more,
/// whatever that was.
fn unless_ended(program: Identity, error: anyhow::Error) -> anyhow::Error {
    match program.is_alive() {
        true => error,
        false => refused(format!("process {} has ended", program.pid)),
    }
}

fn ended(pid: u32) -> anyhow::Error {
    anyhow!("process {pid} has ended during the checkpoint")
}

/// Looks at everything first; what is missing is said before the program notices anything.
fn prepare(arguments: &CheckpointArguments) -> anyhow::Result<Preparation> {
    let pid = arguments.pid;
    let agent = RemoteAgent::find(pid).map_err(refused)?;
    let criu = Criu::find(None).map_err(refused)?;
    let plugin = locate::find_plugin().map_err(refused)?;
    if !nix::unistd::geteuid().is_root() {
        return Err(refused("CRIU needs root; run this command as root"));
    }
    let softgpu = softgpu_library(pid)?;
    let writer =
        Writer::create(&arguments.output, arguments.base.as_deref()).map_err(|e| match e {
            CreateError::Disk(e) => anyhow!(e),
            other => refused(other),
        })?;
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

fn mode(arguments: &CheckpointArguments) -> Mode {
    match arguments.mode {
        arguments::Mode::Cow => Mode::Cow,
        arguments::Mode::Stop => Mode::Stop,
    }
}

fn validate(arguments: &CheckpointArguments) -> Validate {
    match arguments.validate {
        arguments::Validate::Full => Validate::Full,
        arguments::Validate::Sampled => Validate::Sampled,
        arguments::Validate::Off => Validate::Off,
    }
}

/// Calls the agent and tells it what to expect. Afterwards nobody is connected.
fn arm(agent: &RemoteAgent, listener: &Listener, begin: Begin) -> anyhow::Result<()> {
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
    drop(link);
    let deadline = std::time::Instant::now() + ARM;
    while agent.phase()? != Some(Phase::Armed) {
        if std::time::Instant::now() > deadline {
            bail!("the agent does not get ready");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// After a failure before or in the dump: the agent must not wait for a verdict that never comes.
fn disarm(agent: &RemoteAgent, error: anyhow::Error) -> anyhow::Error {
    let Ok(snapshot) = agent.snapshot() else {
        return error;
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
    let Preparation {
        agent,
        criu,
        plugin,
        softgpu,
        writer,
        ..
    } = preparation;
    let pid = agent.identity().pid;
    let work = Scratch::create(&writer.criu_dir().with_file_name("work"))?;
    let mut plugins = vec![plugin.as_path()];
    plugins.extend(softgpu.as_deref());
    let plugins = PluginFolder::create(work.0.join("plugins"), &plugins)?;
    let drain = Duration::from_secs(arguments.drain_timeout.into()) * DRAIN_ATTEMPTS;
    let setting = Setting {
        criu,
        images: &writer.criu_dir(),
        work: &work.0,
        plugins: plugins.path(),
        softgpu: softgpu.as_deref(),
        time_out: Duration::from_secs(arguments.criu_timeout.into()) + drain,
    };
    let bar = progress::spinner("dumping");
    let started_ns = now_ns()?;
    let result = setting
        .dump(pid, true)
        .and_then(|running| running.finish(|| {}));
    bar.finish_and_clear();
    result.map_err(|error| freed(pid, error.into()))?;
    let folder = writer.criu_dir();
    let dumped = Dumped {
        criu: statistics::read_dump(&work.0)?,
        plugin: read_image(&folder.join("strobe-plugin.img"))?,
        files: read_image(&folder.join("strobe-files.img"))?,
        tracked: promised(&folder)?,
        shared_memory: shared_memory::save(pid, &writer.files_dir())?,
        started_ns,
    };
    Ok(dumped)
}

/// After a CRIU that failed: one that did not end by itself has left the program's queues stopped.
fn freed(pid: u32, error: anyhow::Error) -> anyhow::Error {
    match release::let_go_on(pid) {
        Err(failed) if process::exists(pid) => {
            anyhow!("{error:#}; the program's GPU work may stand still: {failed:#}")
        }
        _ => error,
    }
}

/// Takes the contents in and commits.
fn finish(
    arguments: &CheckpointArguments,
    preparation: Preparation,
    link: &mut Link,
    dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let Preparation {
        agent,
        criu,
        softgpu,
        mut writer,
        id,
        ..
    } = preparation;
    let program = agent.identity();
    let mut expected = Expected::new(dumped.tracked, chunk_bytes);
    let bar = progress::bytes("copying", expected.bytes());
    let delivered = delivery::take(link, program.pid, &mut expected, &mut writer, |bytes| {
        bar.inc(bytes)
    });
    bar.finish_and_clear();
    let figures = delivered?;
    let chunks = expected.missed();
    if !chunks.is_empty() {
        return Err(missed(link, chunks)?.into());
    }
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
        chunk_bytes,
        agent_page: agent.address(),
        tracked: expected.into_manifest()?,
        writable_files: dumped.files.files,
        shared_memory: dumped.shared_memory,
        statistics: Some(figures),
        criu_frozen_us: dumped.criu.frozen_time.into(),
        criu_freezing_us: dumped.criu.freezing_time.into(),
        plugin: Some(dumped.plugin),
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
        chunks: pieces(&chunks),
    }))?;
    match link.receive()? {
        from_agent::Body::Suspects(suspects) => Ok(MissedWrite {
            chunks,
            suspects: suspects.kernels,
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
        arguments::Mode::Cow => waited,
        arguments::Mode::Stop => ms(agent.copy_started_ns, agent.opened_ns),
    };
    CheckpointReport {
        directory: arguments.output.display().to_string(),
        mode: match arguments.mode {
            arguments::Mode::Cow => "cow".into(),
            arguments::Mode::Stop => "stop".into(),
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
        fingerprinted_ahead_bytes: agent.fingerprinted_ahead_bytes,
        fingerprints_ahead_ms: agent.fingerprints_ahead_ns as f64 / 1e6,
        missed_writes: Vec::new(),
        copy_added_ms: held_by_copying,
        state_bytes: agent.tracked_bytes + plugin.residual_bytes,
        residual_bytes: plugin.residual_bytes,
        set_aside_bytes: plugin.set_aside_bytes,
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

/// What the plugin left to the agent.
fn promised(folder: &Path) -> anyhow::Result<Vec<Extent>> {
    let mut tracked = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("strobe-residual-")
        {
            tracked.extend(read_image::<strobe_proto::Residual>(&entry.path())?.tracked);
        }
    }
    Ok(tracked)
}

fn read_image<M: frame::Message + Default>(path: &Path) -> anyhow::Result<M> {
    let read = || frame::read_image(&mut fs::File::open(path)?);
    read().with_context(|| format!("the plugin left no good {}", path.display()))
}

/// Ends a program and all processes below it.
fn end(program: Identity) -> anyhow::Result<()> {
    let Ok(pids) = process::tree(program.pid) else {
        return Ok(());
    };
    if !program.is_alive() {
        return Ok(());
    }
    for pid in pids {
        match kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL) {
            Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
            Err(error) => return Err(error).context("the program cannot be ended"),
        }
    }
    Ok(())
}

/// A folder that goes away with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn create(path: &Path) -> anyhow::Result<Self> {
        fs::create_dir(path)?;
        Ok(Self(path.to_path_buf()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
