//! Halves and 16-bit integers on the vector unit, single and packed.

use strobe_isa::Op;

use super::f16::F16;
use super::float::{self, single};
use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, each_lane, halves, lane_ops};
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transcendental as tr;

lane_ops! { table:
    v_add_f16(a: F16, b: F16) -> F16 { a.map2(b, |a, b| a + b) }
    v_sub_f16(a: F16, b: F16) -> F16 { a.map2(b, |a, b| a - b) }
    v_subrev_f16(a: F16, b: F16) -> F16 { a.map2(b, |a, b| b - a) }
    v_mul_f16(a: F16, b: F16) -> F16 { a.map2(b, |a, b| a * b) }
    v_mac_f16(a: F16, b: F16, c: F16) -> F16 { mad(a, b, c) }
    v_madmk_f16(a: F16, k: F16, b: F16) -> F16 { mad(a, k, b) }
    v_madak_f16(a: F16, b: F16, k: F16) -> F16 { mad(a, b, k) }
    v_mad_f16(a: F16, b: F16, c: F16) -> F16 { mad(a, b, c) }
    v_mad_legacy_f16(a: F16, b: F16, c: F16) -> F16 { mad(a, b, c) }
    v_fma_f16(a: F16, b: F16, c: F16) -> F16 { a.fma(b, c) }
    v_fma_legacy_f16(a: F16, b: F16, c: F16) -> F16 { a.fma(b, c) }
    v_min_f16(a: F16, b: F16) -> F16 { a.map2(b, single::min) }
    v_max_f16(a: F16, b: F16) -> F16 { a.map2(b, single::max) }
    v_min3_f16(a: F16, b: F16, c: F16) -> F16 { a.map2(b, single::min).map2(c, single::min) }
    v_max3_f16(a: F16, b: F16, c: F16) -> F16 { a.map2(b, single::max).map2(c, single::max) }
    v_med3_f16(a: F16, b: F16, c: F16) -> F16 {
        F16::from_f32(single::med3(a.to_f32(), b.to_f32(), c.to_f32()))
    }
    v_ldexp_f16(a: F16, e: i16) -> F16 { ldexp(a, e) }
    v_rcp_f16(a: F16) -> F16 { a.map(|a| 1.0 / a) }
    v_sqrt_f16(a: F16) -> F16 { a.map(f32::sqrt) }
    v_rsq_f16(a: F16) -> F16 { F16::from_f64(1.0 / f64::from(a.to_f32()).sqrt()) }
    v_log_f16(a: F16) -> F16 { a.map(tr::log2) }
    v_exp_f16(a: F16) -> F16 { a.map(tr::exp2) }
    v_sin_f16(a: F16) -> F16 { a.map(tr::sin_turns) }
    v_cos_f16(a: F16) -> F16 { a.map(tr::cos_turns) }
    v_floor_f16(a: F16) -> F16 { a.map(f32::floor) }
    v_ceil_f16(a: F16) -> F16 { a.map(f32::ceil) }
    v_trunc_f16(a: F16) -> F16 { a.map(f32::trunc) }
    v_rndne_f16(a: F16) -> F16 { a.map(f32::round_ties_even) }
    v_fract_f16(a: F16) -> F16 { fract(a) }
    v_frexp_mant_f16(a: F16) -> F16 { a.map(|a| single::frexp(a).0) }
    v_frexp_exp_i16_f16(a: F16) -> i16 { single::frexp(a.to_f32()).1 as i16 }
    v_div_fixup_f16(q: F16, d: F16, n: F16) -> F16 { div_fixup(q, d, n) }
    v_div_fixup_legacy_f16(q: F16, d: F16, n: F16) -> F16 { div_fixup(q, d, n) }
    v_add_u16(a: u16, b: u16) -> u16 { a.wrapping_add(b) }
    v_sub_u16(a: u16, b: u16) -> u16 { a.wrapping_sub(b) }
    v_subrev_u16(a: u16, b: u16) -> u16 { b.wrapping_sub(a) }
    v_add_i16(a: i16, b: i16) -> i16 { a.wrapping_add(b) }
    v_sub_i16(a: i16, b: i16) -> i16 { a.wrapping_sub(b) }
    v_mul_lo_u16(a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    v_mad_u16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_i16(a: i16, b: i16, c: i16) -> i16 { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_legacy_u16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_legacy_i16(a: i16, b: i16, c: i16) -> i16 { a.wrapping_mul(b).wrapping_add(c) }
    v_lshlrev_b16(n: u16, a: u16) -> u16 { a << (n & 15) }
    v_lshrrev_b16(n: u16, a: u16) -> u16 { a >> (n & 15) }
    v_ashrrev_i16(n: u16, a: i16) -> i16 { a >> (n & 15) }
    v_max_u16(a: u16, b: u16) -> u16 { a.max(b) }
    v_max_i16(a: i16, b: i16) -> i16 { a.max(b) }
    v_min_u16(a: u16, b: u16) -> u16 { a.min(b) }
    v_min_i16(a: i16, b: i16) -> i16 { a.min(b) }
    v_min3_u16(a: u16, b: u16, c: u16) -> u16 { a.min(b).min(c) }
    v_max3_u16(a: u16, b: u16, c: u16) -> u16 { a.max(b).max(c) }
    v_med3_u16(a: u16, b: u16, c: u16) -> u16 { a.min(b).max(a.max(b).min(c)) }
    v_min3_i16(a: i16, b: i16, c: i16) -> i16 { a.min(b).min(c) }
    v_max3_i16(a: i16, b: i16, c: i16) -> i16 { a.max(b).max(c) }
    v_med3_i16(a: i16, b: i16, c: i16) -> i16 { a.min(b).max(a.max(b).min(c)) }
    v_pack_b32_f16(a: F16, b: F16) -> u32 { u32::from(a.0) | u32::from(b.0) << 16 }
    v_sat_pk_u8_i16(a: (i16, i16)) -> u32 {
        a.0.clamp(0, 255) as u32 | (a.1.clamp(0, 255) as u32) << 8
    }
}

lane_ops! { packed:
    v_pk_fma_f16(a: (F16, F16), b: (F16, F16), c: (F16, F16)) -> (F16, F16) {
        (a.0.fma(b.0, c.0), a.1.fma(b.1, c.1))
    }
    v_pk_add_f16(a: (F16, F16), b: (F16, F16)) -> (F16, F16) { both(a, b, |a, b| a + b) }
    v_pk_mul_f16(a: (F16, F16), b: (F16, F16)) -> (F16, F16) { both(a, b, |a, b| a * b) }
    v_pk_min_f16(a: (F16, F16), b: (F16, F16)) -> (F16, F16) { both(a, b, single::min) }
    v_pk_max_f16(a: (F16, F16), b: (F16, F16)) -> (F16, F16) { both(a, b, single::max) }
    v_pk_mad_i16(a: (i16, i16), b: (i16, i16), c: (i16, i16)) -> (i16, i16) {
        (a.0.wrapping_mul(b.0).wrapping_add(c.0), a.1.wrapping_mul(b.1).wrapping_add(c.1))
    }
    v_pk_mad_u16(a: (u16, u16), b: (u16, u16), c: (u16, u16)) -> (u16, u16) {
        (a.0.wrapping_mul(b.0).wrapping_add(c.0), a.1.wrapping_mul(b.1).wrapping_add(c.1))
    }
    v_pk_mul_lo_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) {
        (a.0.wrapping_mul(b.0), a.1.wrapping_mul(b.1))
    }
    v_pk_add_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) {
        (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
    }
    v_pk_sub_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) {
        (a.0.wrapping_sub(b.0), a.1.wrapping_sub(b.1))
    }
    v_pk_add_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) {
        (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
    }
    v_pk_sub_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) {
        (a.0.wrapping_sub(b.0), a.1.wrapping_sub(b.1))
    }
    v_pk_lshlrev_b16(n: (u16, u16), a: (u16, u16)) -> (u16, u16) {
        (a.0 << (n.0 & 15), a.1 << (n.1 & 15))
    }
    v_pk_lshrrev_b16(n: (u16, u16), a: (u16, u16)) -> (u16, u16) {
        (a.0 >> (n.0 & 15), a.1 >> (n.1 & 15))
    }
    v_pk_ashrrev_i16(n: (i16, i16), a: (i16, i16)) -> (i16, i16) {
        (a.0 >> (n.0 & 15), a.1 >> (n.1 & 15))
    }
    v_pk_max_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) { (a.0.max(b.0), a.1.max(b.1)) }
    v_pk_min_i16(a: (i16, i16), b: (i16, i16)) -> (i16, i16) { (a.0.min(b.0), a.1.min(b.1)) }
    v_pk_max_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) { (a.0.max(b.0), a.1.max(b.1)) }
    v_pk_min_u16(a: (u16, u16), b: (u16, u16)) -> (u16, u16) { (a.0.min(b.0), a.1.min(b.1)) }
    v_dot2_f32_f16(a: (F16, F16), b: (F16, F16), c: f32) -> f32 { dot2(a, b, c) }
    v_dot2_i32_i16(a: (i16, i16), b: (i16, i16), c: i32) -> i32 {
        let product = |a, b| i32::from(a).wrapping_mul(i32::from(b));
        c.wrapping_add(product(a.0, b.0)).wrapping_add(product(a.1, b.1))
    }
    v_dot2_u32_u16(a: (u16, u16), b: (u16, u16), c: u32) -> u32 {
        let product = |a, b| u32::from(a).wrapping_mul(u32::from(b));
        c.wrapping_add(product(a.0, b.0)).wrapping_add(product(a.1, b.1))
    }
    v_dot4_i32_i8(a: u32, b: u32, c: u32) -> u32 { dot(a, b, c, 8, true) }
    v_dot4_u32_u8(a: u32, b: u32, c: u32) -> u32 { dot(a, b, c, 8, false) }
    v_dot8_i32_i4(a: u32, b: u32, c: u32) -> u32 { dot(a, b, c, 4, true) }
    v_dot8_u32_u4(a: u32, b: u32, c: u32) -> u32 { dot(a, b, c, 4, false) }
}

