//! Operand codes of the scalar registers that have a name. A pair is named by its low half.
//!
//! [`crate::Operand::Scalar`] counts registers in these codes.

/// The last of the general registers, `s0` to `s101`.
pub const LAST_GENERAL: u8 = 101;
/// A pair: base of scratch memory, for FLAT addresses.
pub const FLAT_SCRATCH: u8 = 102;
/// A pair.
pub const XNACK_MASK: u8 = 104;
/// A lane mask: carries, and what comparisons find.
pub const VCC: u8 = 106;
/// The first of sixteen registers of the trap handler.
pub const TTMP: u8 = 108;
/// The last of them.
pub const LAST_TTMP: u8 = 123;
/// Memory bounds and register indices.
pub const M0: u8 = 124;
/// A lane mask: the active lanes.
pub const EXEC: u8 = 126;
/// Codes there are.
pub const CODES: usize = 128;

pub(crate) const FLAT_SCRATCH_HIGH: u8 = FLAT_SCRATCH + 1;
pub(crate) const XNACK_MASK_HIGH: u8 = XNACK_MASK + 1;
pub(crate) const VCC_HIGH: u8 = VCC + 1;
pub(crate) const EXEC_HIGH: u8 = EXEC + 1;
