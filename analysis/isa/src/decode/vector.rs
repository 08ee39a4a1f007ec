//! VOP1, VOP2, VOPC: plain, with sub-dword addressing (SDWA), with data-parallel primitives (DPP).

use super::operand::{
    DPP, LITERAL, SDWA, accumulator, is_register, scalar, scalar_source, source, vector,
};
use super::subject::{Code, Subject, bit};
use crate::error::DecodeError;
use crate::info::{Flags, OperandType, Role};
use crate::inst::{Dpp, Encoding, Inst, Operand, Sdwa, SdwaSelect};
use crate::op::{Op, family};
use crate::scalar_register;

const VCC: Operand = Operand::Scalar(scalar_register::VCC);

pub(super) fn vop1(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vop1,
        opcode: word >> 9 & 0xff,
    };
    let op = subject.op(&family::vop1)?;
    let info = op.info();
    let (dst, src0) = (word >> 17 & 0xff, word & 0x1ff);
    if info.srcs[0].role == Role::None {
        // v_nop, v_clrexcp
        subject.check(dst == 0, "vdst")?;
        return Ok(subject.inst(op, 4));
    }
    let mut inst = form(subject, op, src0, None)?;
    match op {
        Op::v_readfirstlane_b32 => {
            inst.dsts[0] = subject.require(scalar_dst(dst), "vdst")?;
            let is_there = match subject.is_unified() {
                true => matches!(inst.srcs[0], Operand::Vector(_)),
                false => is_register(&inst.srcs[0]),
            };
            subject.check(is_there, "src0")?;
        }
        Op::v_accvgpr_mov_b32 => {
            inst.dsts[0] = subject.require(accumulator(dst, 1), "vdst")?;
            let from = (src0 >= 256).then_some(Operand::Accumulator(src0 as u8));
            inst.srcs[0] = subject.require(from, "src0")?;
        }
        Op::v_swap_b32 => {
            subject.check(matches!(inst.srcs[0], Operand::Vector(_)), "src0")?;
            inst.dsts = [Operand::Vector(dst as u8), inst.srcs[0]];
            inst.srcs[1] = inst.dsts[0];
        }
        _ => inst.dsts[0] = subject.require(vector(dst, subject.dwords(info.dsts[0])), "vdst")?,
    }
    Ok(inst)
}

/// An 8-bit destination field that names a scalar register.
fn scalar_dst(code: u32) -> Option<Operand> {
    if code < 128 { scalar(code, 1) } else { None }
}

pub(super) fn vop2(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vop2,
        opcode: word >> 25,
    };
    let op = subject.op(&family::vop2)?;
    let info = op.info();
    let (dst, src1, src0) = (word >> 17 & 0xff, word >> 9 & 0xff, word & 0x1ff);
    if let Some(at) = info
        .srcs
        .iter()
        .position(|place| place.role == Role::Literal)
    {
        // v_madmk and v_madak: the literal is a source of its own, and source 0 may be the same.
        let literal = subject.second_word()?;
        let mut inst = subject.inst(op, 8);
        inst.dsts[0] = Operand::Vector(dst as u8);
        inst.srcs[0] = subject.require(source(src0, 1, Some(literal)), "src0")?;
        inst.srcs[at] = Operand::Literal(literal);
        inst.srcs[3 - at] = Operand::Vector(src1 as u8);
        return Ok(inst);
    }
    let mut inst = form(subject, op, src0, Some(src1))?;
    inst.dsts[0] = subject.require(vector(dst, subject.dwords(info.dsts[0])), "vdst")?;
    if info.dsts[1].role != Role::None {
        inst.dsts[1] = VCC;
    }
    if info.srcs[2].role != Role::None {
        inst.srcs[2] = VCC;
    }
    Ok(inst)
}

pub(super) fn vopc(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vopc,
        opcode: word >> 17 & 0xff,
    };
    let op = subject.op(&family::vopc)?;
    let mut inst = form(subject, op, word & 0x1ff, Some(word >> 9 & 0xff))?;
    if inst.dsts[0] == Operand::None {
        inst.dsts[0] = VCC;
    }
    Ok(inst)
}

/// Sources and modifiers of a 32-bit vector instruction in its plain, SDWA or DPP form.
fn form(subject: Subject<'_>, op: Op, src0: u32, src1: Option<u32>) -> Result<Inst, DecodeError> {
    let info = op.info();
    match src0 {
        SDWA if info.flags.contains(Flags::SDWA) => {
            return sdwa(subject, op, subject.second_word()?, src1);
        }
        DPP if info.flags.contains(Flags::DPP) || is_broadcast(subject, op) => {
            return dpp(subject, op, subject.second_word()?, src1);
        }
        _ => {}
    }
    let (literal, size) = match src0 {
        LITERAL => (Some(subject.second_word()?), 8),
        _ => (None, 4),
    };
    let mut inst = subject.inst(op, size);
    inst.srcs[0] = subject.require(source(src0, subject.dwords(info.srcs[0]), literal), "src0")?;
    if let Some(src1) = src1 {
        inst.srcs[1] = subject.require(vector(src1, subject.dwords(info.srcs[1])), "vsrc1")?;
    }
    Ok(inst)
}

/// Whether sign and magnitude of a source can be changed: since gfx90a also of what is chosen by a mask.
fn takes_magnitude(subject: Subject<'_>, op: Op, i: usize) -> bool {
    let is_choice = op == Op::v_cndmask_b32 && subject.is_unified();
    op.info().srcs[i].ty.is_float() || is_choice
}

