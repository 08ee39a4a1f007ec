//! SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF.

use super::operand::{accumulator, scalar, scalar_source, vector};
use super::subject::{Code, Subject, bit, sign_extend};
use crate::error::DecodeError;
use crate::info::{Class, Flags, Place, Role};
use crate::inst::{Encoding, Inst, Operand};
use crate::isa::Generation;
use crate::op::{Op, family};
use crate::scalar_register::{EXEC, M0};

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
    // A load into EXEC would come at any time.
    let to_exec = matches!(data as u8, M0 | EXEC..);
    let has_data = info.dsts[0].role != Role::None || info.srcs[2].role != Role::None;
    subject.check(!(subject.is_unified() && has_data && to_exec), "sdata")?;
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
    // gfx908 had atomics of floats before they returned anything.
    let is_first = inst.generation == Generation::Cdna1
        && matches!(
            inst.op,
            Op::global_atomic_add_f32
                | Op::global_atomic_pk_add_f16
                | Op::buffer_atomic_add_f32
                | Op::buffer_atomic_pk_add_f16
        );
    let is_atomic = info.class == Class::Atomic;
    if subject.is_unified() {
        // Those of floats know no system on gfx90a.
        let is_refused =
            inst.generation == Generation::Cdna2 && is_atomic && info.dsts[0].ty.is_float();
        return subject.check(!is_refused || !inst.scc, "scc");
    }
    if is_atomic && (info.dsts[0].role == Role::None || is_first) {
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
    accumulates: bool,
) -> Result<Operand, DecodeError> {
    match place.role {
        Role::None => {
            subject.check(number == 0, field)?;
            Ok(Operand::None)
        }
        _ => data(subject, place, number, field, accumulates),
    }
}

/// What is stored or loaded: vector or accumulation registers.
fn data(
    subject: Subject<'_>,
    place: Place,
    number: u32,
    field: &'static str,
    accumulates: bool,
) -> Result<Operand, DecodeError> {
    let registers = match accumulates {
        true => accumulator(number, subject.dwords(place)),
        false => vector(number, subject.dwords(place)),
    };
    subject.require(registers, field)
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
    let is_of_gds = info.flags.contains(Flags::GDS_ONLY);
    subject.check(bit(word, 16) || !is_of_gds, "gds")?;
    // There is no global data share any more, and the bit has no meaning.
    inst.gds = bit(word, 16) && (is_of_gds || !subject.is_unified());
    let is_of_lds = info.flags.contains(Flags::LDS_ONLY);
    subject.check(!bit(word, 16) || !is_of_lds, "gds")?;
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
    let acc = subject.is_unified() && bit(word, 25);
    inst.srcs[0] = optional_vector(subject, info.srcs[0], high & 0xff, "addr", acc && is_of_gds)?;
    inst.srcs[1] = optional_vector(subject, info.srcs[1], high >> 8 & 0xff, "data0", acc)?;
    inst.srcs[2] = optional_vector(subject, info.srcs[2], high >> 16 & 0xff, "data1", acc)?;
    inst.dsts[0] = optional_vector(subject, info.dsts[0], high >> 24, "vdst", acc)?;
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
    let is_scoped = subject.code.isa.generation == Generation::Cdna3;
    // A scratch access may have both addresses then, or none.
    let has_both = is_scoped && encoding == Encoding::Scratch;
    inst.lds = match has_both {
        true => false,
        false => bit(word, 13),
    };
    let has_form = info.flags.contains(Flags::LDS_FORM) && !is_scoped;
    subject.check(!inst.lds || has_form, "lds")?;
    inst.lds |= info.flags.contains(Flags::LDS_ONLY);
    inst.glc = bit(word, 16);
    inst.slc = bit(word, 17);
    inst.scc = subject.is_unified() && bit(word, 25);
    check_return(subject, &inst, word)?;
    let acc = subject.is_unified() && bit(high, 23);

    let (addr, from, saddr) = (high & 0xff, high >> 8 & 0xff, high >> 16 & 0x7f);
    subject.check(encoding != Encoding::Flat || saddr == 0, "saddr")?;
    subject.check(!inst.lds || !bit(high, 23), "nv")?;
    let has_saddr = encoding != Encoding::Flat && saddr != OFF;
    if has_saddr {
        let dwords = subject.dwords(info.srcs[2]);
        inst.srcs[2] = subject.require(scalar(saddr, dwords), "saddr")?;
    }
    inst.srcs[0] = match (encoding, has_saddr) {
        (Encoding::Scratch, _) if has_both && !bit(word, 13) => Operand::None,
        // A scalar address is all the address a scratch access has.
        (Encoding::Scratch, true) if !has_both => Operand::None,
        (Encoding::Global, true) => Operand::Vector(addr as u8),
        _ => subject.require(vector(addr, subject.dwords(info.srcs[0])), "addr")?,
    };
    if info.srcs[1].role != Role::None {
        inst.srcs[1] = data(subject, info.srcs[1], from, "data", acc)?;
    }
    if returns(&inst) && !inst.lds {
        inst.dsts[0] = data(subject, info.dsts[0], high >> 24, "vdst", acc)?;
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
    let acc = subject.is_unified() && bit(high, 23);
    inst.tfe = !subject.is_unified() && bit(high, 23) && !inst.lds && info.class != Class::Atomic;
    if info.srcs[1].role == Role::None {
        // Cache control. From gfx942 on it has a scope, where gfx90a does not look at the bits.
        let is_scoped = matches!(inst.op, Op::buffer_wbl2 | Op::buffer_inv);
        let unused = if is_scoped { 0x13 } else { 0x1f };
        if inst.generation == Generation::Cdna2 {
            (inst.glc, inst.scc) = (false, false);
        }
        subject.check(word >> 12 & unused == 0, "modifiers")?;
        subject.check(!acc, "acc")?;
        inst.slc = false;
        return Ok(());
    }
    let address_dwords = u8::from(inst.offen) + u8::from(inst.idxen);
    subject.check(!(acc && inst.lds), "acc")?;
    if address_dwords > 0 {
        inst.srcs[0] = subject.require(vector(high & 0xff, address_dwords), "vaddr")?;
    }
    let resource = (high >> 16 & 0x1f) * 4;
    inst.srcs[1] = subject.require(scalar(resource, 4), "srsrc")?;
    let offset = scalar_source(high >> 24, 1, None).filter(|source| subject.is_there(source));
    inst.srcs[2] = subject.require(offset, "soffset")?;
    let number = high >> 8 & 0xff;
    if info.srcs[3].role != Role::None {
        inst.srcs[3] = data(subject, info.srcs[3], number, "vdata", acc)?;
    }
    if returns(inst) && !inst.lds {
        inst.dsts[0] = data(subject, info.dsts[0], number, "vdata", acc)?;
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
    inst.scc = subject.is_unified() && bit(word, 15);
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
    inst.scc = subject.is_unified() && bit(high, 21);
    inst.offset1 = (word >> 19 & 0x7f) as u8;
    buffer(subject, &mut inst, word, high)?;
    Ok(inst)
}
