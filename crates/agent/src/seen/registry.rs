//! The program's device allocations, as HIP has handed them out so far.
//!
//! What is in here is tracked: its content is the agent's to deliver. Memory that HIP hands out by
//! other ways (managed, host, module data) is not, and is saved as residual.

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

    /// How many there are, and their bytes.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let live = self.live.read();
        (live.len() as u64, live.bytes())
    }
}
