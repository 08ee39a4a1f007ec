//! The cut: what the checkpoint holds is fixed, and the engine begins when the dump is done.

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::copy_log::CopyLog;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::rest::Rest;
use crate::checkpoint::saving::Saving;
use crate::checkpoint::set_aside::Answer;
use crate::checkpoint::unchanged::{Known, only, without};
use crate::device::error::DeviceError;
use crate::device::link::ring_slots;
use crate::device::read_back::{MOST_PIECES, read_back};
use crate::device::resources::Resources;
use crate::seen::reach;
use crate::wire::page::now_ns;
use prost::Message;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_code_object::TargetName;
use strobe_engine::{Config, Engine, Validate};
use strobe_extent::Extent;
use strobe_fingerprint::Fingerprint;
use strobe_kfd::touched::PageMap;
use strobe_proto::{Begin, ByteRange, CheckpointMode, DeviceHandOver, HandOver};

/// Bytes of tables of pointers that are read at a cut, of all together, and how long the device may
/// take. It is idle.
const TABLES_BYTES: u64 = 192 << 10;
const TABLES_PATIENCE: Duration = Duration::from_secs(10);
/// How long the device may take for the fingerprints of a cut: so long, and so long for a byte. The
/// slowest software GPU does it in a fraction.
const FINGERPRINTS_PATIENCE: (Duration, Duration) =
    (Duration::from_secs(10), Duration::from_nanos(50));

/// What is known of a checkpoint at its cut.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The driver's name of the GPU.
    gpu_id: u32,
    /// All that is promised; of it, what is not in [`Self::unchanged`] is the engine's to keep.
    promised: Vec<Extent>,
    /// Chunks that are what they were at an earlier checkpoint, in address order.
    unchanged: Vec<Extent>,
    config: Config,
    pool: Option<Extent>,
    /// Memory of ours whose content is nobody's.
    scratch: Option<Extent>,
    /// How long a thread of the program was held back before the gate was closed, at the most.
    pub(crate) held_before_ns: u64,
    pub(crate) fingerprints: CutFingerprints,
    answer: Option<Answer>,
    max_hold: Duration,
    pub(crate) rest: Rest,
}

/// What the tracked memory's fingerprints are at the cut.
#[derive(Debug)]
pub(crate) struct CutFingerprints {
    of: BTreeMap<Extent, Fingerprint>,
    /// What taking them has cost: nanoseconds, and bytes.
    pub(crate) took_ns: u64,
    pub(crate) bytes: u64,
}

impl CutFingerprints {
    /// Everything stands still: takes those that `begin` asks for, and those of chunks that were known before.
    fn take(
        agent: &Agent,
        begin: &Begin,
        tracked: &[Extent],
        known: &Known,
    ) -> Result<Self, Refusal> {
        let started = now_ns();
        let mut chunks = Validate::Full.choose(tracked, begin.chunk_bytes)?;
        let validate = validate(begin);
        // What is not promised nobody delivers.
        let is_delivered = |chunk| !begin.kill && validate.chooses(chunk);
        chunks.retain(|chunk| is_delivered(*chunk) || known.has(*chunk));
        let bytes = chunks.iter().map(|chunk| chunk.len()).sum();
        let (least, of_byte) = FINGERPRINTS_PATIENCE;
        let patience = least + of_byte * u32::try_from(bytes).unwrap_or(u32::MAX);
        let deadline = Instant::now() + patience;
        let mut spare = agent.device.spare.lock();
        let Resources {
            aside,
            fingerprints,
            ..
        } = spare.as_mut().ok_or(Refusal::QueuesAreGone)?;
        // SAFETY: live allocations of the program, which nobody frees: the gate is closed.
        let taken = unsafe { fingerprints.of(aside.queue(), &chunks, deadline)? };
        Ok(CutFingerprints {
            of: chunks.into_iter().zip(taken).collect(),
            took_ns: now_ns().saturating_sub(started),
            bytes,
        })
    }

    /// The chunks that are what is known of them.
    fn unchanged(&self, known: &Known) -> Vec<Extent> {
        let of = self.of.iter();
        let unchanged = of.filter(|(chunk, now)| known.is(**chunk, **now));
        unchanged.map(|(chunk, _)| *chunk).collect()
    }

    /// The fingerprint of a chunk at the cut, if one was taken.
    pub(crate) fn of(&self, chunk: Extent) -> Option<Fingerprint> {
        self.of.get(&chunk).copied()
    }
}

