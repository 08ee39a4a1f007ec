//! 32 and 64-bit integers on the vector unit.

use strobe_isa::Op;

use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, each_lane, halves, lane_ops};
use super::state::Wave;
use super::step::{Handler, Outcome, Step};

lane_ops! { table:
    v_mov_b32(a: u32) -> u32 { a }
    v_mov_b64(a: u64) -> u64 { a }
    v_accvgpr_read_b32(a: u32) -> u32 { a }
    v_accvgpr_write_b32(a: u32) -> u32 { a }
    v_accvgpr_mov_b32(a: u32) -> u32 { a }
    v_not_b32(a: u32) -> u32 { !a }
    v_bfrev_b32(a: u32) -> u32 { a.reverse_bits() }
    v_ffbh_u32(a: u32) -> u32 { if a == 0 { !0 } else { a.leading_zeros() } }
    v_ffbl_b32(a: u32) -> u32 { if a == 0 { !0 } else { a.trailing_zeros() } }
    v_ffbh_i32(a: u32) -> u32 { ffbh_i32(a) }
    v_and_b32(a: u32, b: u32) -> u32 { a & b }
    v_or_b32(a: u32, b: u32) -> u32 { a | b }
    v_xor_b32(a: u32, b: u32) -> u32 { a ^ b }
    v_xnor_b32(a: u32, b: u32) -> u32 { !(a ^ b) }
    v_lshlrev_b32(n: u32, a: u32) -> u32 { a << (n & 31) }
    v_lshrrev_b32(n: u32, a: u32) -> u32 { a >> (n & 31) }
    v_ashrrev_i32(n: u32, a: i32) -> i32 { a >> (n & 31) }
    v_lshlrev_b64(n: u32, a: u64) -> u64 { a << (n & 63) }
    v_lshrrev_b64(n: u32, a: u64) -> u64 { a >> (n & 63) }
    v_ashrrev_i64(n: u32, a: i64) -> i64 { a >> (n & 63) }
    v_add_u32(a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    v_sub_u32(a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    v_subrev_u32(a: u32, b: u32) -> u32 { b.wrapping_sub(a) }
    v_add_i32(a: i32, b: i32) -> i32 { a.wrapping_add(b) }
    v_sub_i32(a: i32, b: i32) -> i32 { a.wrapping_sub(b) }
    v_add3_u32(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }
    v_lshl_add_u32(a: u32, n: u32, c: u32) -> u32 { (a << (n & 31)).wrapping_add(c) }
    v_lshl_add_u64(a: u64, n: u32, c: u64) -> u64 { (a << (n & 7)).wrapping_add(c) }
    v_add_lshl_u32(a: u32, b: u32, n: u32) -> u32 { a.wrapping_add(b) << (n & 31) }
    v_lshl_or_b32(a: u32, n: u32, c: u32) -> u32 { a << (n & 31) | c }
    v_and_or_b32(a: u32, b: u32, c: u32) -> u32 { a & b | c }
    v_or3_b32(a: u32, b: u32, c: u32) -> u32 { a | b | c }
    v_xad_u32(a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) }
    v_min_i32(a: i32, b: i32) -> i32 { a.min(b) }
    v_max_i32(a: i32, b: i32) -> i32 { a.max(b) }
    v_min_u32(a: u32, b: u32) -> u32 { a.min(b) }
    v_max_u32(a: u32, b: u32) -> u32 { a.max(b) }
    v_min3_i32(a: i32, b: i32, c: i32) -> i32 { a.min(b).min(c) }
    v_max3_i32(a: i32, b: i32, c: i32) -> i32 { a.max(b).max(c) }
    v_min3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) }
    v_max3_u32(a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) }
    v_med3_i32(a: i32, b: i32, c: i32) -> i32 { a.min(b).max(a.max(b).min(c)) }
    v_med3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) }
    v_mul_lo_u32(a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    v_mul_hi_u32(a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    v_mul_hi_i32(a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    v_mul_u32_u24(a: u32, b: u32) -> u32 { u24(a).wrapping_mul(u24(b)) }
    v_mul_i32_i24(a: i32, b: i32) -> i32 { i24(a).wrapping_mul(i24(b)) }
    v_mul_hi_u32_u24(a: u32, b: u32) -> u32 {
        ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32
    }
    v_mul_hi_i32_i24(a: i32, b: i32) -> i32 {
        ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as i32
    }
    v_mad_u32_u24(a: u32, b: u32, c: u32) -> u32 { u24(a).wrapping_mul(u24(b)).wrapping_add(c) }
    v_mad_i32_i24(a: i32, b: i32, c: i32) -> i32 { i24(a).wrapping_mul(i24(b)).wrapping_add(c) }
    v_mad_u32_u16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    v_mad_i32_i16(a: i16, b: i16, c: i32) -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }
    v_bfe_u32(a: u32, at: u32, n: u32) -> u32 { a >> (at & 31) & ((1 << (n & 31)) - 1) }
    v_bfe_i32(a: i32, at: u32, n: u32) -> i32 { bfe_i32(a, at & 31, n & 31) }
    v_bfi_b32(mask: u32, a: u32, b: u32) -> u32 { mask & a | !mask & b }
    v_bfm_b32(n: u32, at: u32) -> u32 { ((1 << (n & 31)) - 1) << (at & 31) }
    v_alignbit_b32(a: u32, b: u32, n: u32) -> u32 { pair(a, b, n & 31) }
    v_alignbyte_b32(a: u32, b: u32, n: u32) -> u32 { pair(a, b, (n & 3) * 8) }
    v_perm_b32(a: u32, b: u32, selector: u32) -> u32 { perm(a, b, selector) }
    v_bcnt_u32_b32(a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) }
    v_mbcnt_lo_u32_b32[lane](a: u32, b: u32) -> u32 {
        (a & below(lane, 0)).count_ones().wrapping_add(b)
    }
    v_mbcnt_hi_u32_b32[lane](a: u32, b: u32) -> u32 {
        (a & below(lane, 32)).count_ones().wrapping_add(b)
    }
    v_lerp_u8(a: u32, b: u32, c: u32) -> u32 {
        bytes(a, b, c, |a, b, c| (a + b + (c & 1)) >> 1)
    }
    v_sad_u8(a: u32, b: u32, c: u32) -> u32 { sad_u8(a, b).wrapping_add(c) }
    v_sad_hi_u8(a: u32, b: u32, c: u32) -> u32 { (sad_u8(a, b) << 16).wrapping_add(c) }
    v_sad_u16(a: u32, b: u32, c: u32) -> u32 {
        (a & 0xffff).abs_diff(b & 0xffff).wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
    }
    v_sad_u32(a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
}

// What the clamp bit makes of them: the result saturates.
lane_ops! { saturating:
    v_add_u32(a: u32, b: u32) -> u32 { a.saturating_add(b) }
    v_sub_u32(a: u32, b: u32) -> u32 { a.saturating_sub(b) }
    v_subrev_u32(a: u32, b: u32) -> u32 { b.saturating_sub(a) }
    v_add_i32(a: i32, b: i32) -> i32 { a.saturating_add(b) }
    v_sub_i32(a: i32, b: i32) -> i32 { a.saturating_sub(b) }
    v_add_u16(a: u16, b: u16) -> u16 { a.saturating_add(b) }
    v_sub_u16(a: u16, b: u16) -> u16 { a.saturating_sub(b) }
    v_subrev_u16(a: u16, b: u16) -> u16 { b.saturating_sub(a) }
    v_add_i16(a: i16, b: i16) -> i16 { a.saturating_add(b) }
    v_sub_i16(a: i16, b: i16) -> i16 { a.saturating_sub(b) }
    v_mad_u32_u24(a: u32, b: u32, c: u32) -> u32 {
        let wide = u64::from(u24(a)) * u64::from(u24(b)) + u64::from(c);
        wide.min(u64::from(u32::MAX)) as u32
    }
    v_mad_i32_i24(a: i32, b: i32, c: i32) -> i32 {
        let wide = i64::from(i24(a)) * i64::from(i24(b)) + i64::from(c);
        wide.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
    v_pk_add_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) {
        (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
    }
    v_pk_sub_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) {
        (a.0.saturating_sub(b.0), a.1.saturating_sub(b.1))
    }
    v_pk_add_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) {
        (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
    }
    v_pk_sub_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) {
        (a.0.saturating_sub(b.0), a.1.saturating_sub(b.1))
    }
}

