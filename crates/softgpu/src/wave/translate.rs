//! Decoded instructions to steps.

use strobe_isa::scalar_register::VCC;
use strobe_isa::{Class, Encoding, Flags, Generation, Inst, Op, Operand, Sdwa, SdwaSelect, Space};

use super::lanes::{Kind, LaneOp};
use super::modifiers::{self, Bits, Place};
use super::operand::{scalar_kind, source, vector_register};
use super::register::{MODIFIED, RESULT};
use super::source::Src;
use super::step::{Handler, NO_MASK, Step};
use super::{
    buffer, carry, compare, control, data_share, flat, matrix, packed_single, salu, smem,
    sparse_matrix, valu_16, valu_cvt, valu_f32, valu_f64, valu_int,
};

/// What translation depends on beside the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// Use the AVX-512 handlers.
    pub uses_avx512: bool,
    /// Single-precision subnormals are flushed (MODE).
    pub flush: bool,
    /// Register indexing by M0, as `s_set_gpr_idx_on` left it: a bit for each of the sources and
    /// (bit 3) the destination.
    pub indexing: u8,
}

/// Appends the steps of `inst` at `pc`; `None` if it is not known, or not in this form.
pub(super) fn translate(
    inst: &Inst,
    pc: u64,
    context: &mut Context,
    steps: &mut Vec<Step>,
) -> Option<()> {
    match inst.encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc | Encoding::Sopp => {
            scalar(inst, pc, context, steps)
        }
        Encoding::Smem => memory(inst, pc, context, steps),
        Encoding::Vop1
        | Encoding::Vop2
        | Encoding::Vopc
        | Encoding::Vop3
        | Encoding::Vop3b
        | Encoding::Vop3p => {
            if context.indexing != 0 {
                indexed(inst, pc, *context, steps)
            } else {
                vector(inst, pc, *context, steps)
            }
        }
        Encoding::Ds | Encoding::Flat | Encoding::Global | Encoding::Scratch | Encoding::Mubuf => {
            memory(inst, pc, context, steps)
        }
        Encoding::Vop3pMai if inst.op.info().class == Class::Matrix => {
            let uses_avx512 = context.uses_avx512;
            let step = matrix::translate(inst, pc, uses_avx512)
                .or_else(|| sparse_matrix::translate(inst, pc, uses_avx512))?;
            steps.push(step);
            Some(())
        }
        // With registers indexed, nobody says what of this is.
        Encoding::Vop3pMai if context.indexing != 0 => None,
        Encoding::Vop3pMai => vector(inst, pc, *context, steps),
        // Typed buffers, graphics.
        Encoding::Mtbuf | Encoding::Mimg | Encoding::Vintrp | Encoding::Exp => None,
    }
}

fn scalar_destination(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar(reg) => reg,
        _ => NO_MASK,
    }
}

fn scalar(inst: &Inst, pc: u64, context: &mut Context, steps: &mut Vec<Step>) -> Option<()> {
    let info = inst.op.info();
    match inst.op {
        // A result is there when its instruction has ended; but stores wait in the host's buffer.
        Op::s_waitcnt => {
            /// Do not wait for vector memory.
            const ANY: i32 = 63;
            if (inst.imm & 15 | inst.imm >> 14 << 4) & ANY != ANY {
                steps.push(Step::new(control::settle, pc, [Src::None; 3], 0));
            }
            return Some(());
        }
        // Caches of data do not exist.
        Op::s_nop
        | Op::s_setprio
        | Op::s_wakeup
        | Op::s_incperflevel
        | Op::s_decperflevel
        | Op::s_ttracedata => return Some(()),
        Op::s_set_gpr_idx_on
        | Op::s_set_gpr_idx_off
        | Op::s_set_gpr_idx_idx
        | Op::s_set_gpr_idx_mode => return indexing(inst, pc, context, steps),
        _ => {}
    }
    let mut src = [Src::None; 3];
    for (i, src) in src.iter_mut().take(2).enumerate() {
        *src = source(inst.srcs[i], scalar_kind(info.srcs[i].ty))?;
    }
    let sdst = scalar_destination(inst.dsts[0]);
    if inst.encoding == Encoding::Sopk && !matches!(inst.op, Op::s_getreg_b32) {
        let unsigned = info.name.starts_with("s_cmpk") && info.name.ends_with("u32");
        let bits = if unsigned {
            inst.imm as u16 as u32
        } else {
            inst.imm as u32
        };
        let constant = Src::Const(u64::from(bits));
        match src[0] {
            Src::None => src[0] = constant,
            _ => src[1] = constant,
        }
    }
    if info.flags.contains(Flags::READS_DST) {
        src[1] = Src::Scalar(sdst);
    }
    let mut step = Step {
        sdst,
        ..Step::new(control::unknown, pc, src, 0)
    };
    if inst.op == Op::s_getpc_b64 {
        step.src[0] = Src::Const(pc.wrapping_add(u64::from(inst.size)));
    }
    step = match salu::handler(inst.op) {
        Some(run) if sdst != NO_MASK || inst.dsts[0] == Operand::None => Step { run, ..step },
        _ => {
            if inst.encoding == Encoding::Sopk
                && matches!(inst.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32)
            {
                step.src[0] = source(inst.srcs[0], Kind::Int32)?;
            }
            control::translate(inst, step)?
        }
    };
    steps.push(step);
    Some(())
}

