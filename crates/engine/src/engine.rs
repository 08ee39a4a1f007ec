//! The life of the chunks of one checkpoint.

use crate::config::{BeginError, Config, Mode, SetAside};
use crate::pool::Pool;
use crate::ring::Ring;
use crate::ring::{RingSlot, SlotError};
use crate::statistics::EngineStatistics;
use crate::ticket::{Lane, Ticket, Waits};
use crate::validation::Evidence;
use crate::writer::Waited;
use crate::writer::{KernelId, Writer};
use std::collections::VecDeque;
use strobe_extent::{ChunkIndex, ChunkMap, ChunkSet, Extent, Side};

/// How much is in the pool, or on its way there, to be copied out next: so many chunks of full size by the part of what is
/// tracked, and no more than this part of the pool.
const STAGED: (u64, u64) = (4, 16);
const STAGED_OF_ALL: u64 = 8;
const STAGED_PART: u64 = 4;
/// The pool that everything may go through has room for so many chunks.
const LEAST_POOL: u64 = 16;
/// The same of what is under way over the link, while a writer may have to wait for it.
const UNDER_WAY: u64 = 3;

/// A copy to issue at once on [`Lane::Aside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAside {
    /// What to copy: a chunk as it was allocated at the cut.
    pub extent: Extent,
    /// Where to, in bytes from the start of the pool.
    pub pool_offset: u64,
}

/// A copy to issue at once on [`Lane::Out`], whose event is then recorded as `ticket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyOut {
    /// The chunk, by its addresses at the cut.
    pub extent: Extent,
    /// Where its content is now.
    pub source: Source,
    /// Where to: the start of this slot.
    pub slot: RingSlot,
    /// The point of [`Lane::Out`] that this copy is.
    pub ticket: Ticket,
    /// How it came to that.
    pub origin: Origin,
}

/// Why a chunk is copied when it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It was its turn.
    #[default]
    Turn,
    /// Something was about to write it.
    Written,
    /// It was in the pool when the checkpoint began.
    Adopted,
}

/// Where the content of a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Where it was at the cut.
    Original,
    /// In the pool, this many bytes from its start.
    Pool(u64),
}

/// What has to happen before a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteDecision {
    /// Issue these now, in this order, even when the write is blocked.
    pub asides: Vec<CopyAside>,
    /// Record this point of [`Lane::Aside`] after the last of them; there when they are.
    pub ticket: Option<Ticket>,
    /// What becomes of the write itself.
    pub proceed: Proceed,
}

/// Whether a write may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proceed {
    /// After these waits: in its stream, or by the thread for [`Writer::Host`].
    After(Waits),
    /// Not yet: ask again after the next [`Engine::copy_done`] or [`Engine::abort`].
    Blocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its only copy is where it was at the cut.
    Unsaved,
    /// On its way from where it was to the ring.
    OutInFlight(Ticket),
    /// In the pool or on its way there; perhaps on its way on to the ring.
    Aside(Ticket),
    /// In the ring or beyond.
    Saved,
}

/// One checkpoint of one device. See the crate's documentation for what the driver must hold to.
#[derive(Debug)]
pub struct Engine {
    mode: Mode,
    aborted: bool,
    map: ChunkMap,
    states: Vec<State>,
    /// By chunk.
    origins: Vec<Origin>,
    /// The chunks in `State::Unsaved`.
    unsaved: ChunkSet,
    /// Unsaved chunks that a blocked writer is after.
    urgent: ChunkSet,
    /// Chunks in `State::Saved`.
    saved: usize,
    /// Every chunk once, in the order in which unsaved ones are copied out; `cursor` runs over it.
    order: Vec<ChunkIndex>,
    cursor: usize,
    /// Chunks set aside for writers that no copy-out has been ordered for, oldest first.
    set_aside: VecDeque<(ChunkIndex, Extent)>,
    /// Chunks put into the pool because they are copied out next.
    staged: VecDeque<(ChunkIndex, Extent)>,
    staged_bytes: u64,
    pool: Pool,
    ring: Ring,
    last_aside: Ticket,
    last_out: Ticket,
    /// Bytes on their way into the ring.
    under_way: u64,
    /// The latest copy on `Lane::Out` that reads tracked memory.
    last_original: Ticket,
    aside_done: Ticket,
    out_done: Ticket,
    waited: Waited,
    /// Asides in the order of their tickets that have not been reported as done.
    asides_under_way: VecDeque<(Ticket, ChunkIndex)>,
    evidence: Evidence,
    statistics: EngineStatistics,
}

