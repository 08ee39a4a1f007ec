//! SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF.

use super::operand::{scalar, scalar_source, vector};
use super::subject::{Code, Subject, bit, sign_extend};
use crate::error::DecodeError;
use crate::info::{Class, Flags, Place, Role};
use crate::inst::{Encoding, Inst, Operand};
use crate::op::{Op, family};

pub(super) fn smem(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Smem,
        opcode: word >> 18 & 0xff,
    };
    let op = subject.op(&family::smem)?;
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    inst.glc = bit(word, 16) && info.class != Class::Cache;

    let data = word >> 6 & 0x7f;
    if info.srcs[0].role == Role::None {
        // Cache control and clocks take no address.
        subject.check(!bit(word, 17), "imm")?;
        inst.glc = false;
        if info.dsts[0].role != Role::None {
            inst.dsts[0] = subject.require(scalar(data, subject.dwords(info.dsts[0])), "sdata")?;
        }
        return Ok(inst);
    }
    let base = (word & 0x3f) * 2;
    inst.srcs[0] = subject.require(scalar(base, subject.dwords(info.srcs[0])), "sbase")?;
    let (has_offset, has_register) = (bit(word, 17), bit(word, 14));
    inst.offen = has_offset;
    if has_offset {
        inst.imm = sign_extend(high & 0x1f_ffff, 21);
    }
    if has_register {
        inst.srcs[1] = subject.require(scalar(high >> 25, 1), "soffset")?;
    } else if !has_offset {
        inst.srcs[1] = subject.require(scalar(high & 0x7f, 1), "offset")?;
    }
    if matches!(op, Op::s_atc_probe | Op::s_atc_probe_buffer) {
        inst.offset1 = data as u8;
    }
    if info.srcs[2].role != Role::None {
        inst.srcs[2] = subject.require(scalar(data, subject.dwords(info.srcs[2])), "sdata")?;
    }
    if returns(&inst) {
        inst.dsts[0] = subject.require(scalar(data, subject.dwords(info.dsts[0])), "sdata")?;
    }
    Ok(inst)
}

/// Atomics that cannot return the old value insist on zero in `glc`, in FLAT encodings also in a bit
/// that others ignore.
fn check_return(subject: Subject<'_>, inst: &Inst, word: u32) -> Result<(), DecodeError> {
    let info = inst.op.info();
    if info.class == Class::Atomic && info.dsts[0].role == Role::None {
        subject.check(!inst.glc, "glc")?;
        let is_buffer = inst.encoding == Encoding::Mubuf;
        subject.check(is_buffer || !bit(word, 25), "reserved bit 25")?;
    }
    Ok(())
}

/// Whether a memory operation writes its destination: an atomic only does with `glc`.
fn returns(inst: &Inst) -> bool {
    let info = inst.op.info();
    info.dsts[0].role != Role::None
        && (info.class != Class::Atomic || inst.glc || inst.encoding == Encoding::Ds)
}

fn optional_vector(
    subject: Subject<'_>,
    place: Place,
    number: u32,
    field: &'static str,
) -> Result<Operand, DecodeError> {
    match place.role {
        Role::None => {
            subject.check(number == 0, field)?;
            Ok(Operand::None)
        }
        _ => subject.require(vector(number, subject.dwords(place)), field),
    }
}

pub(super) fn ds(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Ds,
        opcode: word >> 17 & 0xff,
    };
    let op = subject.op(&family::ds)?;
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    inst.gds = bit(word, 16);
    subject.check(inst.gds || !info.flags.contains(Flags::GDS_ONLY), "gds")?;
    subject.check(!inst.gds || !info.flags.contains(Flags::LDS_ONLY), "gds")?;
    if info.flags.contains(Flags::TWO_ADDRESSES) {
        inst.imm = (word & 0xff) as i32;
        inst.offset1 = (word >> 8) as u8;
    } else {
        inst.imm = (word & 0xffff) as i32;
    }
    // Only operations without data look at this bit, and insist on zero.
    let is_reserved =
        matches!(subject.opcode, 0x14 | 0x80..=0x95 | 0x98 | 0x9a | 0x9c | 0xc0..=0xd3);
    subject.check(!is_reserved || !bit(word, 25), "reserved bit 25")?;
    if op == Op::ds_nop {
        subject.check(word & 0x1_ffff == 0, "offset and gds")?;
    }
    inst.srcs[0] = optional_vector(subject, info.srcs[0], high & 0xff, "addr")?;
    inst.srcs[1] = optional_vector(subject, info.srcs[1], high >> 8 & 0xff, "data0")?;
    inst.srcs[2] = optional_vector(subject, info.srcs[2], high >> 16 & 0xff, "data1")?;
    inst.dsts[0] = optional_vector(subject, info.dsts[0], high >> 24, "vdst")?;
    Ok(inst)
}

/// The `saddr` value for "no scalar address".
const OFF: u32 = 0x7f;

