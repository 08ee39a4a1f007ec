//! Live buffers and their epochs: an address means another buffer after a free.

use crate::Sequence;
use std::collections::BTreeMap;
use strobe_extent::Extent;

/// Counts allocations: two buffers at one address have different epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) extent: Extent,
    pub(crate) epoch: Epoch,
    /// The first operation that could have meant this buffer.
    pub(crate) born: Sequence,
}

/// Buffers by their start. They are disjoint.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    live: BTreeMap<u64, Buffer>,
    next: Epoch,
}

impl Buffers {
    /// A new buffer; whatever lay there is gone.
    pub(crate) fn insert(&mut self, extent: Extent, born: Sequence) -> Epoch {
        let stale: Vec<u64> = self.overlapping(extent).map(|b| b.extent.start()).collect();
        for start in stale {
            self.live.remove(&start);
        }
        let epoch = self.next;
        self.next.0 += 1;
        self.live.insert(
            extent.start(),
            Buffer {
                extent,
                epoch,
                born,
            },
        );
        epoch
    }

    pub(crate) fn remove(&mut self, start: u64) -> Option<Buffer> {
        self.live.remove(&start)
    }

    pub(crate) fn at(&self, address: u64) -> Option<&Buffer> {
        let (_, buffer) = self.live.range(..=address).next_back()?;
        buffer.extent.contains_address(address).then_some(buffer)
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// The parts of `extent` in buffers that were there when operation `at` was enqueued.
    pub(crate) fn same_epoch(
        &self,
        extent: Extent,
        at: Sequence,
    ) -> impl Iterator<Item = Extent> + '_ {
        self.overlapping(extent)
            .filter(move |buffer| buffer.born <= at)
            .filter_map(move |buffer| buffer.extent.intersect(extent))
    }

    fn overlapping(&self, extent: Extent) -> impl Iterator<Item = &Buffer> + '_ {
        let first = self
            .at(extent.start())
            .map_or(extent.start(), |b| b.extent.start());
        self.live
            .range(first..extent.end())
            .map(|(_, buffer)| buffer)
    }
}