impl Engine {
    /// Starts a checkpoint at the cut.
    pub fn begin(config: Config) -> Result<Engine, BeginError> {
        if config.ring_slots == 0 {
            return Err(BeginError::NoRingSlot);
        }
        let set_aside = config.set_aside.iter().map(|aside| aside.extent);
        let regions = config.tracked.iter().copied().chain(set_aside);
        let map = ChunkMap::new(regions, config.chunk_bytes)?;
        let order = order(&map, &config.copy_order);
        let evidence = Evidence::new(map.clone());
        let statistics = EngineStatistics {
            chunks: map.len() as u64,
            tracked_bytes: map.bytes(),
            ..EngineStatistics::default()
        };
        let mut engine = Engine {
            mode: config.mode,
            aborted: false,
            states: vec![State::Unsaved; map.len()],
            origins: vec![Origin::Turn; map.len()],
            unsaved: ChunkSet::full(map.len()),
            urgent: ChunkSet::empty(map.len()),
            saved: 0,
            map,
            order,
            cursor: 0,
            set_aside: VecDeque::new(),
            staged: VecDeque::new(),
            staged_bytes: 0,
            pool: Pool::new(config.aside_bytes),
            ring: Ring::new(config.ring_slots),
            last_aside: Ticket(0),
            last_out: Ticket(0),
            under_way: 0,
            last_original: Ticket(0),
            aside_done: Ticket(0),
            out_done: Ticket(0),
            waited: Waited::default(),
            asides_under_way: VecDeque::new(),
            evidence,
            statistics,
        };
        for aside in &config.set_aside {
            engine.adopt(aside)?;
        }
        Ok(engine)
    }

    /// Takes note of what was put into the pool before the first ticket.
    fn adopt(&mut self, aside: &SetAside) -> Result<(), BeginError> {
        let &SetAside {
            extent,
            pool_offset,
        } = aside;
        let chunks: Vec<ChunkIndex> = self.map.touching(extent).collect();
        for chunk in chunks {
            let part = self.map.extent(chunk);
            let room = pool_offset
                .checked_add(part.start() - extent.start())
                .and_then(|offset| self.pool.take_at(offset, part.len()))
                .ok_or(BeginError::Room {
                    extent,
                    pool_offset,
                })?;
            self.states[chunk.0 as usize] = State::Aside(Ticket(0));
            self.origins[chunk.0 as usize] = Origin::Adopted;
            self.evidence.secured(chunk);
            self.unsaved.clear(chunk);
            self.set_aside.push_back((chunk, room));
        }
        Ok(())
    }

    /// `writer` is about to write, or give up, what `writes` may touch. What is decided is to be
    /// carried out before anyone else calls.
    pub fn before_write(&mut self, writer: Writer, writes: &Side) -> WriteDecision {
        let mut decision = WriteDecision {
            asides: Vec::new(),
            ticket: None,
            proceed: Proceed::After(Waits::default()),
        };
        if self.aborted || self.is_saved() || writes.is_none() {
            self.statistics.writes += 1;
            return decision;
        }
        if self.mode == Mode::Stop {
            self.statistics.blocked += 1;
            decision.proceed = Proceed::Blocked;
            return decision;
        }
        let ticket = Ticket(self.last_aside.0 + 1);
        let mut waits = Waits::default();
        let mut blocked = false;
        let chunks: Vec<ChunkIndex> = match writes {
            Side::Known(bytes) => self.map.touching_any_of(bytes),
            Side::Unknown(_) => {
                // The latest points cover every chunk that is on its way.
                waits.add(Lane::Aside, self.last_aside);
                waits.add(Lane::Out, self.last_original);
                self.unsaved.iter().collect()
            }
        };
        for chunk in chunks {
            match self.states[chunk.0 as usize] {
                State::Saved => {}
                State::OutInFlight(ticket) => waits.add(Lane::Out, ticket),
                State::Aside(ticket) => waits.add(Lane::Aside, ticket),
                State::Unsaved => match self.put_aside_for_writer(chunk, ticket) {
                    Some((copy, room)) => {
                        self.set_aside.push_back((chunk, room));
                        self.statistics.bytes_aside += copy.extent.len();
                        decision.asides.push(copy);
                        waits.add(Lane::Aside, ticket);
                    }
                    None => {
                        self.urgent.set(chunk);
                        blocked = true;
                    }
                },
            }
        }
        if !decision.asides.is_empty() {
            self.last_aside = ticket;
            decision.ticket = Some(ticket);
        }
        if blocked {
            self.statistics.blocked += 1;
            decision.proceed = Proceed::Blocked;
            return decision;
        }
        waits.skip_passed(Lane::Aside, self.aside_done);
        waits.skip_passed(Lane::Out, self.out_done);
        let waits = self.waited.reduce(writer, waits);
        self.statistics.writes += 1;
        self.statistics.conservative_writes += u64::from(writes.is_unknown());
        self.statistics.waits += waits.count();
        decision.proceed = Proceed::After(waits);
        decision
    }

