//! Vector comparisons: a bit for each active lane, into VCC or a scalar pair; `v_cmpx` into EXEC
//! as well.

#![allow(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the predicates are what they say they are for NaN, too"
)]

use strobe_isa::Op;

use super::f16::F16;
use super::float::{double, single};
use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, halves};
use super::mask::pack;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use crate::target::{LANES, LaneMask};

/// A table of comparisons: the mnemonics without and with EXEC, sources, predicate.
macro_rules! comparisons {
    ($table:ident: $(
        $op:ident $opx:ident ($a:ident : $at:ty, $b:ident : $bt:ty) $body:block
    )*) => {
        pub(super) fn $table(op: Op, uses_avx512: bool) -> Option<LaneOp> {
            Some(match op {
                $( Op::$op | Op::$opx => {
                    #[inline(always)]
                    fn bits(w: &mut Wave, s: &Step) -> LaneMask {
                        let of_64_bits =
                            u8::from(<$at as Value>::IS_64_BIT) | u8::from(<$bt as Value>::IS_64_BIT) << 1;
                        s.broadcast(w, of_64_bits);
                        let a = halves::<$at>(s.reg[0]);
                        let b = halves::<$bt>(s.reg[1]);
                        let (a, b) =
                            ((w.vector(a.0), w.vector(a.1)), (w.vector(b.0), w.vector(b.1)));
                        let mut bits = [0_u32; LANES];
                        for i in 0..LANES {
                            let $a: $at = Value::join(a.0[i], a.1[i]);
                            let $b: $bt = Value::join(b.0[i], b.1[i]);
                            let holds: bool = $body;
                            bits[i] = u32::from(holds);
                        }
                        pack(&bits) & w.exec()
                    }
                    #[inline(always)]
                    fn compare(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        let bits = bits(w, s);
                        w.set_mask(s.sdst, bits);
                        Ok(())
                    }
                    #[inline(always)]
                    fn compare_exec(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        let bits = bits(w, s);
                        w.set_mask(s.sdst, bits);
                        w.set_exec(bits);
                        Ok(())
                    }
                    LaneOp {
                        run: if op == Op::$op {
                            compiled_twice!(uses_avx512, compare)
                        } else {
                            compiled_twice!(uses_avx512, compare_exec)
                        },
                        src: &[<$at as Value>::KIND, <$bt as Value>::KIND],
                        dst: <u64 as Value>::KIND,
                    }
                } )*
                _ => return None,
            })
        }
    };
}

comparisons! { f16:
    v_cmp_f_f16 v_cmpx_f_f16(_a: F16, _b: F16) { false }
    v_cmp_lt_f16 v_cmpx_lt_f16(a: F16, b: F16) { a.to_f32() < b.to_f32() }
    v_cmp_eq_f16 v_cmpx_eq_f16(a: F16, b: F16) { a.to_f32() == b.to_f32() }
    v_cmp_le_f16 v_cmpx_le_f16(a: F16, b: F16) { a.to_f32() <= b.to_f32() }
    v_cmp_gt_f16 v_cmpx_gt_f16(a: F16, b: F16) { a.to_f32() > b.to_f32() }
    v_cmp_lg_f16 v_cmpx_lg_f16(a: F16, b: F16) { a.to_f32() < b.to_f32() || a.to_f32() > b.to_f32() }
    v_cmp_ge_f16 v_cmpx_ge_f16(a: F16, b: F16) { a.to_f32() >= b.to_f32() }
    v_cmp_o_f16 v_cmpx_o_f16(a: F16, b: F16) { !a.to_f32().is_nan() && !b.to_f32().is_nan() }
    v_cmp_u_f16 v_cmpx_u_f16(a: F16, b: F16) { a.to_f32().is_nan() || b.to_f32().is_nan() }
    v_cmp_nge_f16 v_cmpx_nge_f16(a: F16, b: F16) { !(a.to_f32() >= b.to_f32()) }
    v_cmp_nlg_f16 v_cmpx_nlg_f16(a: F16, b: F16) { !(a.to_f32() < b.to_f32() || a.to_f32() > b.to_f32()) }
    v_cmp_ngt_f16 v_cmpx_ngt_f16(a: F16, b: F16) { !(a.to_f32() > b.to_f32()) }
    v_cmp_nle_f16 v_cmpx_nle_f16(a: F16, b: F16) { !(a.to_f32() <= b.to_f32()) }
    v_cmp_neq_f16 v_cmpx_neq_f16(a: F16, b: F16) { a.to_f32() != b.to_f32() }
    v_cmp_nlt_f16 v_cmpx_nlt_f16(a: F16, b: F16) { !(a.to_f32() < b.to_f32()) }
    v_cmp_tru_f16 v_cmpx_tru_f16(_a: F16, _b: F16) { true }
    v_cmp_class_f16 v_cmpx_class_f16(a: F16, mask: u32) { class_f16(a) & mask != 0 }
}

