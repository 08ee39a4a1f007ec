//! Operands of decoded instructions to sources of steps.

use strobe_isa::{Operand, Type};

use super::lanes::Kind;
use super::step::Src;
use super::{LDS_APERTURE, PRIVATE_APERTURE};

/// The source that `operand` is for a value of this kind; `None` if it is not known.
pub(super) fn source(operand: Operand, kind: Kind) -> Option<Src> {
    Some(match operand {
        Operand::None => Src::None,
        Operand::Scalar(reg) => Src::Scalar(reg),
        Operand::Vector(reg) => Src::Vector(u16::from(reg)),
        Operand::Int(value) => match kind {
            Kind::Int64 { .. } | Kind::F64 | Kind::Mask => {
                Src::Const(i64::from(value).cast_unsigned())
            }
            _ => Src::Const(u64::from(i32::from(value).cast_unsigned())),
        },
        Operand::Float(code) => Src::Const(float_constant(code, kind)?),
        Operand::Literal(bits) => Src::Const(match kind {
            Kind::F64 => u64::from(bits) << 32,
            Kind::Int64 { signed: true } => i64::from(bits.cast_signed()).cast_unsigned(),
            _ => u64::from(bits),
        }),
        Operand::Special(code) => {
            let address = match code {
                235 => LDS_APERTURE,
                236 => LDS_APERTURE | 0xffff_ffff,
                237 => PRIVATE_APERTURE,
                238 => PRIVATE_APERTURE | 0xffff_ffff,
                _ => return None,
            };
            Src::Const(if kind.wide() { address } else { address >> 32 })
        }
    })
}

fn float_constant(code: u8, kind: Kind) -> Option<u64> {
    let value = match code {
        240 => 0.5,
        241 => -0.5,
        242 => 1.0,
        243 => -1.0,
        244 => 2.0,
        245 => -2.0,
        246 => 4.0,
        247 => -4.0,
        248 => {
            return Some(match kind {
                Kind::Int16 | Kind::F16 | Kind::Packed { .. } => 0x3118,
                Kind::Int32 | Kind::F32 => 0x3e22_f983,
                Kind::Int64 { .. } | Kind::F64 | Kind::Mask => 0x3fc4_5f30_6dc9_c882,
            });
        }
        _ => return None,
    };
    Some(match kind {
        Kind::Int16 | Kind::F16 | Kind::Packed { .. } => {
            u64::from(super::f16::F16::from_f32(value).0)
        }
        Kind::Int32 | Kind::F32 => u64::from(value.to_bits()),
        Kind::Int64 { .. } | Kind::F64 | Kind::Mask => f64::from(value).to_bits(),
    })
}

/// The kind of a scalar operand.
pub(super) fn scalar_kind(ty: Type) -> Kind {
    match ty {
        Type::I64 => Kind::Int64 { signed: true },
        Type::B64 | Type::U64 | Type::F64 => Kind::Int64 { signed: false },
        _ => Kind::Int32,
    }
}
