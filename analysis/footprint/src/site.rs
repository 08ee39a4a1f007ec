//! Where a kernel touches memory: what a walk finds and a plan keeps.

use serde::{Deserialize, Serialize};

use crate::expr::{FactId, Id};

/// A load: where its value comes from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) address: Id,
    pub(crate) facts: FactId,
    /// 1, 2 or 4; dwords follow each other.
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
    /// By a scalar instruction, see [`Site::scalar`].
    pub(crate) scalar: bool,
}

/// An instruction that touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Site {
    pub(crate) address: Id,
    pub(crate) bytes: u32,
    pub(crate) facts: FactId,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// By a scalar instruction: the low bits of its address do not count, be they those of the sum or of
    /// each of its parts.
    pub(crate) scalar: bool,
}

/// A site as an instruction has come to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) site: Site,
    /// Where the instruction stands.
    pub(crate) pc: u64,
    /// The 64-bit words that it stores, with none for the second of one, if they may be pointers and it is
    /// certain who does it.
    pub(crate) words: Option<[Id; 2]>,
}

/// A visit of a site all of whose visits have words.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Store {
    /// By index.
    pub(crate) site: u32,
    pub(crate) words: [Id; 2],
}
