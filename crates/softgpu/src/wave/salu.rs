//! The scalar unit: arithmetic, comparisons, execution masks.

use strobe_isa::Op;
use strobe_isa::scalar_register::M0;

use super::group::Group;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};

/// A value in one scalar register or two.
trait Scalar: Copy {
    fn read(w: &Wave, src: Src) -> Self;
    fn write(self, w: &mut Wave, dst: u8);
    fn is_zero(self) -> bool;
}

macro_rules! scalar_value {
    ($($ty:ty, $read:ident, $write:ident, $bits:ty;)*) => { $(
        impl Scalar for $ty {
            #[inline(always)]
            fn read(w: &Wave, src: Src) -> Self {
                w.$read(src) as Self
            }
            #[inline(always)]
            fn write(self, w: &mut Wave, dst: u8) {
                w.$write(dst, self as $bits);
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
        }
    )* };
}

scalar_value! {
    u32, read32, set_scalar, u32;
    i32, read32, set_scalar, u32;
    u64, read64, set_scalar64, u64;
    i64, read64, set_scalar64, u64;
}

/// Tables `mnemonic (sources) -> result`. What SCC becomes: in `keeps` it stays, in `nonzero` it
/// says whether the result is not zero, in `flagged` the expression gives it beside the result.
/// `w` names the wave in the expressions.
macro_rules! scalar_ops {
    ($table:ident $scc:ident: $(
        $op:ident |$w:ident| ($($n:tt $arg:ident : $ty:ty),*) -> $ret:ty $body:block
    )*) => {
        fn $table(op: Op) -> Option<Handler> {
            Some(match op {
                $( Op::$op => {
                    fn scalar($w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        $( let $arg = <$ty as Scalar>::read($w, s.src[$n]); )*
                        scalar_ops!(@$scc $w, s, $ret, $body);
                        Ok(())
                    }
                    scalar
                } )*
                _ => return None,
            })
        }
    };
    (@keeps $w:ident, $s:ident, $ret:ty, $body:block) => {
        let result: $ret = $body;
        result.write($w, $s.sdst);
    };
    (@nonzero $w:ident, $s:ident, $ret:ty, $body:block) => {
        let result: $ret = $body;
        result.write($w, $s.sdst);
        $w.scc = !result.is_zero();
    };
    (@flagged $w:ident, $s:ident, $ret:ty, $body:block) => {
        let (result, flag): ($ret, bool) = $body;
        result.write($w, $s.sdst);
        $w.scc = flag;
    };
}

scalar_ops! { moves keeps:
    s_mov_b32 |w| (0 a: u32) -> u32 { a }
    s_mov_b64 |w| (0 a: u64) -> u64 { a }
    s_movk_i32 |w| (0 k: u32) -> u32 { k }
    s_cmov_b32 |w| (0 a: u32, 1 d: u32) -> u32 { if w.scc { a } else { d } }
    s_cmov_b64 |w| (0 a: u64, 1 d: u64) -> u64 { if w.scc { a } else { d } }
    s_cmovk_i32 |w| (0 k: u32, 1 d: u32) -> u32 { if w.scc { k } else { d } }
    s_cselect_b32 |w| (0 a: u32, 1 b: u32) -> u32 { if w.scc { a } else { b } }
    s_cselect_b64 |w| (0 a: u64, 1 b: u64) -> u64 { if w.scc { a } else { b } }
    s_mulk_i32 |w| (0 k: u32, 1 d: u32) -> u32 { d.wrapping_mul(k) }
    s_mul_i32 |w| (0 a: u32, 1 b: u32) -> u32 { a.wrapping_mul(b) }
    s_mul_hi_u32 |w| (0 a: u32, 1 b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    s_mul_hi_i32 |w| (0 a: i32, 1 b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    s_brev_b32 |w| (0 a: u32) -> u32 { a.reverse_bits() }
    s_brev_b64 |w| (0 a: u64) -> u64 { a.reverse_bits() }
    s_ff0_i32_b32 |w| (0 a: u32) -> i32 { first(!a == 0, a.trailing_ones()) }
    s_ff0_i32_b64 |w| (0 a: u64) -> i32 { first(!a == 0, a.trailing_ones()) }
    s_ff1_i32_b32 |w| (0 a: u32) -> i32 { first(a == 0, a.trailing_zeros()) }
    s_ff1_i32_b64 |w| (0 a: u64) -> i32 { first(a == 0, a.trailing_zeros()) }
    s_flbit_i32_b32 |w| (0 a: u32) -> i32 { first(a == 0, a.leading_zeros()) }
    s_flbit_i32_b64 |w| (0 a: u64) -> i32 { first(a == 0, a.leading_zeros()) }
    s_flbit_i32 |w| (0 a: i32) -> i32 { let d = a ^ a >> 31; first(d == 0, d.leading_zeros()) }
    s_flbit_i32_i64 |w| (0 a: i64) -> i32 { let d = a ^ a >> 63; first(d == 0, d.leading_zeros()) }
    s_sext_i32_i8 |w| (0 a: i32) -> i32 { i32::from(a as i8) }
    s_sext_i32_i16 |w| (0 a: i32) -> i32 { i32::from(a as i16) }
    s_bitset0_b32 |w| (0 n: u32, 1 d: u32) -> u32 { d & !(1 << (n & 31)) }
    s_bitset0_b64 |w| (0 n: u32, 1 d: u64) -> u64 { d & !(1 << (n & 63)) }
    s_bitset1_b32 |w| (0 n: u32, 1 d: u32) -> u32 { d | 1 << (n & 31) }
    s_bitset1_b64 |w| (0 n: u32, 1 d: u64) -> u64 { d | 1 << (n & 63) }
    s_bitreplicate_b64_b32 |w| (0 a: u32) -> u64 { replicate(a) }
    s_bfm_b32 |w| (0 n: u32, 1 at: u32) -> u32 { ((1 << (n & 31)) - 1) << (at & 31) }
    s_bfm_b64 |w| (0 n: u32, 1 at: u32) -> u64 { ((1 << (n & 63)) - 1) << (at & 63) }
    s_pack_ll_b32_b16 |w| (0 a: u32, 1 b: u32) -> u32 { a & 0xffff | b << 16 }
    s_pack_lh_b32_b16 |w| (0 a: u32, 1 b: u32) -> u32 { a & 0xffff | b & 0xffff_0000 }
    s_pack_hh_b32_b16 |w| (0 a: u32, 1 b: u32) -> u32 { a >> 16 | b & 0xffff_0000 }
    s_getpc_b64 |w| (0 next: u64) -> u64 { next }
}

scalar_ops! { logic nonzero:
    s_not_b32 |w| (0 a: u32) -> u32 { !a }
    s_not_b64 |w| (0 a: u64) -> u64 { !a }
    s_wqm_b32 |w| (0 a: u32) -> u32 { quads(u64::from(a)) as u32 * 0xf }
    s_wqm_b64 |w| (0 a: u64) -> u64 { quads(a) * 0xf }
    s_quadmask_b32 |w| (0 a: u32) -> u32 { compress(quads(u64::from(a))) as u32 }
    s_quadmask_b64 |w| (0 a: u64) -> u64 { compress(quads(a)) }
    s_bcnt0_i32_b32 |w| (0 a: u32) -> u32 { a.count_zeros() }
    s_bcnt0_i32_b64 |w| (0 a: u64) -> u32 { a.count_zeros() }
    s_bcnt1_i32_b32 |w| (0 a: u32) -> u32 { a.count_ones() }
    s_bcnt1_i32_b64 |w| (0 a: u64) -> u32 { a.count_ones() }
    s_abs_i32 |w| (0 a: i32) -> i32 { a.wrapping_abs() }
    s_absdiff_i32 |w| (0 a: i32, 1 b: i32) -> i32 { a.wrapping_sub(b).wrapping_abs() }
    s_and_b32 |w| (0 a: u32, 1 b: u32) -> u32 { a & b }
    s_and_b64 |w| (0 a: u64, 1 b: u64) -> u64 { a & b }
    s_or_b32 |w| (0 a: u32, 1 b: u32) -> u32 { a | b }
    s_or_b64 |w| (0 a: u64, 1 b: u64) -> u64 { a | b }
    s_xor_b32 |w| (0 a: u32, 1 b: u32) -> u32 { a ^ b }
    s_xor_b64 |w| (0 a: u64, 1 b: u64) -> u64 { a ^ b }
    s_andn2_b32 |w| (0 a: u32, 1 b: u32) -> u32 { a & !b }
    s_andn2_b64 |w| (0 a: u64, 1 b: u64) -> u64 { a & !b }
    s_orn2_b32 |w| (0 a: u32, 1 b: u32) -> u32 { a | !b }
    s_orn2_b64 |w| (0 a: u64, 1 b: u64) -> u64 { a | !b }
    s_nand_b32 |w| (0 a: u32, 1 b: u32) -> u32 { !(a & b) }
    s_nand_b64 |w| (0 a: u64, 1 b: u64) -> u64 { !(a & b) }
    s_nor_b32 |w| (0 a: u32, 1 b: u32) -> u32 { !(a | b) }
    s_nor_b64 |w| (0 a: u64, 1 b: u64) -> u64 { !(a | b) }
    s_xnor_b32 |w| (0 a: u32, 1 b: u32) -> u32 { !(a ^ b) }
    s_xnor_b64 |w| (0 a: u64, 1 b: u64) -> u64 { !(a ^ b) }
    s_lshl_b32 |w| (0 a: u32, 1 n: u32) -> u32 { a << (n & 31) }
    s_lshl_b64 |w| (0 a: u64, 1 n: u32) -> u64 { a << (n & 63) }
    s_lshr_b32 |w| (0 a: u32, 1 n: u32) -> u32 { a >> (n & 31) }
    s_lshr_b64 |w| (0 a: u64, 1 n: u32) -> u64 { a >> (n & 63) }
    s_ashr_i32 |w| (0 a: i32, 1 n: u32) -> i32 { a >> (n & 31) }
    s_ashr_i64 |w| (0 a: i64, 1 n: u32) -> i64 { a >> (n & 63) }
    s_bfe_u32 |w| (0 a: u32, 1 f: u32) -> u32 { field(u64::from(a), f & 31, f >> 16 & 127) as u32 }
    s_bfe_i32 |w| (0 a: i32, 1 f: u32) -> i32 {
        signed_field(i64::from(a), f & 31, f >> 16 & 127, 32) as i32
    }
    s_bfe_u64 |w| (0 a: u64, 1 f: u32) -> u64 { field(a, f & 63, f >> 16 & 127) }
    s_bfe_i64 |w| (0 a: i64, 1 f: u32) -> i64 { signed_field(a, f & 63, f >> 16 & 127, 64) }
    s_andn1_wrexec_b64 |w| (0 a: u64) -> u64 { write_exec(w, |exec| !a & exec) }
    s_andn2_wrexec_b64 |w| (0 a: u64) -> u64 { write_exec(w, |exec| a & !exec) }
}

scalar_ops! { arithmetic flagged:
    s_and_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| a & exec) }
    s_or_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| a | exec) }
    s_xor_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| a ^ exec) }
    s_andn2_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| a & !exec) }
    s_orn2_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| a | !exec) }
    s_nand_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| !(a & exec)) }
    s_nor_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| !(a | exec)) }
    s_xnor_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| !(a ^ exec)) }
    s_andn1_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| !a & exec) }
    s_orn1_saveexec_b64 |w| (0 a: u64) -> u64 { save_exec(w, |exec| !a | exec) }
    s_add_u32 |w| (0 a: u32, 1 b: u32) -> u32 { a.overflowing_add(b) }
    s_sub_u32 |w| (0 a: u32, 1 b: u32) -> u32 { a.overflowing_sub(b) }
    s_add_i32 |w| (0 a: i32, 1 b: i32) -> i32 { a.overflowing_add(b) }
    s_sub_i32 |w| (0 a: i32, 1 b: i32) -> i32 { a.overflowing_sub(b) }
    s_addk_i32 |w| (0 k: i32, 1 d: i32) -> i32 { d.overflowing_add(k) }
    s_addc_u32 |w| (0 a: u32, 1 b: u32) -> u32 {
        let sum = u64::from(a) + u64::from(b) + u64::from(w.scc);
        (sum as u32, sum >> 32 != 0)
    }
    s_subb_u32 |w| (0 a: u32, 1 b: u32) -> u32 {
        let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(w.scc));
        (difference as u32, difference >> 63 != 0)
    }
    s_min_i32 |w| (0 a: i32, 1 b: i32) -> i32 { (a.min(b), a < b) }
    s_min_u32 |w| (0 a: u32, 1 b: u32) -> u32 { (a.min(b), a < b) }
    s_max_i32 |w| (0 a: i32, 1 b: i32) -> i32 { (a.max(b), a > b) }
    s_max_u32 |w| (0 a: u32, 1 b: u32) -> u32 { (a.max(b), a > b) }
    s_lshl1_add_u32 |w| (0 a: u32, 1 b: u32) -> u32 { shift_add(a, b, 1) }
    s_lshl2_add_u32 |w| (0 a: u32, 1 b: u32) -> u32 { shift_add(a, b, 2) }
    s_lshl3_add_u32 |w| (0 a: u32, 1 b: u32) -> u32 { shift_add(a, b, 3) }
    s_lshl4_add_u32 |w| (0 a: u32, 1 b: u32) -> u32 { shift_add(a, b, 4) }
}

