//! What floating-point operations of the vector unit give for one lane.
//!
//! Facts: "Vega" instruction set architecture (AMD). Written without branches where they are hot,
//! so that 64 lanes vectorise.

/// Classes of `v_cmp_class_*`, by bit.
const SIGNALLING: u32 = 0;
const QUIET: u32 = 1;

macro_rules! float_functions {
    ($module:ident, $f:ty, $u:ty, $i:ty, mantissa $mantissa:expr, bias $bias:expr) => {
        pub(super) mod $module {
            const MANTISSA: u32 = $mantissa;
            const SIGN: $u = 1 << (<$u>::BITS - 1);
            const QUIET_BIT: $u = 1 << (MANTISSA - 1);
            const INFINITY: $u = <$f>::INFINITY.to_bits();
            const NAN: $u = SIGN | INFINITY | QUIET_BIT;

            #[inline(always)]
            fn quiet(x: $f) -> $f {
                <$f>::from_bits(x.to_bits() | QUIET_BIT)
            }

            #[inline(always)]
            fn signalling(x: $f) -> bool {
                x.is_nan() && x.to_bits() & QUIET_BIT == 0
            }

            /// The biased exponent.
            #[inline(always)]
            pub(in super::super) fn exponent(x: $f) -> i32 {
                ((x.to_bits() & !SIGN) >> MANTISSA) as i32
            }

            /// The other operand of a minimum or maximum of which one is NaN (IEEE mode).
            #[inline(always)]
            fn not_nan(a: $f, b: $f) -> $f {
                if signalling(a) || b.is_nan() && a.is_nan() {
                    quiet(a)
                } else if signalling(b) {
                    quiet(b)
                } else if a.is_nan() {
                    b
                } else {
                    a
                }
            }

            #[inline(always)]
            pub(in super::super) fn min(a: $f, b: $f) -> $f {
                let a_less = a < b || a == b && a.to_bits() & SIGN != 0;
                let ordered = if a_less { a } else { b };
                if a.is_nan() || b.is_nan() {
                    not_nan(a, b)
                } else {
                    ordered
                }
            }

            #[inline(always)]
            pub(in super::super) fn max(a: $f, b: $f) -> $f {
                let a_greater = a > b || a == b && a.to_bits() & SIGN == 0;
                let ordered = if a_greater { a } else { b };
                if a.is_nan() || b.is_nan() {
                    not_nan(a, b)
                } else {
                    ordered
                }
            }

            #[allow(dead_code, reason = "there is no median of doubles")]
            #[inline(always)]
            pub(in super::super) fn med3(a: $f, b: $f, c: $f) -> $f {
                let median = max(min(a, b), min(max(a, b), c));
                let any_nan = a.is_nan() || b.is_nan() || c.is_nan();
                if any_nan { min(min(a, b), c) } else { median }
            }

            /// The fraction, always less than one; NaN for infinities.
            #[inline(always)]
            pub(in super::super) fn fract(x: $f) -> $f {
                let below_one = <$f>::from_bits((1.0 as $f).to_bits() - 1);
                let f = x - x.floor();
                if f > below_one { below_one } else { f }
            }

            /// Mantissa in [0.5, 1) and exponent.
            #[inline(always)]
            pub(in super::super) fn frexp(x: $f) -> ($f, i32) {
                let finite = x.is_finite() && x != 0.0;
                // Scaling makes a subnormal normal.
                let shift = MANTISSA as i32 + 2;
                let scale = <$f>::from_bits((($bias + shift) as $u) << MANTISSA);
                let subnormal = exponent(x) == 0;
                let scaled = if subnormal { x * scale } else { x };
                let less = if subnormal { shift } else { 0 };
                let fraction = scaled.to_bits() & (SIGN | ((1 << MANTISSA) - 1));
                let mantissa = <$f>::from_bits(fraction | (($bias - 1) as $u) << MANTISSA);
                let exp = exponent(scaled) - ($bias - 1) - less;
                if finite {
                    (mantissa, exp)
                } else {
                    (if x.is_nan() { quiet(x) } else { x }, 0)
                }
            }

            /// One bit for each class of `v_cmp_class`.
            #[inline(always)]
            pub(in super::super) fn class(x: $f) -> u32 {
                let negative = x.to_bits() & SIGN != 0;
                let magnitude = x.to_bits() & !SIGN;
                let (minus, plus) = if magnitude == INFINITY {
                    (2, 9)
                } else if magnitude >> MANTISSA != 0 {
                    (3, 8)
                } else if magnitude != 0 {
                    (4, 7)
                } else {
                    (5, 6)
                };
                let ordered = if negative { minus } else { plus };
                let bit = if signalling(x) {
                    super::SIGNALLING
                } else if x.is_nan() {
                    super::QUIET
                } else {
                    ordered
                };
                1 << bit
            }

            /// Scales numerator or denominator of a division out of the range where the Newton
            /// iteration would lose bits; the flag tells `div_fmas` to scale back.
            #[inline(always)]
            pub(in super::super) fn div_scale(s0: $f, den: $f, num: $f) -> ($f, bool) {
                // Figures of the manual: 96 and 23 for single, 768 and 53 for double precision.
                let (far, tiny) = if MANTISSA == 23 { (96, 23) } else { (768, 53) };
                let step: i32 = if MANTISSA == 23 { 64 } else { 128 };
                let up = <$f>::from_bits((($bias + step) as $u) << MANTISSA);
                let down = <$f>::from_bits((($bias - step) as $u) << MANTISSA);
                let is_den = s0.to_bits() == den.to_bits();
                let is_num = s0.to_bits() == num.to_bits();
                let quotient_subnormal = (num / den).is_subnormal();
                let inverse_subnormal = ((1.0 as $f) / den).is_subnormal();
                if num == 0.0 || den == 0.0 {
                    (<$f>::from_bits(NAN), false)
                } else if exponent(num) - exponent(den) >= far {
                    (if is_den { s0 * up } else { s0 }, true)
                } else if den.is_subnormal() {
                    (s0 * up, false)
                } else if inverse_subnormal && quotient_subnormal {
                    // The manual says "up" here, which would overflow.
                    (if is_den { s0 * down } else { s0 }, true)
                } else if inverse_subnormal {
                    (s0 * down, false)
                } else if quotient_subnormal {
                    (if is_num { s0 * up } else { s0 }, true)
                } else if exponent(num) <= tiny {
                    (s0 * up, false)
                } else {
                    (s0, false)
                }
            }

            /// Replaces the special cases of a division's quotient.
            #[inline(always)]
            pub(in super::super) fn div_fixup(quotient: $f, den: $f, num: $f) -> $f {
                let sign = (den.to_bits() ^ num.to_bits()) & SIGN;
                let signed = |magnitude: $u| <$f>::from_bits(magnitude & !SIGN | sign);
                let (zero_den, zero_num) = (den == 0.0, num == 0.0);
                let (inf_den, inf_num) = (den.is_infinite(), num.is_infinite());
                let underflow = if MANTISSA == 23 { -150 } else { -1075 };
                if num.is_nan() {
                    quiet(num)
                } else if den.is_nan() {
                    quiet(den)
                } else if zero_den && zero_num || inf_den && inf_num {
                    <$f>::from_bits(NAN)
                } else if zero_den || inf_num {
                    signed(INFINITY)
                } else if inf_den || zero_num || exponent(num) - exponent(den) < underflow {
                    signed(0)
                } else if quotient.is_nan() {
                    // Only a quotient too large makes the iteration end so.
                    signed(INFINITY)
                } else {
                    signed(quotient.to_bits())
                }
            }
        }
    };
}

