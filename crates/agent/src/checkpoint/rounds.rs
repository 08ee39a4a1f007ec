//! Rounds of copying before the cut, while the program runs.
//!
//! What a round copies counts where it is still that at the cut, by its fingerprint: so it may be torn, and what a
//! footprint says of a write decides only what is looked at. The program waits for nothing but the few megabytes of memory
//! it frees that are being read.

use crate::agent::Agent;
use crate::checkpoint::phases::phase;
use crate::checkpoint::refusal::{Refusal, lost};
use crate::checkpoint::unchanged::Known;
use crate::checkpoint::watch::Watch;
use crate::device::error::DeviceError;
use crate::device::last_copies::rate;
use crate::device::link::ring_slots;
use crate::device::resources::Resources;
use crate::wire::connection::Connection;
use crate::wire::page::{begin_copying, end_copying};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_engine::{CopyOut, CopyRound, RingSlot, Ticket, Validate};
use strobe_extent::Extent;
use strobe_graph::Sequence;
use strobe_proto::{
    Begin, BeginRound, CheckpointMode, ChunkOrigin, ChunkReady, Ring, RoundEnded, from_agent,
    to_agent,
};

/// Between two looks at the link, and at a controller that has nothing to say.
const LOOK_AGAIN: Duration = Duration::from_micros(200);
const LOOK_AGAIN_IDLE: Duration = Duration::from_millis(5);
/// How long the device may take for the fingerprints of [`AT_ONCE`], beside what the program has it do, and for what is under
/// way at the end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that are fingerprinted in one turn: who frees them waits as long.
const AT_ONCE: u64 = 64 << 20;

/// Copies as the controller asks for it, until the cut may come. What `known` says then is what the controller has.
pub(super) fn run(
    agent: &'static Agent,
    begin: &mut Begin,
    known: &mut Known,
    connection: &mut Connection,
) -> Result<(), Refusal> {
    let may_choose = begin.choose.then_some(begin.mode());
    let mut copying = Copying {
        agent,
        chunk_bytes: begin.chunk_bytes,
        slots: ring_slots(begin.chunk_bytes, agent.device.registry.totals().1),
        is_wanted: !begin.all_residual,
        may_choose,
        chosen: None,
        known,
        connection,
        watch: Watch::new(agent.page),
        since: None,
        has_ring: false,
        last: Ticket(0),
    };
    let copied = copying.follow();
    let settled = copying.settle();
    if let Some(mode) = copying.chosen {
        begin.set_mode(mode);
    }
    copied.and(settled)
}

struct Copying<'a> {
    agent: &'static Agent,
    chunk_bytes: u64,
    /// Of the ring.
    slots: u32,
    /// Anything is to be promised at the cut.
    is_wanted: bool,
    /// Where the controller has yet to say what the mode is: the one that all is prepared for.
    may_choose: Option<CheckpointMode>,
    chosen: Option<CheckpointMode>,
    known: &'a mut Known,
    connection: &'a mut Connection,
    watch: Watch,
    /// The first operation that was not over when the last round began, where that is remembered.
    since: Option<Sequence>,
    has_ring: bool,
    /// The last ticket of the link.
    last: Ticket,
}