comparisons! { f32:
    v_cmp_f_f32 v_cmpx_f_f32(_a: f32, _b: f32) { false }
    v_cmp_lt_f32 v_cmpx_lt_f32(a: f32, b: f32) { a < b }
    v_cmp_eq_f32 v_cmpx_eq_f32(a: f32, b: f32) { a == b }
    v_cmp_le_f32 v_cmpx_le_f32(a: f32, b: f32) { a <= b }
    v_cmp_gt_f32 v_cmpx_gt_f32(a: f32, b: f32) { a > b }
    v_cmp_lg_f32 v_cmpx_lg_f32(a: f32, b: f32) { a < b || a > b }
    v_cmp_ge_f32 v_cmpx_ge_f32(a: f32, b: f32) { a >= b }
    v_cmp_o_f32 v_cmpx_o_f32(a: f32, b: f32) { !a.is_nan() && !b.is_nan() }
    v_cmp_u_f32 v_cmpx_u_f32(a: f32, b: f32) { a.is_nan() || b.is_nan() }
    v_cmp_nge_f32 v_cmpx_nge_f32(a: f32, b: f32) { !(a >= b) }
    v_cmp_nlg_f32 v_cmpx_nlg_f32(a: f32, b: f32) { !(a < b || a > b) }
    v_cmp_ngt_f32 v_cmpx_ngt_f32(a: f32, b: f32) { !(a > b) }
    v_cmp_nle_f32 v_cmpx_nle_f32(a: f32, b: f32) { !(a <= b) }
    v_cmp_neq_f32 v_cmpx_neq_f32(a: f32, b: f32) { a != b }
    v_cmp_nlt_f32 v_cmpx_nlt_f32(a: f32, b: f32) { !(a < b) }
    v_cmp_tru_f32 v_cmpx_tru_f32(_a: f32, _b: f32) { true }
    v_cmp_class_f32 v_cmpx_class_f32(a: f32, mask: u32) { single::class(a) & mask != 0 }
}

comparisons! { f64:
    v_cmp_f_f64 v_cmpx_f_f64(_a: f64, _b: f64) { false }
    v_cmp_lt_f64 v_cmpx_lt_f64(a: f64, b: f64) { a < b }
    v_cmp_eq_f64 v_cmpx_eq_f64(a: f64, b: f64) { a == b }
    v_cmp_le_f64 v_cmpx_le_f64(a: f64, b: f64) { a <= b }
    v_cmp_gt_f64 v_cmpx_gt_f64(a: f64, b: f64) { a > b }
    v_cmp_lg_f64 v_cmpx_lg_f64(a: f64, b: f64) { a < b || a > b }
    v_cmp_ge_f64 v_cmpx_ge_f64(a: f64, b: f64) { a >= b }
    v_cmp_o_f64 v_cmpx_o_f64(a: f64, b: f64) { !a.is_nan() && !b.is_nan() }
    v_cmp_u_f64 v_cmpx_u_f64(a: f64, b: f64) { a.is_nan() || b.is_nan() }
    v_cmp_nge_f64 v_cmpx_nge_f64(a: f64, b: f64) { !(a >= b) }
    v_cmp_nlg_f64 v_cmpx_nlg_f64(a: f64, b: f64) { !(a < b || a > b) }
    v_cmp_ngt_f64 v_cmpx_ngt_f64(a: f64, b: f64) { !(a > b) }
    v_cmp_nle_f64 v_cmpx_nle_f64(a: f64, b: f64) { !(a <= b) }
    v_cmp_neq_f64 v_cmpx_neq_f64(a: f64, b: f64) { a != b }
    v_cmp_nlt_f64 v_cmpx_nlt_f64(a: f64, b: f64) { !(a < b) }
    v_cmp_tru_f64 v_cmpx_tru_f64(_a: f64, _b: f64) { true }
    v_cmp_class_f64 v_cmpx_class_f64(a: f64, mask: u32) { double::class(a) & mask != 0 }
}

comparisons! { int16:
    v_cmp_f_i16 v_cmpx_f_i16(_a: i16, _b: i16) { false }
    v_cmp_lt_i16 v_cmpx_lt_i16(a: i16, b: i16) { a < b }
    v_cmp_eq_i16 v_cmpx_eq_i16(a: i16, b: i16) { a == b }
    v_cmp_le_i16 v_cmpx_le_i16(a: i16, b: i16) { a <= b }
    v_cmp_gt_i16 v_cmpx_gt_i16(a: i16, b: i16) { a > b }
    v_cmp_ne_i16 v_cmpx_ne_i16(a: i16, b: i16) { a != b }
    v_cmp_ge_i16 v_cmpx_ge_i16(a: i16, b: i16) { a >= b }
    v_cmp_t_i16 v_cmpx_t_i16(_a: i16, _b: i16) { true }
    v_cmp_f_u16 v_cmpx_f_u16(_a: u16, _b: u16) { false }
    v_cmp_lt_u16 v_cmpx_lt_u16(a: u16, b: u16) { a < b }
    v_cmp_eq_u16 v_cmpx_eq_u16(a: u16, b: u16) { a == b }
    v_cmp_le_u16 v_cmpx_le_u16(a: u16, b: u16) { a <= b }
    v_cmp_gt_u16 v_cmpx_gt_u16(a: u16, b: u16) { a > b }
    v_cmp_ne_u16 v_cmpx_ne_u16(a: u16, b: u16) { a != b }
    v_cmp_ge_u16 v_cmpx_ge_u16(a: u16, b: u16) { a >= b }
    v_cmp_t_u16 v_cmpx_t_u16(_a: u16, _b: u16) { true }
}

