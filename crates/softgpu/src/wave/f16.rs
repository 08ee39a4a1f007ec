//! Half precision: conversions without branches, so that they vectorise, and arithmetic.
//!
//! Sums, products, quotients and roots of halves are computed in `f32` and rounded once more:
//! 24 bits are at least 2 * 11 + 2, so the second rounding does no harm. `fma` needs `f64`.

/// The bits of an IEEE half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct F16(pub u16);

impl F16 {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        let bits = u32::from(self.0);
        let sign = (bits & 0x8000) << 16;
        let magnitude = bits & 0x7fff;
        let normal = (magnitude << 13) + ((127 - 15) << 23);
        // Infinity and NaN: the exponent becomes all ones; a signalling NaN becomes quiet.
        let special = magnitude << 13 | 0x7f80_0000;
        let special = if magnitude > 0x7c00 {
            special | 0x40_0000
        } else {
            special
        };
        // 2^-24 units, exact in f32.
        let subnormal = (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits();
        let value = if magnitude >= 0x7c00 {
            special
        } else if magnitude < 0x400 {
            subnormal
        } else {
            normal
        };
        f32::from_bits(value | sign)
    }

    /// Rounds to nearest even.
    #[inline(always)]
    pub(super) fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let odd = magnitude >> 13 & 1;
        let normal = magnitude
            .wrapping_sub((127 - 15) << 23)
            .wrapping_add(0xfff + odd)
            >> 13;
        // Adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded to nearest even.
        let subnormal = (f32::from_bits(magnitude) + 0.5)
            .to_bits()
            .wrapping_sub(0x3f00_0000);
        let special = if magnitude > 0x7f80_0000 {
            0x7e00 | (magnitude >> 13 & 0x3ff)
        } else {
            0x7c00
        };
        let result = if magnitude >= 0x4780_0000 {
            special
        } else if magnitude < 0x3880_0000 {
            subnormal
        } else {
            normal
        };
        Self(result as u16 | sign)
    }

    /// Rounds toward zero (`v_cvt_pkrtz_f16_f32`): what overflows becomes the largest finite half.
    #[inline(always)]
    pub(super) fn from_f32_toward_zero(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let normal = magnitude.wrapping_sub((127 - 15) << 23) >> 13;
        let subnormal = (f32::from_bits(magnitude) * f32::from_bits(0x4b80_0000)) as u32;
        let result = if magnitude > 0x7f80_0000 {
            0x7e00 | (magnitude >> 13 & 0x3ff)
        } else if magnitude == 0x7f80_0000 {
            0x7c00
        } else if magnitude >= 0x4780_0000 {
            0x7bff
        } else if magnitude < 0x3880_0000 {
            subnormal
        } else {
            normal
        };
        Self(result as u16 | sign)
    }

    /// Rounds to nearest even, once: through an `f32` rounded to odd.
    #[inline(always)]
    pub(super) fn from_f64(value: f64) -> Self {
        Self::from_f32(round_to_odd(value))
    }

    #[inline(always)]
    pub(super) fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self::from_f32(f(self.to_f32()))
    }

    #[inline(always)]
    pub(super) fn map2(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self::from_f32(f(self.to_f32(), other.to_f32()))
    }

    #[inline(always)]
    pub(super) fn fma(self, b: Self, c: Self) -> Self {
        let product = f64::from(self.to_f32()) * f64::from(b.to_f32());
        Self::from_f64(product + f64::from(c.to_f32()))
    }
}

/// `value` as an `f32` whose last bit is set when it is not exact: rounding that again to fewer
/// bits gives what rounding `value` once would have given.
#[inline(always)]
pub(super) fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    // The neighbour on the other side of `value`, if the nearest one is inexact and even.
    let too_far = back.abs() > value.abs();
    let truncated = if too_far { bits.wrapping_sub(1) } else { bits };
    let exact = back == value || value.is_nan();
    f32::from_bits(if exact { bits } else { truncated | 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn every_half_widens_exactly() {
        for bits in 0..=u16::MAX {
            let (ours, want) = (F16(bits).to_f32(), f16::from_bits(bits).to_f32());
            assert!(
                ours.to_bits() == want.to_bits() || ours.is_nan() && want.is_nan(),
                "{bits:#x}: {ours} for {want}"
            );
        }
    }

    #[test]
    fn narrowing_rounds_to_nearest_even_everywhere() {
        for high in 0..=u16::MAX {
            for low in [
                0_u32, 1, 0x0fff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0xffff,
            ] {
                let x = f32::from_bits(u32::from(high) << 16 | low);
                let (ours, want) = (F16::from_f32(x), f16::from_f32(x));
                assert!(
                    ours.0 == want.to_bits() || x.is_nan() && f16::from_bits(ours.0).is_nan(),
                    "{x:e}: {:#x} for {want:?}",
                    ours.0
                );
                let zero = f16::from_bits(F16::from_f32_toward_zero(x).0).to_f32();
                assert!(
                    x.is_nan() && zero.is_nan() || zero.abs() <= x.abs(),
                    "{x:e} -> {zero:e}"
                );
            }
        }
    }

    #[test]
    fn narrowing_from_f64_rounds_once() {
        // Halfway between two halves but for a bit far below f32's precision.
        let halfway = 1.0 + 2_f64.powi(-11);
        assert_eq!(F16::from_f64(halfway).0, 0x3c00);
        assert_eq!(F16::from_f64(halfway + 2_f64.powi(-40)).0, 0x3c01);
        assert_eq!(F16::from_f64(halfway - 2_f64.powi(-40)).0, 0x3c00);
    }

    #[test]
    fn fma_rounds_once() {
        let mut x = 1_u32;
        for _ in 0..200_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (a, b) = (F16((x >> 16) as u16), F16((x >> 5) as u16));
            let c = F16((x.rotate_left(9) >> 11) as u16);
            let exact = f64::from(a.to_f32()) * f64::from(b.to_f32()) + f64::from(c.to_f32());
            let ours = f16::from_bits(a.fma(b, c).0);
            if exact.is_nan() || exact.abs() >= 65520.0 {
                assert!(
                    !ours.is_finite(),
                    "{a:?} * {b:?} + {c:?} = {exact:e}: {ours:?}"
                );
                continue;
            }
            let error = |bits: u16| (f64::from(f16::from_bits(bits)) - exact).abs();
            let (below, above) = (ours.to_bits().wrapping_sub(1), ours.to_bits() + 1);
            let nearest = [below, above].iter().all(|&other| {
                let (mine, other) = (error(ours.to_bits()), error(other));
                mine < other || mine == other && ours.to_bits() & 1 == 0 || other.is_nan()
            });
            assert!(nearest, "{a:?} * {b:?} + {c:?} = {exact:e}: {ours:?}");
        }
    }
}
