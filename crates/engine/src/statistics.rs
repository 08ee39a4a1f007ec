//! What a checkpoint has cost so far.

/// Counts since the cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStatistics {
    /// Chunks of the checkpoint.
    pub chunks: u64,
    /// Bytes of the checkpoint.
    pub tracked_bytes: u64,
    /// Bytes that arrived in the ring.
    pub bytes_out: u64,
    /// Bytes copied into the pool because a writer was about to overwrite them.
    pub bytes_aside: u64,
    /// Writes let through.
    pub writes: u64,
    /// Writes let through whose extents were not known.
    pub conservative_writes: u64,
    /// Points that writers were told to wait for.
    pub waits: u64,
    /// Times a writer was held back because pool and link were busy.
    pub blocked: u64,
}
