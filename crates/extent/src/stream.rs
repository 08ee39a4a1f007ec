//! Which stream touches memory.

/// A stream of the program: a number that is never reused, though HIP reuses handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The legacy default stream: it waits for all blocking streams, and they wait for it.
    pub const LEGACY: StreamId = StreamId(0);
}
