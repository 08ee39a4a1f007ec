//! Extents in messages. A message may hold anything, an [`Extent`] is one.

use strobe_extent::{Extent, ExtentError};

use crate::ByteRange;

impl From<Extent> for ByteRange {
    fn from(extent: Extent) -> Self {
        Self {
            start: extent.start(),
            len: extent.len(),
        }
    }
}

impl TryFrom<ByteRange> for Extent {
    type Error = ExtentError;

    fn try_from(range: ByteRange) -> Result<Self, ExtentError> {
        Extent::with_len(range.start, range.len)
    }
}
