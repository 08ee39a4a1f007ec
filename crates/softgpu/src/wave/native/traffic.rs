//! What a launch moves.

/// What is moved: for the time it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read or written, whichever are more.
    pub bytes: u64,
    /// Where the first of those that are read stand, unless all come from the arguments.
    pub from: Option<u64>,
    /// Where the first of those that are written stand.
    pub to: u64,
}