#[inline(always)]
fn both(a: (F16, F16), b: (F16, F16), f: impl Fn(f32, f32) -> f32) -> (F16, F16) {
    (a.0.map2(b.0, &f), a.1.map2(b.1, &f))
}

/// Multiply, round, add, round.
#[inline(always)]
fn mad(a: F16, b: F16, c: F16) -> F16 {
    a.map2(b, |a, b| a * b).map2(c, |p, c| p + c)
}

#[inline(always)]
fn ldexp(a: F16, e: i16) -> F16 {
    F16::from_f64(f64::from(a.to_f32()) * float::power_of_two(i32::from(e).clamp(-100, 100)))
}

#[inline(always)]
fn fract(a: F16) -> F16 {
    let f = a.map(|a| a - a.floor());
    // The largest half below one.
    if f.0 == 0x3c00 { F16(0x3bff) } else { f }
}

#[inline(always)]
fn div_fixup(quotient: F16, den: F16, num: F16) -> F16 {
    F16::from_f32(single::div_fixup(
        quotient.to_f32(),
        den.to_f32(),
        num.to_f32(),
    ))
}

/// The products are exact in `f64`; their sum is rounded once.
#[inline(always)]
fn dot2(a: (F16, F16), b: (F16, F16), c: f32) -> f32 {
    let product = |a: F16, b: F16| f64::from(a.to_f32()) * f64::from(b.to_f32());
    (product(a.0, b.0) + product(a.1, b.1) + f64::from(c)) as f32
}

#[inline(always)]
fn dot(a: u32, b: u32, c: u32, bits: u32, signed: bool) -> u32 {
    let mut sum = c;
    for k in 0..32 / bits {
        let field = |x: u32| {
            let top = x << (32 - bits - bits * k);
            if signed {
                (top.cast_signed() >> (32 - bits)).cast_unsigned()
            } else {
                top >> (32 - bits)
            }
        };
        sum = sum.wrapping_add(field(a).wrapping_mul(field(b)));
    }
    sum
}
