//! Which stream touches memory.

/// A stream of the program; never reused, even when HIP reuses a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The legacy default stream: it waits for all blocking streams, and they wait for it.
    pub const LEGACY: StreamId = StreamId(0);
}
