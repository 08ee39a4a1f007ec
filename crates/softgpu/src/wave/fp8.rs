//! Floating-point numbers of 8 bits, as MI300 has them: `fp8` with 3 bits of mantissa and a bias of 8, `bf8` with 2 and
//! 16, both without infinities and with one NaN, where the negative zero would be (what PyTorch calls
//! `float8_e4m3fnuz` and `float8_e5m2fnuz`; HIP's `amd_hip_fp8.h`).

const NAN: u8 = 0x80;

/// The value of a number of the format with so many bits of mantissa.
#[inline(always)]
fn widened<const MANTISSA: u32, const BIAS: i32>(bits: u8) -> f32 {
    if bits == NAN {
        return f32::NAN;
    }
    let magnitude = u32::from(bits & 0x7f);
    let (exponent, fraction) = (magnitude >> MANTISSA, magnitude & ((1 << MANTISSA) - 1));
    let (units, scale) = match exponent {
        0 => (fraction, 1),
        _ => (fraction | 1 << MANTISSA, exponent.cast_signed()),
    };
    let value = units as f32 * power_of_two(scale - BIAS - MANTISSA.cast_signed());
    if bits & 0x80 != 0 { -value } else { value }
}

/// Rounded to nearest even; what is too large for the format, or infinite, is NaN.
#[inline(always)]
fn narrowed<const MANTISSA: u32, const BIAS: i32>(value: f32) -> u8 {
    if !value.is_finite() {
        return NAN;
    }
    let exponent = (value.to_bits() >> 23 & 0xff).cast_signed() - 127;
    // The exponent of what the last bit of the result counts.
    let unit = exponent.max(1 - BIAS) - MANTISSA.cast_signed();
    let units = (f64::from(value.abs()) * 2_f64.powi(-unit)).round_ties_even();
    if units == 0.0 {
        return 0;
    }
    let above = (unit + MANTISSA.cast_signed() + BIAS - 1) << MANTISSA;
    let magnitude = above + units as i32;
    match u8::try_from(magnitude) {
        Ok(magnitude @ 0..=0x7f) => magnitude | if value < 0.0 { 0x80 } else { 0 },
        _ => NAN,
    }
}

/// Of an exponent of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent + 127).cast_unsigned() << 23)
}

#[inline(always)]
pub(super) fn fp8(bits: u8) -> f32 {
    widened::<3, 8>(bits)
}

#[inline(always)]
pub(super) fn bf8(bits: u8) -> f32 {
    widened::<2, 16>(bits)
}

#[inline(always)]
pub(super) fn to_fp8(value: f32) -> u8 {
    narrowed::<3, 8>(value)
}

#[inline(always)]
pub(super) fn to_bf8(value: f32) -> u8 {
    narrowed::<2, 16>(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_their_formats_say() {
        for (bits, value) in [
            (0x00, 0.0),
            (0x01, 1.0 / 1024.0),
            (0x07, 7.0 / 1024.0),
            (0x08, 1.0 / 128.0),
            (0x40, 1.0),
            (0x41, 1.125),
            (0xc4, -1.5),
            (0x7f, 240.0),
            (0xff, -240.0),
        ] {
            assert_eq!(fp8(bits), value, "{bits:#x}");
        }
        for (bits, value) in [
            (0x01, 2_f32.powi(-17)),
            (0x04, 2_f32.powi(-15)),
            (0x40, 1.0),
            (0x41, 1.25),
            (0x7f, 57344.0),
            (0xff, -57344.0),
        ] {
            assert_eq!(bf8(bits), value, "{bits:#x}");
        }
        assert!(fp8(0x80).is_nan() && bf8(0x80).is_nan());
    }

    #[test]
    fn every_number_comes_back_and_others_go_to_the_nearest() {
        type Format = (fn(u8) -> f32, fn(f32) -> u8);
        let formats: [Format; 2] = [(fp8, to_fp8), (bf8, to_bf8)];
        for (widen, narrow) in formats {
            for bits in 0..=u8::MAX {
                assert_eq!(narrow(widen(bits)), bits);
            }
            for bits in 0..0x7f_u8 {
                let (one, next) = (widen(bits), widen(bits + 1));
                let middle = (one + next) / 2.0;
                assert_eq!(
                    narrow(middle),
                    bits + (bits & 1),
                    "a tie goes to the even one"
                );
                assert_eq!(narrow(middle.next_up()), bits + 1);
                assert_eq!(narrow(middle.next_down()), bits);
            }
            let most = widen(0x7f);
            assert_eq!(narrow(most * 1.25), NAN);
            assert_eq!(narrow(-f32::INFINITY), NAN);
            assert_eq!(narrow(-1e-30), 0, "there is no negative zero");
        }
    }
}
