//! The executable form of an instruction.
//!
//! Most instructions become one [`Step`]. Those with operand modifiers become several: steps that
//! prepare the sources in temporary registers, the plain operation, a step that finishes the
//! result. So each operation is written once, without modifiers.

use super::carry::NO_MASK;
use super::group::Group;
use super::state::{BROADCAST, Wave};
use super::stop::Stop;

/// What a step comes to. The error is boxed to keep the common case in one register.
pub(super) type Outcome = Result<(), Box<Stop>>;

/// The code of a step. Unsafe to call because it may be compiled for AVX-512: a [`Step`] must only
/// hold handlers that `Features::detect` allows.
pub(super) type Handler = unsafe fn(&mut Wave, &mut Group<'_>, &Step) -> Outcome;

/// Where a source value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Src {
    /// The same 64 bits for every lane; operations of 32 bits use the low half.
    Const(u64),
    /// A scalar register (pair) by operand code.
    Scalar(u8),
    /// A vector register (pair); from 256 up the temporaries of `state`.
    Vector(u16),
    #[default]
    None,
}

/// One step of a basic block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub run: Handler,
    /// Address of the instruction.
    pub pc: u64,
    pub src: [Src; 3],
    /// The registers that vector sources are read from: their own, or those that scalar ones are
    /// broadcast to.
    pub reg: [u16; 3],
    /// A bit for each source that must be broadcast.
    pub scalars: u8,
    /// Destination: a vector register for vector operations, else a scalar register.
    pub dst: u16,
    /// Scalar destination of a vector operation (compare mask, carry-out).
    pub sdst: u8,
    /// Meaning by operation: a count, a selector.
    pub sel: u8,
    pub imm: i32,
    /// Meaning by operation: branch target, packed modifiers.
    pub aux: u64,
}

impl Step {
    pub(super) fn new(run: Handler, pc: u64, src: [Src; 3], dst: u16) -> Self {
        let mut step = Self {
            run,
            pc,
            src,
            reg: [0, 1, 2].map(|n| BROADCAST + 2 * n),
            scalars: 0,
            dst,
            sdst: NO_MASK,
            sel: 0,
            imm: 0,
            aux: 0,
        };
        for (n, src) in src.into_iter().enumerate() {
            match src {
                Src::Vector(reg) => step.reg[n] = reg,
                Src::None => {}
                Src::Const(_) | Src::Scalar(_) => step.scalars |= 1 << n,
            }
        }
        step
    }
}
