//! The program's device allocations, as HIP has handed them out so far.
//!
//! What is in here is tracked: its content is the agent's to deliver. Memory that HIP hands out by
//! other ways (managed, host, module data) is not, and is saved as residual.

use crate::device::mapped;
use parking_lot::RwLock;
use strobe_extent::{Extent, ExtentMap};

/// All live allocations.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    live: RwLock<ExtentMap<()>>,
}

impl Registry {
    /// Adds what HIP has just handed out. What it overlaps cannot live any more: HIP knows best.
    pub(crate) fn insert(&self, extent: Extent) {
        self.live.write().insert(extent, ());
    }

    /// Removes the buffer that starts at `address`, before HIP takes it back.
    pub(crate) fn remove(&self, address: u64) -> Option<Extent> {
        let removed = self.live.write().remove(address);
        removed.map(|(extent, ())| extent)
    }

    /// Forgets everything: the device was reset.
    pub(crate) fn clear(&self) {
        self.live.write().clear();
    }

    /// The buffer that holds the byte at `address`.
    pub(crate) fn find(&self, address: u64) -> Option<Extent> {
        self.live.read().at(address).map(|(extent, ())| extent)
    }

    /// Whether one of `len` bytes from `address` on is in a buffer.
    pub(crate) fn is_touched(&self, address: u64, len: u64) -> bool {
        self.live.read().touches(address, len)
    }

    /// Live allocations in address order.
    pub(crate) fn extents(&self) -> Vec<Extent> {
        let live = self.live.read();
        live.iter().map(|(extent, ())| extent).collect()
    }

    /// Those of them whose place CRIU's plugin finds: others nobody can promise.
    pub(crate) fn found(&self) -> Vec<Extent> {
        let mut found = self.extents();
        found.retain(|extent| mapped::is_found(*extent));
        found
    }

    /// Removes those that these bytes touch.
    pub(crate) fn remove_all(&self, touched: Extent) -> Vec<Extent> {
        let mut live = self.live.write();
        let extents = live.overlapping(touched).map(|(extent, _)| extent);
        let extents: Vec<Extent> = extents.collect();
        for extent in &extents {
            live.remove(extent.start());
        }
        extents
    }

    /// How many there are, and their bytes.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let live = self.live.read();
        (live.len() as u64, live.bytes())
    }
}