#[inline(always)]
fn u24(a: u32) -> u32 {
    a & 0xff_ffff
}

#[inline(always)]
fn i24(a: i32) -> i32 {
    a << 8 >> 8
}

/// The bits of `hi:lo` from bit `n` (below 32).
#[inline(always)]
fn pair(hi: u32, lo: u32, n: u32) -> u32 {
    ((u64::from(hi) << 32 | u64::from(lo)) >> n) as u32
}

#[inline(always)]
fn ffbh_i32(a: u32) -> u32 {
    let differing = a ^ (a.cast_signed() >> 31).cast_unsigned();
    if differing == 0 {
        !0
    } else {
        differing.leading_zeros()
    }
}

#[inline(always)]
fn bfe_i32(a: i32, at: u32, n: u32) -> i32 {
    let field = a >> at;
    let narrow = field << ((32 - n) & 31) >> ((32 - n) & 31);
    if n == 0 {
        0
    } else if at + n < 32 {
        narrow
    } else {
        field
    }
}

/// The bits of the lanes below `lane`, of the half of the wave that starts at `first`.
#[inline(always)]
fn below(lane: usize, first: usize) -> u32 {
    match lane.saturating_sub(first) {
        n if n >= 32 => !0,
        n => (1 << n) - 1,
    }
}

#[inline(always)]
fn perm(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) << 32 | u64::from(b);
    let mut result = 0;
    for k in 0..4 {
        let which = selector >> (8 * k) & 0xff;
        let picked = (bytes >> (8 * (which & 7))) as u32 & 0xff;
        // 8..=11: the sign of byte 1, 3, 5, 7.
        let sign = (bytes >> (16 * (which & 3) + 15)) as u32 & 1;
        let byte = match which {
            0..=7 => picked,
            8..=11 => sign * 0xff,
            12 => 0,
            _ => 0xff,
        };
        result |= byte << (8 * k);
    }
    result
}

#[inline(always)]
fn bytes(a: u32, b: u32, c: u32, f: impl Fn(u32, u32, u32) -> u32) -> u32 {
    let mut result = 0;
    for k in [0, 8, 16, 24] {
        result |= (f(a >> k & 0xff, b >> k & 0xff, c >> k & 0xff) & 0xff) << k;
    }
    result
}

#[inline(always)]
fn sad_u8(a: u32, b: u32) -> u32 {
    let mut sum = 0;
    for k in [0, 8, 16, 24] {
        sum += (a >> k & 0xff).abs_diff(b >> k & 0xff);
    }
    sum
}
