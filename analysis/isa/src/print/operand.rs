//! Registers and constants.

use core::fmt::{self, Formatter};

use crate::{Operand, Place, Role, Type};

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
        108..=123 => return range(f, "ttmp", code - 108, dwords),
        102 if one => "flat_scratch_lo",
        103 => "flat_scratch_hi",
        102 => "flat_scratch",
        104 if one => "xnack_mask_lo",
        105 => "xnack_mask_hi",
        104 => "xnack_mask",
        106 if one => "vcc_lo",
        107 => "vcc_hi",
        106 => "vcc",
        124 => "m0",
        126 if one => "exec_lo",
        127 => "exec_hi",
        126 => "exec",
        _ => return range(f, "s", code, dwords),
    })
}

/// An operand of `dwords` registers, of type `ty` if it is a constant.
pub(super) fn any(f: &mut Formatter<'_>, operand: Operand, dwords: u8, ty: Type) -> fmt::Result {
    match operand {
        Operand::None => f.write_str("off"),
        Operand::Scalar(code) => scalar(f, code, dwords),
        Operand::Vector(first) => range(f, "v", first, dwords),
        Operand::Int(value) => write!(f, "{value}"),
        Operand::Float(code) => float(f, code, ty),
        Operand::Literal(bits) => literal(f, bits, ty),
        Operand::Special(code) => f.write_str(match code {
            235 => "src_shared_base",
            236 => "src_shared_limit",
            237 => "src_private_base",
            238 => "src_private_limit",
            239 => "src_pops_exiting_wave_id",
            251 => "src_vccz",
            252 => "src_execz",
            253 => "src_scc",
            _ => "src_lds_direct",
        }),
    }
}

/// An operand in a place of the tables.
pub(super) fn at(f: &mut Formatter<'_>, operand: Operand, place: Place) -> fmt::Result {
    if let (Role::Literal, Operand::Literal(bits)) = (place.role, operand) {
        return write!(f, "{bits:#x}");
    }
    any(f, operand, place.dwords(), place.ty)
}

/// The floating-point inline constants: text, and bits as half and single.
const FLOATS: [(&str, u16, u32); 9] = [
    ("0.5", 0x3800, 0x3f00_0000),
    ("-0.5", 0xb800, 0xbf00_0000),
    ("1.0", 0x3c00, 0x3f80_0000),
    ("-1.0", 0xbc00, 0xbf80_0000),
    ("2.0", 0x4000, 0x4000_0000),
    ("-2.0", 0xc000, 0xc000_0000),
    ("4.0", 0x4400, 0x4080_0000),
    ("-4.0", 0xc400, 0xc080_0000),
    ("0.15915494", 0x3118, 0x3e22_f983),
];

/// An inline constant by its operand code 240..=248.
fn float(f: &mut Formatter<'_>, code: u8, ty: Type) -> fmt::Result {
    let Some(&(text, half, _)) = FLOATS.get(usize::from(code.wrapping_sub(240))) else {
        return Err(fmt::Error);
    };
    match ty {
        Type::B16 | Type::U16 | Type::I16 => write!(f, "{half:#x}"),
        Type::PackedU16 | Type::PackedI16 => write!(f, "{half:#x}"),
        _ if code == 248 && ty.dwords() == 2 => f.write_str("0.15915494309189532"),
        _ => f.write_str(text),
    }
}

/// A literal shows as the inline constant of the same value, if there is one.
fn literal(f: &mut Formatter<'_>, bits: u32, ty: Type) -> fmt::Result {
    match ty {
        Type::B16 | Type::U16 | Type::I16 => half(f, bits as u16, false),
        Type::F16 => half(f, bits as u16, true),
        Type::PackedU16 | Type::PackedI16 => half(f, bits as u16, false),
        Type::PackedF16 => half(f, bits as u16, true),
        _ if ty.dwords() == 1 => single(f, bits),
        // Literals of 64-bit operands are not sign-extended for showing.
        _ if bits <= 64 => write!(f, "{bits}"),
        _ => write!(f, "{bits:#x}"),
    }
}

fn half(f: &mut Formatter<'_>, bits: u16, is_float: bool) -> fmt::Result {
    if let value @ -16..=64 = bits as i16 {
        return write!(f, "{value}");
    }
    match FLOATS.iter().find(|(_, half, _)| is_float && *half == bits) {
        Some((text, ..)) => f.write_str(text),
        None => write!(f, "{bits:#x}"),
    }
}

pub(super) fn single(f: &mut Formatter<'_>, bits: u32) -> fmt::Result {
    if let value @ -16..=64 = bits as i32 {
        return write!(f, "{value}");
    }
    match FLOATS.iter().find(|(_, _, single)| *single == bits) {
        Some((text, ..)) => f.write_str(text),
        None => write!(f, "{bits:#x}"),
    }
}