    /// A launch of `kernel` has been let through, whose footprint says that it writes this.
    pub fn launched(&mut self, kernel: KernelId, writes: &Side) {
        self.evidence.launched(kernel, writes);
    }

    /// Who may have made a write that was missed, as far as is known by now.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The next chunk to put into the pool because its turn to be copied out comes soon: then no
    /// writer ever waits for the link. The copy is to be issued at once on [`Lane::Aside`] and its
    /// event recorded as the ticket.
    pub fn stage(&mut self) -> Option<(CopyAside, Ticket)> {
        if self.aborted || !self.stages() || self.staged_bytes >= self.most_staged() {
            return None;
        }
        let chunk = match self.urgent.first_from(ChunkIndex(0)) {
            Some(chunk) => chunk,
            None if self.pool.is_tight() => return None,
            None => self.next_in_order()?,
        };
        let ticket = Ticket(self.last_aside.0 + 1);
        let (copy, room) = self.put_aside(chunk, ticket)?;
        self.last_aside = ticket;
        self.staged.push_back((chunk, room));
        self.staged_bytes += copy.extent.len();
        Some((copy, ticket))
    }

    /// The next chunk to copy into the ring, if there is one and a slot is free. The copy is to be
    /// issued before anyone else calls.
    pub fn next_copy(&mut self) -> Option<CopyOut> {
        if self.aborted || !self.ring.has_room() || !self.may_copy_ahead() {
            return None;
        }
        let ticket = Ticket(self.last_out.0 + 1);
        let (chunk, room) = self.choose()?;
        let slot = self
            .ring
            .fill(chunk, ticket, room)
            .expect("the ring has room");
        self.last_out = ticket;
        let extent = self.map.extent(chunk);
        self.under_way += extent.len();
        let state = &mut self.states[chunk.0 as usize];
        let source = match (room, *state) {
            (Some(room), State::Aside(_)) => Source::Pool(room.start()),
            (None, State::Unsaved) => {
                *state = State::OutInFlight(ticket);
                self.last_original = ticket;
                self.unsaved.clear(chunk);
                self.urgent.clear(chunk);
                Source::Original
            }
            (_, state) => panic!("chunk {} was chosen in {state:?}", chunk.0),
        };
        Some(CopyOut {
            extent,
            source,
            slot,
            ticket,
            origin: self.origins[chunk.0 as usize],
        })
    }

    /// The copy into `slot` has arrived in host memory; the controller may be told. Panics when no
    /// such copy was under way.
    pub fn copy_done(&mut self, slot: RingSlot) {
        let (chunk, ticket, room) = self.ring.arrived(slot);
        self.out_done = self.out_done.max(ticket);
        match room {
            None => assert_eq!(self.states[chunk.0 as usize], State::OutInFlight(ticket)),
            Some(room) => {
                assert!(matches!(self.states[chunk.0 as usize], State::Aside(_)));
                self.pool.release(room);
            }
        }
        self.states[chunk.0 as usize] = State::Saved;
        self.evidence.secured(chunk);
        self.saved += 1;
        let bytes = self.map.extent(chunk).len();
        self.under_way -= bytes;
        self.statistics.bytes_out += bytes;
    }

    /// The controller has stored the content of `slot`.
    pub fn slot_free(&mut self, slot: RingSlot) -> Result<(), SlotError> {
        self.ring.stored(slot)
    }

    /// [`Lane::Aside`] has passed `ticket`: what was put aside may be copied out of the pool, and
    /// nobody waits for it any more. Panics when there was no such ticket.
    pub fn aside_done(&mut self, ticket: Ticket) {
        assert!(ticket <= self.last_aside, "{ticket:?} was never given");
        self.aside_done = self.aside_done.max(ticket);
        while let Some((_, chunk)) = self
            .asides_under_way
            .pop_front_if(|(under_way, _)| *under_way <= ticket)
        {
            self.evidence.secured(chunk);
        }
    }

    /// Whether the cut's content has left tracked memory and pool: nothing is held back any more.
    /// In [`Mode::Stop`] the gate opens now.
    pub fn is_saved(&self) -> bool {
        self.saved == self.states.len()
    }

    /// Whether the controller has stored everything.
    pub fn finished(&self) -> bool {
        if self.aborted || !self.is_saved() || !self.ring.is_empty() {
            return false;
        }
        assert!(self.set_aside.is_empty() && self.staged.is_empty());
        assert!(self.unsaved.is_empty() && self.pool.is_unused());
        assert_eq!(self.statistics.bytes_out, self.statistics.tracked_bytes);
        true
    }

