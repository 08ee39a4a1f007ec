//! Instructions that are one or two operations on the values of their sources, as tables.

use strobe_isa::{Encoding, Inst, Op, Operand, Space};

use crate::expr::{Binary, Compare, Inverse};

/// Vector instructions of one operation: it, and the numbers of its left and its right source.
pub(crate) fn vector_pair(op: Op) -> Option<(Binary, usize, usize)> {
    use Op::*;
    let in_order = |operation| Some((operation, 0, 1));
    let reversed = |operation| Some((operation, 1, 0));
    match op {
        v_add_u32 | v_add_i32 => in_order(Binary::Add),
        v_sub_u32 | v_sub_i32 => in_order(Binary::Sub),
        v_subrev_u32 => reversed(Binary::Sub),
        v_mul_lo_u32 => in_order(Binary::Mul),
        v_mul_hi_u32 => in_order(Binary::MulHighU),
        v_mul_hi_i32 => in_order(Binary::MulHighS),
        v_lshlrev_b32 => reversed(Binary::Shl),
        v_lshrrev_b32 => reversed(Binary::Shr),
        v_ashrrev_i32 => reversed(Binary::Sar),
        v_and_b32 => in_order(Binary::And),
        v_or_b32 => in_order(Binary::Or),
        v_xor_b32 => in_order(Binary::Xor),
        v_min_u32 => in_order(Binary::MinU),
        v_max_u32 => in_order(Binary::MaxU),
        v_min_i32 => in_order(Binary::MinS),
        v_max_i32 => in_order(Binary::MaxS),
        _ => None,
    }
}

/// Vector instructions of two operations: of the first two sources, and of that and the third.
pub(crate) fn vector_triple(op: Op) -> Option<(Binary, Binary)> {
    use Op::*;
    Some(match op {
        v_lshl_add_u32 => (Binary::Shl, Binary::Add),
        v_add_lshl_u32 => (Binary::Add, Binary::Shl),
        v_add3_u32 => (Binary::Add, Binary::Add),
        v_lshl_or_b32 => (Binary::Shl, Binary::Or),
        v_and_or_b32 => (Binary::And, Binary::Or),
        v_or3_b32 => (Binary::Or, Binary::Or),
        v_xad_u32 => (Binary::Xor, Binary::Add),
        v_min3_u32 => (Binary::MinU, Binary::MinU),
        v_max3_u32 => (Binary::MaxU, Binary::MaxU),
        v_min3_i32 => (Binary::MinS, Binary::MinS),
        v_max3_i32 => (Binary::MaxS, Binary::MaxS),
        _ => return None,
    })
}

/// Vector instructions on the low 16 bits of two sources: the operation, and whether they change places.
pub(crate) fn half_words(op: Op) -> Option<(Binary, bool)> {
    use Op::*;
    Some(match op {
        v_add_u16 => (Binary::Add, false),
        v_sub_u16 => (Binary::Sub, false),
        v_subrev_u16 => (Binary::Sub, true),
        v_mul_lo_u16 => (Binary::Mul, false),
        v_min_u16 => (Binary::MinU, false),
        v_max_u16 => (Binary::MaxU, false),
        v_lshlrev_b16 => (Binary::Shl, true),
        v_lshrrev_b16 => (Binary::Shr, true),
        _ => return None,
    })
}

/// Whether anything is made of the vector registers that an instruction names as sources.
pub(crate) fn reads_vectors(inst: &Inst) -> bool {
    use Op::*;
    let info = inst.op.info();
    match info.space {
        Space::Ds => return false,
        Space::None => {}
        _ => return true,
    }
    if inst.encoding == Encoding::Ds {
        return false;
    }
    match inst.op {
        v_readfirstlane_b32 | v_readlane_b32 | v_writelane_b32 | v_swap_b32 => true,
        v_accvgpr_read_b32 | v_accvgpr_write_b32 | v_accvgpr_mov_b32 => true,
        op => is_followed(inst) || vector_comparison(op).is_some(),
    }
}

/// Whether the value of a vector instruction is an expression of its sources.
pub(crate) fn is_followed(inst: &Inst) -> bool {
    use Op::*;
    let op = inst.op;
    let is_known = matches!(
        op,
        v_add_co_u32
            | v_sub_co_u32
            | v_subrev_co_u32
            | v_addc_co_u32
            | v_subb_co_u32
            | v_subbrev_co_u32
            | v_mul_u32_u24
            | v_mad_u32_u24
            | v_mul_i32_i24
            | v_mad_i32_i24
            | v_mul_hi_u32_u24
            | v_mad_u64_u32
            | v_mad_i64_i32
            | v_mad_u32_u16
            | v_lshlrev_b64
            | v_lshl_add_u64
            | v_mov_b64
            | v_pk_mov_b32
            | v_lshrrev_b64
            | v_ashrrev_i64
            | v_mov_b32
            | v_not_b32
            | v_cndmask_b32
            | v_med3_i32
            | v_med3_u32
            | v_bfe_u32
            | v_bfe_i32
            | v_bfi_b32
            | v_alignbit_b32
            | v_alignbyte_b32
            | v_mbcnt_lo_u32_b32
            | v_mbcnt_hi_u32_b32
            | v_bcnt_u32_b32
            | v_cvt_f64_u32
            | v_cvt_f64_i32
    );
    is_known
        || vector_pair(op).is_some()
        || vector_triple(op).is_some()
        || half_words(op).is_some()
        || inverse(inst).is_some()
}

