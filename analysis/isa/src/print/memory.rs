//! SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF.

use core::fmt::{self, Formatter, Write};

use super::list::List;
use super::operand;
use crate::info::{Flags, Role};
use crate::inst::{Encoding, Inst, Operand};
use crate::isa::Generation;
use crate::op::Op;

pub(super) fn smem(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    let info = inst.op.info();
    let list = &mut List::new(f, inst);
    if matches!(inst.op, Op::s_atc_probe | Op::s_atc_probe_buffer) {
        // What is probed for.
        operand::single(list.next()?, u32::from(inst.offset1))?;
    } else if info.srcs[2].role != Role::None {
        list.operand(inst.srcs[2], info.srcs[2])?;
    } else if info.dsts[0].role != Role::None {
        list.operand(inst.dsts[0], info.dsts[0])?;
    }
    if info.srcs[0].role == Role::None {
        return Ok(());
    }
    list.operand(inst.srcs[0], info.srcs[0])?;
    match inst.srcs[1] {
        Operand::None => hex(list.next()?, inst.imm)?,
        register => {
            list.operand(register, info.srcs[1])?;
            if inst.offen {
                list.f.write_str(" offset:")?;
                hex(list.f, inst.imm)?;
            }
        }
    }
    flag(f, " glc", inst.glc)
}

fn hex(f: &mut Formatter<'_>, value: i32) -> fmt::Result {
    write!(
        f,
        "{}{:#x}",
        if value < 0 { "-" } else { "" },
        value.unsigned_abs()
    )
}

fn flag(f: &mut Formatter<'_>, text: &str, set: bool) -> fmt::Result {
    if set { f.write_str(text) } else { Ok(()) }
}

pub(super) fn ds(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    let info = inst.op.info();
    let list = &mut List::new(f, inst);
    if info.dsts[0].role != Role::None {
        list.operand(inst.dsts[0], info.dsts[0])?;
    }
    for (&source, &place) in inst.srcs.iter().zip(&info.srcs) {
        if place.role != Role::None {
            list.operand(source, place)?;
        }
    }
    if info.flags.contains(Flags::TWO_ADDRESSES) {
        if inst.imm != 0 {
            write!(f, " offset0:{}", inst.imm)?;
        }
        if inst.offset1 != 0 {
            write!(f, " offset1:{}", inst.offset1)?;
        }
    } else if inst.op == Op::ds_swizzle_b32 {
        if inst.imm != 0 {
            f.write_str(" offset:")?;
            swizzle(f, inst.imm as u16)?;
        }
    } else if inst.imm != 0 {
        write!(f, " offset:{}", inst.imm)?;
    }
    flag(f, " gds", inst.gds)
}

fn swizzle(f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
    if imm >> 8 == 0x80 {
        let lane = |i: u16| imm >> (2 * i) & 3;
        return write!(
            f,
            "swizzle(QUAD_PERM,{},{},{},{})",
            lane(0),
            lane(1),
            lane(2),
            lane(3)
        );
    }
    if imm >> 15 != 0 {
        return write!(f, "{imm}");
    }
    // A lane reads from lane ((id & and) | or) ^ xor of its group of 32.
    let (and, or, xor) = (imm & 0x1f, imm >> 5 & 0x1f, imm >> 10 & 0x1f);
    let group = 0x20 - and;
    if and == 0x1f && or == 0 && xor.is_power_of_two() {
        return write!(f, "swizzle(SWAP,{xor})");
    }
    if and == 0x1f && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(f, "swizzle(REVERSE,{})", xor + 1);
    }
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return write!(f, "swizzle(BROADCAST,{group},{or})");
    }
    f.write_str("swizzle(BITMASK_PERM,\"")?;
    let (of_zero, of_one) = (or ^ xor, (and | or) ^ xor);
    for i in (0..5).rev() {
        f.write_char(match (of_zero >> i & 1, of_one >> i & 1) {
            (0, 0) => '0',
            (0, _) => 'p',
            (_, 0) => 'i',
            _ => '1',
        })?;
    }
    f.write_str("\")")
}

