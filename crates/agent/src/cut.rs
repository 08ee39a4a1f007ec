//! The cut: what the checkpoint holds is fixed, and the engine begins when the dump is done.

use crate::agent::{Agent, GATE};
use crate::ahead::Ahead;
use crate::answer::Answer;
use crate::checkpoint::ring_slots;
use crate::page::now_ns;
use crate::reach;
use crate::resources::Resources;
use crate::saving::Saving;
use prost::Message;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_engine::{Config, Engine, Validate, Validation};
use strobe_extent::Extent;
use strobe_fingerprint::Fingerprint;
use strobe_proto::{Begin, Extent as ExtentMessage, HandOver, Mode};

/// How long the device may take for the fingerprints of a cut: so long, and so long for a byte. The
/// slowest software GPU does it in a fraction.
const FINGERPRINTS_PATIENCE: (Duration, Duration) =
    (Duration::from_secs(10), Duration::from_nanos(50));

const GONE: &str = "the copy queues are gone: the device was reset";

/// What is known of a checkpoint at its cut.
#[derive(Debug)]
pub(crate) struct Cut {
    config: Config,
    pool: Option<Extent>,
    /// Memory of ours whose content is nobody's.
    scratch: Option<Extent>,
    pub(crate) fingerprints: CutFingerprints,
    answer: Option<Answer>,
    max_hold: Duration,
}

/// What the tracked memory's fingerprints are at the cut.
#[derive(Debug)]
pub(crate) struct CutFingerprints {
    pub(crate) validation: Validation<Fingerprint>,
    /// What taking them has cost at the cut: nanoseconds, and bytes.
    pub(crate) took_ns: u64,
    pub(crate) bytes: u64,
    /// What those ahead of it have cost the device: nanoseconds.
    pub(crate) ahead_ns: u64,
}

impl CutFingerprints {
    /// Everything stands still, and no record is left: takes those that are not known yet.
    fn take(agent: &Agent, ahead: &mut Ahead, tracked: &[Extent]) -> Result<Self, String> {
        let started = now_ns();
        let (least, of_byte) = FINGERPRINTS_PATIENCE;
        let (mut validation, ahead_ns) = ahead.end_at_cut(agent, Instant::now() + least)?;
        let chunks = validation.cut(tracked).map_err(|error| error.to_string())?;
        let bytes = chunks.iter().map(|chunk| chunk.len()).sum();
        let patience = least + of_byte * u32::try_from(bytes).unwrap_or(u32::MAX);
        let deadline = Instant::now() + patience;
        let mut spare = agent.control.spare.lock();
        let Resources {
            aside,
            fingerprints,
            ..
        } = spare.as_mut().ok_or(GONE)?;
        // SAFETY: live allocations of the program, which nobody frees: the gate is closed.
        let taken = unsafe { fingerprints.of(aside.queue(), &chunks, deadline)? };
        for (chunk, fingerprint) in chunks.into_iter().zip(taken) {
            validation.taken(chunk, fingerprint);
        }
        Ok(CutFingerprints {
            validation,
            took_ns: now_ns().saturating_sub(started),
            bytes,
            ahead_ns,
        })
    }
}

impl Cut {
    /// The gate is closed, the GPU idle: fixes what the checkpoint holds.
    pub(crate) fn take(agent: &Agent, begin: &Begin, ahead: &mut Ahead) -> Result<Cut, String> {
        while !agent.ring.is_empty() {
            agent.drain_ring(usize::MAX);
        }
        agent.trace.lock().look_up_tables(reach::AT_REST);
        GATE.take_held_back();
        let tracked = promised(agent, begin);
        let fingerprints = CutFingerprints::take(agent, ahead, &tracked)?;
        let spare = agent.control.spare.lock();
        let resources = spare.as_ref().ok_or(GONE)?;
        let (pool, scratch) = (resources.pool(), resources.fingerprints.memory());
        drop(spare);
        let config = Config {
            mode: match begin.mode() {
                Mode::Stop => strobe_engine::Mode::Stop,
                _ => strobe_engine::Mode::Cow,
            },
            chunk_bytes: begin.chunk_bytes,
            ring_slots: ring_slots(begin.chunk_bytes),
            aside_bytes: pool.map_or(0, Extent::len),
            tracked,
            set_aside: Vec::new(),
            copy_order: agent.trace.lock().copy_order(),
        };
        Ok(Cut {
            config,
            pool,
            scratch,
            fingerprints,
            answer: pool.and_then(Answer::expect),
            max_hold: Duration::from_millis(begin.max_hold_ms.into()),
        })
    }

    /// The encoded hand-over for the plugin; it names places in `self`.
    pub(crate) fn hand_over(&self, agent: &Agent, begin: &Begin) -> Vec<u8> {
        let message = |extent: &Extent| ExtentMessage {
            start: extent.start(),
            len: extent.len(),
        };
        let (aside_room, answer) = self.answer.as_ref().map(Answer::places).unzip();
        let hand_over = HandOver {
            checkpoint_id: begin.checkpoint_id.clone(),
            mode: begin.mode,
            chunk_bytes: begin.chunk_bytes,
            tracked: self.config.tracked.iter().map(message).collect(),
            dead: self.pool.iter().chain(&self.scratch).map(message).collect(),
            target: agent
                .modules
                .device()
                .and_then(|name| name.split(':').next())
                .unwrap_or_default()
                .to_owned(),
            aside_room,
            answer,
        };
        hand_over.encode_to_vec()
    }

    /// The dump is done, the gate still closed: from now on the cut's content is kept.
    pub(crate) fn keep(&mut self, agent: &Agent) -> Result<(), String> {
        let mut config = self.config.clone();
        if let Some(answer) = &self.answer {
            config.set_aside = answer.read(agent.page)?;
        }
        let engine = Engine::begin(config).map_err(|error| error.to_string())?;
        let resources = agent.control.spare.lock().take();
        let resources = resources.ok_or(GONE)?;
        agent
            .save
            .begin(Saving::new(engine, resources, self.max_hold));
        agent.trace.lock().must_be_right(true);
        agent.synchronous.store(true, Ordering::Release);
        Ok(())
    }
}

/// The allocations whose content is promised: all but those where an earlier attempt has missed a
/// write. These are saved while everything stands still, whoever writes to them afterwards.
fn promised(agent: &Agent, begin: &Begin) -> Vec<Extent> {
    if begin.all_residual {
        return Vec::new();
    }
    let residual: Vec<Extent> = begin
        .residual
        .iter()
        .filter_map(|extent| Extent::with_len(extent.start, extent.len).ok())
        .collect();
    let mut tracked = agent.registry.extents();
    tracked.retain(|extent| !residual.iter().any(|other| other.overlaps(*extent)));
    tracked
}

/// What the controller wants compared; samples are others for each checkpoint.
pub(crate) fn validate(begin: &Begin) -> Validate {
    match begin.validate() {
        strobe_proto::Validate::Off => Validate::Off,
        strobe_proto::Validate::Sampled => {
            let seed = begin.checkpoint_id.first_chunk().copied();
            Validate::Sampled {
                seed: u64::from_le_bytes(seed.unwrap_or_default()),
            }
        }
        _ => Validate::Full,
    }
}
