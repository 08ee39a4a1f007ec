//! What a mode is chosen by: how much the program has and writes, and how fast that is copied beside what it does.
//!
//! Copies inside the device are tried out in the copy-aside pool, whose content is nobody's, while the program runs. How fast
//! content gets out of the process, the last checkpoint has shown, or a short round does.

use crate::agent::Agent;
use crate::checkpoint::cut::promised;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::unchanged::Known;
use crate::device::error::DeviceError;
use crate::device::last_copies::rate;
use crate::device::resources::Resources;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strobe_engine::Validate;
use strobe_extent::{Access, Extent};
use strobe_proto::{Begin, CopyFacts};

/// Tried out are more and more copies until they have taken so long together, and no more than this many at once, of this many
/// bytes. What counts is what went best: the others waited for a turn.
const LONG_ENOUGH: Duration = Duration::from_millis(20);
const MOST_COPIES: u64 = 64;
const MOST_BYTES: u64 = 32 << 20;
/// For the device to do that, beside what the program has it do.
const PATIENCE: Duration = Duration::from_secs(10);

/// Gathers what is known now.
pub(super) fn gather(
    agent: &Agent,
    begin: &Begin,
    known: &Known,
    only_frozen: bool,
) -> Result<CopyFacts, Refusal> {
    agent.drain_ring(usize::MAX);
    let promised = promised(agent, begin);
    let promised_bytes = promised.iter().map(|extent| extent.len()).sum();
    let round = agent.trace.lock().last_round();
    let chunks = Validate::Full.choose(&promised, begin.chunk_bytes)?;
    let (written_bytes, half_ns) = round.map(|round| written(&round, chunks)).unzip();
    let last = *agent.device.last_copies.lock();
    let (aside_rate, fingerprint_rate) = try_out(agent, begin.chunk_bytes)?;
    let spare = agent.device.spare.lock();
    let pool = spare.as_ref().and_then(Resources::pool);
    Ok(CopyFacts {
        promised_bytes,
        residual_bytes: agent
            .device
            .registry
            .totals()
            .1
            .saturating_sub(promised_bytes),
        unchanged_bytes: match known.len() {
            0 => 0,
            _ => last.unchanged_bytes,
        },
        aside_bytes: pool.map_or(0, Extent::len),
        written_bytes,
        half_ns,
        link_rate: last.link_rate,
        aside_rate,
        fingerprint_rate,
        rest_ns: last.rest_ns,
        only_frozen,
    })
}

/// Bytes of the chunks that a round writes, and in how long half of them are written; the round is told backwards.
fn written(round: &[(u64, Arc<Access>)], mut chunks: Vec<Extent>) -> (u64, u64) {
    let last_ns = round.first().map_or(0, |(seen_ns, _)| *seen_ns);
    let mut bytes = 0;
    let mut so_far = Vec::new();
    for (seen_ns, access) in round {
        chunks.retain(|chunk| {
            let is_written = access.writes.overlaps(*chunk);
            bytes += u64::from(is_written) * chunk.len();
            !is_written
        });
        so_far.push((last_ns.saturating_sub(*seen_ns), bytes));
    }
    let half = so_far.iter().find(|(_, written)| *written * 2 >= bytes);
    (bytes, half.map_or(0, |(ns, _)| *ns))
}

/// How many bytes a second are copied inside the device, and fingerprinted there; nothing without a pool.
fn try_out(agent: &Agent, chunk_bytes: u64) -> Result<(Option<u64>, Option<u64>), Refusal> {
    let mut spare = agent.device.spare.lock();
    let resources = spare.as_mut().ok_or(Refusal::QueuesAreGone)?;
    let Some(pool) = resources.pool() else {
        return Ok((None, None));
    };
    // From one half of the pool into the other.
    let half = pool.len() / 2 / chunk_bytes * chunk_bytes;
    let most = (half.min(MOST_BYTES) / chunk_bytes).min(MOST_COPIES);
    let chunks = (0..most).filter_map(|number| {
        let start = pool.start() + number * chunk_bytes;
        Extent::with_len(start, chunk_bytes).ok()
    });
    let chunks: Vec<Extent> = chunks.collect();
    let deadline = Instant::now() + PATIENCE;
    let (mut count, mut took) = (1, Duration::ZERO);
    let mut aside_rate = None;
    while count <= chunks.len() {
        let lane = &mut resources.aside;
        let started = Instant::now();
        for chunk in &chunks[..count] {
            // SAFETY: both lie in the pool, which nobody else uses yet, and which is not freed before the lane is idle.
            unsafe { lane.copy(chunk.start() + half, chunk.start(), chunk.len()) }
                .map_err(DeviceError::from)?;
        }
        if !lane.wait_until_idle(deadline) {
            *spare = None;
            return Err(Refusal::QueuesAreGone);
        }
        let now = started.elapsed();
        aside_rate = aside_rate.max(rate(count as u64 * chunk_bytes, now));
        took += now;
        if took >= LONG_ENOUGH {
            break;
        }
        count *= 2;
    }
    let Resources {
        aside,
        fingerprints,
        ..
    } = resources;
    let started = Instant::now();
    // SAFETY: as above; the pool outlives the dispatch, which has ended, or reads nothing any more, when this returns.
    unsafe { fingerprints.of(aside.queue(), &chunks, deadline)? };
    let fingerprint_rate = rate(chunks.len() as u64 * chunk_bytes, started.elapsed());
    Ok((aside_rate, fingerprint_rate))
}
