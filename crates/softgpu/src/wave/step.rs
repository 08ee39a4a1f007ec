//! The executable form of an instruction.
//!
//! Most instructions become one [`Step`]. Those with operand modifiers become several: steps that
//! prepare the sources in temporary registers, the plain operation, a step that finishes the
//! result. So each operation is written once, without modifiers.

use super::group::Group;
use super::register::BROADCAST;
use super::source::Src;
use super::state::Wave;
use super::stop::Stop;

/// `Step::sdst` of an operation that writes no mask.
pub(super) const NO_MASK: u8 = 0xff;

/// What a step comes to. The error is boxed to keep the common case in one register.
pub(super) type Outcome = Result<(), Box<Stop>>;

/// The code of a step. Unsafe to call because it may be compiled for AVX-512: a [`Step`] must only
/// hold handlers that `Features::detect` allows.
pub(super) type Handler = unsafe fn(&mut Wave, &mut Group<'_>, &Step) -> Outcome;

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

    /// Broadcasts the scalar sources to the registers that `reg` names for them;
    /// `of_64_bits` has a bit for each source of 64 bits.
    #[inline(always)]
    pub(super) fn broadcast(&self, w: &mut Wave, of_64_bits: u8) {
        if self.scalars == 0 {
            return;
        }
        for n in 0..3 {
            if self.scalars >> n & 1 != 0 {
                w.stage(self.src[n], n as u16, of_64_bits >> n & 1 != 0);
            }
        }
    }
}
