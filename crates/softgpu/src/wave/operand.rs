//! Operands of decoded instructions to sources of steps.

use strobe_isa::{InlineFloat, Operand, OperandType, Special};

use super::aperture::{LDS_APERTURE, PRIVATE_APERTURE};
use super::lanes::Kind;
use super::register::ACCUMULATORS;
use super::source::Src;

/// The source that `operand` is for a value of this kind; `None` if it is not known.
pub(super) fn source(operand: Operand, kind: Kind) -> Option<Src> {
    Some(match operand {
        Operand::None => Src::None,
        Operand::Scalar(reg) => Src::Scalar(reg),
        Operand::Vector(_) | Operand::Accumulator(_) => Src::Vector(vector_register(operand)?),
        Operand::Int(value) => match kind {
            Kind::Int64 { .. } | Kind::F64 | Kind::Mask => {
                Src::Const(i64::from(value).cast_unsigned())
            }
            _ => Src::Const(u64::from(i32::from(value).cast_unsigned())),
        },
        Operand::Float(value) => Src::Const(float_constant(value, kind)),
        Operand::Literal(bits) => Src::Const(match kind {
            Kind::F64 => u64::from(bits) << 32,
            Kind::Int64 { signed: true } => i64::from(bits.cast_signed()).cast_unsigned(),
            _ => u64::from(bits),
        }),
        Operand::Special(special) => {
            let address = match special {
                Special::SharedBase => LDS_APERTURE,
                Special::SharedLimit => LDS_APERTURE | 0xffff_ffff,
                Special::PrivateBase => PRIVATE_APERTURE,
                Special::PrivateLimit => PRIVATE_APERTURE | 0xffff_ffff,
                _ => return None,
            };
            Src::Const(if kind.is_64_bit() {
                address
            } else {
                address >> 32
            })
        }
    })
}

fn float_constant(value: InlineFloat, kind: Kind) -> u64 {
    match kind {
        Kind::Int16 | Kind::F16 | Kind::Packed { .. } => value.half().into(),
        Kind::Int32 | Kind::F32 => value.single().into(),
        Kind::Int64 { .. } | Kind::F64 | Kind::Mask => value.double(),
    }
}

/// Where the vector or accumulation register (the first of several) is, if it is one.
pub(super) fn vector_register(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Vector(reg) => Some(u16::from(reg)),
        Operand::Accumulator(reg) => Some(ACCUMULATORS + u16::from(reg)),
        _ => None,
    }
}

/// The kind of a scalar operand.
pub(super) fn scalar_kind(ty: OperandType) -> Kind {
    match ty {
        OperandType::I64 => Kind::Int64 { signed: true },
        OperandType::B64 | OperandType::U64 | OperandType::F64 => Kind::Int64 { signed: false },
        _ => Kind::Int32,
    }
}
