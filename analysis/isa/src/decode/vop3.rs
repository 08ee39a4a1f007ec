//! VOP3, VOP3B, VOP3P: the 64-bit vector encodings.

use super::operand::{is_register, scalar, scalar_source, source, vector};
use super::subject::{Code, Subject, bit, refuse_graphics};
use crate::error::DecodeError;
use crate::info::{Flags, OperandType, Place, Role};
use crate::inst::{Encoding, Inst, Operand};
use crate::op::{Op, family};
use crate::scalar_register::EXEC;

pub(super) fn vop3(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let mut subject = Subject {
        code,
        encoding: Encoding::Vop3,
        opcode: word >> 16 & 0x3ff,
    };
    if (0x270..=0x277).contains(&subject.opcode) {
        return refuse_graphics(Encoding::Vop3, subject.opcode);
    }
    let op = subject.op(&family::vop3)?;
    let info = op.info();
    let has_scalar_dst = info.dsts[1].role == Role::Scalar;
    if has_scalar_dst {
        subject.encoding = Encoding::Vop3b;
    }
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);

    if has_scalar_dst {
        inst.dsts[1] = subject.require(
            scalar(word >> 8 & 0x7f, subject.dwords(info.dsts[1])),
            "sdst",
        )?;
    } else {
        inst.abs = (word >> 8 & 7) as u8;
        inst.op_sel = (word >> 11 & 0xf) as u8;
    }
    inst.clamp = bit(word, 15);
    inst.neg = (high >> 29) as u8;
    inst.omod = (high >> 27 & 3) as u8;

    let dst = word & 0xff;
    if info.dsts[0].role != Role::None {
        inst.dsts[0] = subject.require(destination(subject, info.dsts[0], dst), "vdst")?;
    } else {
        subject.check(dst == 0, "vdst")?;
    }
    let mut given = 0;
    for (i, place) in info.srcs[..3].iter().enumerate() {
        if place.role != Role::None {
            let code = high >> (9 * i) & 0x1ff;
            inst.srcs[i] = subject.require(vop3_source(subject, *place, code), "source")?;
            // Selection masks and lane numbers have no modifiers.
            given |= u8::from(matches!(place.role, Role::Any)) << i;
        } else {
            subject.check(high >> (9 * i) & 0x1ff == 0, "source")?;
        }
    }
    modifiers(subject, &mut inst, given)?;
    Ok(inst)
}

fn destination(subject: Subject<'_>, place: Place, code: u32) -> Option<Operand> {
    match place.role {
        Role::Scalar if code < 128 => scalar(code, subject.dwords(place)),
        Role::Scalar => None,
        _ => vector(code, subject.dwords(place)),
    }
}

fn vop3_source(subject: Subject<'_>, place: Place, code: u32) -> Option<Operand> {
    match (place.role, code) {
        (Role::Vector, 256..) => source(code, subject.dwords(place), None),
        // Constants are at most 64 bits wide.
        (Role::Any, _) => {
            source(code, subject.dwords(place), None).filter(|source| match subject.dwords(place) {
                ..=2 => true,
                _ if subject.is_unified() => matches!(source, Operand::Vector(_)),
                _ => is_register(source),
            })
        }
        (Role::Scalar, ..256) => scalar_source(code, subject.dwords(place), None),
        (Role::ScalarRegister, ..256) => {
            let is_exec = code == u32::from(EXEC) && subject.is_unified();
            scalar_source(code, subject.dwords(place), None)
                .filter(|source| is_register(source) && !is_exec)
        }
        _ => None,
    }
}