comparisons! { int32:
    v_cmp_f_i32 v_cmpx_f_i32(_a: i32, _b: i32) { false }
    v_cmp_lt_i32 v_cmpx_lt_i32(a: i32, b: i32) { a < b }
    v_cmp_eq_i32 v_cmpx_eq_i32(a: i32, b: i32) { a == b }
    v_cmp_le_i32 v_cmpx_le_i32(a: i32, b: i32) { a <= b }
    v_cmp_gt_i32 v_cmpx_gt_i32(a: i32, b: i32) { a > b }
    v_cmp_ne_i32 v_cmpx_ne_i32(a: i32, b: i32) { a != b }
    v_cmp_ge_i32 v_cmpx_ge_i32(a: i32, b: i32) { a >= b }
    v_cmp_t_i32 v_cmpx_t_i32(_a: i32, _b: i32) { true }
    v_cmp_f_u32 v_cmpx_f_u32(_a: u32, _b: u32) { false }
    v_cmp_lt_u32 v_cmpx_lt_u32(a: u32, b: u32) { a < b }
    v_cmp_eq_u32 v_cmpx_eq_u32(a: u32, b: u32) { a == b }
    v_cmp_le_u32 v_cmpx_le_u32(a: u32, b: u32) { a <= b }
    v_cmp_gt_u32 v_cmpx_gt_u32(a: u32, b: u32) { a > b }
    v_cmp_ne_u32 v_cmpx_ne_u32(a: u32, b: u32) { a != b }
    v_cmp_ge_u32 v_cmpx_ge_u32(a: u32, b: u32) { a >= b }
    v_cmp_t_u32 v_cmpx_t_u32(_a: u32, _b: u32) { true }
}

comparisons! { int64:
    v_cmp_f_i64 v_cmpx_f_i64(_a: i64, _b: i64) { false }
    v_cmp_lt_i64 v_cmpx_lt_i64(a: i64, b: i64) { a < b }
    v_cmp_eq_i64 v_cmpx_eq_i64(a: i64, b: i64) { a == b }
    v_cmp_le_i64 v_cmpx_le_i64(a: i64, b: i64) { a <= b }
    v_cmp_gt_i64 v_cmpx_gt_i64(a: i64, b: i64) { a > b }
    v_cmp_ne_i64 v_cmpx_ne_i64(a: i64, b: i64) { a != b }
    v_cmp_ge_i64 v_cmpx_ge_i64(a: i64, b: i64) { a >= b }
    v_cmp_t_i64 v_cmpx_t_i64(_a: i64, _b: i64) { true }
    v_cmp_f_u64 v_cmpx_f_u64(_a: u64, _b: u64) { false }
    v_cmp_lt_u64 v_cmpx_lt_u64(a: u64, b: u64) { a < b }
    v_cmp_eq_u64 v_cmpx_eq_u64(a: u64, b: u64) { a == b }
    v_cmp_le_u64 v_cmpx_le_u64(a: u64, b: u64) { a <= b }
    v_cmp_gt_u64 v_cmpx_gt_u64(a: u64, b: u64) { a > b }
    v_cmp_ne_u64 v_cmpx_ne_u64(a: u64, b: u64) { a != b }
    v_cmp_ge_u64 v_cmpx_ge_u64(a: u64, b: u64) { a >= b }
    v_cmp_t_u64 v_cmpx_t_u64(_a: u64, _b: u64) { true }
}

pub(super) fn table(op: Op, uses_avx512: bool) -> Option<LaneOp> {
    let tables = [f16, f32, f64, int16, int32, int64];
    tables.iter().find_map(|table| table(op, uses_avx512))
}

/// Subnormal halves are normal singles: their class comes from their own bits.
#[inline(always)]
fn class_f16(a: F16) -> u32 {
    let magnitude = a.0 & 0x7fff;
    let signalling = magnitude > 0x7c00 && magnitude & 0x200 == 0;
    let subnormal = magnitude != 0 && magnitude < 0x400;
    if signalling {
        1
    } else if subnormal {
        if a.0 & 0x8000 != 0 { 1 << 4 } else { 1 << 7 }
    } else {
        single::class(a.to_f32())
    }
}
