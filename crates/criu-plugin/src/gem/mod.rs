//! Buffer objects that a program has made, or imported, at a render node itself: by GEM handles.
//!
//! An open file of a render node has numbers of its own for them, and an address space of its own, unless it is the
//! one that the compute driver uses.

mod found;
mod held;
mod made;

pub(crate) use found::{FoundError, found};
pub(crate) use held::{Held, HeldError, look, save};
pub(crate) use made::{MadeError, fill, make};

/// Bytes before the content of a buffer object in its image: their number.
const HEAD_BYTES: u64 = 8;