/// The instructions that switch register indexing: known only where the whole stretch between on
/// and off lies in one basic block, as compilers write it.
fn indexing(inst: &Inst, pc: u64, context: &mut Context, steps: &mut Vec<Step>) -> Option<()> {
    let index = source(inst.srcs[0], Kind::Int32)?;
    let step = |mode: i32| Step {
        imm: mode,
        ..Step::new(modifiers::set_index, pc, [index, Src::None, Src::None], 0)
    };
    match inst.op {
        Op::s_set_gpr_idx_on => {
            context.indexing = (inst.imm & 15) as u8;
            steps.push(step(inst.imm & 15));
        }
        Op::s_set_gpr_idx_idx => steps.push(step(-1)),
        Op::s_set_gpr_idx_mode => return None,
        _ => context.indexing = 0,
    }
    Some(())
}

fn memory(inst: &Inst, pc: u64, context: &Context, steps: &mut Vec<Step>) -> Option<()> {
    let info = inst.op.info();
    if info.class == Class::Cache || inst.op == Op::ds_nop {
        return Some(());
    }
    let operand = |i: usize| source(inst.srcs[i], Kind::Int32);
    let dst = vector_register(inst.dsts[0]).unwrap_or(RESULT);
    let mut step = Step {
        imm: inst.imm,
        ..Step::new(control::unknown, pc, [Src::None; 3], dst)
    };
    let step = match inst.encoding {
        Encoding::Smem => {
            step.sdst = scalar_destination(inst.dsts[0]);
            step.src = [
                source(inst.srcs[0], Kind::Int64 { signed: false })?,
                operand(1)?,
                Src::None,
            ];
            smem::translate(inst, step)?
        }
        Encoding::Ds => {
            step.src = [operand(0)?, operand(1)?, operand(2)?];
            data_share::translate(inst, step, context.uses_avx512)?
        }
        Encoding::Mubuf => {
            step.src = [operand(0)?, operand(3)?, operand(2)?];
            step.sdst = scalar_destination(inst.srcs[1]);
            buffer::translate(inst, step, context.uses_avx512)?
        }
        _ => {
            let base = match info.space {
                Space::Scratch => operand(2)?,
                _ => source(inst.srcs[2], Kind::Int64 { signed: false })?,
            };
            step.src = [operand(0)?, operand(1)?, base];
            flat::translate(inst, step, context.uses_avx512)?
        }
    };
    steps.push(step);
    Some(())
}

pub(super) fn lane_op(op: Op, uses_avx512: bool) -> Option<LaneOp> {
    let tables = [
        valu_f32::table,
        valu_int::table,
        carry::table,
        compare::table,
        valu_f64::table,
        valu_cvt::table,
        valu_16::table,
        valu_16::packed,
    ];
    tables.iter().find_map(|table| table(op, uses_avx512))
}

/// A vector operation under register indexing: moves only.
fn indexed(inst: &Inst, pc: u64, context: Context, steps: &mut Vec<Step>) -> Option<()> {
    if inst.op != Op::v_mov_b32 || inst.sdwa.is_some() || inst.dpp.is_some() {
        return None;
    }
    let Operand::Vector(dst) = inst.dsts[0] else {
        return None;
    };
    let src = source(inst.srcs[0], Kind::Int32)?;
    let mode = match src {
        Src::Vector(_) => context.indexing,
        _ => context.indexing & !1,
    };
    let step = Step::new(
        modifiers::indexed_move,
        pc,
        [src, Src::None, Src::None],
        u16::from(dst),
    );
    steps.push(Step { sel: mode, ..step });
    Some(())
}

