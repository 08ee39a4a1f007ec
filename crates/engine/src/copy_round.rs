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

/// How much is under way over the link, which who takes memory away may have to wait for: so many times the largest chunk.
const UNDER_WAY: u64 = 8;

/// See the module's documentation.
#[derive(Debug)]
pub struct CopyRound {
    chunks: Vec<Extent>,
    /// How many of them have had their turn.
    begun: usize,
    ring: Ring,
    under_way: VecDeque<CopyOut>,
    bytes_under_way: u64,
    most_under_way: u64,
    last: Ticket,
    /// In the ring or beyond; the controller has not said that they are stored.
    unconfirmed: HashSet<Extent>,
    copied: u64,
}

impl CopyRound {
    /// Of these chunks, none of them twice, in this order, with tickets of [`Lane::Out`](crate::Lane::Out) from `after` on.
    pub fn new(chunks: Vec<Extent>, ring_slots: u32, after: Ticket) -> CopyRound {
        let largest = chunks.iter().map(|chunk| chunk.len()).max();
        CopyRound {
            bytes_under_way: 0,
            most_under_way: largest.unwrap_or(0).saturating_mul(UNDER_WAY),
            chunks,
            begun: 0,
            ring: Ring::new(ring_slots),
            under_way: VecDeque::new(),
            last: after,
            unconfirmed: HashSet::new(),
            copied: 0,
        }
    }

    /// The chunk whose turn it is, if there is a slot for it, and little enough under way.
    pub fn next(&self) -> Option<Extent> {
        let next = self.chunks.get(self.begun);
        let has_room = self.ring.has_room() && self.bytes_under_way < self.most_under_way;
        next.copied().filter(|_| has_room)
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
        self.bytes_under_way += extent.len();
        self.under_way.push_back(copy);
        Some(copy)
    }

    /// This point has been passed: the copies that have arrived since the last call, oldest first.
    pub fn arrivals(&mut self, passed: Ticket) -> Vec<CopyOut> {
        let mut arrived = Vec::new();
        while let Some(copy) = self.under_way.pop_front_if(|copy| copy.ticket <= passed) {
            self.ring.arrived(copy.slot);
            self.unconfirmed.insert(copy.extent);
            self.bytes_under_way -= copy.extent.len();
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
    fn who_takes_memory_away_waits_for_eight_chunks_at_the_most() {
        let mut round = CopyRound::new((0..16).map(chunk).collect(), 16, Ticket(0));
        let count = |round: &mut CopyRound| std::iter::from_fn(|| round.copy()).count();
        assert_eq!(count(&mut round), 8);
        assert_eq!(round.arrivals(Ticket(3)).len(), 3);
        assert_eq!(count(&mut round), 3);
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