impl Cut {
    /// The gate is closed, the GPU at rest: fixes what the checkpoint holds.
    pub(crate) fn take(
        agent: &Agent,
        begin: &Begin,
        known: &Known,
        mut rest: Rest,
    ) -> Result<Cut, Refusal> {
        while !agent.ring.is_empty() {
            agent.drain_ring(usize::MAX);
        }
        rest.look(agent);
        if rest.under_way().is_none() {
            agent.trace.lock().look_up_tables(reach::AT_REST);
        }
        if begin.mode() == CheckpointMode::Cow && !begin.kill && rest.under_way().is_none() {
            read_tables(agent)?;
        }
        let held_before_ns =
            GATE.take_held_back() + agent.held_in_vain_ns.swap(0, Ordering::Relaxed);
        let mut promised = promised(agent, begin);
        let fingerprints = CutFingerprints::take(agent, begin, &promised, known)?;
        let unchanged = fingerprints.unchanged(known);
        if begin.kill {
            // Nothing is delivered any more.
            promised = only(&promised, &unchanged);
        }
        let spare = agent.device.spare.lock();
        let resources = spare.as_ref().ok_or(Refusal::QueuesAreGone)?;
        let (pool, scratch) = (resources.pool(), resources.fingerprints.memory());
        drop(spare);
        let tracked = without(&promised, &unchanged);
        let bytes = tracked.iter().map(|extent| extent.len()).sum();
        let config = Config {
            mode: match begin.mode() {
                CheckpointMode::Cow => strobe_engine::Mode::Cow,
                _ => strobe_engine::Mode::Stop,
            },
            chunk_bytes: begin.chunk_bytes,
            ring_slots: ring_slots(begin.chunk_bytes, bytes),
            aside_bytes: pool.map_or(0, Extent::len),
            tracked,
            set_aside: Vec::new(),
            copy_order: agent.trace.lock().copy_order(),
        };
        Ok(Cut {
            gpu_id: agent
                .device
                .handle
                .gpu()
                .map_err(DeviceError::from)?
                .driver_id,
            promised,
            unchanged,
            config,
            pool,
            scratch,
            held_before_ns,
            fingerprints,
            answer: pool.and_then(Answer::expect),
            max_hold: Duration::from_millis(begin.max_hold_ms.into()),
            rest,
        })
    }

    /// Of the ring that what is promised is copied into.
    pub(crate) fn ring_slots(&self) -> u32 {
        self.config.ring_slots
    }

    /// What is expected to be written next, in this order.
    pub(crate) fn expected(&self) -> &[Extent] {
        &self.config.copy_order
    }

    /// The chunks that are what is known of them, with what that is.
    pub(crate) fn unchanged(&self) -> impl Iterator<Item = (Extent, Fingerprint)> + '_ {
        let of = |chunk: &Extent| Some((*chunk, self.fingerprints.of(*chunk)?));
        self.unchanged.iter().filter_map(of)
    }

    /// The encoded hand-over for the plugin; it names places in `self`.
    pub(crate) fn hand_over(&self, agent: &Agent, begin: &Begin) -> Vec<u8> {
        let message = |extent: &Extent| ByteRange::from(*extent);
        let (aside_room, answer) = self.answer.as_ref().map(Answer::places).unzip();
        let device = &agent.device.handle;
        let of_device = DeviceHandOver {
            gpu_id: self.gpu_id,
            tracked: self.promised.iter().map(message).collect(),
            dead: self.pool.iter().chain(&self.scratch).map(message).collect(),
            target: device
                .target()
                .map(|name| TargetName::new(name).processor())
                .unwrap_or_default()
                .to_owned(),
            aside_room,
            answer,
        };
        let hand_over = HandOver {
            checkpoint_id: begin.checkpoint_id.clone(),
            mode: begin.mode,
            chunk_bytes: begin.chunk_bytes,
            kill: begin.kill,
            devices: vec![of_device],
            exported: agent.handles.exported(),
            opened: agent.handles.opened(),
            fingerprints_ns: self.fingerprints.took_ns,
            fingerprinted_bytes: self.fingerprints.bytes,
        };
        hand_over.encode_to_vec()
    }

    /// The dump is done, the gate still closed: from now on the cut's content is kept.
    pub(crate) fn keep(&mut self, agent: &Agent, begin: &Begin) -> Result<(), Refusal> {
        let mut config = self.config.clone();
        if let Some(answer) = &self.answer {
            config.set_aside = answer.read()?;
        }
        let engine = Engine::begin(config)?;
        let resources = agent.device.spare.lock().take();
        let resources = resources.ok_or(Refusal::QueuesAreGone)?;
        let mut saving = Saving::new(engine, resources, self.max_hold);
        saving.resources.log = begin.trace.then(CopyLog::default);
        self.rest
            .access()
            .into_iter()
            .for_each(|access| saving.used(access));
        agent.device.course.keep(&agent.trace, saving);
        Ok(())
    }
}

