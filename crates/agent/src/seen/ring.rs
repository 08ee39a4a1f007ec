//! The ring of records: from any thread on the launch path to the one thread that reads them.
//!
//! Records have different lengths, so the ring is made of units and a record takes as many as it
//! needs, next to each other. A writer reserves them by moving `tail`, fills them, and publishes by
//! storing the record's position in the `ready` word of its first unit. Positions never repeat, so
//! a stale word is never taken for a new one. The reader takes records in the order in which they
//! were reserved: whoever published before another thread reserved comes first.
//!
//! A full ring drops the record and counts it; it never blocks and never allocates.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a unit: a cache line.
const UNIT: usize = 64;
/// Bit layout of a `ready` word: position + 1, units, whether it is only padding.
const UNITS_BITS: u32 = 15;

/// The longest record in bytes.
pub(crate) const LONGEST: usize = ((1 << UNITS_BITS) - 1) * UNIT / 2;

#[repr(align(64))]
struct Unit(UnsafeCell<[u8; UNIT]>);

/// See the module's documentation.
pub(crate) struct Ring {
    units: Box<[Unit]>,
    ready: Box<[AtomicU64]>,
    head: AtomicU64,
    tail: AtomicU64,
    dropped: AtomicU64,
    reading: parking_lot::Mutex<()>,
}

// SAFETY: a unit is written only by who reserved it, between the reservation and the publication,
// and read only between the publication and the move of `head`, under the `reading` lock.
unsafe impl Sync for Ring {}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("units", &self.units.len())
            .field("head", &self.head)
            .field("tail", &self.tail)
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

impl Ring {
    /// An empty ring of `units` units of 64 bytes, a power of two.
    pub(crate) fn new(units: usize) -> Ring {
        assert!(units.is_power_of_two() && units >= 2);
        Ring {
            units: (0..units)
                .map(|_| Unit(UnsafeCell::new([0; UNIT])))
                .collect(),
            ready: (0..units).map(|_| AtomicU64::new(0)).collect(),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            reading: parking_lot::Mutex::new(()),
        }
    }

