//! The program's device allocations: address -> buffer.
//!
//! What is in here is tracked: its content is the agent's to deliver. Memory that HIP hands out by
//! other ways (managed, host, module data) is not, and is saved as residual.

use parking_lot::RwLock;
use std::collections::BTreeMap;
use strobe_extent::Extent;

/// One live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub extent: Extent,
    /// Number of the allocation or free that made the registry what it then was.
    pub epoch: u64,
}

/// All live allocations.
#[derive(Debug)]
pub(crate) struct Registry {
    live: RwLock<Live>,
}

#[derive(Debug)]
struct Live {
    by_start: BTreeMap<u64, Buffer>,
    epoch: u64,
    bytes: u64,
}

impl Registry {
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub(crate) const fn new() -> Registry {
        Registry {
            live: RwLock::new(Live {
                by_start: BTreeMap::new(),
                epoch: 0,
                bytes: 0,
            }),
        }
    }

    /// Adds what HIP has just handed out. What it overlaps cannot live any more: HIP knows best.
    pub(crate) fn insert(&self, extent: Extent) {
        let mut live = self.live.write();
        let stale: Vec<u64> = live.overlapping(extent).map(|b| b.extent.start()).collect();
        for start in stale {
            live.take(start);
        }
        live.epoch += 1;
        let epoch = live.epoch;
        live.bytes += extent.len();
        live.by_start
            .insert(extent.start(), Buffer { extent, epoch });
    }

    /// Removes the buffer that starts at `address`, before HIP takes it back.
    pub(crate) fn remove(&self, address: u64) -> Option<Buffer> {
        let mut live = self.live.write();
        let buffer = live.take(address)?;
        live.epoch += 1;
        Some(buffer)
    }

    /// Forgets everything: the device was reset.
    pub(crate) fn clear(&self) {
        let mut live = self.live.write();
        live.by_start.clear();
        live.bytes = 0;
        live.epoch += 1;
    }

    /// The buffer that holds the byte at `address`.
    pub(crate) fn find(&self, address: u64) -> Option<Buffer> {
        self.live.read().find(address)
    }

    /// Whether one of `len` bytes from `address` on is in a buffer.
    pub(crate) fn is_touched(&self, address: u64, len: u64) -> bool {
        let Some(last) = len.checked_sub(1) else {
            return false;
        };
        let live = self.live.read();
        let mut before = live.by_start.range(..=address.saturating_add(last));
        let nearest = before.next_back().map(|(_, buffer)| buffer.extent);
        nearest.is_some_and(|extent| extent.end() > address)
    }

    /// Live allocations in address order.
    pub(crate) fn extents(&self) -> Vec<Extent> {
        self.live
            .read()
            .by_start
            .values()
            .map(|b| b.extent)
            .collect()
    }

    /// How many there are, and their bytes.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let live = self.live.read();
        (live.by_start.len() as u64, live.bytes)
    }
}

impl Live {
    fn find(&self, address: u64) -> Option<Buffer> {
        let (_, buffer) = self.by_start.range(..=address).next_back()?;
        buffer.extent.contains_address(address).then_some(*buffer)
    }

    fn overlapping(&self, extent: Extent) -> impl Iterator<Item = &Buffer> {
        self.by_start
            .range(..extent.end())
            .rev()
            .map(|(_, buffer)| buffer)
            .take_while(move |buffer| buffer.extent.end() > extent.start())
    }

    fn take(&mut self, start: u64) -> Option<Buffer> {
        let buffer = self.by_start.remove(&start)?;
        self.bytes -= buffer.extent.len();
        Some(buffer)
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
        let registry = Registry::new();
        registry.insert(e(0x1000, 0x100));
        registry.insert(e(0x2000, 0x10));
        assert_eq!(registry.find(0xfff), None);
        assert_eq!(registry.find(0x1000).unwrap().extent, e(0x1000, 0x100));
        assert_eq!(registry.find(0x10ff).unwrap().extent, e(0x1000, 0x100));
        assert_eq!(registry.find(0x1100), None);
        assert!(registry.is_touched(0xfff, 2) && registry.is_touched(0x10ff, 0x2000));
        assert!(registry.is_touched(0x1fff, u64::MAX));
        assert!(!registry.is_touched(0xfff, 1) && !registry.is_touched(0x1100, 0xf00));
        assert!(!registry.is_touched(0x1000, 0));
        assert_eq!(registry.totals(), (2, 0x110));
    }

    #[test]
    fn a_reused_address_is_a_new_buffer() {
        let registry = Registry::new();
        registry.insert(e(0x1000, 0x100));
        let first = registry.remove(0x1000).unwrap();
        assert_eq!(registry.remove(0x1000), None, "freed twice");
        registry.insert(e(0x1000, 0x80));
        let second = registry.find(0x1000).unwrap();
        assert!(second.epoch > first.epoch);
        assert_eq!(registry.totals(), (1, 0x80));
    }

    #[test]
    fn what_a_new_buffer_overlaps_is_gone() {
        let registry = Registry::new();
        for at in [0x1000, 0x1100, 0x1200, 0x1300] {
            registry.insert(e(at, 0x100));
        }
        registry.insert(e(0x1180, 0x100));
        assert_eq!(
            registry.extents(),
            [e(0x1000, 0x100), e(0x1180, 0x100), e(0x1300, 0x100)]
        );
        assert_eq!(registry.totals(), (3, 0x300));
    }
}
