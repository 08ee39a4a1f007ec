//! What CRIU, the plugin and the agents have left becomes a checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::bail;
use strobe_criu::locate::Criu;
use strobe_engine::Rounds;
use strobe_extent::Extent;
use strobe_program::lease::Lease;
use strobe_program::{process, program_files};
use strobe_proto::stats::DumpStats;
use strobe_proto::{
    ByteRange, GpuProcess, Manifest, Missed, ModeChoice, PluginStatistics, ProgramFiles, Promise,
    RoundTaken, SharedMemoryFile, Span, Statistics, TcpConnections, from_agent, to_agent,
};
use strobe_store::CheckpointWriter;

use crate::arguments::CheckpointArguments;
use crate::choosing::ChoiceReport;
use crate::course::{OfProcess, Timeline};
use crate::delivery::{self, Expected, Known};
use crate::held::Held;
use crate::link::Link;
use crate::missed::{MissedWrite, MissedWrites, pieces};
use crate::output::notice;
use crate::results::{CheckpointReport, HeldReport};
use crate::tree::{Tree, gone};
use crate::{course, figures, host_memory, interrupt, trace};

/// Everything a dump needs, found before the program is touched.
pub(crate) struct Preparation {
    pub(crate) tree: Tree,
    pub(crate) criu: Criu,
    pub(crate) plugin: PathBuf,
    pub(crate) softgpu: Option<PathBuf>,
    pub(crate) writer: CheckpointWriter,
    pub(crate) id: Vec<u8>,
    /// Of each process, what the writer has or can take over.
    pub(crate) known: Vec<Known>,
    /// What was copied before the cut.
    pub(crate) rounds: Rounds,
    pub(crate) rounds_taken: Vec<RoundTaken>,
    /// Where the mode was chosen.
    pub(crate) choice: Option<ModeChoice>,
    pub(crate) timeline: Timeline,
    pub(crate) trace: Option<trace::Output>,
    pub(crate) _leases: Vec<Lease>,
}

/// What CRIU and the plugin left.
pub(crate) struct Dumped {
    pub(crate) criu: DumpStats,
    pub(crate) plugin: PluginStatistics,
    pub(crate) files: ProgramFiles,
    pub(crate) shared_memory: Vec<SharedMemoryFile>,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(crate) started_ns: u64,
    /// With --kill.
    pub(crate) held: Option<Held>,
}

/// Commits what the program, which is held at its cut, has left; it ends. If that fails, it goes on.
pub(crate) fn finish_held(
    arguments: &CheckpointArguments,
    mut preparation: Preparation,
    held: Held,
    mut dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let promises = dumped.plugin.promises.iter();
    let fingerprints: BTreeMap<u32, (u64, u64)> = promises
        .map(|of| (of.pid, (of.fingerprints_ns, of.fingerprinted_bytes)))
        .collect();
    let (mut expected, missed) = expect(&mut preparation, &mut dumped, chunk_bytes)?;
    if !missed.is_empty() {
        return Err(MissedWrites(missed).into());
    }
    for expected in &mut expected {
        expected.take_all_over(&mut preparation.writer)?;
    }
    let unchanged: Vec<u64> = expected.iter().map(Expected::bytes).collect();
    let delivered = expected.into_iter().map(Expected::into_manifest);
    let delivered = delivered.collect::<anyhow::Result<_>>()?;
    let plugin = &dumped.plugin;
    let closing_ns = plugin.cut_seen_ns.saturating_sub(plugin.gate_wait_ns);
    let held_ns = plugin.finished_ns.saturating_sub(closing_ns);
    let (mut all, mut courses) = (Vec::new(), Vec::new());
    for (agent, unchanged_bytes) in preparation.tree.agents.iter().zip(unchanged) {
        let snapshot = match agent.snapshot() {
            Err(_) if gone(agent).is_some() => {
                all.push(Statistics::default());
                continue;
            }
            snapshot => snapshot?,
        };
        // It stands still, and says no more than its page does.
        let mut course = OfProcess::default();
        course.course.spans.push(Span {
            name: "drain".into(),
            start_ns: snapshot.gate_closed_ns,
            end_ns: snapshot.drained_ns,
        });
        courses.push(course.on_our_clock(agent.identity().pid));
        let fingerprints = fingerprints.get(&agent.identity().pid);
        let (fingerprints_ns, fingerprinted_bytes) = fingerprints.copied().unwrap_or_default();
        all.push(Statistics {
            launches: snapshot.launches,
            footprints_exact: snapshot.footprints_exact,
            footprints_conservative: snapshot.footprints_conservative,
            gate_closed_ns: snapshot.gate_closed_ns,
            drained_ns: snapshot.drained_ns,
            // The program's clock, like the others; the plugin's may be another.
            opened_ns: snapshot.gate_closed_ns + held_ns,
            fingerprints_ns,
            fingerprinted_bytes,
            unchanged_bytes,
            ..Statistics::default()
        });
    }
    let taken = Taken {
        delivered,
        figures: all,
        courses,
    };
    let report = commit(arguments, preparation, taken, dumped, chunk_bytes)?;
    held.end()?;
    Ok(report)
}

