//! Why a wave stopped before the end of its program.

use thiserror::Error;

/// The reason a workgroup could not run to its end. Each displays as one sentence.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum Stop {
    /// It was told to let go; the compute unit has its state.
    #[error("the wave was evicted")]
    Evicted,
    /// Others are to have their turn; the compute unit has its state.
    #[error("the turn of the workgroup is over")]
    TurnOver {
        /// All of its waves wait for somebody else.
        idle: bool,
    },
    /// What was saved of it is not that of a workgroup of its dispatch.
    #[error("what was saved of workgroup {id:?} of the kernel at {entry:#x} is damaged")]
    Damaged { entry: u64, id: [u32; 3] },
    /// An access to an address without a mapping, or a write to a read-only one.
    #[error(
        "memory fault: {} of address {addr:#x} by the instruction at {pc:#x}",
        if *.write { "write" } else { "read" }
    )]
    Fault { addr: u64, write: bool, pc: u64 },
    /// An instruction, or a use of one, that the interpreter does not know.
    #[error("unknown instruction at {pc:#x}: {text}")]
    Unknown { pc: u64, text: String },
    /// What the target has no instruction for. An image's is one: this GPU has no units for images.
    #[error("illegal instruction at {pc:#x}: {text}")]
    Illegal { pc: u64, text: String },
    /// `s_trap`: 2 is `__builtin_trap` (a failed assertion, `abort`).
    #[error("trap {id} raised by the program at {pc:#x}")]
    Trap { id: u8, pc: u64 },
}
