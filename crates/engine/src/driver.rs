//! The engine's decisions, carried out: what the agent and the simulator drive alike.
//!
//! A call of [`Driver`] is one critical section: a decision, the copies it orders and the waits it puts
//! into a stream. So copies are issued in the order of their tickets, and a stream that counts as
//! waiting does wait before anybody's next launch. Only a thread that waits itself does so outside.
//!
//! Giving up releases every wait, those that streams have on the device already included. Copies that
//! were under way still come to their end: whoever frees what they read or write waits for that.

use crate::engine::{CopyAside, CopyOut, Engine, Proceed, WriteDecision};
use crate::ring::{RingSlot, SlotError};
use crate::statistics::EngineStatistics;
use crate::ticket::{Ticket, Waits};
use crate::validation::Evidence;
use crate::writer::{KernelId, Writer};
use std::collections::VecDeque;
use strobe_extent::Side;

/// The two in-order lanes of the agent on a device, for one checkpoint: tickets count from 1.
pub trait Lanes {
    /// What can wait on the device: a stream of the program.
    type Waiter: Copy;
    /// Why nothing can be issued any more.
    type Error;

    /// Issues a copy on [`Lane::Aside`](crate::Lane::Aside).
    fn copy_aside(&mut self, copy: &CopyAside) -> Result<(), Self::Error>;

    /// Everything issued on [`Lane::Aside`](crate::Lane::Aside) so far is `ticket`.
    fn mark_aside(&mut self, ticket: Ticket) -> Result<(), Self::Error>;

    /// Whether another copy may be issued on [`Lane::Out`](crate::Lane::Out).
    fn has_room(&self) -> bool;

    /// Issues a copy on [`Lane::Out`](crate::Lane::Out), which is its ticket.
    fn copy_out(&mut self, copy: &CopyOut) -> Result<(), Self::Error>;

    /// Makes `waiter` wait on the device for these points.
    fn make_wait(&mut self, waiter: Self::Waiter, waits: Waits) -> Result<(), Self::Error>;

    /// The points that [`Lane::Aside`](crate::Lane::Aside) and [`Lane::Out`](crate::Lane::Out) have
    /// passed.
    fn passed(&self) -> Result<(Ticket, Ticket), Self::Error>;

    /// Nobody waits any more, now or later.
    fn release(&mut self);
}

/// See the module's documentation. `E` says why a checkpoint is given up.
#[derive(Debug)]
pub struct Driver<E> {
    engine: Engine,
    /// Copies into the ring that have not arrived, oldest first.
    under_way: VecDeque<CopyOut>,
    issued: (Ticket, Ticket),
    failed: Option<E>,
}

impl<E> Driver<E> {
    /// Drives `engine`, of which nothing has been asked yet.
    pub fn new(engine: Engine) -> Driver<E> {
        Driver {
            engine,
            under_way: VecDeque::new(),
            issued: (Ticket(0), Ticket(0)),
            failed: None,
        }
    }

    /// `writer` is about to write, or give up, what `writes` may touch. With a `waiter` the waits of
    /// the answer are on the device already; without one the thread waits, until [`Self::has_passed`].
    pub fn before_write<L: Lanes<Error = E>>(
        &mut self,
        lanes: &mut L,
        writer: Writer,
        writes: &Side,
        waiter: Option<L::Waiter>,
    ) -> Proceed {
        let decision = self.engine.before_write(writer, writes);
        let issued = self.issue(lanes, &decision);
        let done = issued.and_then(|()| match (decision.proceed, waiter) {
            (Proceed::After(waits), Some(waiter)) => lanes.make_wait(waiter, waits),
            _ => Ok(()),
        });
        match done {
            Ok(()) => decision.proceed,
            Err(why) => {
                self.give_up(lanes, why);
                Proceed::After(Waits::default())
            }
        }
    }

    /// A launch of `kernel` has been let through, whose footprint says that it writes this.
    pub fn launched(&mut self, kernel: KernelId, writes: &Side) {
        self.engine.launched(kernel, writes);
    }

