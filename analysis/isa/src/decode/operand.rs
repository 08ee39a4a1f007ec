//! Operand codes.

use crate::inline_float::InlineFloat;
use crate::inst::{Operand, Special};
use crate::scalar_register::{
    self, EXEC, EXEC_HIGH, FLAT_SCRATCH, FLAT_SCRATCH_HIGH, LAST_GENERAL, LAST_TTMP, M0, TTMP, VCC,
    VCC_HIGH, XNACK_MASK, XNACK_MASK_HIGH,
};

/// The operand code that a literal follows the instruction.
pub(super) const LITERAL: u32 = 255;
/// Source 0 of a 32-bit vector instruction: sub-dword addressing follows.
pub(super) const SDWA: u32 = 249;
/// Source 0 of a 32-bit vector instruction: data-parallel primitives follow.
pub(super) const DPP: u32 = 250;

/// Scalar registers end here, the integers 0 to 64 follow, then -1 to -16.
const LAST_SCALAR: u32 = scalar_register::CODES as u32 - 1;
const INTEGER_0: u32 = 128;
const INTEGER_64: u32 = INTEGER_0 + 64;
const INTEGER_MINUS_1: u32 = INTEGER_64 + 1;
const INTEGER_MINUS_16: u32 = INTEGER_64 + 16;
/// Vector registers, where a code has 9 bits.
const VECTOR_0: u32 = 256;
/// Vector registers, and accumulation registers.
const VECTORS: u32 = 256;

/// Scalar registers from a 7-bit code. Several registers start at a multiple of 2 (of 4 from four
/// on): the hardware ignores the low bits. `None`: not so many registers there.
pub(super) fn scalar(code: u32, dwords: u8) -> Option<Operand> {
    let code = u8::try_from(code).ok()?;
    let align = match dwords {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let first = match code {
        0..=LAST_GENERAL => code & !(align - 1),
        TTMP..=LAST_TTMP => ((code - TTMP) & !(align - 1)) + TTMP,
        FLAT_SCRATCH | XNACK_MASK | VCC | EXEC if dwords <= 2 => code,
        FLAT_SCRATCH_HIGH | XNACK_MASK_HIGH | VCC_HIGH | M0 | EXEC_HIGH if dwords == 1 => code,
        _ => return None,
    };
    let last = first + dwords - 1;
    match code {
        // Four or more from s100 reach into flat_scratch.
        0..=LAST_GENERAL if last > FLAT_SCRATCH_HIGH => None,
        TTMP..=LAST_TTMP if last > LAST_TTMP => None,
        _ => Some(Operand::Scalar(first)),
    }
}

/// Vector registers from an 8-bit number. `None`: they would end beyond v255.
pub(super) fn vector(number: u32, dwords: u8) -> Option<Operand> {
    (number + u32::from(dwords) <= VECTORS).then_some(Operand::Vector(number as u8))
}

/// Accumulation registers from an 8-bit number. `None`: they would end beyond a255.
pub(super) fn accumulator(number: u32, dwords: u8) -> Option<Operand> {
    (number + u32::from(dwords) <= VECTORS).then_some(Operand::Accumulator(number as u8))
}

/// A source from an 8-bit code: scalar register or constant.
pub(super) fn scalar_source(code: u32, dwords: u8, literal: Option<u32>) -> Option<Operand> {
    match code {
        0..=LAST_SCALAR => scalar(code, dwords),
        INTEGER_0..=INTEGER_64 => Some(Operand::Int((code - INTEGER_0) as i8)),
        INTEGER_MINUS_1..=INTEGER_MINUS_16 => Some(Operand::Int(-((code - INTEGER_64) as i8))),
        LITERAL => literal.map(Operand::Literal),
        _ => InlineFloat::from_code(code)
            .map(Operand::Float)
            .or_else(|| {
                Special::from_code(code)
                    .filter(|&special| dwords == 1 || special != Special::LdsDirect)
                    .map(Operand::Special)
            }),
    }
}

/// A source from a 9-bit code: as [`scalar_source`], or a vector register.
pub(super) fn source(code: u32, dwords: u8, literal: Option<u32>) -> Option<Operand> {
    if code >= VECTOR_0 {
        vector(code - VECTOR_0, dwords)
    } else {
        scalar_source(code, dwords, literal)
    }
}

/// Whether a source is a register (or one of the values that read like one), not a constant.
pub(super) fn is_register(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::Scalar(_) | Operand::Vector(_) | Operand::Accumulator(_) | Operand::Special(_)
    )
}
