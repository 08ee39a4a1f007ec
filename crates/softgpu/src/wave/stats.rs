//! What the interpreter counts.

/// What a workgroup did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions executed, each counted once a wave.
    pub wave_instructions: u64,
    /// Bytes loaded from and stored to global memory, all lanes.
    pub bytes_read: u64,
    /// The same of stores.
    pub bytes_written: u64,
}