pub(super) fn flat(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let (encoding, table) = match word >> 14 & 3 {
        0 => (Encoding::Flat, &family::flat),
        1 => (Encoding::Scratch, &family::scratch),
        2 => (Encoding::Global, &family::global),
        _ => return Err(DecodeError::UnknownEncoding { word }),
    };
    let subject = Subject {
        code,
        encoding,
        opcode: word >> 18 & 0x7f,
    };
    let op = subject.op(table)?;
    let info = op.info();
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    inst.imm = match encoding {
        Encoding::Flat => (word & 0xfff) as i32,
        _ => sign_extend(word & 0x1fff, 13),
    };
    subject.check(encoding != Encoding::Flat || !bit(word, 12), "offset")?;
    inst.lds = bit(word, 13);
    subject.check(!inst.lds || info.flags.contains(Flags::LDS_FORM), "lds")?;
    inst.glc = bit(word, 16);
    inst.slc = bit(word, 17);
    check_return(subject, &inst, word)?;

    let (addr, data, saddr) = (high & 0xff, high >> 8 & 0xff, high >> 16 & 0x7f);
    subject.check(encoding != Encoding::Flat || saddr == 0, "saddr")?;
    subject.check(!inst.lds || !bit(high, 23), "nv")?;
    let has_saddr = encoding != Encoding::Flat && saddr != OFF;
    if has_saddr {
        let dwords = subject.dwords(info.srcs[2]);
        inst.srcs[2] = subject.require(scalar(saddr, dwords), "saddr")?;
    }
    inst.srcs[0] = match (encoding, has_saddr) {
        // A scalar address is all the address a scratch access has.
        (Encoding::Scratch, true) => Operand::None,
        (Encoding::Global, true) => Operand::Vector(addr as u8),
        _ => subject.require(vector(addr, subject.dwords(info.srcs[0])), "addr")?,
    };
    if info.srcs[1].role != Role::None {
        inst.srcs[1] = subject.require(vector(data, subject.dwords(info.srcs[1])), "data")?;
    }
    if returns(&inst) && !inst.lds {
        inst.dsts[0] = subject.require(vector(high >> 24, subject.dwords(info.dsts[0])), "vdst")?;
    }
    Ok(inst)
}

/// Address, resource, offset and data fields that MUBUF and MTBUF have in common.
fn buffer(subject: Subject<'_>, inst: &mut Inst, word: u32, high: u32) -> Result<(), DecodeError> {
    let info = inst.op.info();
    inst.imm = (word & 0xfff) as i32;
    inst.offen = bit(word, 12);
    inst.idxen = bit(word, 13);
    inst.glc = bit(word, 14);
    check_return(subject, inst, word)?;
    inst.tfe = bit(high, 23) && !inst.lds && info.class != Class::Atomic;
    if info.srcs[1].role == Role::None {
        // Cache control.
        subject.check(word >> 12 & 0x1f == 0, "modifiers")?;
        return Ok(());
    }
    let address_dwords = u8::from(inst.offen) + u8::from(inst.idxen);
    if address_dwords > 0 {
        inst.srcs[0] = subject.require(vector(high & 0xff, address_dwords), "vaddr")?;
    }
    let resource = (high >> 16 & 0x1f) * 4;
    inst.srcs[1] = subject.require(scalar(resource, 4), "srsrc")?;
    inst.srcs[2] = subject.require(scalar_source(high >> 24, 1, None), "soffset")?;
    let data = high >> 8 & 0xff;
    if info.srcs[3].role != Role::None {
        inst.srcs[3] = subject.require(vector(data, subject.dwords(info.srcs[3])), "vdata")?;
    }
    if returns(inst) && !inst.lds {
        inst.dsts[0] = subject.require(vector(data, subject.dwords(info.dsts[0])), "vdata")?;
    }
    Ok(())
}

pub(super) fn mubuf(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Mubuf,
        opcode: word >> 18 & 0x7f,
    };
    let op = subject.op(&family::mubuf)?;
    let flags = op.info().flags;
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    inst.lds = bit(word, 16);
    inst.slc = bit(word, 17);
    subject.check(
        if inst.lds {
            flags.intersects(Flags::LDS_FORM | Flags::LDS_ONLY)
        } else {
            !flags.contains(Flags::LDS_ONLY)
        },
        "lds",
    )?;
    buffer(subject, &mut inst, word, high)?;
    let is_addressed = inst.offen || inst.idxen;
    subject.check(
        !flags.contains(Flags::LDS_ONLY) || !is_addressed,
        "offen and idxen",
    )?;
    Ok(inst)
}

pub(super) fn mtbuf(word: u32, code: Code<'_>) -> Result<Inst, DecodeError> {
    let subject = Subject {
        code,
        encoding: Encoding::Mtbuf,
        opcode: word >> 15 & 0xf,
    };
    let op = subject.op(&family::mtbuf)?;
    let high = subject.second_word()?;
    let mut inst = subject.inst(op, 8);
    inst.slc = bit(high, 22);
    inst.offset1 = (word >> 19 & 0x7f) as u8;
    buffer(subject, &mut inst, word, high)?;
    Ok(inst)
}
