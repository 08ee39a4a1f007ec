//! VOP3P-MAI: matrix instructions, and moves between vector and accumulation registers.

use super::operand::{accumulator, scalar_source, source, vector};
use super::subject::{Code, Subject, bit};
use crate::error::DecodeError;
use crate::info::{Class, Place, Role};
use crate::inst::{Blocks, Encoding, Inst, Operand};
use crate::op::family;

pub(super) fn vop3p_mai(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Vop3pMai,
        opcode: word >> 16 & 0x7f,
    };
    let op = subject.op(&family::vop3p_mai)?;
    if op.info().class != Class::Matrix {
        return accumulator_move(subject, word);
    }
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    // Before the files were one, sums stood in accumulation registers, always.
    let sums = !subject.is_unified() || bit(word, 15);
    inst.dsts[0] = subject.require(either(subject, info.dsts[0], word & 0xff, sums), "vdst")?;
    for (i, field) in [(0, "src0"), (1, "src1"), (2, "src2")] {
        let place = info.srcs[i];
        let from = high >> (9 * i) & 0x1ff;
        let operand = match (place.role, from) {
            (Role::Matrix, 256..) => either(subject, place, from & 0xff, bit(high, 27 + i as u32)),
            (Role::Addend, 256..) => either(subject, place, from & 0xff, sums),
            (Role::Addend, _) => scalar_source(from, 1, None)
                .filter(|source| matches!(source, Operand::Int(_) | Operand::Float(_))),
            // Which of the values there are: of sparse matrices.
            (Role::Vector, 256..) => vector(from & 0xff, 1),
            _ => None,
        };
        inst.srcs[i] = subject.require(operand, field)?;
    }
    inst.matrix = Blocks {
        cbsz: (word >> 8 & 7) as u8,
        abid: (word >> 11 & 15) as u8,
        blgp: (high >> 29) as u8,
    };
    let is_sparse = info.srcs[2].role == Role::Vector;
    subject.check(!is_sparse || inst.matrix.blgp == 0, "blgp")?;
    Ok(inst)
}

/// Vector or accumulation registers.
fn either(subject: Subject<'_>, place: Place, number: u32, accumulates: bool) -> Option<Operand> {
    let dwords = subject.dwords(place);
    match accumulates {
        true => accumulator(number, dwords),
        false => vector(number, dwords),
    }
}

fn accumulator_move(subject: Subject<'_>, word: u32) -> Result<Inst, DecodeError> {
    let op = subject.op(&family::vop3p_mai)?;
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
        // gfx908 does not look at the highest bit.
        Role::Accumulator if from >= 256 || !subject.is_unified() => accumulator(from & 0xff, 1),
        Role::Accumulator => None,
        _ => source(from, 1, None),
    }
    .ok_or_else(|| subject.refuse("src0"))?;
    // Matrix instructions have modifiers and two more sources there.
    subject.check(word >> 8 & 0x3f == 0, "modifiers")?;
    subject.check(high & 0xe7ff_fe00 == 0, "src1 and src2")?;
    Ok(inst)
}
