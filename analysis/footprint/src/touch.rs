//! What one instruction touches, in words.

/// One of the places that an instruction may touch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touch {
    /// Of the instruction, in the loaded image.
    pub address: u64,
    /// It may be read.
    pub reads: bool,
    /// It may be written.
    pub writes: bool,
    /// In terms of arguments.
    pub what: String,
}

impl Touch {
    /// `reads`, `writes` or both.
    #[must_use]
    pub fn deed(&self) -> &'static str {
        match (self.reads, self.writes) {
            (true, true) => "reads and writes",
            (_, true) => "writes",
            _ => "reads",
        }
    }
}
