//! Instructions where they stand, and the blocks they are cut into.

use strobe_isa::Inst;

#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) pc: u64,
    pub(crate) inst: Inst,
}

/// The address that a direct branch or call leads to.
pub(crate) fn target(located: &Located) -> u64 {
    located
        .pc
        .wrapping_add(4)
        .wrapping_add_signed(4 * i64::from(located.inst.imm))
}

#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) instructions: std::ops::Range<usize>,
    /// Where a taken branch leads.
    pub(crate) taken: Option<usize>,
    /// Where execution goes on otherwise.
    pub(crate) next: Option<usize>,
    /// Ways in from later blocks of the order: this is a loop's head.
    pub(crate) back_ways: usize,
    /// Index into [`crate::flow::Function::loops`].
    pub(crate) heads: Option<usize>,
}

/// Why code cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowError {
    /// Words that are no instruction, or code that runs out of its segment.
    Code,
    /// More instructions than the limit.
    Size,
    /// Fork and join, returns from exceptions.
    Unsupported,
}