/// A table of comparisons into SCC, of two sources or of a register and a constant.
macro_rules! scalar_compares {
    ($( $($op:ident)|+ ($a:ident : $at:ty, $b:ident : $bt:ty) $body:block )*) => {
        fn compares(op: Op) -> Option<Handler> {
            Some(match op {
                $( $(Op::$op)|+ => {
                    fn compare(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        let $a = <$at as Scalar>::read(w, s.src[0]);
                        let $b = <$bt as Scalar>::read(w, s.src[1]);
                        w.scc = $body;
                        Ok(())
                    }
                    compare
                } )*
                _ => return None,
            })
        }
    };
}

scalar_compares! {
    s_cmp_eq_i32 | s_cmpk_eq_i32 (a: i32, b: i32) { a == b }
    s_cmp_lg_i32 | s_cmpk_lg_i32 (a: i32, b: i32) { a != b }
    s_cmp_gt_i32 | s_cmpk_gt_i32 (a: i32, b: i32) { a > b }
    s_cmp_ge_i32 | s_cmpk_ge_i32 (a: i32, b: i32) { a >= b }
    s_cmp_lt_i32 | s_cmpk_lt_i32 (a: i32, b: i32) { a < b }
    s_cmp_le_i32 | s_cmpk_le_i32 (a: i32, b: i32) { a <= b }
    s_cmp_eq_u32 | s_cmpk_eq_u32 (a: u32, b: u32) { a == b }
    s_cmp_lg_u32 | s_cmpk_lg_u32 (a: u32, b: u32) { a != b }
    s_cmp_gt_u32 | s_cmpk_gt_u32 (a: u32, b: u32) { a > b }
    s_cmp_ge_u32 | s_cmpk_ge_u32 (a: u32, b: u32) { a >= b }
    s_cmp_lt_u32 | s_cmpk_lt_u32 (a: u32, b: u32) { a < b }
    s_cmp_le_u32 | s_cmpk_le_u32 (a: u32, b: u32) { a <= b }
    s_bitcmp0_b32 (a: u32, n: u32) { a >> (n & 31) & 1 == 0 }
    s_bitcmp1_b32 (a: u32, n: u32) { a >> (n & 31) & 1 != 0 }
    s_bitcmp0_b64 (a: u64, n: u32) { a >> (n & 63) & 1 == 0 }
    s_bitcmp1_b64 (a: u64, n: u32) { a >> (n & 63) & 1 != 0 }
    s_cmp_eq_u64 (a: u64, b: u64) { a == b }
    s_cmp_lg_u64 (a: u64, b: u64) { a != b }
}

