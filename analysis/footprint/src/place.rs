//! Places that hold values.

/// What has lanes in which scalars are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    Vector(u8),
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
