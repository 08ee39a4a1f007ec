//! Registers and constants.

use core::fmt::{self, Formatter};

use crate::info::{OperandType, Place, Role};
use crate::inline_float::InlineFloat;
use crate::inst::{Inst, Operand, Special};
use crate::isa::Generation;
use crate::scalar_register::{
    EXEC, EXEC_HIGH, FLAT_SCRATCH, FLAT_SCRATCH_HIGH, LAST_TTMP, M0, TTMP, VCC, VCC_HIGH,
    XNACK_MASK, XNACK_MASK_HIGH,
};

/// `prefix` and the number of one register, or the range of several.
pub(super) fn range(f: &mut Formatter<'_>, prefix: &str, first: u8, dwords: u8) -> fmt::Result {
    match dwords {
        0 | 1 => write!(f, "{prefix}{first}"),
        _ => write!(
            f,
            "{prefix}[{first}:{}]",
            u16::from(first) + u16::from(dwords) - 1
        ),
    }
}

/// `dwords` scalar registers from operand code `code`.
pub(super) fn scalar(f: &mut Formatter<'_>, code: u8, dwords: u8) -> fmt::Result {
    let one = dwords < 2;
    f.write_str(match code {
        TTMP..=LAST_TTMP => return range(f, "ttmp", code - TTMP, dwords),
        FLAT_SCRATCH if one => "flat_scratch_lo",
        FLAT_SCRATCH_HIGH => "flat_scratch_hi",
        FLAT_SCRATCH => "flat_scratch",
        XNACK_MASK if one => "xnack_mask_lo",
        XNACK_MASK_HIGH => "xnack_mask_hi",
        XNACK_MASK => "xnack_mask",
        VCC if one => "vcc_lo",
        VCC_HIGH => "vcc_hi",
        VCC => "vcc",
        M0 => "m0",
        EXEC if one => "exec_lo",
        EXEC_HIGH => "exec_hi",
        EXEC => "exec",
        _ => return range(f, "s", code, dwords),
    })
}

/// An operand of `dwords` registers, of type `ty` if it is a constant.
pub(super) fn any(
    f: &mut Formatter<'_>,
    operand: Operand,
    dwords: u8,
    ty: OperandType,
    generation: Generation,
) -> fmt::Result {
    let is_old = generation < Generation::Cdna2;
    match operand {
        Operand::None => f.write_str("off"),
        Operand::Scalar(code) => scalar(f, code, dwords),
        Operand::Vector(first) => range(f, "v", first, dwords),
        Operand::Accumulator(first) => range(f, "a", first, dwords),
        Operand::Int(value) => write!(f, "{value}"),
        Operand::Float(value) if is_old => float(f, value, dwords, ty),
        Operand::Float(value) => later_float(f, value, dwords, ty),
        Operand::Literal(bits) if is_old => literal(f, bits, dwords, ty),
        Operand::Literal(bits) => later_literal(f, bits, dwords, ty),
        Operand::Special(special) => f.write_str(match special {
            Special::SharedBase => "src_shared_base",
            Special::SharedLimit => "src_shared_limit",
            Special::PrivateBase => "src_private_base",
            Special::PrivateLimit => "src_private_limit",
            Special::PopsExitingWaveId => "src_pops_exiting_wave_id",
            Special::Vccz => "src_vccz",
            Special::Execz => "src_execz",
            Special::Scc => "src_scc",
            Special::LdsDirect => "src_lds_direct",
        }),
    }
}

/// An operand in a place of the tables.
pub(super) fn at(
    f: &mut Formatter<'_>,
    operand: Operand,
    place: Place,
    inst: &Inst,
) -> fmt::Result {
    if let (Role::Literal, Operand::Literal(bits)) = (place.role, operand) {
        return write!(f, "{bits:#x}");
    }
    any(
        f,
        operand,
        place.dwords(inst.wave),
        place.ty,
        inst.generation,
    )
}

/// An inline constant.
fn float(f: &mut Formatter<'_>, value: InlineFloat, dwords: u8, ty: OperandType) -> fmt::Result {
    match ty {
        OperandType::B16
        | OperandType::U16
        | OperandType::I16
        | OperandType::PackedU16
        | OperandType::PackedI16 => {
            write!(f, "{:#x}", value.half())
        }
        _ => f.write_str(value.text(dwords)),
    }
}

/// A literal shows as the inline constant of the same value, if there is one.
fn literal(f: &mut Formatter<'_>, bits: u32, dwords: u8, ty: OperandType) -> fmt::Result {
    match ty {
        OperandType::B16 | OperandType::U16 | OperandType::I16 => half(f, bits as u16, false),
        OperandType::F16 => half(f, bits as u16, true),
        OperandType::PackedU16 | OperandType::PackedI16 => half(f, bits as u16, false),
        OperandType::PackedF16 => half(f, bits as u16, true),
        _ if dwords == 1 => single(f, bits),
        // Literals of 64-bit operands are not sign-extended for showing.
        _ if bits <= 64 => write!(f, "{bits}"),
        _ => write!(f, "{bits:#x}"),
    }
}

/// An inline constant, as LLVM 19 shows it.
fn later_float(
    f: &mut Formatter<'_>,
    value: InlineFloat,
    dwords: u8,
    ty: OperandType,
) -> fmt::Result {
    match ty {
        OperandType::B16 | OperandType::U16 | OperandType::I16 => {
            write!(f, "{:#x}", value.half())
        }
        OperandType::PackedF32 | OperandType::PackedB32 => f.write_str(value.text(1)),
        // Of a matrix of doubles.
        OperandType::B256 => f.write_str(value.text(2)),
        _ => f.write_str(value.text(dwords)),
    }
}

/// A literal, as LLVM 19 shows it.
fn later_literal(f: &mut Formatter<'_>, bits: u32, dwords: u8, ty: OperandType) -> fmt::Result {
    match ty {
        OperandType::F16 => half(f, bits as u16, true),
        OperandType::B16 | OperandType::U16 | OperandType::I16 => match is_constant(bits) {
            true => single(f, bits),
            false => write!(f, "{:#x}", bits as u16),
        },
        OperandType::PackedF16 => match (bits as i32, u16::try_from(bits)) {
            (-16..=64, _) => single(f, bits),
            (_, Ok(low)) if InlineFloat::from_half(low).is_some() => half(f, low, true),
            _ => write!(f, "{bits:#x}"),
        },
        // The upper half.
        OperandType::F64 => match (bits, InlineFloat::from_double(u64::from(bits) << 32)) {
            (0, _) => f.write_str("0"),
            (_, Some(value)) => f.write_str(value.text(2)),
            _ => write!(f, "{bits:#x}"),
        },
        _ => literal(f, bits, dwords, ty),
    }
}

/// Whether an operand code stands for these bits.
fn is_constant(bits: u32) -> bool {
    matches!(bits as i32, -16..=64) || InlineFloat::from_single(bits).is_some()
}

fn half(f: &mut Formatter<'_>, bits: u16, is_float: bool) -> fmt::Result {
    if let value @ -16..=64 = bits as i16 {
        return write!(f, "{value}");
    }
    match InlineFloat::from_half(bits).filter(|_| is_float) {
        Some(value) => f.write_str(value.text(1)),
        None => write!(f, "{bits:#x}"),
    }
}

pub(super) fn single(f: &mut Formatter<'_>, bits: u32) -> fmt::Result {
    if let value @ -16..=64 = bits as i32 {
        return write!(f, "{value}");
    }
    match InlineFloat::from_single(bits) {
        Some(value) => f.write_str(value.text(1)),
        None => write!(f, "{bits:#x}"),
    }
}