fn vector(inst: &Inst, pc: u64, context: Context, steps: &mut Vec<Step>) -> Option<()> {
    if matches!(inst.op, Op::v_nop | Op::v_clrexcp) {
        return Some(());
    }
    if let Some(run) = carry::exchange(inst.op) {
        return exchange(run, inst, pc, steps);
    }
    // Output modifiers have no effect where subnormals or IEEE mode are on: compilers do not use
    // them there, and nobody else should.
    if inst.omod != 0 {
        return None;
    }
    if matches!(
        inst.op,
        Op::v_fma_mix_f32 | Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16
    ) {
        return mixed(inst, pc, context, steps);
    }
    if packed_single::is_one(inst.op) {
        return packed_single::translate(inst, pc, context, steps);
    }
    let uses_avx512 = context.uses_avx512;
    let mut clamp = inst.clamp;
    // MI200 makes subnormal halves zero there.
    if inst.generation >= Generation::Cdna2 && inst.op == Op::v_dot2_f32_f16 {
        return None;
    }
    let mut op = lane_op(inst.op, uses_avx512)?;
    if clamp && let Some(saturating) = valu_int::saturating(inst.op, uses_avx512) {
        (op, clamp) = (saturating, false);
    }
    if inst.encoding == Encoding::Vopc || inst.op.name().starts_with("v_cmp") {
        clamp = false;
    }
    let src = vector_sources(inst, &op, pc, context, steps)?;
    let (dst, sdst) = match (vector_register(inst.dsts[0]), inst.dsts) {
        (Some(dst), [_, Operand::Scalar(mask)]) => (dst, mask),
        (Some(dst), _) if carry::writes_mask(inst.op) => (dst, VCC),
        (Some(dst), _) => (dst, NO_MASK),
        (_, [Operand::Scalar(mask), _]) => (RESULT, mask),
        _ if inst.encoding == Encoding::Vopc => (RESULT, VCC),
        _ => return None,
    };
    let place = placement(inst, op.dst)?;
    let flush = context.flush && op.dst == Kind::F32;
    let finishing = place.is_some() || clamp || flush;
    let mut step = Step {
        sdst,
        ..Step::new(op.run, pc, src, if finishing { RESULT } else { dst })
    };
    if op.src.get(2) == Some(&Kind::Mask) {
        // A mask is read as it is.
        step.scalars &= !(1 << 2);
    }
    steps.push(step);
    // Each leaves its result for the next; the last for the program.
    if flush {
        let to = if place.is_some() || clamp {
            RESULT
        } else {
            dst
        };
        let result = Src::Vector(RESULT);
        steps.push(modifiers::flush_step(uses_avx512, pc, result, to, true));
    }
    if clamp {
        let to = if place.is_some() { RESULT } else { dst };
        steps.push(modifiers::clamp_step(uses_avx512, pc, op.dst, RESULT, to)?);
    }
    if let Some(place) = place {
        steps.push(place.step(uses_avx512, pc, RESULT, dst));
    }
    if inst.dpp.is_some() {
        steps.push(modifiers::dpp_end(pc));
    }
    Some(())
}

/// An instruction that moves values between lanes, or between a lane and a scalar register.
fn exchange(run: Handler, inst: &Inst, pc: u64, steps: &mut Vec<Step>) -> Option<()> {
    let plain = inst.sdwa.is_none() && inst.dpp.is_none() && inst.abs | inst.neg == 0;
    let src = [
        source(inst.srcs[0], Kind::Int32)?,
        source(inst.srcs[1], Kind::Int32)?,
        Src::None,
    ];
    let (dst, sdst) = match inst.dsts[0] {
        Operand::Vector(reg) => (u16::from(reg), NO_MASK),
        Operand::Scalar(reg) => (0, reg),
        _ => return None,
    };
    steps.push(Step {
        sdst,
        ..Step::new(run, pc, src, dst)
    });
    plain.then_some(())
}