float_functions!(single, f32, u32, i32, mantissa 23, bias 127);
float_functions!(double, f64, u64, i64, mantissa 52, bias 1023);

/// Zero times anything is zero.
#[inline(always)]
pub(super) fn mul_legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// A subnormal as a zero of its sign.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    })
}

/// Multiply, round, add, round; subnormals are flushed whatever the mode says.
#[inline(always)]
pub(super) fn mad(a: f32, b: f32, c: f32) -> f32 {
    flush(flush(flush(a) * flush(b)) + flush(c))
}

#[inline(always)]
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[inline(always)]
pub(super) fn ldexp(x: f32, exponent: i32) -> f32 {
    // Exact in f64; rounded once.
    (f64::from(x) * power_of_two(exponent.clamp(-400, 400))) as f32
}

#[inline(always)]
pub(super) fn ldexp64(x: f64, exponent: i32) -> f64 {
    // At most one of the factors makes the result subnormal, so it is rounded once.
    let e = exponent.clamp(-2200, 2200);
    let first = e.clamp(-969, 1023);
    let second = (e - first).clamp(-969, 1023);
    let third = (e - first - second).clamp(-969, 1023);
    x * power_of_two(first) * power_of_two(second) * power_of_two(third)
}

/// `a * b + c`, times 2^64 or 2^-64 (whichever brings it back) where `div_scale` had scaled.
#[inline(always)]
pub(super) fn div_fmas(a: f32, b: f32, c: f32, scaled: bool) -> f32 {
    let plain = a.mul_add(b, c);
    // The product is exact in f64; the sum is rounded to odd, so that scaling rounds once.
    let (p, c64) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = p + c64;
    let back = sum - p;
    let lost = (p - (sum - back)) + (c64 - back);
    let odd = f64::from_bits(sum.to_bits() | u64::from(lost != 0.0));
    let factor = power_of_two(if single::exponent(c) > 127 { 64 } else { -64 });
    if scaled { (odd * factor) as f32 } else { plain }
}

