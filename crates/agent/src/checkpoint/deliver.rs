//! After the dump: the content goes out through a pinned ring, from which the controller reads it.

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::copy_log::CopyLog;
use crate::checkpoint::cut::{Cut, CutFingerprints};
use crate::checkpoint::end::{let_go, open};
use crate::checkpoint::refusal::{Refusal, lost, unreachable};
use crate::checkpoint::rest::Rest;
use crate::checkpoint::saving::{Saving, Witnesses};
use crate::checkpoint::watch::Watch;
use crate::refused::used_nothing_refused;
use crate::wire::connection::Connection;
use crate::wire::page::{begin_copying, end_copying, note_last, now_ns, set_phase};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_engine::Origin;
use strobe_extent::Extent;
use strobe_fingerprint::Fingerprint;
use strobe_proto::page::Phase;
use strobe_proto::{
    Aborted, Begin, CheckpointMode, ChunkOrigin, ChunkReady, Done, KnownChunk, Missed,
    ProcessCourse, Ring, Statistics, Suspect, Suspects, TraceEvent, Traced, Unchanged, from_agent,
    to_agent,
};

/// How long a look at the socket waits while copies are under way.
const LOOK_AGAIN: Duration = Duration::from_micros(200);
/// Chunks that are named in one message.
const PIECE: usize = 8192;
/// Events in one message.
const EVENTS: usize = 512;
/// Of what was expected to be written next, and of what was, so many extents go into the record.
const MOST_EXPECTED: usize = 4 << 10;
/// How long the controller may take to commit.
const COMMIT_PATIENCE: Duration = Duration::from_secs(600);

/// Delivers the content of the cut and waits for the commit. Nothing is held back afterwards.
pub(crate) fn run(agent: &'static Agent, begin: &Begin, mut cut: Cut) -> Result<(), Refusal> {
    let page = agent.page;
    let kept = cut.keep(agent, begin);
    let mut held = Held {
        mode: begin.mode(),
        rest: Some(std::mem::replace(&mut cut.rest, Rest::idle())),
    };
    let under_way = held.under_way();
    held.look(agent);
    set_phase(page, Phase::Copying);
    let started = now_ns();
    let mut connection = Connection::open(page).map_err(unreachable);
    let delivered = kept.and_then(|()| match &mut connection {
        Ok(connection) => deliver(agent, begin, &cut, &mut held, connection),
        Err(why) => Err(why.clone()),
    });
    let delivered = delivered.and_then(|()| used_nothing_refused(agent));
    let finished = now_ns();
    let statistics = Statistics {
        under_way,
        ..statistics(agent, &cut, started, finished)
    };
    let course = &agent.device.course;
    let witnesses = course.with(|saving| saving.witnesses());
    let first_use = course.with(|saving| saving.first_use());
    let first_write = course.with(|saving| saving.first_write(MOST_EXPECTED));
    let copied = course.with(|saving| saving.resources.log.as_mut().map(CopyLog::take));
    let device_waits = course.with(|saving| saving.statistics().waits);
    agent.phases.add("copy", started, finished);
    held.go_on(agent);
    GATE.count_waits();
    end_copying(page);
    let_go(agent);
    let mut connection = connection?;
    if let Err(why) = delivered {
        // The controller may be the one that is gone.
        let _ = connection.send(from_agent::Body::Aborted(Aborted {
            reason: why.to_string(),
        }));
        return Err(why);
    }
    agent.device.last_copies.lock().note(
        (
            statistics.copied_out_bytes,
            finished.saturating_sub(started),
        ),
        started.saturating_sub(statistics.gate_closed_ns + statistics.fingerprints_ns),
        statistics.unchanged_bytes,
    );
    let opened_ns = page.opened_ns.load(Ordering::Relaxed);
    agent
        .phases
        .add("gate closed", statistics.gate_closed_ns, opened_ns);
    if let Some(copied) = copied.flatten() {
        send_trace(&mut connection, [copied, GATE.held.take()])?;
    }
    let expected = cut.expected().iter().take(MOST_EXPECTED);
    connection
        .send(from_agent::Body::Done(Box::new(Done {
            statistics: Some(Statistics {
                opened_ns,
                ..statistics
            }),
            first_use: first_use.into_iter().flatten().map(Into::into).collect(),
            course: Some(ProcessCourse {
                spans: agent.phases.so_far(),
                held: GATE.held.sums(),
                expected: expected.map(|extent| (*extent).into()).collect(),
                written: first_write.into_iter().flatten().map(Into::into).collect(),
                device_waits: device_waits.unwrap_or(0),
                ..ProcessCourse::default()
            }),
        })))
        .map_err(lost)?;
    let stall_ns = opened_ns.saturating_sub(statistics.gate_closed_ns) + statistics.launch_wait_ns;
    wait_for_commit(agent, witnesses.as_ref(), stall_ns, &mut connection)
}

