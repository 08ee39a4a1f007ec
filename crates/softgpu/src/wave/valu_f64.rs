//! Double precision on the vector unit.

use strobe_isa::Op;

use super::float::{self, double};
use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, each_lane, halves, lane_ops};
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use super::transcendental as tr;

lane_ops! { table:
    v_add_f64(a: f64, b: f64) -> f64 { a + b }
    v_mul_f64(a: f64, b: f64) -> f64 { a * b }
    v_fma_f64(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    v_fmac_f64(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    v_min_f64(a: f64, b: f64) -> f64 { double::min(a, b) }
    v_max_f64(a: f64, b: f64) -> f64 { double::max(a, b) }
    v_ldexp_f64(a: f64, e: i32) -> f64 { float::ldexp64(a, e) }
    v_trunc_f64(a: f64) -> f64 { a.trunc() }
    v_ceil_f64(a: f64) -> f64 { a.ceil() }
    v_rndne_f64(a: f64) -> f64 { a.round_ties_even() }
    v_floor_f64(a: f64) -> f64 { a.floor() }
    v_fract_f64(a: f64) -> f64 { double::fract(a) }
    v_frexp_mant_f64(a: f64) -> f64 { double::frexp(a).0 }
    v_frexp_exp_i32_f64(a: f64) -> i32 { double::frexp(a).1 }
    v_rcp_f64(a: f64) -> f64 { 1.0 / a }
    v_rsq_f64(a: f64) -> f64 { 1.0 / a.sqrt() }
    v_sqrt_f64(a: f64) -> f64 { a.sqrt() }
    v_div_fixup_f64(q: f64, d: f64, n: f64) -> f64 { double::div_fixup(q, d, n) }
    v_trig_preop_f64(a: f64, segment: u32) -> f64 { tr::trig_preop(a, segment) }
}
