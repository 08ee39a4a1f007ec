//! VOP1, VOP2, VOPC, VOP3, VOP3P.

use core::fmt::{self, Formatter};

use super::list::List;
use super::operand;
use crate::decode::{is_mix, is_of_bytes};
use crate::info::{Flags, OperandType, Place, Role};
use crate::inst::{Blocks, Dpp, Encoding, Inst, Operand, SdwaSelect};
use crate::isa::Generation;
use crate::op::Op;

/// A 32-bit encoding, plain or with SDWA or DPP.
pub(super) fn short(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let suffix = if inst.sdwa.is_some() {
        "_sdwa"
    } else if inst.dpp.is_some() {
        "_dpp"
    } else if info.flags.intersects(Flags::VOP3 | Flags::READS_DST)
        && info.dsts[0].role != Role::None
    {
        "_e32"
    } else {
        ""
    };
    write!(f, "{}{suffix}", inst.op)?;
    operands(inst, f)?;
    if let Some(sdwa) = inst.sdwa {
        output(inst, f)?;
        if inst.encoding != Encoding::Vopc && !is_of_bytes(inst.op) {
            let unused = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];
            let unused = unused.get(usize::from(sdwa.dst_unused)).ok_or(fmt::Error)?;
            write!(f, " dst_sel:{} dst_unused:{unused}", select(sdwa.dst_sel))?;
        }
        write!(f, " src0_sel:{}", select(sdwa.src_sel[0]))?;
        if inst.srcs[1] != Operand::None {
            write!(f, " src1_sel:{}", select(sdwa.src_sel[1]))?;
        }
    }
    match inst.dpp {
        Some(dpp) => swizzle(f, dpp),
        None => Ok(()),
    }
}

pub(super) fn vop3(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let promoted = info.flags.contains(Flags::VOP3)
        && info.dsts[0].role != Role::None
        && !(inst.op == Op::v_mul_legacy_f32 && inst.generation >= Generation::Cdna2);
    write!(f, "{}{}", inst.op, if promoted { "_e64" } else { "" })?;
    operands(inst, f)?;
    if info.flags.contains(Flags::OP_SEL) && inst.op_sel != 0 {
        let sources = inst.srcs.iter();
        let count = sources.filter(|source| **source != Operand::None).count();
        // LLVM has them with a third source.
        let more = matches!(inst.op, Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32);
        let count = count + usize::from(more);
        f.write_str(" op_sel:[")?;
        for i in 0..count {
            write!(f, "{},", inst.op_sel >> i & 1)?;
        }
        write!(f, "{}]", inst.op_sel >> 3 & 1)?;
    }
    output(inst, f)
}

pub(super) fn matrix(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    plain_operands(inst, f)?;
    let Blocks { cbsz, abid, blgp } = inst.matrix;
    let is_of_doubles = matches!(
        inst.op,
        Op::v_mfma_f64_16x16x4_f64 | Op::v_mfma_f64_4x4x4_4b_f64
    );
    if cbsz != 0 {
        write!(f, " cbsz:{cbsz}")?;
    }
    if abid != 0 {
        write!(f, " abid:{abid}")?;
    }
    match (blgp, is_of_doubles) {
        (0, _) => Ok(()),
        (_, true) => write!(f, " neg:[{},{},{}]", blgp & 1, blgp >> 1 & 1, blgp >> 2),
        (_, false) => write!(f, " blgp:{blgp}"),
    }
}

pub(super) fn vop3p(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", inst.op)?;
    let is_mix = is_mix(inst.op);
    if is_mix {
        operands(inst, f)?;
    } else {
        plain_operands(inst, f)?;
    }
    let count = inst
        .srcs
        .iter()
        .filter(|source| **source != Operand::None)
        .count();
    let all = (1u8 << count) - 1;
    let bits = |f: &mut Formatter<'_>, name: &str, value: u8, default: u8| {
        if value & all == default & all {
            return Ok(());
        }
        write!(f, " {name}:[")?;
        for i in 0..count {
            write!(f, "{}{}", if i > 0 { "," } else { "" }, value >> i & 1)?;
        }
        f.write_str("]")
    };
    bits(f, "op_sel", inst.op_sel, 0)?;
    bits(f, "op_sel_hi", inst.op_sel_hi, if is_mix { 0 } else { 7 })?;
    if !is_mix {
        bits(f, "neg_lo", inst.neg, 0)?;
        bits(f, "neg_hi", inst.neg_hi, 0)?;
    }
    if inst.clamp {
        f.write_str(" clamp")
    } else {
        Ok(())
    }
}