    /// Gives the checkpoint up: no write is held back and no copy ordered any more. Copies under
    /// way still use pool and ring; wait for both lanes before these are freed.
    pub fn abort(&mut self) {
        self.aborted = true;
    }

    /// The chunks, of what is tracked and what was set aside.
    pub fn chunks(&self) -> &ChunkMap {
        &self.map
    }

    /// What it has cost so far.
    pub fn statistics(&self) -> EngineStatistics {
        self.statistics
    }

    fn put_aside_for_writer(
        &mut self,
        chunk: ChunkIndex,
        ticket: Ticket,
    ) -> Option<(CopyAside, Extent)> {
        self.origins[chunk.0 as usize] = Origin::Written;
        self.put_aside(chunk, ticket)
    }

    fn put_aside(&mut self, chunk: ChunkIndex, ticket: Ticket) -> Option<(CopyAside, Extent)> {
        let extent = self.map.extent(chunk);
        let room = self.pool.take(extent.len())?;
        self.states[chunk.0 as usize] = State::Aside(ticket);
        self.asides_under_way.push_back((ticket, chunk));
        self.unsaved.clear(chunk);
        self.urgent.clear(chunk);
        let copy = CopyAside {
            extent,
            pool_offset: room.start(),
        };
        Some((copy, room))
    }

    /// Whether everything goes through the pool: where writers run and the pool has room for it.
    fn stages(&self) -> bool {
        let least = self.map.chunk_bytes().saturating_mul(LEAST_POOL);
        self.mode == Mode::Cow && self.pool.capacity() >= least
    }

    fn most_staged(&self) -> u64 {
        let [least, most] =
            <[u64; 2]>::from(STAGED).map(|n| self.map.chunk_bytes().saturating_mul(n));
        let part = (self.map.bytes() / STAGED_OF_ALL).clamp(least, most);
        part.min(self.pool.capacity() / STAGED_PART)
    }

    /// Whether another copy over the link is of use now. Where writers wait for the link they wait for little; where
    /// nobody does, it has all to do that the ring has room for, and whoever looks at it late costs it nothing.
    fn may_copy_ahead(&self) -> bool {
        let waits = self.mode == Mode::Cow && !self.stages();
        !waits || self.under_way < self.map.chunk_bytes().saturating_mul(UNDER_WAY)
    }

    /// What to copy out next, and where in the pool it is. First what a writer is blocked on; then
    /// the pool, when it runs short; then what is predicted to be written next. Of the pool, only
    /// what has arrived there.
    fn choose(&mut self) -> Option<(ChunkIndex, Option<Extent>)> {
        let stages = self.stages();
        if !stages && let Some(chunk) = self.urgent.first_from(ChunkIndex(0)) {
            return Some((chunk, None));
        }
        let tight = self.pool.is_tight();
        if !stages
            && !tight
            && let Some(chunk) = self.next_in_order()
        {
            return Some((chunk, None));
        }
        let (states, done) = (&self.states, self.aside_done);
        let has_arrived = |(chunk, _): &mut (ChunkIndex, Extent)| match states[chunk.0 as usize] {
            State::Aside(ticket) => ticket <= done,
            state => panic!("chunk {} in the pool is in {state:?}", chunk.0),
        };
        for of_writers in [tight, !tight] {
            let queue = match of_writers {
                true => &mut self.set_aside,
                false => &mut self.staged,
            };
            if let Some((chunk, room)) = queue.pop_front_if(has_arrived) {
                if !of_writers {
                    self.staged_bytes -= self.map.extent(chunk).len();
                }
                return Some((chunk, Some(room)));
            }
        }
        if stages {
            return None;
        }
        self.next_in_order().map(|chunk| (chunk, None))
    }

    fn next_in_order(&mut self) -> Option<ChunkIndex> {
        let rest = &self.order[self.cursor..];
        let skip = rest.iter().position(|chunk| self.unsaved.contains(*chunk));
        self.cursor += skip.unwrap_or(rest.len());
        self.order.get(self.cursor).copied()
    }
}

/// Every chunk once: first those that `wanted` names, in its order.
fn order(map: &ChunkMap, wanted: &[Extent]) -> Vec<ChunkIndex> {
    let mut missing = ChunkSet::full(map.len());
    let mut order = Vec::with_capacity(map.len());
    for extent in wanted {
        order.extend(map.touching(*extent).filter(|chunk| missing.clear(*chunk)));
    }
    order.extend(missing.iter());
    order
}
