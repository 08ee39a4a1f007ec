//! Places that hold values.

use crate::expr::{BOTTOM, Id};
use crate::state::State;

/// What has lanes in which scalars are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    /// By [`crate::registers::vector_number`].
    Vector(u16),
    /// The dword of scratch at this byte offset, of all lanes.
    Slot(i64),
}

/// A place whose value a loop's phi stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Scalar(usize),
    Vector(usize),
    Slot(i64),
    Spill(Holder, u32),
}

impl Place {
    /// The value of a scalar, or of one that is kept in a lane; none of what differs between lanes.
    pub(crate) fn scalar(self, state: &State) -> Id {
        let value = match self {
            Self::Scalar(register) => state.scalars.get(register),
            Self::Spill(holder, lane) => state.spills.get(&(holder, lane)),
            Self::Vector(_) | Self::Slot(_) => None,
        };
        value.copied().unwrap_or(BOTTOM)
    }
}
