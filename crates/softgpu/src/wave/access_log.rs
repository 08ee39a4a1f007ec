//! The extents of global memory that a dispatch really read and wrote, to the byte.
//!
//! The oracle for footprint analysis: what is logged here must be inside what was predicted.
//! LDS, private memory and instruction fetches are not logged; kernarg reads are.

use std::ops::Range;

/// A byte range of GPU virtual addresses.
pub type AccessedRange = Range<u64>;

/// Reads and writes of one dispatch. Several workers keep one each, merged with [`Self::absorb`].
#[derive(Clone, Debug, Default)]
pub struct AccessLog {
    reads: Extents,
    writes: Extents,
}

impl AccessLog {
    /// Nothing is touched yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes bytes that were read.
    pub fn read(&mut self, addr: u64, len: u64) {
        self.reads.add(addr, len);
    }

    /// Notes bytes that were written.
    pub fn write(&mut self, addr: u64, len: u64) {
        self.writes.add(addr, len);
    }

    /// Adds everything that `other` recorded.
    pub fn absorb(&mut self, mut other: Self) {
        self.reads.absorb(&mut other.reads);
        self.writes.absorb(&mut other.writes);
    }

    /// The extents read, ascending, disjoint and not adjacent.
    pub fn reads(&mut self) -> &[AccessedRange] {
        self.reads.settle()
    }

    /// The extents written, ascending, disjoint and not adjacent.
    pub fn writes(&mut self) -> &[AccessedRange] {
        self.writes.settle()
    }
}

/// Extents that grow as accesses touch them; the rest waits in `pending` to be sorted in.
#[derive(Clone, Debug, Default)]
struct Extents {
    /// Sorted, disjoint, not adjacent.
    settled: Vec<AccessedRange>,
    pending: Vec<AccessedRange>,
    /// The extents that accesses currently extend (a kernel streams through few buffers at once).
    open: [AccessedRange; 8],
    next_victim: usize,
}

const MAX_PENDING: usize = 1 << 14;

impl Extents {
    #[inline]
    fn add(&mut self, addr: u64, len: u64) {
        let end = addr.saturating_add(len);
        for e in &mut self.open {
            if addr <= e.end && end >= e.start && e.start < e.end {
                e.start = e.start.min(addr);
                e.end = e.end.max(end);
                return;
            }
        }
        let victim = self.next_victim;
        self.next_victim = (victim + 1) % self.open.len();
        let closed = std::mem::replace(&mut self.open[victim], addr..end);
        self.push(closed);
    }

    fn push(&mut self, e: AccessedRange) {
        if e.is_empty() {
            return;
        }
        self.pending.push(e);
        if self.pending.len() >= MAX_PENDING.max(self.settled.len()) {
            self.merge();
        }
    }

    fn absorb(&mut self, other: &mut Self) {
        for e in other.settle() {
            self.push(e.clone());
        }
    }

    fn settle(&mut self) -> &[AccessedRange] {
        for i in 0..self.open.len() {
            let e = std::mem::take(&mut self.open[i]);
            self.push(e);
        }
        self.merge();
        &self.settled
    }

    fn merge(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.settled);
        all.append(&mut self.pending);
        all.sort_unstable_by_key(|e| e.start);
        for e in all {
            match self.settled.last_mut() {
                Some(last) if e.start <= last.end => last.end = last.end.max(e.end),
                _ => self.settled.push(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_and_overlapping_accesses_become_one_extent() {
        let mut log = AccessLog::new();
        for i in (0..100).rev() {
            log.write(0x1000 + i * 4, 4);
        }
        log.write(0x1100, 64);
        log.read(0x2000, 1);
        assert_eq!(log.writes(), std::slice::from_ref(&(0x1000..0x1190)));
        assert_eq!(log.reads(), std::slice::from_ref(&(0x2000..0x2001)));
    }

    #[test]
    fn scattered_accesses_stay_exact_to_the_byte() {
        let mut log = AccessLog::new();
        for i in 0..40_000_u64 {
            let at = i.wrapping_mul(7919) % 40_000;
            log.read(at * 16, 3);
        }
        assert_eq!(log.reads().len(), 40_000);
        assert_eq!(log.reads()[39_999], 39_999 * 16..39_999 * 16 + 3);
    }

    #[test]
    fn absorbing_merges_across_workers() {
        let (mut a, mut b) = (AccessLog::new(), AccessLog::new());
        a.read(0, 8);
        b.read(8, 8);
        a.absorb(b);
        assert_eq!(a.reads(), std::slice::from_ref(&(0..16)));
    }
}
