//! Device memory of a process, as a footprint is told of it.

use strobe_extent::{Extent, ExtentMap};
use strobe_footprint::LaunchMemory;

/// What is allocated, and what is known of its content.
#[derive(Debug)]
pub(super) struct Mapped<'a> {
    pub(super) allocations: &'a ExtentMap<()>,
    /// By address.
    pub(super) contents: &'a [(u64, Vec<u8>)],
}

impl LaunchMemory for Mapped<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        self.allocations.at(addr).map(|(extent, ())| extent)
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.allocations.touches(extent.start(), extent.len())
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        self.contents.iter().find_map(|(start, content)| {
            let at = usize::try_from(addr.checked_sub(*start)?).ok()?;
            Some(content.get(at..at.checked_add(len)?)?.to_vec())
        })
    }
}
