//! Instructions where they stand, and the blocks they are cut into.

use strobe_isa::{Class, Inst, Op};

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

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// To the next instruction; calls too, once they return.
    Next,
    Branch,
    ConditionalBranch,
    /// To an address in registers.
    Jump,
    /// The wave ends.
    End,
    /// Fork and join, returns from exceptions, vector instructions that may be skipped.
    Unsupported,
}

/// `s_trap 2` is how a program gives up: the trap handler halts the wave for good.
const GIVE_UP: i32 = 2;

impl Exit {
    pub(crate) fn of(inst: &Inst) -> Self {
        match inst.op.info().class {
            Class::Branch => Self::Branch,
            Class::ConditionalBranch => Self::ConditionalBranch,
            Class::Jump if inst.op == Op::s_setpc_b64 => Self::Jump,
            Class::Jump | Class::Fork => Self::Unsupported,
            Class::Mode if inst.op == Op::s_setvskip => Self::Unsupported,
            Class::End => Self::End,
            Class::Trap if inst.imm & 0xff == GIVE_UP => Self::End,
            _ => Self::Next,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) instructions: std::ops::Range<usize>,
    /// Where a taken branch leads, or a jump to one address. `None`: there is no code.
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
    /// No instruction stands at the entry.
    Code,
    /// More instructions than the limit.
    Size,
    /// Loops that could not be given one entry.
    Irreducible,
}