    /// Stages what is copied next, and keeps the link busy.
    pub fn order_copies<L: Lanes<Error = E>>(&mut self, lanes: &mut L) {
        while let Some((copy, ticket)) = self.engine.stage() {
            let staged = lanes.copy_aside(&copy);
            if let Err(why) = staged.and_then(|()| self.mark(lanes, ticket)) {
                self.give_up(lanes, why);
                return;
            }
        }
        while lanes.has_room() {
            let Some(copy) = self.engine.next_copy() else {
                return;
            };
            if let Err(why) = lanes.copy_out(&copy) {
                self.give_up(lanes, why);
                return;
            }
            self.issued.1 = copy.ticket;
            self.under_way.push_back(copy);
        }
    }

    /// The copies that have arrived in the ring since the last call, oldest first.
    pub fn arrivals<L: Lanes<Error = E>>(&mut self, lanes: &mut L) -> Vec<CopyOut> {
        let out = match lanes.passed() {
            Ok((aside, out)) => {
                self.engine.aside_done(aside);
                out
            }
            Err(why) => {
                self.give_up(lanes, why);
                return Vec::new();
            }
        };
        let mut arrived = Vec::new();
        while let Some(copy) = self.under_way.pop_front_if(|copy| copy.ticket <= out) {
            self.engine.copy_done(copy.slot);
            arrived.push(copy);
        }
        arrived
    }

    /// Whether these points have been passed, or nobody waits for them any more.
    pub fn has_passed<L: Lanes<Error = E>>(&mut self, lanes: &mut L, waits: Waits) -> bool {
        match lanes.passed() {
            Ok((aside, out)) => {
                self.failed.is_some()
                    || waits.aside.is_none_or(|ticket| ticket <= aside)
                        && waits.out.is_none_or(|ticket| ticket <= out)
            }
            Err(why) => {
                self.give_up(lanes, why);
                true
            }
        }
    }

    /// The controller has stored the content of `slot`.
    pub fn slot_free<L: Lanes<Error = E>>(&mut self, lanes: &mut L, slot: RingSlot)
    where
        E: From<SlotError>,
    {
        if let Err(error) = self.engine.slot_free(slot) {
            self.give_up(lanes, error.into());
        }
    }

    /// Nothing is held back any more, and nothing will be delivered.
    pub fn give_up<L: Lanes<Error = E>>(&mut self, lanes: &mut L, why: E) {
        self.engine.abort();
        lanes.release();
        self.failed.get_or_insert(why);
    }

    /// Why it was given up, if it was.
    pub fn failed(&self) -> Option<&E> {
        self.failed.as_ref()
    }

    /// The last points of both lanes that were issued.
    pub fn issued(&self) -> (Ticket, Ticket) {
        self.issued
    }

    /// Whether nothing is held back any more ([`Engine::is_saved`]).
    pub fn is_saved(&self) -> bool {
        self.engine.is_saved()
    }

    /// Whether the controller has stored everything.
    pub fn finished(&self) -> bool {
        self.engine.finished()
    }

    /// Who may have made a write that was missed, as far as is known by now.
    pub fn evidence(&self) -> &Evidence {
        self.engine.evidence()
    }

    /// What it has cost so far.
    pub fn statistics(&self) -> EngineStatistics {
        self.engine.statistics()
    }

    fn issue<L: Lanes<Error = E>>(
        &mut self,
        lanes: &mut L,
        decision: &WriteDecision,
    ) -> Result<(), E> {
        for copy in &decision.asides {
            lanes.copy_aside(copy)?;
        }
        decision
            .ticket
            .map_or(Ok(()), |ticket| self.mark(lanes, ticket))
    }

    fn mark<L: Lanes<Error = E>>(&mut self, lanes: &mut L, ticket: Ticket) -> Result<(), E> {
        lanes.mark_aside(ticket)?;
        self.issued.0 = ticket;
        Ok(())
    }
}