/// Whether an instruction makes floats of 64 bits, or integers of them. They are looked for no further than a block: that
/// somebody asks for them would cost more than it is worth.
pub(crate) fn is_of_doubles(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        v_cvt_f64_u32
            | v_cvt_f64_i32
            | v_cvt_i32_f64
            | v_ldexp_f64
            | v_rsq_f64
            | v_floor_f64
            | v_min_f64
            | v_max_f64
            | v_add_f64
            | v_mul_f64
            | v_fma_f64
    )
}

/// `2^32 - 512` as a float: what inverses are scaled by, so that none becomes too high.
const SCALE: Operand = Operand::Literal(0x4f7f_fffe);

/// What the instruction makes on the way to a divisor's inverse, if it may be on that way.
pub(crate) fn inverse(inst: &Inst) -> Option<Inverse> {
    if inst.omod != 0 {
        return None;
    }
    match inst.op {
        Op::v_cvt_f32_u32 => Some(Inverse::Divisor),
        Op::v_rcp_iflag_f32 | Op::v_rcp_f32 => Some(Inverse::Float),
        Op::v_mul_f32 if inst.srcs[..2].contains(&SCALE) => Some(Inverse::Scaled),
        Op::v_cvt_u32_f32 => Some(Inverse::Word),
        _ => None,
    }
}

/// Comparisons of integers: which one, and whether the sources change places.
pub(crate) fn vector_comparison(op: Op) -> Option<(Compare, bool)> {
    use Op::*;
    Some(match op {
        v_cmp_eq_u32 | v_cmp_eq_i32 | v_cmp_eq_u64 | v_cmp_eq_i64 => (Compare::Eq, false),
        v_cmpx_eq_u32 | v_cmpx_eq_i32 | v_cmpx_eq_u64 | v_cmpx_eq_i64 => (Compare::Eq, false),
        v_cmp_ne_u32 | v_cmp_ne_i32 | v_cmp_ne_u64 | v_cmp_ne_i64 => (Compare::Ne, false),
        v_cmpx_ne_u32 | v_cmpx_ne_i32 | v_cmpx_ne_u64 | v_cmpx_ne_i64 => (Compare::Ne, false),
        v_cmp_lt_u32 | v_cmp_lt_u64 | v_cmpx_lt_u32 | v_cmpx_lt_u64 => (Compare::LtU, false),
        v_cmp_le_u32 | v_cmp_le_u64 | v_cmpx_le_u32 | v_cmpx_le_u64 => (Compare::LeU, false),
        v_cmp_gt_u32 | v_cmp_gt_u64 | v_cmpx_gt_u32 | v_cmpx_gt_u64 => (Compare::LtU, true),
        v_cmp_ge_u32 | v_cmp_ge_u64 | v_cmpx_ge_u32 | v_cmpx_ge_u64 => (Compare::LeU, true),
        v_cmp_lt_i32 | v_cmp_lt_i64 | v_cmpx_lt_i32 | v_cmpx_lt_i64 => (Compare::LtS, false),
        v_cmp_le_i32 | v_cmp_le_i64 | v_cmpx_le_i32 | v_cmpx_le_i64 => (Compare::LeS, false),
        v_cmp_gt_i32 | v_cmp_gt_i64 | v_cmpx_gt_i32 | v_cmpx_gt_i64 => (Compare::LtS, true),
        v_cmp_ge_i32 | v_cmp_ge_i64 | v_cmpx_ge_i32 | v_cmpx_ge_i64 => (Compare::LeS, true),
        _ => return None,
    })
}

/// Scalar instructions of one operation that say in SCC whether its result is other than zero.
pub(crate) fn scalar_logic(op: Op) -> Option<Binary> {
    use Op::*;
    Some(match op {
        s_and_b32 | s_andn2_b32 => Binary::And,
        s_or_b32 | s_orn2_b32 => Binary::Or,
        s_xor_b32 => Binary::Xor,
        s_lshl_b32 => Binary::Shl,
        s_lshr_b32 => Binary::Shr,
        s_ashr_i32 => Binary::Sar,
        _ => return None,
    })
}

/// Scalar products, which leave SCC as it is.
pub(crate) fn scalar_product(op: Op) -> Option<Binary> {
    use Op::*;
    Some(match op {
        s_mul_i32 => Binary::Mul,
        s_mul_hi_u32 => Binary::MulHighU,
        s_mul_hi_i32 => Binary::MulHighS,
        _ => return None,
    })
}

/// The lesser or the greater of two: it, and what SCC says then, of the two or (where they change places)
/// of the second and the first.
pub(crate) fn scalar_extreme(op: Op) -> Option<(Binary, Compare, bool)> {
    use Op::*;
    Some(match op {
        s_min_i32 => (Binary::MinS, Compare::LtS, false),
        s_min_u32 => (Binary::MinU, Compare::LtU, false),
        s_max_i32 => (Binary::MaxS, Compare::LtS, true),
        s_max_u32 => (Binary::MaxU, Compare::LtU, true),
        _ => return None,
    })
}

/// By how many bits a scalar instruction shifts its first source before it adds the second.
pub(crate) fn scalar_shift_and_add(op: Op) -> Option<u32> {
    use Op::*;
    Some(match op {
        s_lshl1_add_u32 => 1,
        s_lshl2_add_u32 => 2,
        s_lshl3_add_u32 => 3,
        s_lshl4_add_u32 => 4,
        _ => return None,
    })
}
