//! A round of copying before the cut: chunks go into the ring as they are when their turn comes, while the program writes.
//!
//! What arrives may be older than what is there, or torn. So it counts for nothing until a fingerprint taken at the cut
//! says that the chunk is what was stored of it; a round needs no footprint to be right, and nobody waits for it but who
//! takes memory away.

use crate::engine::{CopyOut, Origin, Source};
use crate::ring::{Ring, RingSlot, SlotError};
use crate::ticket::Ticket;
use std::collections::{HashSet, VecDeque};
use strobe_extent::{ChunkIndex, Extent};

/// See the module's documentation.
#[derive(Debug)]
pub struct CopyRound {
    chunks: Vec<Extent>,
    /// How many of them have had their turn.
    begun: usize,
    ring: Ring,
    under_way: VecDeque<CopyOut>,
    last: Ticket,
    /// In the ring or beyond; the controller has not said that they are stored.
    unconfirmed: HashSet<Extent>,
    copied: u64,
}

impl CopyRound {
    /// Of these chunks, none of them twice, in this order, with tickets of [`Lane::Out`](crate::Lane::Out) from `after` on.
    pub fn new(chunks: Vec<Extent>, ring_slots: u32, after: Ticket) -> CopyRound {
        CopyRound {
            chunks,
            begun: 0,
            ring: Ring::new(ring_slots),
            under_way: VecDeque::new(),
            last: after,
            unconfirmed: HashSet::new(),
            copied: 0,
        }
    }

    /// The chunk whose turn it is, if there is a slot for it.
    pub fn next(&self) -> Option<Extent> {
        let next = self.chunks.get(self.begun);
        next.copied().filter(|_| self.ring.has_room())
    }

    /// It is gone.
    pub fn skip(&mut self) {
        self.begun += 1;
    }

    /// It is copied: the copy to issue at once.
    pub fn copy(&mut self) -> Option<CopyOut> {
        let extent = self.next()?;
        let ticket = Ticket(self.last.0 + 1);
        let slot = self
            .ring
            .fill(ChunkIndex(self.begun as u32), ticket, None)?;
        self.last = ticket;
        self.begun += 1;
        let copy = CopyOut {
            extent,
            source: Source::Original,
            slot,
            ticket,
            origin: Origin::Turn,
        };
        self.under_way.push_back(copy);
        Some(copy)
    }

    /// This point has been passed: the copies that have arrived since the last call, oldest first.
    pub fn arrivals(&mut self, passed: Ticket) -> Vec<CopyOut> {
        let mut arrived = Vec::new();
        while let Some(copy) = self.under_way.pop_front_if(|copy| copy.ticket <= passed) {
            self.ring.arrived(copy.slot);
            self.unconfirmed.insert(copy.extent);
            self.copied += copy.extent.len();
            arrived.push(copy);
        }
        arrived
    }

    /// The controller has taken the content of `slot`.
    ///
    /// # Errors
    /// When there was nothing in it.
    pub fn slot_free(&mut self, slot: RingSlot) -> Result<(), SlotError> {
        self.ring.stored(slot)
    }

    /// The controller has stored this; whether it was to.
    pub fn stored(&mut self, chunk: Extent) -> bool {
        self.unconfirmed.remove(&chunk)
    }

    /// Whether all that was copied is stored.
    pub fn is_over(&self) -> bool {
        self.begun == self.chunks.len() && self.unconfirmed.is_empty() && self.ring.is_empty()
    }

    /// Bytes that have arrived.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// The last ticket.
    pub fn last(&self) -> Ticket {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u64) -> Extent {
        Extent::with_len(number * 0x100, 0x100).unwrap()
    }

    #[test]
    fn it_is_over_when_all_that_is_there_is_stored() {
        let mut round = CopyRound::new((0..4).map(chunk).collect(), 2, Ticket(7));
        let (first, second) = (round.copy().unwrap(), round.copy().unwrap());
        assert_eq!((first.extent, second.extent), (chunk(0), chunk(1)));
        assert_eq!((first.ticket, second.ticket), (Ticket(8), Ticket(9)));
        assert_eq!(
            (round.next(), round.copy()),
            (None, None),
            "the ring is full"
        );
        assert_eq!(round.arrivals(Ticket(8)), [first]);
        assert_eq!(round.next(), None, "nobody has taken it");
        round.slot_free(first.slot).unwrap();
        assert_eq!(round.next(), Some(chunk(2)));
        round.skip();
        let last = round.copy().unwrap();
        assert_eq!((last.extent, last.ticket), (chunk(3), Ticket(10)));
        assert_eq!(round.arrivals(Ticket(10)), [second, last]);
        for copy in [second, last] {
            round.slot_free(copy.slot).unwrap();
        }
        for copy in [last, first, second] {
            assert!(!round.is_over());
            assert!(round.stored(copy.extent));
        }
        assert!(round.is_over());
        assert_eq!((round.copied(), round.last()), (0x300, Ticket(10)));
    }

    #[test]
    fn what_a_controller_says_of_nothing_is_found_out() {
        let mut round = CopyRound::new(vec![chunk(0)], 1, Ticket(0));
        let copy = round.copy().unwrap();
        assert!(round.slot_free(copy.slot).is_err(), "it has not arrived");
        assert!(!round.stored(copy.extent));
        round.arrivals(copy.ticket);
        assert!(round.slot_free(RingSlot(1)).is_err(), "there is none");
        assert!(!round.stored(chunk(1)));
        assert!(
            round.stored(copy.extent) && !round.stored(copy.extent),
            "once"
        );
    }
}