/// Sends events, and how many others there were.
fn send_trace(
    connection: &mut Connection,
    parts: [(Vec<TraceEvent>, u64); 2],
) -> Result<(), Refusal> {
    for (events, left_out) in parts {
        let mut left_out = Some(left_out);
        for piece in events.chunks(EVENTS) {
            let traced = Traced {
                events: piece.to_vec(),
                left_out: left_out.take().unwrap_or(0),
            };
            let traced = from_agent::Body::Traced(traced);
            connection.send(traced).map_err(lost)?;
        }
    }
    Ok(())
}

/// The program, that stands still after the dump: with its gate closed, and its GPU at rest.
struct Held {
    mode: CheckpointMode,
    /// Until it goes on.
    rest: Option<Rest>,
}

impl Held {
    fn under_way(&self) -> Option<u64> {
        self.rest.as_ref()?.under_way()
    }

    /// Lets it go on if it may.
    fn look(&mut self, agent: &Agent) {
        let may_go_on = self.rest.as_mut().is_some_and(|rest| match self.mode {
            CheckpointMode::Cow => rest.may_go_on(agent),
            // When all is saved.
            _ => agent.device.course.with(|saving| saving.is_saved()) != Some(false),
        });
        if may_go_on {
            self.go_on(agent);
        }
    }

    fn go_on(&mut self, agent: &Agent) {
        if let Some(rest) = self.rest.take() {
            drop(rest);
            open(agent);
        }
    }
}

fn deliver(
    agent: &'static Agent,
    begin: &Begin,
    cut: &Cut,
    held: &mut Held,
    connection: &mut Connection,
) -> Result<(), Refusal> {
    let unchanged: Vec<KnownChunk> = cut.unchanged().map(known_chunk).collect();
    for piece in unchanged.chunks(PIECE) {
        let unchanged = from_agent::Body::Unchanged(Unchanged {
            chunks: piece.to_vec(),
        });
        connection.send(unchanged).map_err(lost)?;
    }
    let slots = cut.ring_slots();
    let ring = |saving: &mut Saving| {
        let out = &mut saving.resources.out;
        out.open(&agent.device.handle, slots, begin.chunk_bytes)
    };
    let address = agent.device.course.with(ring).ok_or(Refusal::Over)??;
    let tracked = |saving: &mut Saving| saving.statistics().tracked_bytes;
    begin_copying(
        agent.page,
        agent.device.course.with(tracked).unwrap_or_default(),
    );
    connection
        .send(from_agent::Body::Ring(Ring {
            address,
            slots,
            slot_bytes: begin.chunk_bytes,
        }))
        .map_err(lost)?;
    let mut watch = Watch::new(agent.page);
    loop {
        watch
            .look(agent)
            .inspect_err(|why| agent.device.course.give_up(why))?;
        let (arrived, finished) = step(agent, &cut.fingerprints)?;
        let copied = |saving: &mut Saving| saving.statistics().bytes_out;
        if let Some(copied) = agent.device.course.with(copied) {
            agent.page.copied_bytes.store(copied, Ordering::Relaxed);
        }
        let progress = !arrived.is_empty();
        for message in arrived {
            connection
                .send(from_agent::Body::Chunk(message))
                .map_err(lost)
                .inspect_err(|why| agent.device.course.give_up(why))?;
        }
        held.look(agent);
        if finished {
            return Ok(());
        }
        let mut wait = if progress { Duration::ZERO } else { LOOK_AGAIN };
        while let Some(message) = connection
            .receive_within(wait)
            .map_err(lost)
            .inspect_err(|why| agent.device.course.give_up(why))?
        {
            answer(agent, message)?;
            wait = Duration::ZERO;
        }
    }
}

fn known_chunk((chunk, fingerprint): (Extent, Fingerprint)) -> KnownChunk {
    KnownChunk {
        extent: Some(chunk.into()),
        fingerprint: fingerprint.to_bytes().to_vec(),
    }
}

/// Reports what has arrived and orders new copies.
fn step(agent: &Agent, fingerprints: &CutFingerprints) -> Result<(Vec<ChunkReady>, bool), Refusal> {
    let stepped = agent.device.course.with(|saving| {
        let arrived = saving.arrivals();
        saving.order_copies();
        saving.look_at_progress();
        match saving.failed() {
            Some(why) => Err(why.clone()),
            None => Ok((arrived, saving.finished())),
        }
    });
    let (arrived, finished) = stepped.ok_or(Refusal::Over)??;
    if !arrived.is_empty() {
        agent.device.course.notify();
    }
    let messages = arrived
        .into_iter()
        .map(|copy| ChunkReady {
            slot: copy.slot.0,
            extent: Some(copy.extent.into()),
            fingerprint: fingerprints
                .of(copy.extent)
                .map_or_else(Vec::new, |fingerprint| fingerprint.to_bytes().to_vec()),
            origin: match copy.origin {
                Origin::Turn => ChunkOrigin::Turn,
                Origin::Written => ChunkOrigin::Written,
                Origin::Adopted => ChunkOrigin::Frozen,
            }
            .into(),
        })
        .collect();
    Ok((messages, finished))
}