/// Everything stands still: reads the tables of pointers that launches have asked for, or will.
fn read_tables(agent: &Agent) -> Result<(), Refusal> {
    let mut pieces = agent.trace.lock().unknown_tables(TABLES_BYTES);
    // From the multiple of the kernel's before it on: allocations begin at larger ones.
    let is_live = |piece: &Extent| {
        let buffer = agent.device.registry.find(piece.start());
        buffer.is_some_and(|buffer| buffer.contains(*piece) && buffer.start() % 256 == 0)
    };
    pieces.retain(is_live);
    pieces.truncate(MOST_PIECES);
    if pieces.is_empty() {
        return Ok(());
    }
    let mut spare = agent.device.spare.lock();
    let resources = spare.as_mut().ok_or(Refusal::QueuesAreGone)?;
    let Some(room) = resources.fingerprints.memory() else {
        return Ok(());
    };
    let deadline = Instant::now() + TABLES_PATIENCE;
    let lane = &mut resources.aside;
    // SAFETY: live allocations of the program, which nobody frees or writes: the gate is closed, the GPU
    // idle. Nobody uses the room until the queue is done with it.
    let contents = unsafe { read_back(lane, room, &pieces, deadline) };
    resources.fingerprints.lend(lane.kernels().0);
    drop(spare);
    let contents = contents?;
    let mut trace = agent.trace.lock();
    for (piece, content) in pieces.iter().zip(contents) {
        let mapped = reach::is_mapped(piece.start());
        trace.found(piece.start(), &content, mapped);
    }
    Ok(())
}

/// What is promised: all allocations that the plugin finds, but those where an earlier attempt has missed a write, those that the CPU writes in
/// calls under way, and chunks that the CPU has touched. It may write there until it is frozen, after the fingerprints have been
/// taken. These are saved while everything stands still, whoever writes to them afterwards. Where the
/// page tables cannot be looked at, nothing is promised.
pub(super) fn promised(agent: &Agent, begin: &Begin) -> Vec<Extent> {
    if begin.all_residual {
        return Vec::new();
    }
    let residual: Vec<Extent> = begin
        .residual
        .iter()
        .filter_map(|range| Extent::try_from(*range).ok())
        .chain(GATE.written_by_host())
        .collect();
    let mut tracked = agent.device.registry.found();
    tracked.retain(|extent| !residual.iter().any(|other| other.overlaps(*extent)));
    let Ok(map) = PageMap::own() else {
        return Vec::new();
    };
    let untouched = |extent: Extent| {
        let pages = map.present(extent.start()..extent.end());
        pages.map_or_else(
            |_| Vec::new(),
            |pages| untouched(extent, begin.chunk_bytes, &pages),
        )
    };
    tracked.into_iter().flat_map(untouched).collect()
}

/// What is left of an allocation without the chunks that have pages in them.
fn untouched(allocation: Extent, chunk_bytes: u64, pages: &[Range<u64>]) -> Vec<Extent> {
    let (start, end) = (allocation.start(), allocation.end());
    let mut left = Vec::new();
    let mut at = start;
    for pages in pages {
        let first = pages.start.saturating_sub(start) / chunk_bytes * chunk_bytes;
        let last = (pages.end - start).div_ceil(chunk_bytes) * chunk_bytes;
        left.extend(Extent::new(at, start + first));
        at = at.max(end.min(start + last));
    }
    left.extend(Extent::new(at, end));
    left
}

/// What the controller wants compared; samples are others for each checkpoint.
fn validate(begin: &Begin) -> Validate {
    match begin.validate() {
        strobe_proto::Validation::Off => Validate::Off,
        strobe_proto::Validation::Sampled => {
            let seed = begin.checkpoint_id.first_chunk().copied();
            Validate::Sampled {
                seed: u64::from_le_bytes(seed.unwrap_or_default()),
            }
        }
        _ => Validate::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_the_cpu_has_touched_are_not_promised() {
        let allocation = Extent::new(0x1_0800, 0x2_0100).unwrap();
        let left = |pages: &[Range<u64>]| -> Vec<(u64, u64)> {
            let left = untouched(allocation, 0x4000, pages);
            left.iter().map(|e| (e.start(), e.end())).collect()
        };
        assert_eq!(left(&[]), [(0x1_0800, 0x2_0100)]);
        // The page in which it begins, and that in which it ends.
        let ends = [0x1_0000..0x1_1000, 0x2_0000..0x2_1000];
        assert_eq!(left(&ends[..1]), [(0x1_4800, 0x2_0100)]);
        assert_eq!(left(&ends), [(0x1_4800, 0x1_c800)]);
        // Two in one chunk, and one across two.
        let inside = [0x1_5000..0x1_6000, 0x1_7000..0x1_8000];
        assert_eq!(left(&inside), [(0x1_0800, 0x1_4800), (0x1_8800, 0x2_0100)]);
        let across = 0x1_8000..0x1_9000;
        assert_eq!(
            left(std::slice::from_ref(&across)),
            [(0x1_0800, 0x1_4800), (0x1_c800, 0x2_0100)]
        );
        let all = 0x1_0000..0x2_1000;
        assert_eq!(left(std::slice::from_ref(&all)), []);
    }
}