/// Destinations and sources, with the modifiers of each source.
fn operands(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let list = &mut List::new(f, inst);
    // A swap has both its registers as sources and as destinations.
    let is_swap = inst.op == Op::v_swap_b32;
    for (i, (&dst, &place)) in inst.dsts.iter().zip(&info.dsts).enumerate() {
        if place.role != Role::None && !(is_swap && i == 1) {
            list.operand(dst, place)?;
        }
    }
    for (i, (&source, &place)) in inst.srcs.iter().zip(&info.srcs).enumerate() {
        if place.role == Role::None || is_swap && i == 1 {
            continue;
        }
        let f = list.next()?;
        let neg = inst.neg >> i & 1 != 0;
        // Where only floating-point sources make sense LLVM shows negation as sign extension.
        let sext = inst.sdwa.is_some_and(|sdwa| sdwa.sext >> i & 1 != 0)
            || neg && !takes_magnitude(inst.op, i);
        let neg = neg && !sext;
        let abs = inst.abs >> i & 1 != 0;
        let is_constant = matches!(
            source,
            Operand::Int(_) | Operand::Float(_) | Operand::Literal(_)
        );
        let parenthesised = neg && is_constant && !abs;
        if sext {
            f.write_str("sext(")?;
        }
        if neg {
            f.write_str(if parenthesised { "neg(" } else { "-" })?;
        }
        if abs {
            f.write_str("|")?;
        }
        operand::at(f, source, shown(inst, i, place), inst)?;
        if abs {
            f.write_str("|")?;
        }
        if parenthesised || sext {
            f.write_str(")")?;
        }
    }
    Ok(())
}

/// Sources that LLVM shows as another type.
fn shown(inst: &Inst, i: usize, place: Place) -> Place {
    let is_literal = matches!(inst.srcs[i], Operand::Literal(_));
    let is_old = inst.generation < Generation::Cdna2;
    let ty = match (inst.op, i) {
        (Op::v_madmk_f16, 0) if is_literal && is_old => OperandType::F32,
        (Op::v_cmp_class_f16 | Op::v_cmpx_class_f16, 0) if is_literal => OperandType::F16,
        (Op::v_ldexp_f16, 1) => OperandType::F16,
        _ => place.ty,
    };
    Place { ty, ..place }
}

/// Whether source `i` has floating-point modifiers.
fn takes_magnitude(op: Op, i: usize) -> bool {
    op == Op::v_cndmask_b32 || op.info().srcs[i].ty.is_float()
}

/// Destination and sources; the modifiers follow all operands.
fn plain_operands(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let list = &mut List::new(f, inst);
    list.operand(inst.dsts[0], info.dsts[0])?;
    for (&source, &place) in inst.srcs.iter().zip(&info.srcs) {
        if place.role != Role::None {
            list.operand(source, place)?;
        }
    }
    Ok(())
}

fn output(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    if inst.clamp {
        f.write_str(" clamp")?;
    }
    f.write_str(match inst.omod {
        1 => " mul:2",
        2 => " mul:4",
        3 => " div:2",
        _ => "",
    })
}

fn select(select: SdwaSelect) -> &'static str {
    match select {
        SdwaSelect::Byte0 => "BYTE_0",
        SdwaSelect::Byte1 => "BYTE_1",
        SdwaSelect::Byte2 => "BYTE_2",
        SdwaSelect::Byte3 => "BYTE_3",
        SdwaSelect::Word0 => "WORD_0",
        SdwaSelect::Word1 => "WORD_1",
        SdwaSelect::Dword => "DWORD",
    }
}

fn swizzle(f: &mut Formatter<'_>, dpp: Dpp) -> fmt::Result {
    let ctrl = dpp.ctrl;
    match ctrl {
        0..=0xff => {
            let lane = |i: u16| ctrl >> (2 * i) & 3;
            write!(
                f,
                " quad_perm:[{},{},{},{}]",
                lane(0),
                lane(1),
                lane(2),
                lane(3)
            )?;
        }
        0x101..=0x10f => write!(f, " row_shl:{}", ctrl & 0xf)?,
        0x111..=0x11f => write!(f, " row_shr:{}", ctrl & 0xf)?,
        0x121..=0x12f => write!(f, " row_ror:{}", ctrl & 0xf)?,
        0x130 => f.write_str(" wave_shl:1")?,
        0x134 => f.write_str(" wave_rol:1")?,
        0x138 => f.write_str(" wave_shr:1")?,
        0x13c => f.write_str(" wave_ror:1")?,
        0x140 => f.write_str(" row_mirror")?,
        0x141 => f.write_str(" row_half_mirror")?,
        0x142 => f.write_str(" row_bcast:15")?,
        0x143 => f.write_str(" row_bcast:31")?,
        0x150..=0x15f => write!(f, " row_newbcast:{}", ctrl & 0xf)?,
        _ => return Err(fmt::Error),
    }
    write!(
        f,
        " row_mask:{:#x} bank_mask:{:#x}",
        dpp.row_mask, dpp.bank_mask
    )?;
    if dpp.bound_ctrl {
        f.write_str(" bound_ctrl:1")
    } else {
        Ok(())
    }
}
