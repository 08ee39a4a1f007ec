//! What a checkpoint starts from.

use strobe_extent::{ChunkMapError, Extent};

/// How the cut's content is kept from being overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Soft copy-on-write: a chunk about to be written is copied aside first.
    Cow,
    /// Stop-the-world: no write goes on until everything has been copied.
    Stop,
}

/// One checkpoint of one device, as it stands at the cut.
#[derive(Clone, Debug)]
pub struct Config {
    /// How the cut is kept.
    pub mode: Mode,
    /// Size of a chunk in bytes, a power of two; also the size of a ring slot.
    pub chunk_bytes: u64,
    /// Slots of the pinned ring.
    pub ring_slots: u32,
    /// Bytes of the copy-aside pool; may be 0.
    pub aside_bytes: u64,
    /// The live allocations whose content is promised, in any order, disjoint.
    pub tracked: Vec<Extent>,
    /// What already lies in the pool; disjoint from each other and from what is tracked.
    pub set_aside: Vec<SetAside>,
    /// Copied in this order: nearest predicted write first. What it does not name follows in
    /// address order; what is not tracked is ignored.
    pub copy_order: Vec<Extent>,
}

/// Content that somebody has copied into the pool at the cut. It is delivered like tracked memory,
/// and may be overwritten where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Where it was at the cut.
    pub extent: Extent,
    /// Where it is, in bytes from the start of the pool.
    pub pool_offset: u64,
}

/// Why a checkpoint cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    /// Nothing could ever be copied out.
    #[error("the ring has no slot")]
    NoRingSlot,
    /// The tracked extents are no allocations, or the chunk size no chunk size.
    #[error("the tracked memory cannot be cut into chunks: {0}")]
    Chunks(#[from] ChunkMapError),
    /// What was set aside lies outside the pool, across something else, or off the pool's alignment.
    #[error("the pool has no room at {pool_offset:#x} for {extent}, which was set aside there")]
    Room {
        /// What was set aside.
        extent: Extent,
        /// Where it is said to be.
        pool_offset: u64,
    },
}
