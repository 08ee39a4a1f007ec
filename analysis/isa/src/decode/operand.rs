//! Operand codes.

use crate::Operand;

/// The operand code that a literal follows the instruction.
pub(super) const LITERAL: u32 = 255;
/// Source 0 of a 32-bit vector instruction: sub-dword addressing follows.
pub(super) const SDWA: u32 = 249;
/// Source 0 of a 32-bit vector instruction: data-parallel primitives follow.
pub(super) const DPP: u32 = 250;

/// Scalar registers from a 7-bit code. Several registers start at a multiple of 2 (of 4 from four
/// on): the hardware ignores the low bits. `None`: not so many registers there.
pub(super) fn scalar(code: u32, dwords: u8) -> Option<Operand> {
    let align = match dwords {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let first = match code {
        0..=101 => code & !(align - 1),
        108..=123 => ((code - 108) & !(align - 1)) + 108,
        102 | 104 | 106 | 126 if dwords <= 2 => code,
        103 | 105 | 107 | 124 | 127 if dwords == 1 => code,
        _ => return None,
    };
    let last = first + u32::from(dwords) - 1;
    match code {
        // Four or more from s100 reach into flat_scratch.
        0..=101 if last > 103 => None,
        108..=123 if last > 123 => None,
        _ => Some(Operand::Scalar(first as u8)),
    }
}

/// Vector registers from an 8-bit number. `None`: they would end beyond v255.
pub(super) fn vector(number: u32, dwords: u8) -> Option<Operand> {
    (number + u32::from(dwords) <= 256).then_some(Operand::Vector(number as u8))
}

/// A source from an 8-bit code: scalar register or constant.
pub(super) fn scalar_source(code: u32, dwords: u8, literal: Option<u32>) -> Option<Operand> {
    match code {
        0..=127 => scalar(code, dwords),
        128..=192 => Some(Operand::Int((code - 128) as i8)),
        193..=208 => Some(Operand::Int((192 - code as i32) as i8)),
        240..=248 => Some(Operand::Float(code as u8)),
        235..=239 | 251..=253 => Some(Operand::Special(code as u8)),
        254 if dwords == 1 => Some(Operand::Special(code as u8)),
        LITERAL => literal.map(Operand::Literal),
        _ => None,
    }
}

/// A source from a 9-bit code: as [`scalar_source`], or a vector register.
pub(super) fn source(code: u32, dwords: u8, literal: Option<u32>) -> Option<Operand> {
    if code >= 256 {
        vector(code - 256, dwords)
    } else {
        scalar_source(code, dwords, literal)
    }
}

/// Whether a source is a register (or one of the values that read like one), not a constant.
pub(super) fn is_register(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::Scalar(_) | Operand::Vector(_) | Operand::Special(_)
    )
}
