//! What will be written next.

use strobe_extent::{Extent, ExtentSet};

/// The writes that are expected, nearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Disjoint; the distance counts operations from now on.
    writes: Vec<(Extent, u64)>,
    covered: ExtentSet,
}

impl Prediction {
    /// Notes a write `distance` operations from now, unless a nearer one is known.
    pub(crate) fn note(&mut self, extent: Extent, distance: u64) {
        let new = ExtentSet::from(extent).subtract(&self.covered);
        self.writes.extend(new.iter().map(|part| (part, distance)));
        self.covered.insert(extent);
    }

    /// How many operations from now on some byte of `extent` is next written, if at all. Without a
    /// loop, a guess: what was written last comes first.
    pub fn next_write(&self, extent: Extent) -> Option<u64> {
        self.writes
            .iter()
            .find(|(written, _)| written.overlaps(extent))
            .map(|(_, at)| *at)
    }

    /// The extents expected to be written, nearest first, each byte once: earliest deadline first.
    /// What is not expected to be written is left out and goes last.
    pub fn copy_order(&self) -> Vec<Extent> {
        self.writes.iter().map(|(extent, _)| *extent).collect()
    }
}
