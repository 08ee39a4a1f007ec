//! Fingerprints ahead of the cut, while the program runs.
//!
//! From the beginning of a checkpoint to its cut, chunks that nobody is expected to write are
//! fingerprinted, so that the cut is the shorter. It is done in batches on the agent's own queue: one
//! is a few milliseconds of the device's time at most, and as long as one took it rests.
//!
//! What must hold:
//! - Whoever may have written a chunk since its batch began, or had been let through before, is known
//!   at the cut: [`crate::trace::Trace`] tells the [`Validation`] of all of them. One that nobody
//!   announced makes the chunk differ from its fingerprint, so it ends as a missed write.
//! - A batch reads live memory. It is started under the lock of [`Reading`], after a look at the
//!   registry; who frees takes the memory out of the registry first, then waits there.
//!
//! The launch path knows nothing of all this.

use crate::agent::Agent;
use crate::cut;
use crate::fingerprints::{BLOCKS, blocks_of};
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use strobe_engine::Validation;
use strobe_extent::{Extent, ExtentSet};
use strobe_fingerprint::{BLOCK_BYTES, Fingerprint};
use strobe_proto::Begin;

/// How long a batch is to take.
const BATCH: Duration = Duration::from_millis(4);
/// How long the program's freeing of memory waits for a batch. It takes a device on which nothing of
/// ours finds room to make it that long; what has not begun by then does not read the memory.
const FREE_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// What a batch that is under way may read.
#[derive(Debug, Default)]
pub(crate) struct Reading(Mutex<Vec<Extent>>);

/// The batches of one checkpoint, on the control thread.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    under_way: Option<Instant>,
    /// Blocks that take about [`BATCH`], and those of the longest chunk.
    blocks: usize,
    chunk_blocks: usize,
    rest_until: Option<Instant>,
    /// Nothing is left to be done ahead.
    is_through: bool,
    /// Of all batches.
    took: Duration,
}

impl Ahead {
    /// From now on chunks are fingerprinted as [`Ahead::step`] is called. After an attempt that has
    /// failed everything is done at the cut: it must not fail for what came before.
    pub(crate) fn begin(&mut self, agent: &Agent, begin: &Begin) -> Result<(), String> {
        let is_retry = begin.all_residual || !begin.residual.is_empty();
        let tracked = if is_retry {
            Vec::new()
        } else {
            agent.registry.extents()
        };
        let validation = Validation::begin(cut::validate(begin), tracked, begin.chunk_bytes)
            .map_err(|error| error.to_string())?;
        agent.drain_ring(usize::MAX);
        agent.trace.lock().validate(validation);
        // Of what an earlier checkpoint has begun nothing is under way any more.
        agent.reading.0.lock().clear();
        *self = Ahead {
            blocks: 1,
            chunk_blocks: begin.chunk_bytes.div_ceil(BLOCK_BYTES as u64) as usize,
            ..Ahead::default()
        };
        Ok(())
    }

    /// Takes in what has arrived, and starts the next batch when it is time for it.
    pub(crate) fn step(&mut self, agent: &Agent) -> Result<(), String> {
        agent.drain_ring(usize::MAX);
        self.take_in(agent)?;
        let rests = self.rest_until.is_some_and(|until| Instant::now() < until);
        if self.under_way.is_none() && !self.is_through && !rests {
            self.start(agent)?;
        }
        Ok(())
    }

    /// Whether there is nothing left to do.
    pub(crate) fn is_through(&self) -> bool {
        self.is_through && self.under_way.is_none()
    }

