//! A footprint in terms of arguments, for people and for statistics.

use strobe_extent::Reason;

/// What any launch of a kernel may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FootprintSummary {
    /// What may be read.
    pub reads: SideSummary,
    /// What may be written.
    pub writes: SideSummary,
    /// Module data (`__device__` variables) that may be written, by symbol. It belongs to the
    /// residual memory, which is copied whole, and appears in no `Access`.
    pub module_writes: Vec<String>,
    /// Module data that may be read, by symbol.
    pub module_reads: Vec<String>,
}

/// One side of a [`FootprintSummary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideSummary {
    /// Touches no device memory but its own arguments and module data.
    None,
    /// Touches exactly what these slots point to.
    Args(Vec<Slot>),
    /// Reaches some memory through pointers in memory; the slots are the ways there and the direct
    /// accesses. Resolved at a launch when the tables' content is known.
    Indirect(Vec<Slot>),
    /// Anything, because of that.
    Unknown(Reason),
}

/// A pointer in the kernarg segment and what is reached through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Byte offset of the pointer in the kernarg segment; `None` if the slot is chosen at run time.
    pub offset: Option<u32>,
    /// Index of the argument that contains it.
    pub arg: Option<usize>,
    /// Byte offset of the pointer in that argument.
    pub within: u32,
    /// The addresses relative to the pointer, in words (`[4*gid.x .. +4)`); empty if no words were
    /// found, then any address in the allocation may be meant.
    pub extents: Vec<String>,
    /// The slot leads to a table of pointers, not to the memory itself.
    pub indirect: bool,
}

impl FootprintSummary {
    pub(crate) fn unknown(reason: Reason) -> Self {
        Self {
            reads: SideSummary::Unknown(reason),
            writes: SideSummary::Unknown(reason),
            module_writes: Vec::new(),
            module_reads: Vec::new(),
        }
    }
}

impl SideSummary {
    /// Every access is resolved to arguments, without a look into device memory.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::None | Self::Args(_))
    }
}
