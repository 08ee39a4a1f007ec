//! The slots of the pinned ring.

use crate::ticket::Ticket;
use strobe_extent::{ChunkIndex, Extent};

/// A slot of the pinned ring, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingSlot(pub u32);

/// A report about a slot that cannot be true. Such a report may come from another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// The ring is smaller.
    #[error("there is no ring slot {0}")]
    NoSuchSlot(u32),
    /// There is nothing in it that could have been stored.
    #[error("ring slot {0} holds no chunk that arrived")]
    NotFull(u32),
}

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Free,
    /// A copy is under way; `room` is where in the pool it comes from, if it does.
    Filling {
        chunk: ChunkIndex,
        ticket: Ticket,
        room: Option<Extent>,
    },
    /// The controller has not stored it yet.
    Full,
}

#[derive(Debug)]
pub(crate) struct Ring {
    slots: Vec<Slot>,
    free: Vec<RingSlot>,
}

impl Ring {
    pub(crate) fn new(slots: u32) -> Ring {
        Ring {
            slots: vec![Slot::Free; slots as usize],
            free: (0..slots).rev().map(RingSlot).collect(),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether no slot holds or awaits anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Takes a free slot for a copy.
    pub(crate) fn fill(
        &mut self,
        chunk: ChunkIndex,
        ticket: Ticket,
        room: Option<Extent>,
    ) -> Option<RingSlot> {
        let slot = self.free.pop()?;
        self.slots[slot.0 as usize] = Slot::Filling {
            chunk,
            ticket,
            room,
        };
        Some(slot)
    }

    /// The copy into `slot` has arrived: what it was.
    pub(crate) fn arrived(&mut self, slot: RingSlot) -> (ChunkIndex, Ticket, Option<Extent>) {
        let state = &mut self.slots[slot.0 as usize];
        let Slot::Filling {
            chunk,
            ticket,
            room,
        } = *state
        else {
            panic!("no copy into {slot:?} was under way: {state:?}");
        };
        *state = Slot::Full;
        (chunk, ticket, room)
    }

    /// The content of `slot` has been stored.
    pub(crate) fn stored(&mut self, slot: RingSlot) -> Result<(), SlotError> {
        let state = self
            .slots
            .get_mut(slot.0 as usize)
            .ok_or(SlotError::NoSuchSlot(slot.0))?;
        let Slot::Full = state else {
            return Err(SlotError::NotFull(slot.0));
        };
        *state = Slot::Free;
        self.free.push(slot);
        Ok(())
    }
}