/// Sources, those that an instruction does not name among them, after their modifiers.
fn vector_sources(
    inst: &Inst,
    op: &LaneOp,
    pc: u64,
    context: Context,
    steps: &mut Vec<Step>,
) -> Option<[Src; 3]> {
    let mut src = [Src::None; 3];
    for (i, &kind) in op.src.iter().enumerate() {
        src[i] = source(inst.srcs[i], kind)?;
    }
    let accumulates = matches!(
        inst.op,
        Op::v_mac_f32 | Op::v_fmac_f32 | Op::v_mac_f16 | Op::v_fmac_f64 | Op::v_cvt_pk_u8_f32
    );
    if accumulates && inst.srcs[2] == Operand::None {
        src[2] = source(inst.dsts[0], op.src[2])?;
    }
    if op.src.get(2) == Some(&Kind::Mask) && src[2] == Src::None {
        src[2] = Src::Scalar(VCC);
    }
    if let Some(dpp) = inst.dpp {
        if op.src[0].is_64_bit() || op.dst.is_64_bit() {
            return None;
        }
        steps.push(modifiers::dpp_step(pc, src[0], MODIFIED, dpp)?);
        src[0] = Src::Vector(MODIFIED);
    }
    for (i, &kind) in op.src.iter().enumerate() {
        src[i] = modified_source(inst, i, kind, src[i], pc, context, steps)?;
    }
    Some(src)
}

/// Source `i` after selection, sign modifiers and flushing, which become steps of their own.
fn modified_source(
    inst: &Inst,
    i: usize,
    kind: Kind,
    src: Src,
    pc: u64,
    context: Context,
    steps: &mut Vec<Step>,
) -> Option<Src> {
    let uses_avx512 = context.uses_avx512;
    let temporary = MODIFIED + 2 * i as u16;
    let bit = |bits: u8| bits >> i & 1 != 0;
    let (abs, neg) = (bit(inst.abs), bit(inst.neg));
    let mut src = src;
    match kind {
        Kind::Mask => return (!abs && !neg).then_some(src),
        Kind::Packed { float } => {
            let signs = u32::from(neg) << 15 | u32::from(bit(inst.neg_hi)) << 31;
            let halves = (bit(inst.op_sel), bit(inst.op_sel_hi));
            if inst.encoding != Encoding::Vop3p {
                return (inst.sdwa.is_none() && !abs && !neg).then_some(src);
            }
            if signs != 0 && !float {
                return None;
            }
            if halves != (false, true) || signs != 0 {
                steps.push(modifiers::packed_step(
                    uses_avx512,
                    pc,
                    src,
                    temporary,
                    halves,
                    signs,
                ));
                src = Src::Vector(temporary);
            }
            return Some(src);
        }
        Kind::F64 => {
            if abs || neg {
                let signs = Bits::default().with_sign(abs, neg, 31);
                let (lo, hi) = halves_of(src);
                steps.push(Bits::default().step(uses_avx512, pc, lo, temporary));
                steps.push(signs.step(uses_avx512, pc, hi, temporary + 1));
                src = Src::Vector(temporary);
            }
            return Some(src);
        }
        Kind::Int16 | Kind::Int32 | Kind::Int64 { .. } if abs || neg => return None,
        Kind::Int64 { .. } => return Some(src),
        Kind::Int16 | Kind::Int32 | Kind::F16 | Kind::F32 => {}
    }
    let half = matches!(kind, Kind::Int16 | Kind::F16);
    let mut bits = match inst.sdwa {
        Some(sdwa) if i < 2 => selection(sdwa, i),
        _ if inst.encoding == Encoding::Vop3 && bit(inst.op_sel) => {
            if !half {
                return None;
            }
            Bits::field(16, 16, false)
        }
        _ => Bits::default(),
    };
    if abs || neg {
        bits = bits.with_sign(abs, neg, if half { 15 } else { 31 });
    }
    if bits != Bits::default() {
        steps.push(bits.step(uses_avx512, pc, src, temporary));
        src = Src::Vector(temporary);
    }
    if context.flush && kind == Kind::F32 && inst.op != Op::v_cndmask_b32 {
        steps.push(modifiers::flush_step(
            uses_avx512,
            pc,
            src,
            temporary,
            false,
        ));
        src = Src::Vector(temporary);
    }
    Some(src)
}

/// The low and the high word of a 64-bit source.
pub(super) fn halves_of(src: Src) -> (Src, Src) {
    match src {
        Src::Const(value) => (Src::Const(value & 0xffff_ffff), Src::Const(value >> 32)),
        Src::Scalar(reg) => (src, Src::Scalar(reg + 1)),
        Src::Vector(reg) => (src, Src::Vector(reg + 1)),
        Src::None => (src, src),
    }
}

fn selection(sdwa: Sdwa, i: usize) -> Bits {
    let (at, width) = selected(sdwa.src_sel[i]);
    Bits::field(at, width, sdwa.sext >> i & 1 != 0 && width < 32)
}

