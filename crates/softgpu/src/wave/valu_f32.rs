//! Single precision on the vector unit.

use strobe_isa::Op;

use super::float::{self, single};
use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, each_lane, halves, lane_ops};
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transcendental as tr;

lane_ops! { table:
    v_add_f32(a: f32, b: f32) -> f32 { a + b }
    v_sub_f32(a: f32, b: f32) -> f32 { a - b }
    v_subrev_f32(a: f32, b: f32) -> f32 { b - a }
    v_mul_f32(a: f32, b: f32) -> f32 { a * b }
    v_mul_legacy_f32(a: f32, b: f32) -> f32 { float::mul_legacy(a, b) }
    v_mac_f32(a: f32, b: f32, c: f32) -> f32 { float::mad(a, b, c) }
    v_mad_f32(a: f32, b: f32, c: f32) -> f32 { float::mad(a, b, c) }
    v_madmk_f32(a: f32, k: f32, b: f32) -> f32 { float::mad(a, k, b) }
    v_madak_f32(a: f32, b: f32, k: f32) -> f32 { float::mad(a, b, k) }
    v_mad_legacy_f32(a: f32, b: f32, c: f32) -> f32 { float::mul_legacy(a, b) + c }
    v_fma_f32(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    v_fmac_f32(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    v_fmamk_f32(a: f32, k: f32, b: f32) -> f32 { a.mul_add(k, b) }
    v_fmaak_f32(a: f32, b: f32, k: f32) -> f32 { a.mul_add(b, k) }
    v_min_f32(a: f32, b: f32) -> f32 { single::min(a, b) }
    v_max_f32(a: f32, b: f32) -> f32 { single::max(a, b) }
    v_min3_f32(a: f32, b: f32, c: f32) -> f32 { single::min(single::min(a, b), c) }
    v_max3_f32(a: f32, b: f32, c: f32) -> f32 { single::max(single::max(a, b), c) }
    v_med3_f32(a: f32, b: f32, c: f32) -> f32 { single::med3(a, b, c) }
    v_trunc_f32(a: f32) -> f32 { a.trunc() }
    v_ceil_f32(a: f32) -> f32 { a.ceil() }
    v_rndne_f32(a: f32) -> f32 { a.round_ties_even() }
    v_floor_f32(a: f32) -> f32 { a.floor() }
    v_fract_f32(a: f32) -> f32 { single::fract(a) }
    v_ldexp_f32(a: f32, e: i32) -> f32 { float::ldexp(a, e) }
    v_frexp_mant_f32(a: f32) -> f32 { single::frexp(a).0 }
    v_frexp_exp_i32_f32(a: f32) -> i32 { single::frexp(a).1 }
    v_rcp_f32(a: f32) -> f32 { 1.0 / a }
    v_rcp_iflag_f32(a: f32) -> f32 { 1.0 / a }
    v_sqrt_f32(a: f32) -> f32 { a.sqrt() }
    v_rsq_f32(a: f32) -> f32 { (1.0 / f64::from(a).sqrt()) as f32 }
    v_exp_f32(a: f32) -> f32 { tr::exp2(a) }
    v_exp_legacy_f32(a: f32) -> f32 { tr::exp2(a) }
    v_log_f32(a: f32) -> f32 { tr::log2(a) }
    v_log_legacy_f32(a: f32) -> f32 { tr::log2(a) }
    v_sin_f32(a: f32) -> f32 { tr::sin_turns(a) }
    v_cos_f32(a: f32) -> f32 { tr::cos_turns(a) }
    v_div_fixup_f32(q: f32, d: f32, n: f32) -> f32 { single::div_fixup(q, d, n) }
}
