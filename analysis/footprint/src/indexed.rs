//! Accesses of scratch at offsets that are no constants.

use crate::expr::{FactId, Id, Map};
use crate::range::Range;

/// The slots that an instruction may access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// At this byte offset.
    At(i64),
    /// At one of these.
    Within(Range),
    Anywhere,
}

/// An access at an offset that is no constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    pub(crate) pc: u64,
    pub(crate) offset: Id,
    pub(crate) constant: i64,
    pub(crate) facts: FactId,
}

/// How far such accesses get on any launch, by their address: all their walks together.
pub(crate) type Reaches = Map<u64, Range>;
