//! Extents, each with a value.

use crate::extent::Extent;
use std::collections::BTreeMap;

/// Disjoint extents, each with a value: live buffers by their address, say.
#[derive(Clone, Debug)]
pub struct ExtentMap<V> {
    by_start: BTreeMap<u64, (Extent, V)>,
    bytes: u64,
}

impl<V> Default for ExtentMap<V> {
    fn default() -> ExtentMap<V> {
        ExtentMap {
            by_start: BTreeMap::new(),
            bytes: 0,
        }
    }
}

impl<V> ExtentMap<V> {
    /// Adds an extent. Those that it overlaps are gone.
    pub fn insert(&mut self, extent: Extent, value: V) {
        let stale: Vec<u64> = self.overlapping(extent).map(|(e, _)| e.start()).collect();
        for start in stale {
            self.remove(start);
        }
        self.bytes += extent.len();
        self.by_start.insert(extent.start(), (extent, value));
    }

    /// Takes out the extent that starts at `start`.
    pub fn remove(&mut self, start: u64) -> Option<(Extent, V)> {
        let removed = self.by_start.remove(&start)?;
        self.bytes -= removed.0.len();
        Some(removed)
    }

    /// Takes out everything.
    pub fn clear(&mut self) {
        self.by_start.clear();
        self.bytes = 0;
    }

    /// The extent that holds the byte at `address`.
    pub fn at(&self, address: u64) -> Option<(Extent, &V)> {
        let (_, (extent, value)) = self.by_start.range(..=address).next_back()?;
        extent.contains_address(address).then_some((*extent, value))
    }

    /// Those that share a byte with `extent`, in address order.
    pub fn overlapping(&self, extent: Extent) -> impl Iterator<Item = (Extent, &V)> + '_ {
        let first = self
            .at(extent.start())
            .map_or(extent.start(), |(first, _)| first.start());
        let found = self.by_start.range(first..extent.end());
        found.map(|(_, (extent, value))| (*extent, value))
    }

    /// Whether one of `len` bytes from `address` on is held. The bytes may go beyond the address space.
    pub fn touches(&self, address: u64, len: u64) -> bool {
        let Some(last) = len.checked_sub(1) else {
            return false;
        };
        let mut before = self.by_start.range(..=address.saturating_add(last));
        let nearest = before.next_back();
        nearest.is_some_and(|(_, (extent, _))| extent.end() > address)
    }

    /// All of them, in address order.
    pub fn iter(&self) -> impl Iterator<Item = (Extent, &V)> + '_ {
        self.by_start
            .values()
            .map(|(extent, value)| (*extent, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_start.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// Bytes held by all of them together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn e(start: u64, len: u64) -> Extent {
        Extent::with_len(start, len).unwrap()
    }

    #[test]
    fn finds_inside_and_not_outside() {
        let mut map = ExtentMap::default();
        map.insert(e(0x1000, 0x100), 'a');
        map.insert(e(0x2000, 0x10), 'b');
        assert_eq!(map.at(0xfff), None);
        assert_eq!(map.at(0x1000), Some((e(0x1000, 0x100), &'a')));
        assert_eq!(map.at(0x10ff), Some((e(0x1000, 0x100), &'a')));
        assert_eq!(map.at(0x1100), None);
        assert!(map.touches(0xfff, 2) && map.touches(0x10ff, 0x2000));
        assert!(map.touches(0x1fff, u64::MAX));
        assert!(!map.touches(0xfff, 1) && !map.touches(0x1100, 0xf00));
        assert!(!map.touches(0x1000, 0));
        assert_eq!((map.len(), map.bytes()), (2, 0x110));
    }

    #[test]
    fn what_a_new_extent_overlaps_is_gone() {
        let mut map = ExtentMap::default();
        for at in [0x1000, 0x1100, 0x1200, 0x1300] {
            map.insert(e(at, 0x100), ());
        }
        map.insert(e(0x1180, 0x100), ());
        let left: Vec<Extent> = map.iter().map(|(extent, ())| extent).collect();
        assert_eq!(left, [e(0x1000, 0x100), e(0x1180, 0x100), e(0x1300, 0x100)]);
        assert_eq!((map.len(), map.bytes()), (3, 0x300));
        let touched: Vec<Extent> = map.overlapping(e(0x10ff, 0x82)).map(|(e, ())| e).collect();
        assert_eq!(touched, left[..2]);
        assert_eq!(map.remove(0x1181), None, "not its start");
        assert!(map.remove(0x1180).is_some());
        map.clear();
        assert!(map.is_empty() && map.bytes() == 0);
    }
}
