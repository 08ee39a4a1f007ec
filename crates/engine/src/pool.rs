//! Room in the copy-aside pool.

use strobe_extent::{CONTENT_ALIGN, Extent, ExtentSet};

/// The free bytes of a pool, as offsets from its start. First fit.
#[derive(Debug)]
pub(crate) struct Pool {
    free: ExtentSet,
    free_bytes: u64,
    capacity: u64,
}

impl Pool {
    pub(crate) fn new(capacity: u64) -> Pool {
        let capacity = capacity & !(CONTENT_ALIGN - 1);
        let free = Extent::with_len(0, capacity).into_iter().collect();
        Pool {
            free,
            free_bytes: capacity,
            capacity,
        }
    }

    /// Room for `len` bytes; give the same extent back to [`Pool::release`].
    pub(crate) fn take(&mut self, len: u64) -> Option<Extent> {
        let len = len.checked_next_multiple_of(CONTENT_ALIGN)?;
        let run = self.free.iter().find(|run| run.len() >= len)?;
        let room = Extent::with_len(run.start(), len).ok()?;
        self.free.remove(room);
        self.free_bytes -= len;
        Some(room)
    }

    /// This very room, rounded up, if it is free and starts where room may.
    pub(crate) fn take_at(&mut self, offset: u64, len: u64) -> Option<Extent> {
        let len = len.checked_next_multiple_of(CONTENT_ALIGN)?;
        let room = Extent::with_len(offset, len).ok()?;
        if !offset.is_multiple_of(CONTENT_ALIGN) || !self.free.contains(room) {
            return None;
        }
        self.free.remove(room);
        self.free_bytes -= len;
        Some(room)
    }

    pub(crate) fn release(&mut self, room: Extent) {
        assert!(
            !self.free.overlaps(room),
            "pool room {room} is given back twice"
        );
        assert!(
            room.end() <= self.capacity,
            "pool room {room} is not of this pool"
        );
        self.free.insert(room);
        self.free_bytes += room.len();
    }

    /// Bytes it has in all.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether more than half is taken.
    pub(crate) fn is_tight(&self) -> bool {
        self.free_bytes < self.capacity / 2
    }

    /// Whether nothing is taken.
    pub(crate) fn is_unused(&self) -> bool {
        self.free_bytes == self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_disjoint_and_comes_back() {
        let mut pool = Pool::new(1024 + 17);
        let a = pool.take(1).unwrap();
        let b = pool.take(257).unwrap();
        let c = pool.take(256).unwrap();
        assert_eq!((a.len(), b.len(), c.len()), (256, 512, 256));
        assert!(!a.overlaps(b) && !b.overlaps(c) && !a.overlaps(c));
        assert_eq!(pool.take(1), None, "the pool is full");
        pool.release(a);
        pool.release(c);
        assert_eq!(pool.take(512), None, "the free room is in two pieces");
        assert!(pool.is_tight() == (512 < 1024 / 2));
        pool.release(b);
        assert!(pool.is_unused());
        assert_eq!(pool.take(1024).map(Extent::len), Some(1024));
        assert_eq!(Pool::new(0).take(1), None);
        assert_eq!(Pool::new(4096).take(u64::MAX), None);
    }

    #[test]
    fn room_at_a_place_is_taken_once_and_only_inside() {
        let mut pool = Pool::new(1024);
        assert_eq!(pool.take_at(256, 257).map(Extent::len), Some(512));
        assert_eq!(pool.take_at(512, 1), None, "taken");
        assert_eq!(pool.take_at(1, 1), None, "between two places");
        assert_eq!(pool.take_at(768, 257), None, "over the end");
        assert_eq!(pool.take_at(u64::MAX - 255, u64::MAX), None);
        assert_eq!(pool.take(257), None, "what is left is in two pieces");
        let room = pool.take_at(768, 1).unwrap();
        pool.release(room);
        assert_eq!(pool.free_bytes, 512);
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn room_given_back_twice_is_a_bug() {
        let mut pool = Pool::new(1024);
        let room = pool.take(256).unwrap();
        pool.release(room);
        pool.release(room);
    }
}
