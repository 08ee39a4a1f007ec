//! VOP3P-MAI: moves between vector and accumulation registers. The matrix instructions are refused.

use super::operand::{accumulator, source, vector};
use super::subject::{Code, Subject};
use crate::error::DecodeError;
use crate::info::Role;
use crate::inst::{Encoding, Inst};
use crate::op::family;

pub(super) fn vop3p_mai(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vop3pMai,
        opcode: word >> 16 & 0x7f,
    };
    let op = subject
        .op(&family::vop3p_mai)
        .map_err(|_| DecodeError::Matrix {
            opcode: subject.opcode as u16,
        })?;
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    let dst = word & 0xff;
    inst.dsts[0] = match info.dsts[0].role {
        Role::Accumulator => accumulator(dst, 1),
        _ => vector(dst, 1),
    }
    .ok_or_else(|| subject.refuse("vdst"))?;
    let from = high & 0x1ff;
    inst.srcs[0] = match info.srcs[0].role {
        Role::Accumulator => accumulator(from & 0xff, 1),
        _ => source(from, 1, None),
    }
    .ok_or_else(|| subject.refuse("src0"))?;
    // Matrix instructions have modifiers and two more sources there.
    subject.check(word >> 8 & 0x3f == 0, "modifiers")?;
    subject.check(high & 0xe7ff_fe00 == 0, "src1 and src2")?;
    Ok(inst)
}
