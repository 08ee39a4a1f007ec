//! A footprint in terms of arguments, for people and for statistics.

use std::fmt;

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
    /// What keeps a side from being exact, by ascending address of its instruction.
    pub why: Vec<Why>,
}

/// Why a side is not exact: one instruction of the kernel, or of what it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why {
    /// Where the instruction stands in the loaded image.
    pub address: u64,
    /// What is wrong with it.
    pub obstacle: Obstacle,
    /// It keeps the reads from being exact.
    pub reads: bool,
    /// It keeps the writes from being exact.
    pub writes: bool,
}

/// What keeps a side from being exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// It goes through a pointer in memory, which is looked up at a launch.
    Indirect,
    /// Anything may be touched.
    Unknown(Reason),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indirect => f.write_str("through pointers in memory"),
            Self::Unknown(reason) => reason.fmt(f),
        }
    }
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
    /// What that is called: its name in the metadata, else `arg0`.
    pub name: String,
    /// Byte offset of the pointer in that argument.
    pub within: u32,
    /// The addresses relative to the pointer, in words (`[4*gid.x .. +4)`); empty if no words were
    /// found: which they are, only a launch says.
    pub extents: Vec<String>,
    /// The slot leads to a table of pointers, not to the memory itself.
    pub indirect: bool,
}

impl FootprintSummary {
    pub(crate) fn unknown(reason: Reason, at: Option<u64>) -> Self {
        let why = |address| Why {
            address,
            obstacle: Obstacle::Unknown(reason),
            reads: true,
            writes: true,
        };
        Self {
            reads: SideSummary::Unknown(reason),
            writes: SideSummary::Unknown(reason),
            module_writes: Vec::new(),
            module_reads: Vec::new(),
            why: at.map(why).into_iter().collect(),
        }
    }
}

impl SideSummary {
    /// Every access is resolved to arguments, without a look into device memory.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.obstacle().is_none()
    }

    /// What keeps it from being that.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::None | Self::Args(_) => None,
            Self::Indirect(_) => Some(Obstacle::Indirect),
            Self::Unknown(reason) => Some(Obstacle::Unknown(*reason)),
        }
    }

    /// The pointers among the arguments through which something is touched.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        match self {
            Self::Args(slots) | Self::Indirect(slots) => slots,
            Self::None | Self::Unknown(_) => &[],
        }
    }
}