fn selected(select: SdwaSelect) -> (u8, u8) {
    match select {
        SdwaSelect::Byte0 => (0, 8),
        SdwaSelect::Byte1 => (8, 8),
        SdwaSelect::Byte2 => (16, 8),
        SdwaSelect::Byte3 => (24, 8),
        SdwaSelect::Word0 => (0, 16),
        SdwaSelect::Word1 => (16, 16),
        SdwaSelect::Dword => (0, 32),
    }
}

/// Where the result goes if not over the whole register. The outer `None`: not known.
fn placement(inst: &Inst, kind: Kind) -> Option<Option<Place>> {
    if let Some(sdwa) = inst.sdwa {
        let (at, width) = selected(sdwa.dst_sel);
        let unused = sdwa.dst_unused;
        // Compares have no vector destination.
        let whole = width == 32 || matches!(inst.dsts[0], Operand::Scalar(_) | Operand::None);
        return Some((!whole).then_some(Place { at, width, unused }));
    }
    let half = matches!(kind, Kind::Int16 | Kind::F16);
    let high = inst.encoding == Encoding::Vop3 && inst.op_sel & 8 != 0;
    if high {
        return half.then_some(Some(Place {
            at: 16,
            width: 16,
            unused: 2,
        }));
    }
    // Those that have op_sel keep the other half; older ones make it zero.
    let keeps = matches!(
        inst.op,
        Op::v_mad_f16
            | Op::v_mad_u16
            | Op::v_mad_i16
            | Op::v_fma_f16
            | Op::v_div_fixup_f16
            | Op::v_min3_f16
            | Op::v_min3_i16
            | Op::v_min3_u16
            | Op::v_max3_f16
            | Op::v_max3_i16
            | Op::v_max3_u16
            | Op::v_med3_f16
            | Op::v_med3_i16
            | Op::v_med3_u16
            | Op::v_add_i16
            | Op::v_sub_i16
            | Op::v_cvt_pk_fp8_f32
            | Op::v_cvt_pk_bf8_f32
    );
    Some(keeps.then_some(Place {
        at: 0,
        width: 16,
        unused: 2,
    }))
}

/// `v_fma_mix*`: a fused multiply-add in single precision, of singles and halves.
fn mixed(inst: &Inst, pc: u64, context: Context, steps: &mut Vec<Step>) -> Option<()> {
    let uses_avx512 = context.uses_avx512;
    let Operand::Vector(dst) = inst.dsts[0] else {
        return None;
    };
    let dst = u16::from(dst);
    let mut src = [Src::None; 3];
    for (i, src) in src.iter_mut().enumerate() {
        let bit = |bits: u8| bits >> i & 1 != 0;
        let temporary = MODIFIED + 2 * i as u16;
        let half = bit(inst.op_sel_hi);
        *src = source(inst.srcs[i], if half { Kind::F16 } else { Kind::F32 })?;
        if half {
            steps.push(modifiers::widen_step(
                uses_avx512,
                pc,
                *src,
                temporary,
                bit(inst.op_sel),
            ));
            *src = Src::Vector(temporary);
        }
        // VOP3P's neg_hi is the absolute value here.
        let (abs, neg) = (bit(inst.neg_hi) || bit(inst.abs), bit(inst.neg));
        if abs || neg {
            let bits = Bits::default().with_sign(abs, neg, 31);
            steps.push(bits.step(uses_avx512, pc, *src, temporary));
            *src = Src::Vector(temporary);
        }
    }
    let fma = lane_op(Op::v_fma_f32, uses_avx512)?;
    let single = inst.op == Op::v_fma_mix_f32;
    let target = if single && !inst.clamp { dst } else { RESULT };
    steps.push(Step::new(fma.run, pc, src, target));
    if inst.clamp {
        let to = if single { dst } else { RESULT };
        steps.push(modifiers::clamp_step(
            uses_avx512,
            pc,
            Kind::F32,
            RESULT,
            to,
        )?);
    }
    if !single {
        steps.push(modifiers::narrow_step(uses_avx512, pc, RESULT));
        let at = if inst.op == Op::v_fma_mixhi_f16 {
            16
        } else {
            0
        };
        steps.push(
            Place {
                at,
                width: 16,
                unused: 2,
            }
            .step(uses_avx512, pc, RESULT, dst),
        );
    }
    Some(())
}