    fn start(&mut self, agent: &Agent) -> Result<(), String> {
        let mut reading = agent.reading.0.lock();
        let mut chunks = self.next_batch(agent);
        let live = ExtentSet::from_iter(agent.registry.extents());
        chunks.retain(|chunk| live.contains(*chunk));
        if chunks.is_empty() {
            return Ok(());
        }
        let mut spare = agent.control.spare.lock();
        let Some(resources) = spare.as_mut() else {
            return Err("the copy queues are gone: the device was reset".into());
        };
        reading.clone_from(&chunks);
        let queue = resources.aside.queue();
        // SAFETY: live when the registry was asked; who frees them asks `Reading` first.
        let started = unsafe { resources.fingerprints.start(queue, chunks) };
        match started {
            Ok(()) => self.under_way = Some(Instant::now()),
            Err(_) => reading.clear(),
        }
        started
    }

    fn next_batch(&mut self, agent: &Agent) -> Vec<Extent> {
        let mut trace = agent.trace.lock();
        let mut batch = Vec::new();
        let mut blocks = 0;
        while blocks < self.blocks && blocks + self.chunk_blocks <= BLOCKS {
            let Some(chunk) = trace.validation().and_then(Validation::next_ahead) else {
                self.is_through = true;
                break;
            };
            blocks += blocks_of(chunk);
            batch.push(chunk);
        }
        batch
    }

    fn take_in(&mut self, agent: &Agent) -> Result<(), String> {
        let Some(started) = self.under_way else {
            return Ok(());
        };
        let mut spare = agent.control.spare.lock();
        let Some(resources) = spare.as_mut() else {
            return Ok(());
        };
        let arrived = resources.fingerprints.arrived(resources.aside.queue())?;
        drop(spare);
        let Some(fingerprints) = arrived else {
            return Ok(());
        };
        agent.reading.0.lock().clear();
        self.under_way = None;
        let took = started.elapsed();
        self.took += took;
        self.rest_until = Some(Instant::now() + took);
        let blocks: usize = fingerprints
            .iter()
            .map(|(chunk, _)| blocks_of(*chunk))
            .sum();
        let fitting = blocks as f64 * BATCH.as_secs_f64() / took.as_secs_f64().max(1e-6);
        self.blocks = (fitting as usize)
            .clamp(1, BLOCKS / 2)
            .min(2 * self.blocks.max(blocks));
        if let Some(validation) = agent.trace.lock().validation() {
            for (chunk, fingerprint) in fingerprints {
                validation.ahead_done(chunk, fingerprint);
            }
        }
        Ok(())
    }

    /// At the cut, where no record is left: waits for the batch that is under way; what is known, and
    /// how many nanoseconds that has taken.
    pub(crate) fn end_at_cut(
        &mut self,
        agent: &Agent,
        deadline: Instant,
    ) -> Result<(Validation<Fingerprint>, u64), String> {
        self.wait(agent, deadline)?;
        let validation = agent.trace.lock().take_validation();
        let validation = validation.ok_or("the device was reset")?;
        Ok((validation, self.took.as_nanos() as u64))
    }

    /// The checkpoint is over before its cut. Waits for the batch that is under way.
    pub(crate) fn end(&mut self, agent: &Agent, deadline: Instant) {
        agent.trace.lock().take_validation();
        // Where it does not end in time the memory stays named: who frees it waits.
        let _ = self.wait(agent, deadline);
    }

    fn wait(&mut self, agent: &Agent, deadline: Instant) -> Result<(), String> {
        while self.under_way.is_some() {
            self.take_in(agent)?;
            if Instant::now() >= deadline {
                return Err("the device does not compute fingerprints in time".into());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}

impl Reading {
    /// Memory that is in no registry any more is about to be given back: no batch reads it when this
    /// returns.
    pub(crate) fn before_free(&self, agent: &Agent, memory: Extent) {
        let deadline = Instant::now() + FREE_PATIENCE;
        while self.0.lock().iter().any(|chunk| chunk.overlaps(memory)) {
            if let Some(mut spare) = agent.control.spare.try_lock()
                && let Some(resources) = spare.as_mut()
            {
                let queue = resources.aside.queue();
                if !resources.fingerprints.is_under_way(queue) {
                    return;
                }
                resources.fingerprints.leave_out(memory);
            }
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