pub(super) fn flat(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    let info = inst.op.info();
    let list = &mut List::new(f, inst);
    if inst.dsts[0] != Operand::None {
        list.operand(inst.dsts[0], info.dsts[0])?;
    }
    operand::any(
        list.next()?,
        inst.srcs[0],
        inst.src_dwords(0),
        info.srcs[0].ty,
        inst.generation,
    )?;
    if info.srcs[1].role != Role::None {
        list.operand(inst.srcs[1], info.srcs[1])?;
    }
    if info.srcs[2].role != Role::None {
        list.operand(inst.srcs[2], info.srcs[2])?;
    }
    if inst.imm != 0 {
        write!(f, " offset:{}", inst.imm)?;
    }
    cache(f, inst)?;
    flag(f, " lds", inst.lds && !info.flags.contains(Flags::LDS_ONLY))
}

/// How an access goes through the caches.
fn cache(f: &mut Formatter<'_>, inst: &Inst) -> fmt::Result {
    let [device, streamed, system] = match inst.generation {
        Generation::Cdna3 => [" sc0", " nt", " sc1"],
        _ => [" glc", " slc", " scc"],
    };
    flag(f, device, inst.glc)?;
    flag(f, streamed, inst.slc)?;
    flag(f, system, inst.scc)
}

pub(super) fn buffer(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    let info = inst.op.info();
    if info.srcs[1].role == Role::None {
        return cache(f, inst);
    }
    let list = &mut List::new(f, inst);
    if inst.srcs[3] != Operand::None {
        list.operand(inst.srcs[3], info.srcs[3])?;
    } else if inst.dsts[0] != Operand::None {
        list.operand(inst.dsts[0], info.dsts[0])?;
    }
    if !info.flags.contains(Flags::LDS_ONLY) {
        operand::any(
            list.next()?,
            inst.srcs[0],
            inst.src_dwords(0),
            info.srcs[0].ty,
            inst.generation,
        )?;
    }
    list.operand(inst.srcs[1], info.srcs[1])?;
    list.operand(inst.srcs[2], info.srcs[2])?;
    if inst.encoding == Encoding::Mtbuf {
        format(f, inst.offset1)?;
    }
    flag(f, " idxen", inst.idxen)?;
    flag(f, " offen", inst.offen)?;
    if inst.imm != 0 {
        write!(f, " offset:{}", inst.imm)?;
    }
    let is_lds_store = info.flags.contains(Flags::LDS_ONLY);
    flag(f, " lds", inst.lds && is_lds_store)?;
    cache(f, inst)?;
    flag(f, " tfe", inst.tfe)?;
    flag(f, " lds", inst.lds && !is_lds_store)
}

/// The data format (4 bits) and number format (3 bits) of a typed buffer access.
fn format(f: &mut Formatter<'_>, code: u8) -> fmt::Result {
    const DATA: [&str; 16] = [
        "INVALID",
        "8",
        "16",
        "8_8",
        "32",
        "16_16",
        "10_11_11",
        "11_11_10",
        "10_10_10_2",
        "2_10_10_10",
        "8_8_8_8",
        "32_32",
        "16_16_16_16",
        "32_32_32",
        "32_32_32_32",
        "RESERVED_15",
    ];
    const NUMBER: [&str; 8] = [
        "UNORM",
        "SNORM",
        "USCALED",
        "SSCALED",
        "UINT",
        "SINT",
        "RESERVED_6",
        "FLOAT",
    ];
    let (data, number) = (code & 15, code >> 4 & 7);
    match (data == 1, number == 0) {
        (true, true) => Ok(()),
        (true, false) => write!(
            f,
            " format:[BUF_NUM_FORMAT_{}]",
            NUMBER[usize::from(number)]
        ),
        (false, true) => write!(f, " format:[BUF_DATA_FORMAT_{}]", DATA[usize::from(data)]),
        (false, false) => write!(
            f,
            " format:[BUF_DATA_FORMAT_{},BUF_NUM_FORMAT_{}]",
            DATA[usize::from(data)],
            NUMBER[usize::from(number)]
        ),
    }
}