fn select(code: u32) -> Option<SdwaSelect> {
    Some(match code {
        0 => SdwaSelect::Byte0,
        1 => SdwaSelect::Byte1,
        2 => SdwaSelect::Byte2,
        3 => SdwaSelect::Byte3,
        4 => SdwaSelect::Word0,
        5 => SdwaSelect::Word1,
        6 => SdwaSelect::Dword,
        _ => return None,
    })
}

fn sdwa(subject: Subject<'_>, op: Op, word: u32, src1: Option<u32>) -> Result<Inst, DecodeError> {
    let info = op.info();
    let mut inst = subject.inst(op, 8);
    let mut sdwa = Sdwa::default();
    let is_compare = subject.encoding == Encoding::Vopc;
    if is_compare {
        if bit(word, 15) {
            inst.dsts[0] = subject.require(
                scalar(word >> 8 & 0x7f, subject.code.wave.mask_dwords()),
                "sdst",
            )?;
        }
    } else {
        sdwa.dst_sel = subject.require(select(word >> 8 & 7), "dst_sel")?;
        sdwa.dst_unused = (word >> 11 & 3) as u8;
        subject.check(sdwa.dst_unused != 3, "dst_unused")?;
        inst.clamp = bit(word, 13);
        inst.omod = (word >> 14 & 3) as u8;
        subject.check(inst.omod == 0 || info.dsts[0].ty.is_float(), "omod")?;
    }
    let codes = [Some(word & 0xff), src1];
    for (i, code) in codes.into_iter().enumerate() {
        let place = info.srcs[i];
        // Selection, sign extension, negation, magnitude, scalar: one byte of each source.
        let field = word >> (16 + 8 * i);
        let Some(code) = code else {
            subject.check(field & 0b1011_1111 == 0, "src1")?;
            continue;
        };
        let operand = if bit(field, 7) {
            scalar_source(code, subject.dwords(place), None)
        } else {
            vector(code, subject.dwords(place))
        };
        inst.srcs[i] = subject.require(operand, ["src0", "src1"][i])?;
        sdwa.src_sel[i] = subject.require(select(field & 7), ["src0_sel", "src1_sel"][i])?;
        if takes_magnitude(subject, op, i) {
            subject.check(!bit(field, 3), "sext")?;
            inst.neg |= (field >> 4 & 1) as u8 * (1 << i);
            inst.abs |= (field >> 5 & 1) as u8 * (1 << i);
        } else {
            subject.check(field >> 4 & 3 == 0, "neg and abs")?;
            sdwa.sext |= (field >> 3 & 1) as u8 * (1 << i);
        }
    }
    // Conversions of bytes have no choice of the destination's part.
    if is_of_bytes(op) {
        subject.check(sdwa.dst_sel == SdwaSelect::Dword, "dst_sel")?;
    }
    inst.sdwa = Some(sdwa);
    Ok(inst)
}

/// Whether the lane-swizzled form of an operation is one lane to a row, at most.
fn is_broadcast(subject: Subject<'_>, op: Op) -> bool {
    let is_short = matches!(subject.encoding, Encoding::Vop1 | Encoding::Vop2);
    let info = op.info();
    let places = info.dsts.iter().chain(&info.srcs);
    let mut wide = places.filter(|place| place.ty != OperandType::LaneMask);
    subject.is_unified() && is_short && wide.any(|place| subject.dwords(*place) == 2)
}

/// Conversions from numbers of 8 bits.
pub(crate) fn is_of_bytes(op: Op) -> bool {
    matches!(
        op,
        Op::v_cvt_f32_fp8 | Op::v_cvt_f32_bf8 | Op::v_cvt_pk_f32_fp8 | Op::v_cvt_pk_f32_bf8
    )
}

fn dpp(subject: Subject<'_>, op: Op, word: u32, src1: Option<u32>) -> Result<Inst, DecodeError> {
    let info = op.info();
    let mut inst = subject.inst(op, 8);
    let ctrl = (word >> 8 & 0x1ff) as u16;
    let exists = match ctrl {
        // Of two registers, there is no other.
        0x150..=0x15f => subject.is_unified(),
        _ if is_broadcast(subject, op) => false,
        0..=0xff | 0x130 | 0x134 | 0x138 | 0x13c | 0x140..=0x143 => true,
        0x101..=0x12f => ctrl & 0xf != 0,
        _ => false,
    };
    subject.check(exists, "dpp_ctrl")?;
    for (i, code) in [Some(word & 0xff), src1].into_iter().enumerate() {
        let place = info.srcs[i];
        let (neg, abs) = (word >> (20 + 2 * i) & 1, word >> (21 + 2 * i) & 1);
        let Some(code) = code else {
            subject.check(neg | abs == 0, "src1_neg and src1_abs")?;
            continue;
        };
        inst.srcs[i] = subject.require(vector(code, subject.dwords(place)), ["src0", "src1"][i])?;
        if takes_magnitude(subject, op, i) {
            inst.neg |= (neg as u8) << i;
            inst.abs |= (abs as u8) << i;
        } else if info.flags.contains(Flags::READS_DST) {
            // Integer dot products have the fields, without a meaning.
        } else if !info.flags.contains(Flags::MODS) {
            subject.check(neg | abs == 0, "neg and abs")?;
        } else if op != Op::v_cndmask_b32 {
            inst.neg |= (neg as u8) << i;
        }
    }
    inst.dpp = Some(Dpp {
        ctrl,
        row_mask: (word >> 28) as u8,
        bank_mask: (word >> 24 & 0xf) as u8,
        bound_ctrl: bit(word, 19),
    });
    Ok(inst)
}