impl Copying<'_> {
    fn follow(&mut self) -> Result<(), Refusal> {
        loop {
            self.look()?;
            let message = self.connection.receive_within(LOOK_AGAIN_IDLE);
            match message.map_err(lost)? {
                None => {}
                Some(to_agent::Body::BeginRound(BeginRound { most_bytes })) => {
                    let most = Some(most_bytes).filter(|most| *most > 0);
                    let ended = phase!(self.agent, "round", || self.round(most))?;
                    let ended = from_agent::Body::RoundEnded(ended);
                    self.connection.send(ended).map_err(lost)?;
                }
                Some(to_agent::Body::Chosen(chosen)) => self.choose(chosen.mode())?,
                Some(to_agent::Body::EndRounds(_)) if self.may_choose.is_some() => {
                    return Err(Refusal::WrongOrder);
                }
                Some(to_agent::Body::EndRounds(_)) => return Ok(()),
                Some(to_agent::Body::Abandon(abandon)) => {
                    return Err(Refusal::Abandoned(abandon.reason));
                }
                Some(_) => return Err(Refusal::WrongOrder),
            }
        }
    }

    /// What nothing was prepared for cannot be chosen.
    fn choose(&mut self, mode: CheckpointMode) -> Result<(), Refusal> {
        let prepared = self.may_choose.take().ok_or(Refusal::WrongOrder)?;
        match mode {
            CheckpointMode::Unspecified => return Err(Refusal::WrongOrder),
            CheckpointMode::Cow if prepared != CheckpointMode::Cow => {
                return Err(Refusal::WrongOrder);
            }
            mode => self.chosen = Some(mode),
        }
        Ok(())
    }

    /// The program runs: its records have to be taken in.
    fn look(&mut self) -> Result<(), Refusal> {
        self.agent.drain_ring(usize::MAX);
        self.watch.look(self.agent)
    }

    fn with_resources<R>(
        &self,
        act: impl FnOnce(&mut Resources) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let mut spare = self.agent.device.spare.lock();
        act(spare.as_mut().ok_or(Refusal::QueuesAreGone)?)
    }

    /// Copies what is not known, or is not any more what is known of it; no more than about so many bytes.
    fn round(&mut self, most: Option<u64>) -> Result<RoundEnded, Refusal> {
        self.look()?;
        let trace = self.agent.trace.lock();
        let written = self.since.and_then(|since| trace.writes_from(since));
        self.since = trace.first_not_over();
        drop(trace);
        let live = match self.is_wanted {
            true => self.agent.device.registry.found(),
            false => Vec::new(),
        };
        let mut suspected = Validate::Full.choose(&live, self.chunk_bytes)?;
        if let Some(written) = written {
            suspected.retain(|chunk| !self.known.has(*chunk) || written.overlaps(*chunk));
        }
        if let Some(most) = most {
            suspected.truncate(most.div_ceil(self.chunk_bytes) as usize);
        }
        let chunks = self.changed(suspected)?;
        let (copied, rate) = self.copy(chunks)?;
        Ok(RoundEnded { copied, rate })
    }

    /// Those of these chunks of which nothing is known, or which are not what is known of them.
    fn changed(&mut self, suspected: Vec<Extent>) -> Result<Vec<Extent>, Refusal> {
        let (known, mut changed): (Vec<_>, Vec<_>) = suspected
            .into_iter()
            .partition(|chunk| self.known.has(*chunk));
        let at_once = (AT_ONCE / self.chunk_bytes).max(1) as usize;
        for turn in known.chunks(at_once) {
            self.look()?;
            let reading = &self.agent.device.reading;
            let registry = &self.agent.device.registry;
            let mut live = turn.to_vec();
            live.retain(|chunk| reading.begin(registry, *chunk));
            let taken = self.with_resources(|resources| {
                let Resources {
                    aside,
                    fingerprints,
                    ..
                } = resources;
                let deadline = Instant::now() + PATIENCE;
                // SAFETY: live allocations, which nobody frees while they are being read; the dispatch has ended, or
                // reads nothing any more, when this returns.
                Ok(unsafe { fingerprints.of(aside.queue(), &live, deadline)? })
            });
            live.iter().for_each(|chunk| reading.end(*chunk));
            let taken = live.into_iter().zip(taken?);
            let is_changed = taken.filter(|(chunk, now)| !self.known.is(*chunk, *now));
            changed.extend(is_changed.map(|(chunk, _)| chunk));
        }
        Ok(changed)
    }

    /// Copies these; how many bytes that were, and how many a second. Afterwards all of it is known.
    fn copy(&mut self, chunks: Vec<Extent>) -> Result<(u64, u64), Refusal> {
        if chunks.is_empty() {
            return Ok((0, 0));
        }
        self.open_ring()?;
        let started = Instant::now();
        begin_copying(
            self.agent.page,
            chunks.iter().map(|chunk| chunk.len()).sum(),
        );
        let mut round = CopyRound::new(chunks, self.slots, self.last);
        while !round.is_over() {
            self.look()?;
            self.start(&mut round)?;
            self.last = round.last();
            let passed = self.with_resources(|resources| Ok(resources.out.passed()))?;
            let arrived = round.arrivals(passed);
            let copied = &self.agent.page.copied_bytes;
            copied.store(round.copied(), Ordering::Relaxed);
            let mut wait = match arrived.is_empty() {
                true => LOOK_AGAIN,
                false => Duration::ZERO,
            };
            for copy in arrived {
                self.agent.device.reading.end(copy.extent);
                let ready = ChunkReady {
                    slot: copy.slot.0,
                    extent: Some(copy.extent.into()),
                    fingerprint: Vec::new(),
                    origin: ChunkOrigin::Round.into(),
                };
                let ready = from_agent::Body::Chunk(ready);
                self.connection.send(ready).map_err(lost)?;
            }
            while let Some(message) = self.connection.receive_within(wait).map_err(lost)? {
                self.answer(&mut round, message)?;
                wait = Duration::ZERO;
            }
        }
        end_copying(self.agent.page);
        let rate = rate(round.copied(), started.elapsed());
        Ok((round.copied(), rate.unwrap_or(0)))
    }

    fn open_ring(&mut self) -> Result<(), Refusal> {
        if self.has_ring {
            return Ok(());
        }
        let (slots, slot_bytes) = (self.slots, self.chunk_bytes);
        let handle = &self.agent.device.handle;
        let open = |resources: &mut Resources| Ok(resources.out.open(handle, slots, slot_bytes)?);
        let address = self.with_resources(open)?;
        self.has_ring = true;
        let ring = from_agent::Body::Ring(Ring {
            address,
            slots,
            slot_bytes,
        });
        self.connection.send(ring).map_err(lost)
    }

    /// Keeps the link busy.
    fn start(&self, round: &mut CopyRound) -> Result<(), Refusal> {
        let device = &self.agent.device;
        self.with_resources(|resources| {
            while resources.out.is_open()
                && let Some(chunk) = round.next()
            {
                if !device.reading.begin(&device.registry, chunk) {
                    round.skip();
                    continue;
                }
                let Some(CopyOut {
                    extent,
                    slot,
                    ticket,
                    ..
                }) = round.copy()
                else {
                    return Ok(());
                };
                // SAFETY: a live allocation, which nobody frees while it is being read; the slot is free until what is
                // copied into it has been stored. Who writes the source meanwhile makes the copy worthless, which its
                // fingerprint shows.
                let started = unsafe {
                    let (from, bytes) = (extent.start(), extent.len());
                    resources.out.start(slot, from, bytes, ticket)
                };
                started.map_err(DeviceError::from)?;
            }
            Ok(())
        })
    }

    fn answer(&mut self, round: &mut CopyRound, message: to_agent::Body) -> Result<(), Refusal> {
        match message {
            to_agent::Body::SlotFree(free) => Ok(round.slot_free(RingSlot(free.slot))?),
            to_agent::Body::Known(known) => {
                for chunk in &known.chunks {
                    let extent = chunk.extent.map(Extent::try_from);
                    let extent = extent.and_then(Result::ok);
                    let extent = extent.filter(|chunk| round.stored(*chunk));
                    extent.ok_or(Refusal::WrongOrder)?;
                }
                self.known.learn(&known);
                Ok(())
            }
            to_agent::Body::Abandon(abandon) => Err(Refusal::Abandoned(abandon.reason)),
            _ => Err(Refusal::WrongOrder),
        }
    }

    /// Nothing of this is left at the cut. Where the link does not come to its end its queue and ring stay, and nobody uses
    /// them again.
    fn settle(&mut self) -> Result<(), Refusal> {
        let mut spare = self.agent.device.spare.lock();
        let deadline = Instant::now() + PATIENCE;
        match spare.as_mut() {
            Some(resources) if resources.wait_until_idle(deadline) => {
                resources.out.close();
                self.agent.device.reading.rest();
                Ok(resources.out.start_over()?)
            }
            _ => {
                *spare = None;
                Err(Refusal::QueuesAreGone)
            }
        }
    }
}