fn answer(agent: &Agent, message: to_agent::Body) -> Result<(), Refusal> {
    match message {
        to_agent::Body::SlotFree(free) => {
            agent
                .device
                .course
                .with(|saving| saving.slot_free(free.slot));
            Ok(())
        }
        to_agent::Body::Abandon(abandon) => {
            let why = Refusal::Abandoned(abandon.reason);
            agent.device.course.give_up(&why);
            Err(why)
        }
        to_agent::Body::Begin(_)
        | to_agent::Body::Known(_)
        | to_agent::Body::ShowLaunches(_)
        | to_agent::Body::Committed(_)
        | to_agent::Body::Missed(_)
        | to_agent::Body::Unloaded(_)
        | to_agent::Body::Arrived(_)
        | to_agent::Body::BeginRound(_)
        | to_agent::Body::Chosen(_)
        | to_agent::Body::EndRounds(_) => {
            agent.device.course.give_up(&Refusal::WrongOrder);
            Err(Refusal::WrongOrder)
        }
    }
}

fn wait_for_commit(
    agent: &Agent,
    witnesses: Option<&Witnesses>,
    stall_ns: u64,
    connection: &mut Connection,
) -> Result<(), Refusal> {
    let deadline = Instant::now() + COMMIT_PATIENCE;
    let mut watch = Watch::new(agent.page);
    while Instant::now() < deadline {
        watch.look(agent)?;
        agent.drain_ring(usize::MAX);
        let message = connection.receive_within(Duration::from_millis(10));
        match message.map_err(lost)? {
            None | Some(to_agent::Body::SlotFree(_)) => {}
            Some(to_agent::Body::Committed(committed)) => {
                note_last(agent.page, &committed.directory, stall_ns);
                agent.page.checkpoints.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Some(to_agent::Body::Missed(missed)) => {
                return accuse(witnesses, &missed, connection);
            }
            Some(to_agent::Body::Abandon(abandon)) => {
                return Err(Refusal::Abandoned(abandon.reason));
            }
            Some(
                to_agent::Body::Begin(_)
                | to_agent::Body::Known(_)
                | to_agent::Body::ShowLaunches(_)
                | to_agent::Body::Unloaded(_)
                | to_agent::Body::Arrived(_)
                | to_agent::Body::BeginRound(_)
                | to_agent::Body::Chosen(_)
                | to_agent::Body::EndRounds(_),
            ) => {
                return Err(Refusal::WrongOrder);
            }
        }
    }
    Err(Refusal::NoCommit)
}

/// A write was missed: says who can have made it, and does not believe them any more.
fn accuse(
    witnesses: Option<&Witnesses>,
    missed: &Missed,
    connection: &mut Connection,
) -> Result<(), Refusal> {
    let chunks: Vec<Extent> = missed
        .chunks
        .iter()
        .filter_map(|chunk| Extent::try_from(*chunk).ok())
        .collect();
    let suspects = witnesses.map_or_else(Vec::new, |witnesses| witnesses.suspects(&chunks));
    let kernels = suspects.into_iter().map(|kernel| {
        kernel.distrust();
        Suspect {
            kernel: kernel.name.clone(),
            code_object: kernel.code_object.to_vec(),
        }
    });
    let body = from_agent::Body::Suspects(Suspects {
        kernels: kernels.collect(),
    });
    connection.send(body).map_err(lost)?;
    Err(Refusal::MissedWrite)
}

fn statistics(agent: &Agent, cut: &Cut, started: u64, finished: u64) -> Statistics {
    agent.drain_ring(usize::MAX);
    let page = agent.page;
    let (engine, launches) = agent
        .device
        .course
        .with(|saving| (saving.statistics(), saving.launches))
        .unwrap_or_default();
    Statistics {
        launches: page.launches.load(Ordering::Relaxed),
        footprints_exact: page.footprints_exact.load(Ordering::Relaxed),
        footprints_conservative: page.footprints_conservative.load(Ordering::Relaxed),
        tracked_bytes: engine.tracked_bytes,
        copied_out_bytes: engine.bytes_out,
        copied_aside_bytes: engine.bytes_aside,
        gate_closed_ns: page.gate_closed_ns.load(Ordering::Relaxed),
        drained_ns: page.drained_ns.load(Ordering::Relaxed),
        opened_ns: page.opened_ns.load(Ordering::Relaxed),
        copy_started_ns: started,
        copy_finished_ns: finished,
        launch_wait_ns: GATE.take_held_back(),
        kernels_since_open: launches,
        fingerprints_ns: cut.fingerprints.took_ns,
        fingerprinted_bytes: cut.fingerprints.bytes,
        held_before_ns: cut.held_before_ns,
        under_way: None,
        unchanged_bytes: cut.unchanged().map(|(chunk, _)| chunk.len()).sum(),
    }
}
