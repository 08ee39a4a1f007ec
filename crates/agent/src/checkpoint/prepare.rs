//! Before a checkpoint: what the controller asks for, and what that needs.

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::close::hangs;
use crate::checkpoint::refusal::{Refusal, lost, unreachable};
use crate::checkpoint::unchanged::Known;
use crate::checkpoint::watch::Watch;
use crate::checkpoint::{facts, rounds};
use crate::device::resources::Resources;
use crate::refused::used_nothing_refused;
use crate::wire::connection::Connection;
use std::time::{Duration, Instant};
use strobe_hip::next;
use strobe_proto::{
    Aborted, Begin, CheckpointMode, Cut, Prepared, Validation, from_agent, to_agent,
};

/// How long HIP may take to make the resources.
const PREPARE_PATIENCE: Duration = Duration::from_secs(10);
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 4096..=256 << 20;
/// Chunks of an earlier checkpoint: of 2 MiB, some terabytes.
const MOST_KNOWN: usize = 1 << 21;
const ATTEMPTS: std::ops::RangeInclusive<u32> = 1..=100;
const DRAIN_MS: std::ops::RangeInclusive<u32> = 1..=600_000;
const RUN_AHEAD_MS: std::ops::RangeInclusive<u32> = 0..=60_000;
const HOLD_MS: std::ops::RangeInclusive<u32> = 1..=3_600_000;

/// Talks to the controller and makes what the checkpoint needs; nothing where none is asked for.
pub(super) fn prepare(agent: &'static Agent) -> Result<Option<(Begin, Known)>, Refusal> {
    let mut connection = Connection::open(agent.page).map_err(unreachable)?;
    let mut known = Known::default();
    let mut begin = loop {
        match connection.receive().map_err(lost)? {
            to_agent::Body::Known(piece) if known.len() < MOST_KNOWN => known.learn(&piece),
            to_agent::Body::Begin(begin) => break begin,
            to_agent::Body::ShowLaunches(_) => {
                show_launches(agent, &mut connection)?;
                return Ok(None);
            }
            _ => return Err(Refusal::WrongOrder),
        }
    };
    GATE.held.keep(begin.trace);
    let mut watch = Watch::new(agent.page);
    let prepared = check(&begin)
        .and_then(|()| watch.look(agent))
        .and_then(|()| used_nothing_refused(agent))
        .and_then(|()| suit_devices(agent, &mut begin))
        .and_then(|only_frozen| {
            make_resources(agent, &begin)?;
            let gather = || facts::gather(agent, &begin, &known, only_frozen);
            begin.choose.then(gather).transpose()
        });
    let answer = match &prepared {
        Ok(facts) => {
            let (allocations, tracked_bytes) = agent.device.registry.totals();
            from_agent::Body::Prepared(Prepared {
                tracked_bytes,
                allocations,
                facts: *facts,
            })
        }
        Err(why) => from_agent::Body::Refused(strobe_proto::Refused {
            reason: why.to_string(),
        }),
    };
    connection.send(answer).map_err(lost)?;
    prepared?;
    show_launches(agent, &mut connection)?;
    if begin.choose || begin.mode() == CheckpointMode::Recopy {
        let copied = rounds::run(agent, &mut begin, &mut known, &mut connection);
        copied.inspect_err(|why| {
            // The controller may be the one that is gone.
            let _ = connection.send(from_agent::Body::Aborted(Aborted {
                reason: why.to_string(),
            }));
        })?;
    }
    if begin.mode() != CheckpointMode::Cow
        && let Some(resources) = agent.device.spare.lock().as_mut()
    {
        resources.free_pool();
    }
    Ok(Some((begin, known)))
}

/// What the program has launched so far. Its threads do not wait meanwhile: they leave records.
fn show_launches(agent: &Agent, connection: &mut Connection) -> Result<(), Refusal> {
    agent.drain_ring(usize::MAX);
    let pieces = agent.trace.lock().pieces();
    pieces.into_iter().try_for_each(|piece| {
        let sent = connection.send(from_agent::Body::Launches(piece));
        sent.map_err(lost)
    })
}

fn check(begin: &Begin) -> Result<(), Refusal> {
    let asks_sense = begin.chunk_bytes.is_power_of_two()
        && CHUNK_BYTES.contains(&begin.chunk_bytes)
        && ATTEMPTS.contains(&begin.drain_attempts)
        && DRAIN_MS.contains(&begin.drain_timeout_ms)
        && HOLD_MS.contains(&begin.max_hold_ms)
        && RUN_AHEAD_MS.contains(&begin.run_ahead_ms)
        && begin.mode() != CheckpointMode::Unspecified
        && begin.cut() != Cut::Unspecified
        && begin.validate() != Validation::Unspecified;
    if !asks_sense {
        return Err(Refusal::Nonsense(format!("{begin:?}")));
    }
    Ok(())
}

/// Of a program that sees several GPUs nothing is promised: the agent's copies know one. All is saved while
/// the program is frozen. Whether it is so.
fn suit_devices(agent: &'static Agent, begin: &mut Begin) -> Result<bool, Refusal> {
    let deadline = Instant::now() + PREPARE_PATIENCE;
    let counted = agent.control.supervisor.run(deadline, device_count);
    let are_several = counted.unwrap_or_else(|_| Err(hangs(agent)))? > 1;
    if are_several {
        begin.all_residual = true;
        begin.set_mode(CheckpointMode::Stop);
    }
    Ok(are_several)
}

fn make_resources(agent: &'static Agent, begin: &Begin) -> Result<(), Refusal> {
    let chunk_bytes = begin.chunk_bytes;
    let pool_bytes = match begin.mode() {
        CheckpointMode::Cow => begin.aside_bytes,
        _ => 0,
    };
    let made = agent
        .control
        .supervisor
        .run(Instant::now() + PREPARE_PATIENCE, move || {
            agent.device.handle.find_target();
            let mut spare = agent.device.spare.lock();
            let made =
                Resources::make(&agent.device.handle, spare.take(), pool_bytes, chunk_bytes)?;
            *spare = Some(made);
            Ok(())
        });
    made.unwrap_or_else(|_| Err(hangs(agent)))
}

fn device_count() -> Result<i32, Refusal> {
    let mut count = 0;
    // SAFETY: writes to a local.
    let status = unsafe { next::hipGetDeviceCount(&mut count) };
    let what = "counting GPUs";
    let counted = status.ok().map(|()| count);
    counted.map_err(|status| Refusal::Hip { what, status })
}