/// The handler of a scalar operation that does not end a basic block.
pub(super) fn handler(op: Op) -> Option<Handler> {
    let relative: Option<Handler> = match op {
        Op::s_movrels_b32 => Some(movrels32),
        Op::s_movrels_b64 => Some(movrels64),
        Op::s_movreld_b32 => Some(movreld32),
        Op::s_movreld_b64 => Some(movreld64),
        _ => None,
    };
    [moves, logic, arithmetic, compares]
        .iter()
        .find_map(|table| table(op))
        .or(relative)
}

/// The register `M0` further on.
fn moved(w: &Wave, reg: u8) -> u8 {
    reg.wrapping_add(w.scalar(M0) as u8) & 127
}

fn movrels32(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    if let Src::Scalar(reg) = s.src[0] {
        w.set_scalar(s.sdst, w.scalar(moved(w, reg)));
    }
    Ok(())
}

fn movrels64(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    if let Src::Scalar(reg) = s.src[0] {
        w.set_scalar64(s.sdst, w.scalar64(moved(w, reg)));
    }
    Ok(())
}

fn movreld32(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    w.set_scalar(moved(w, s.sdst), w.read32(s.src[0]));
    Ok(())
}

fn movreld64(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    w.set_scalar64(moved(w, s.sdst), w.read64(s.src[0]));
    Ok(())
}

