//! Vector registers.

use crate::target::LANES;

/// One value a lane.
pub(super) type Lanes = [u32; LANES];
/// One address a lane.
pub(super) type Addresses = [u64; LANES];

/// Where accumulation registers are, behind the 256 vector registers: as many.
pub(super) const ACCUMULATORS: u16 = 256;
/// Registers beyond those of the architecture, for steps of one instruction.
/// Three pairs for broadcast scalars, three for modified sources, one for unfinished results.
pub(super) const BROADCAST: u16 = 512;
pub(super) const MODIFIED: u16 = 518;
pub(super) const RESULT: u16 = 524;
/// Room for the four registers that the widest load would write from there on.
pub(super) const VECTOR_REGISTERS: usize = 528;

/// A vector register, in as few cache lines as possible.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Register(pub Lanes);

/// All vector registers.
pub(super) type Vectors = [Register; VECTOR_REGISTERS];