/// Checks modifiers against what the operation has, and clears those that have no meaning.
fn modifiers(subject: Subject<'_>, inst: &mut Inst, given: u8) -> Result<(), DecodeError> {
    let info = inst.op.info();
    let has = |flag| info.flags.contains(flag);
    subject.check(!inst.clamp || has(Flags::CLAMP), "clamp")?;
    // Halves have it since gfx90a.
    let is_half = subject.is_unified()
        && has(Flags::MODS.union(Flags::OP_SEL))
        && info.dsts[0].ty == OperandType::F16;
    subject.check(inst.omod == 0 || has(Flags::OMOD) || is_half, "omod")?;
    let rounds_bytes = matches!(inst.op, Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32);
    // LLVM has fields of these that mean nothing.
    if matches!(
        inst.op,
        Op::v_dot2c_i32_i16 | Op::v_dot4c_i32_i8 | Op::v_dot8c_i32_i4
    ) {
        subject.check((inst.neg | inst.abs) & !given == 0, "neg and abs")?;
        (inst.neg, inst.abs) = (0, 0);
    } else if rounds_bytes {
        (inst.neg, inst.abs) = (inst.neg & 1, inst.abs & 1);
    }
    let modified = inst.neg | inst.abs;
    if has(Flags::MODS) {
        subject.check(modified & !given == 0, "neg and abs")?;
        for (i, place) in info.srcs.iter().enumerate() {
            if !place.ty.is_float() && inst.op != Op::v_cndmask_b32 {
                // The class mask of v_cmp_class.
                let is_mask = info.dsts[0].role == Role::Scalar;
                subject.check(!is_mask || modified >> i & 1 == 0, "neg and abs")?;
                inst.abs &= !(1 << i);
            }
        }
    } else if has(Flags::OP_SEL) {
        subject.check(modified & !given == 0, "neg and abs")?;
        inst.neg = 0;
        inst.abs = 0;
    } else {
        subject.check(modified == 0, "neg and abs")?;
    }
    if has(Flags::OP_SEL) {
        let given = given | if rounds_bytes { 4 } else { 0 };
        subject.check(inst.op_sel & 7 & !given == 0, "op_sel")?;
    } else {
        inst.op_sel = 0;
    }
    Ok(())
}

pub(super) fn vop3p(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vop3p,
        opcode: word >> 16 & 0x7f,
    };
    let op = subject.op(&family::vop3p)?;
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    let dwords = subject.dwords(info.dsts[0]);
    inst.dsts[0] = subject.require(vector(word & 0xff, dwords), "vdst")?;
    inst.neg_hi = (word >> 8 & 7) as u8;
    inst.op_sel = (word >> 11 & 7) as u8;
    inst.op_sel_hi = ((high >> 27 & 3) | (word >> 12 & 4)) as u8;
    inst.clamp = bit(word, 15);
    inst.neg = (high >> 29) as u8;
    let mut given = 0;
    for (i, place) in info.srcs[..3].iter().enumerate() {
        let code = high >> (9 * i) & 0x1ff;
        if place.role != Role::None {
            inst.srcs[i] = subject.require(source(code, subject.dwords(*place), None), "source")?;
            given |= 1 << i;
        } else {
            subject.check(code == 0, "source")?;
        }
    }
    let absent = (inst.op_sel | inst.neg | inst.neg_hi) & !given;
    subject.check(absent == 0, "modifiers of a source that is not there")?;
    // Integers have no sign to flip, but LLVM fixes only some of the bits to zero.
    let negatable = match info.srcs[0].ty {
        _ if subject.is_unified() => 0b111,
        _ if matches!(
            info.dsts[0].ty,
            OperandType::PackedU16 | OperandType::PackedI16
        ) =>
        {
            0b001
        }
        OperandType::PackedU16 | OperandType::PackedI16 => 0b101,
        _ => 0b111,
    };
    subject.check((inst.neg | inst.neg_hi) & !negatable == 0, "neg")?;
    if is_mix(op) {
        // Each source is a whole single or one half; the bits mean magnitude.
        inst.abs = inst.neg_hi;
        inst.neg_hi = 0;
    }
    Ok(inst)
}

/// Mixed-precision operations: VOP3P without packed operands.
pub(crate) fn is_mix(op: Op) -> bool {
    matches!(
        op,
        Op::v_fma_mix_f32
            | Op::v_fma_mixlo_f16
            | Op::v_fma_mixhi_f16
            | Op::v_mad_mix_f32
            | Op::v_mad_mixlo_f16
            | Op::v_mad_mixhi_f16
    )
}