fn first(none: bool, position: u32) -> i32 {
    if none { -1 } else { position.cast_signed() }
}

/// A bit for each quad of which any bit is set, where the quad begins.
fn quads(a: u64) -> u64 {
    (a | a >> 1 | a >> 2 | a >> 3) & 0x1111_1111_1111_1111
}

/// Every fourth bit, close together.
fn compress(quads: u64) -> u64 {
    (0..16).fold(0, |bits, k| bits | (quads >> (4 * k) & 1) << k)
}

fn replicate(a: u32) -> u64 {
    (0..32).fold(0, |bits, k| bits | (u64::from(a >> k & 1) * 3) << (2 * k))
}

fn field(a: u64, at: u32, n: u32) -> u64 {
    let shifted = a >> at;
    if n >= 64 {
        shifted
    } else {
        shifted & ((1 << n) - 1)
    }
}

fn signed_field(a: i64, at: u32, n: u32, size: u32) -> i64 {
    if n == 0 {
        0
    } else if at + n >= size {
        a >> at
    } else {
        a << (64 - at - n) >> (64 - n)
    }
}

fn shift_add(a: u32, b: u32, n: u32) -> (u32, bool) {
    let sum = (u64::from(a) << n) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

/// Changes EXEC; gives the old one, and whether any lane is active in the new one.
fn save_exec(w: &mut Wave, f: impl Fn(u64) -> u64) -> (u64, bool) {
    let (old, new) = (w.exec(), f(w.exec()));
    w.set_exec(new);
    (old, new != 0)
}

/// Changes EXEC and gives the new one.
fn write_exec(w: &mut Wave, f: impl Fn(u64) -> u64) -> u64 {
    let new = f(w.exec());
    w.set_exec(new);
    new
}