#[inline(always)]
pub(super) fn div_fmas64(a: f64, b: f64, c: f64, scaled: bool) -> f64 {
    let plain = a.mul_add(b, c);
    let factor = power_of_two(if double::exponent(c) > 1023 {
        128
    } else {
        -128
    });
    if scaled { plain * factor } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_orders_zeros_and_prefers_numbers() {
        assert!(single::min(0.0, -0.0).is_sign_negative());
        assert!(single::max(-0.0, 0.0).is_sign_positive());
        assert_eq!(single::min(f32::NAN, 3.0), 3.0);
        assert_eq!(single::max(3.0, f32::NAN), 3.0);
        let signalling = f32::from_bits(0x7f80_0001);
        assert_eq!(single::min(signalling, 3.0).to_bits(), 0x7fc0_0001);
        assert_eq!(single::med3(1.0, 5.0, 2.0), 2.0);
        assert_eq!(single::med3(5.0, f32::NAN, 2.0), 2.0);
    }

    #[test]
    fn frexp_and_ldexp_are_inverse() {
        for x in [1.0_f32, 0.75, -3.4e38, 1e-45, 1.2e-38, 6.0] {
            let (m, e) = single::frexp(x);
            assert!((0.5..1.0).contains(&m.abs()), "{x:e}: {m}");
            assert_eq!(ldexp(m, e), x);
        }
        for x in [1.0_f64, -1.7e308, 5e-324, 2.3e-308, 6.0] {
            let (m, e) = double::frexp(x);
            assert!((0.5..1.0).contains(&m.abs()), "{x:e}: {m}");
            assert_eq!(ldexp64(m, e), x);
        }
        assert_eq!(ldexp64(1.0, -1074), 5e-324);
        assert_eq!(ldexp64(1.5, -1074), 1e-323);
        assert_eq!(ldexp64(5e-324, 2097), f64::from_bits(2046 << 52));
        assert_eq!(ldexp64(1.0, i32::MAX), f64::INFINITY);
        assert_eq!(ldexp64(1.0, i32::MIN), 0.0);
    }

    #[test]
    fn classes_cover_every_kind_of_number() {
        let cases = [
            (f32::from_bits(0x7f80_0001), 0),
            (f32::NAN, 1),
            (f32::NEG_INFINITY, 2),
            (-1.0, 3),
            (-1e-45, 4),
            (-0.0, 5),
            (0.0, 6),
            (1e-45, 7),
            (1.0, 8),
            (f32::INFINITY, 9),
        ];
        for (x, bit) in cases {
            assert_eq!(single::class(x), 1 << bit, "{x}");
        }
    }

    #[test]
    fn fract_stays_below_one() {
        assert_eq!(single::fract(2.75), 0.75);
        assert!(single::fract(-1e-30) < 1.0);
        assert!(single::fract(f32::INFINITY).is_nan());
    }
}
