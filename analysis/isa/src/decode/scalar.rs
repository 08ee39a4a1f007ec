//! SOP1, SOP2, SOPK, SOPC, SOPP.

use super::operand::{LITERAL, is_register, scalar, scalar_source};
use super::subject::{Code, Subject};
use crate::error::DecodeError;
use crate::info::{Class, Role};
use crate::inst::{Encoding, Inst, Operand};
use crate::op::{Op, family};

/// The literal after a 4-byte instruction, if one of `codes` asks for it, and the size.
fn literal(subject: Subject<'_>, codes: &[u32]) -> Result<(Option<u32>, u8), DecodeError> {
    if codes.contains(&LITERAL) {
        Ok((Some(subject.second_word()?), 8))
    } else {
        Ok((None, 4))
    }
}

/// Fills in the destination, if the operation has one.
fn destination(subject: Subject<'_>, inst: &mut Inst, code: u32) -> Result<(), DecodeError> {
    let place = inst.op.info().dsts[0];
    if place.role != Role::None {
        inst.dsts[0] = subject.require(scalar(code, subject.dwords(place)), "sdst")?;
    }
    Ok(())
}

fn sources(
    subject: Subject<'_>,
    inst: &mut Inst,
    codes: &[u32],
    literal: Option<u32>,
) -> Result<(), DecodeError> {
    let info = inst.op.info();
    for (i, &code) in codes.iter().enumerate() {
        let place = info.srcs[i];
        if place.role != Role::None {
            let source = scalar_source(code, subject.dwords(place), literal)
                .filter(|source| subject.is_there(source))
                .filter(|source| place.role != Role::ScalarRegister || is_register(source));
            inst.srcs[i] = subject.require(source, ["ssrc0", "ssrc1"][i])?;
        }
    }
    Ok(())
}

pub(super) fn sop1(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Sop1,
        opcode: word >> 8 & 0xff,
    };
    let op = subject.op(&family::sop1)?;
    let codes = match op.info().srcs[0].role {
        Role::None => 0,
        _ => word & 0xff,
    };
    let (literal, size) = literal(subject, &[codes])?;
    let mut inst = subject.inst(op, size);
    destination(subject, &mut inst, word >> 16 & 0x7f)?;
    sources(subject, &mut inst, &[codes], literal)?;
    Ok(inst)
}

pub(super) fn sop2(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Sop2,
        opcode: word >> 23 & 0x7f,
    };
    let op = subject.op(&family::sop2)?;
    let codes = [word & 0xff, word >> 8 & 0xff];
    let (literal, size) = literal(subject, &codes)?;
    let mut inst = subject.inst(op, size);
    destination(subject, &mut inst, word >> 16 & 0x7f)?;
    sources(subject, &mut inst, &codes, literal)?;
    Ok(inst)
}

pub(super) fn sopc(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Sopc,
        opcode: word >> 16 & 0x7f,
    };
    let op = subject.op(&family::sopc)?;
    let codes = [word & 0xff, word >> 8 & 0xff];
    if op == Op::s_set_gpr_idx_on {
        // The second field is the set of operands to index.
        let (literal, size) = literal(subject, &codes[..1])?;
        let mut inst = subject.inst(op, size);
        sources(subject, &mut inst, &codes[..1], literal)?;
        inst.imm = codes[1] as i32;
        return Ok(inst);
    }
    let (literal, size) = literal(subject, &codes)?;
    let mut inst = subject.inst(op, size);
    sources(subject, &mut inst, &codes, literal)?;
    Ok(inst)
}

pub(super) fn sopk(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Sopk,
        opcode: word >> 23 & 0x1f,
    };
    let op = subject.op(&family::sopk)?;
    let mut inst = subject.inst(op, 4);
    inst.imm = i32::from(word as u16 as i16);
    if op == Op::s_setreg_imm32_b32 {
        inst.size = 8;
        inst.srcs[0] = Operand::Literal(subject.second_word()?);
        return Ok(inst);
    }
    let code = word >> 16 & 0x7f;
    destination(subject, &mut inst, code)?;
    let place = op.info().srcs[0];
    if place.role != Role::None {
        inst.srcs[0] = subject.require(scalar(code, subject.dwords(place)), "sdst")?;
    }
    Ok(inst)
}

pub(super) fn sopp(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Sopp,
        opcode: word >> 16 & 0x7f,
    };
    let op = subject.op(&family::sopp)?;
    let mut inst = subject.inst(op, 4);
    inst.imm = i32::from(word as u16 as i16);
    if !takes_immediate(op) {
        subject.check(inst.imm == 0, "simm16")?;
    }
    Ok(inst)
}

/// Whether a SOPP operation has a constant.
pub(crate) fn takes_immediate(op: Op) -> bool {
    match op.info().class {
        Class::Branch | Class::ConditionalBranch | Class::Wait | Class::Message | Class::Trap => {
            true
        }
        Class::End => op == Op::s_endpgm,
        Class::Mode => op == Op::s_set_gpr_idx_mode,
        Class::Hint => !matches!(op, Op::s_wakeup | Op::s_ttracedata),
        _ => false,
    }
}