/// What the agents have promised, and which of it their CPUs have touched since.
fn expect(
    preparation: &mut Preparation,
    dumped: &mut Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<(Vec<Expected>, Vec<MissedWrite>)> {
    let agents = &preparation.tree.agents;
    let mut promises = std::mem::take(&mut dumped.plugin.promises);
    let (mut all, mut missed) = (Vec::new(), Vec::new());
    for (agent, known) in agents.iter().zip(std::mem::take(&mut preparation.known)) {
        let pid = agent.identity().pid;
        let promised = promises.iter_mut().find(|promise| promise.pid == pid);
        let Promise {
            tracked,
            touched,
            set_aside,
            ..
        } = promised.map(std::mem::take).unwrap_or_default();
        all.push(Expected::new(tracked, set_aside, chunk_bytes, known)?);
        if !touched.is_empty() {
            let touched = touched.into_iter().map(Extent::try_from);
            missed.push(MissedWrite {
                pid,
                chunks: touched.collect::<Result<_, _>>()?,
                suspects: Vec::new(),
                by_cpu: true,
            });
        }
    }
    Ok((all, missed))
}

/// Takes the contents of all processes in and commits.
pub(crate) fn finish(
    arguments: &CheckpointArguments,
    mut preparation: Preparation,
    links: &mut [Option<Link>],
    mut dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let (mut all, mut missed) = expect(&mut preparation, &mut dumped, chunk_bytes)?;
    let agents = &preparation.tree.agents;
    let phase = tracing::debug_span!("copy").entered();
    let timeline = preparation.timeline.clone();
    let take_all = || delivery::take_all(agents, links, &mut all, &mut preparation.writer);
    let figures = timeline.time("copy", take_all)?;
    drop(phase);
    let courses = agents.iter().zip(&mut all);
    let courses = courses
        .map(|(agent, expected)| expected.take_course().on_our_clock(agent.identity().pid))
        .collect();
    if missed.is_empty() {
        for ((agent, link), expected) in agents.iter().zip(links).zip(&mut all) {
            let chunks = expected.missed();
            if let Some(link) = link
                && !chunks.is_empty()
            {
                missed.push(suspected(agent.identity().pid, link, chunks)?);
            }
        }
    }
    if !missed.is_empty() {
        return Err(MissedWrites(missed).into());
    }
    let delivered = all.into_iter().map(Expected::into_manifest);
    let delivered = delivered.collect::<anyhow::Result<_>>()?;
    let taken = Taken {
        delivered,
        figures,
        courses,
    };
    commit(arguments, preparation, taken, dumped, chunk_bytes)
}

/// What was taken of each process.
struct Taken {
    delivered: Vec<GpuProcess>,
    figures: Vec<Statistics>,
    courses: Vec<OfProcess>,
}

/// Writes the manifest: from then on the checkpoint is one.
fn commit(
    arguments: &CheckpointArguments,
    preparation: Preparation,
    taken: Taken,
    dumped: Dumped,
    chunk_bytes: u64,
) -> anyhow::Result<CheckpointReport> {
    let _phase = tracing::debug_span!("commit").entered();
    let Preparation {
        tree,
        criu,
        softgpu,
        mut writer,
        id,
        rounds,
        rounds_taken,
        choice,
        timeline,
        trace,
        ..
    } = preparation;
    let Taken {
        delivered,
        figures,
        mut courses,
    } = taken;
    let program = tree.root;
    timeline.time("host memory", || host_memory::store(&mut writer))?;
    let mut program_files = dumped.files.files;
    // Not before: what holds the program back came first.
    let root = format!("/proc/{}/root", program.pid);
    program_files::hash_foreign(&mut program_files, Path::new(&root));
    let figures = figures::of_all(&figures);
    let of_processes = courses.iter_mut();
    let of_processes: Vec<_> = of_processes
        .map(|of| std::mem::take(&mut of.course))
        .collect();
    let report = CheckpointReport {
        held: course::held_in_all(&of_processes)
            .into_iter()
            .map(HeldReport::from)
            .collect(),
        choice: choice.as_ref().map(ChoiceReport::from),
        device_waits: of_processes.iter().map(|of| of.device_waits).sum(),
        // Of a program that sees several GPUs nothing is copied before the cut.
        rounds: (rounds.copied() > 0).then(|| rounds.into()),
        ..figures::report(
            arguments,
            &tree,
            &dumped.criu,
            &dumped.plugin,
            &figures,
            dumped.started_ns,
        )
    };
    let processes = tree.agents.iter().zip(delivered);
    let processes = processes.map(|(agent, delivered)| GpuProcess {
        pid: agent.identity().pid,
        agent_page: agent.address(),
        ..delivered
    });
    let manifest = Manifest {
        checkpoint_id: id,
        created_unix_ns: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        mode: arguments.mode().into(),
        pid: program.pid,
        pid_start_time: program.start_time,
        executable: process::executable(program.pid)?
            .to_string_lossy()
            .into_owned(),
        command_line: process::command_line(program.pid)?,
        target: dumped.plugin.target.clone(),
        criu_version: criu.version.to_string(),
        chunk_bytes,
        processes: processes.collect(),
        program_files,
        journals: dumped.files.journals,
        shared_memory: dumped.shared_memory,
        statistics: Some(figures),
        criu_frozen_us: dumped.criu.frozen_time.into(),
        criu_freezing_us: dumped.criu.freezing_time.into(),
        course: Some(timeline.course(
            arguments.cut.into(),
            dumped.plugin.spans,
            of_processes,
            rounds_taken,
            choice,
        )),
        plugin: Some(PluginStatistics {
            promises: Vec::new(),
            spans: Vec::new(),
            ..dumped.plugin
        }),
        killed: arguments.kill,
        gpu_environment: if softgpu.is_some() {
            "softgpu"
        } else {
            "hardware"
        }
        .into(),
        tcp: TcpConnections::from(arguments.tcp).into(),
        ..Manifest::default()
    };
    interrupt::commits();
    let traced = trace.zip(manifest.course.clone());
    timeline.time("commit", || writer.commit(manifest))?;
    if let Some((trace, course)) = traced {
        // The checkpoint is what it is, whether anybody can read of it or not.
        let written = trace.write(&course, &timeline, &courses);
        written.unwrap_or_else(|error| notice(format_args!("{error:#}")));
    }
    Ok(report)
}

/// Tells the agent what was missed; it tells whom it suspects.
fn suspected(pid: u32, link: &mut Link, chunks: Vec<Extent>) -> anyhow::Result<MissedWrite> {
    link.send(to_agent::Body::Missed(Missed {
        chunks: pieces(&chunks).into_iter().map(ByteRange::from).collect(),
    }))?;
    match link.receive()? {
        from_agent::Body::Suspects(suspects) => Ok(MissedWrite {
            pid,
            chunks,
            suspects: suspects.kernels,
            by_cpu: false,
        }),
        from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
        _ => bail!("the agent says something unexpected"),
    }
}