    /// Adds a record of `len` bytes that `fill` writes; it sees old content. `false` when there was
    /// no room and it was dropped.
    #[inline]
    pub(crate) fn push(&self, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let size = self.units.len() as u64;
        let take = len.div_ceil(UNIT).max(1) as u64;
        if len > LONGEST || take > size / 2 {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let mut tail = self.tail.load(Ordering::Relaxed);
        let padding = loop {
            let to_end = size - tail % size;
            let padding = if take > to_end { to_end } else { 0 };
            let end = tail + padding + take;
            if end > self.head.load(Ordering::Acquire) + size {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            match self
                .tail
                .compare_exchange_weak(tail, end, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break padding,
                Err(now) => tail = now,
            }
        };
        if padding > 0 {
            self.publish(tail, padding, true);
        }
        let at = tail + padding;
        let first = self.units[(at % size) as usize].0.get().cast::<u8>();
        // SAFETY: `take` units from `at` on are reserved for us, lie next to each other (the
        // padding sees to that), and hold at least `len` bytes.
        fill(unsafe { std::slice::from_raw_parts_mut(first, len) });
        self.publish(at, take, false);
        true
    }

    /// Takes the records that are there, oldest first, `most` at most. Each is given with its position and
    /// all bytes of its units. Returns how many there were.
    pub(crate) fn drain(&self, most: usize, mut take: impl FnMut(u64, &[u8])) -> usize {
        let _one_reader = self.reading.lock();
        let size = self.units.len() as u64;
        let mut head = self.head.load(Ordering::Relaxed);
        let mut count = 0;
        while count < most {
            let at = (head % size) as usize;
            let ready = self.ready[at].load(Ordering::Acquire);
            if ready >> (UNITS_BITS + 1) != head + 1 {
                break;
            }
            let units = (ready >> 1) & ((1 << UNITS_BITS) - 1);
            if ready & 1 == 0 {
                let first = self.units[at].0.get().cast::<u8>();
                // SAFETY: published, so its writer is done; `head` has not passed it, so nobody
                // reserves it; one record is contiguous.
                take(head, unsafe {
                    std::slice::from_raw_parts(first, units as usize * UNIT)
                });
                count += 1;
            }
            head += units;
            self.head.store(head, Ordering::Release);
        }
        count
    }

    /// A record that is pushed from now on has this position or a later one, all that were pushed have an
    /// earlier one.
    pub(crate) fn position(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Records dropped since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Whether every record that was reserved has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == self.tail.load(Ordering::Acquire)
    }

    fn publish(&self, position: u64, units: u64, padding: bool) {
        let word = (position + 1) << (UNITS_BITS + 1) | units << 1 | u64::from(padding);
        self.ready[position as usize & (self.ready.len() - 1)].store(word, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn text(ring: &Ring) -> Vec<(u8, usize)> {
        let mut all = Vec::new();
        ring.drain(usize::MAX, |_, bytes| {
            let len = bytes.iter().take_while(|b| **b == bytes[0]).count();
            all.push((bytes[0], len));
        });
        all
    }

    fn push(ring: &Ring, letter: u8, len: usize) -> bool {
        ring.push(len, |bytes| bytes.fill(letter))
    }

    #[test]
    fn records_of_different_lengths_come_out_in_order_around_the_end() {
        let ring = Ring::new(8);
        for round in 0..50u8 {
            assert!(push(
                &ring,
                2 * round + 1,
                64 * (1 + usize::from(round) % 3)
            ));
            assert!(push(&ring, 2 * round + 2, 64));
            let got = text(&ring);
            let want = [
                (2 * round + 1, 64 * (1 + usize::from(round) % 3)),
                (2 * round + 2, 64),
            ];
            assert_eq!(got, want, "round {round}");
        }
        assert!(ring.is_empty());
        assert_eq!(ring.take_dropped(), 0);
    }

    #[test]
    fn a_full_ring_drops_and_counts() {
        let ring = Ring::new(4);
        let kept = (0..10).filter(|at| push(&ring, *at + 1, 64)).count();
        assert_eq!((kept, ring.take_dropped(), ring.take_dropped()), (4, 6, 0));
        assert!(!push(&ring, 1, 64 * 3), "longer than half the ring");
        assert_eq!(
            text(&ring).iter().map(|r| r.0).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert!(push(&ring, 9, 64));
    }

    #[test]
    fn every_thread_keeps_its_order_and_nothing_is_torn() {
        const EACH: u64 = 20_000;
        let ring = Arc::new(Ring::new(256));
        let writers: Vec<_> = (0..3u64)
            .map(|thread| {
                let ring = Arc::clone(&ring);
                std::thread::spawn(move || {
                    for n in 0..EACH {
                        let words = 2 + (n % 30) as usize;
                        let fill = |bytes: &mut [u8]| {
                            for word in bytes.chunks_exact_mut(8) {
                                word.copy_from_slice(&(thread << 32 | n).to_ne_bytes());
                            }
                        };
                        while !ring.push(words * 8, fill) {
                            std::thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        let mut next = [0u64; 3];
        while next.iter().sum::<u64>() < 3 * EACH {
            ring.drain(64, |_, bytes| {
                let word = |at: usize| u64::from_ne_bytes(*bytes[at * 8..].first_chunk().unwrap());
                let (thread, n) = ((word(0) >> 32) as usize, word(0) & 0xffff_ffff);
                assert_eq!(n, next[thread], "thread {thread} out of order");
                let words = 2 + (n % 30) as usize;
                assert!((0..words).all(|at| word(at) == word(0)), "a torn record");
                next[thread] += 1;
            });
        }
        writers.into_iter().for_each(|w| w.join().unwrap());
    }
}
