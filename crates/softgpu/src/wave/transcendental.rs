//! Base-2 exponential and logarithm, sine and cosine of turns: the vector unit's transcendental
//! operations, which the hardware gives to about one ulp.
//!
//! Computed in `f64` by short polynomials without branches and without fused operations, so that
//! 64 lanes vectorise and every build gives the same bits. The error before rounding to `f32` is
//! below 1e-9 of the value.

/// Adding this leaves the nearest integer in the low bits of an `f64` below 2^51.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for k in (0..N - 1).rev() {
        sum = sum * x + coefficients[k];
    }
    sum
}

/// 2^x.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let x = f64::from(x);
    let x = if x > 130.0 { 130.0 } else { x };
    let x = if x < -160.0 { -160.0 } else { x };
    let shifted = x + TO_INTEGER;
    let fraction = (x - (shifted - TO_INTEGER)) * std::f64::consts::LN_2;
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let series = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362_880.0,
    ];
    (polynomial(fraction, series) * scale) as f32
}

/// The base-2 logarithm.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let wide = f64::from(x);
    let bits = wide.to_bits();
    // The mantissa in [sqrt(1/2), sqrt(2)).
    let offset = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = ((offset as i64) >> 52) as u64;
    let mantissa = f64::from_bits(bits.wrapping_sub(exponent << 52));
    let exponent = f64::from_bits(TO_INTEGER.to_bits().wrapping_add(exponent)) - TO_INTEGER;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let series = [
        1.0,
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
    ];
    let log = s * polynomial(s * s, series) * (2.0 / std::f64::consts::LN_2) + exponent;
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x < 0.0 || x.is_nan() {
        f32::NAN
    } else if x == f32::INFINITY {
        x
    } else {
        log as f32
    }
}

/// Sine (`quarters` 0) or cosine (1) of `x` turns.
#[inline(always)]
fn turns(x: f32, quarters: u64) -> f32 {
    let x = f64::from(x);
    let shifted = x * 4.0 + TO_INTEGER;
    let angle = (x - (shifted - TO_INTEGER) * 0.25) * std::f64::consts::TAU;
    let quadrant = shifted.to_bits().wrapping_add(quarters);
    let square = angle * angle;
    let sine = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
    ];
    let cosine = [
        1.0,
        -1.0 / 2.0,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
    ];
    let sine = angle * polynomial(square, sine);
    let cosine = polynomial(square, cosine);
    let value = if quadrant & 1 == 0 { sine } else { cosine };
    (if quadrant & 2 == 0 { value } else { -value }) as f32
}

/// Sine of 2 pi x.
#[inline(always)]
pub(super) fn sin_turns(x: f32) -> f32 {
    turns(x, 0)
}

/// Cosine of 2 pi x.
#[inline(always)]
pub(super) fn cos_turns(x: f32) -> f32 {
    turns(x, 1)
}

/// The first 1201 bits of 2/pi after the binary point, most significant first.
const TWO_OVER_PI: [u32; 38] = [
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
    0x2ebb_4484,
    0xe99c_7026,
    0xb45f_7e41,
    0x3991_d639,
    0x8353_39f4,
    0x9c84_5f8b,
    0xbdf9_283b,
    0x1ff8_97ff,
    0xde05_980f,
    0xef2f_118b,
    0x5a0a_6d1f,
    0x6d36_7ecf,
    0x27cb_09b7,
    0x4f46_3f66,
    0x9e5f_ea2d,
    0x7527_bac7,
    0xebe5_f17b,
    0x3d07_39f7,
    0x8a52_92ea,
    0x6bfb_5fb1,
    0x1f8d_5d08,
    0x5603_3046,
    0xfc7b_6bab,
];

/// `v_trig_preop_f64`: 53 bits of 2/pi, scaled, for the reduction of a large angle `x`.
#[inline(always)]
pub(super) fn trig_preop(x: f64, segment: u32) -> f64 {
    let exponent = super::float::double::exponent(x);
    let extra = if exponent > 1077 { exponent - 1077 } else { 0 };
    let shift = (segment & 31) as i32 * 53 + extra;
    let mut bits = 0_u64;
    for k in 0..53 {
        let at = (shift + k) as usize;
        let word = TWO_OVER_PI.get(at / 32).copied().unwrap_or(0);
        bits = bits << 1 | u64::from(word >> (31 - at % 32) & 1);
    }
    let scale = -53 - shift + if exponent >= 1968 { 128 } else { 0 };
    super::float::ldexp64(bits as f64, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `got` within `ulps` units in the last place of `want` rounded to `f32`.
    #[track_caller]
    fn close(got: f32, want: f64, ulps: f64, what: &str, x: f32) {
        let rounded = want as f32;
        if rounded == got || rounded.is_nan() && got.is_nan() {
            return;
        }
        let ulp = f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
        let error = (f64::from(got) - want).abs() / ulp;
        assert!(
            error <= ulps,
            "{what}({x:e}) = {got:e}, want {want:e}: {error} ulp"
        );
    }

    #[test]
    fn exponential_and_logarithm_are_within_an_ulp() {
        let mut x = -152.0_f32;
        while x < 130.0 {
            close(exp2(x), f64::from(x).exp2(), 0.51, "exp2", x);
            x += 0.013;
        }
        for bits in (0..0x7f80_0000_u32).step_by(9973) {
            let x = f32::from_bits(bits);
            close(log2(x), f64::from(x).log2(), 0.51, "log2", x);
        }
        assert_eq!(exp2(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp2(f32::NEG_INFINITY), 0.0);
        assert!(exp2(f32::NAN).is_nan() && log2(f32::NAN).is_nan() && log2(-1.0).is_nan());
        assert_eq!(log2(0.0), f32::NEG_INFINITY);
        assert_eq!(log2(f32::INFINITY), f32::INFINITY);
        assert_eq!(log2(8.0), 3.0);
    }

    #[test]
    fn sine_and_cosine_take_turns() {
        let mut x = -3.0_f32;
        while x < 3.0 {
            let reduced = f64::from(x) - f64::from(x).round();
            close(
                sin_turns(x),
                (reduced * std::f64::consts::TAU).sin(),
                0.6,
                "sin",
                x,
            );
            close(
                cos_turns(x),
                (reduced * std::f64::consts::TAU).cos(),
                0.6,
                "cos",
                x,
            );
            x += 0.000_37;
        }
        assert_eq!(sin_turns(0.25), 1.0);
        assert_eq!(cos_turns(0.5), -1.0);
        assert!(sin_turns(f32::INFINITY).is_nan());
    }

    #[test]
    fn trig_preop_gives_segments_of_two_over_pi() {
        let sum: f64 = (0..3).map(|segment| trig_preop(1.0, segment)).sum();
        assert_eq!(sum, std::f64::consts::FRAC_2_PI);
        assert_eq!(
            trig_preop(1.0, 0),
            (0x145f306dc9c882_u64) as f64 * 2_f64.powi(-53)
        );
    }
}
