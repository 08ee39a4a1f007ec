//! What will be written next.

use strobe_extent::{Extent, ExtentSet};

/// The writes that are expected, nearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Disjoint.
    writes: Vec<Extent>,
    covered: ExtentSet,
}

impl Prediction {
    /// Notes a write that comes after those that are known.
    pub(crate) fn note(&mut self, extent: Extent) {
        let new = ExtentSet::from(extent).subtract(&self.covered);
        self.writes.extend(new.iter());
        self.covered.insert(extent);
    }

    /// The extents expected to be written, nearest first, each byte once: earliest deadline first.
    /// What is not expected to be written is left out and goes last.
    pub fn copy_order(self) -> Vec<Extent> {
        self.writes
    }
}
