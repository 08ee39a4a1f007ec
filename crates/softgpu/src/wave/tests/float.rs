//! Floating point.

use super::{Test, USUAL_MODE, random, random_u64, set_u64};

/// Numbers of every kind among random bits.
fn singles(seed: u32) -> [u32; 64] {
    let mut x = random(seed);
    let special = [
        0.0,
        -0.0,
        1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        f32::MAX,
        1e-45,
        -3e-39,
        16_777_216.0,
        0.5,
    ];
    for (k, value) in special.into_iter().enumerate() {
        x[(k * 5 + seed as usize) % 64] = value.to_bits();
    }
    x
}

#[track_caller]
fn same(got: u32, want: f32, what: &str) {
    let got = f32::from_bits(got);
    let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(equal, "{what}: {got:e}, want {want:e}");
}

#[test]
fn arithmetic_is_that_of_ieee() {
    let test = Test::new(&[
        0x0208_0501, // v_add_f32 v4, v1, v2
        0x040a_0501, // v_sub_f32 v5, v1, v2
        0x060c_0501, // v_subrev_f32 v6, v1, v2
        0x0a0e_0501, // v_mul_f32 v7, v1, v2
        0xd1cb_0008,
        0x040e_0501, // v_fma_f32 v8, v1, v2, v3
        0x7e12_0303, // v_mov_b32 v9, v3
        0x7612_0501, // v_fmac_f32 v9, v1, v2
        0x7e14_4f01, // v_sqrt_f32 v10, v1
        0x7e16_4501, // v_rcp_f32 v11, v1
        0xd1cb_020c,
        0x23da_0501, // v_fma_f32 v12, -v1, |v2|, 4.0
        0x021a_02ff,
        0x3fc0_0000, // v_add_f32 v13, 0x3fc00000, v1
    ]);
    let inputs = [singles(1), singles(2), singles(3)];
    test.both(
        |_, w| {
            for (k, input) in (1..).zip(&inputs) {
                *w.vector_mut(k) = *input;
            }
        },
        |end| {
            for i in 0..64 {
                let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(inputs[k][i]));
                let what = |name: &str| format!("{name} of {a:e}, {b:e}, {c:e}");
                let wants = [
                    a + b,
                    a - b,
                    b - a,
                    a * b,
                    a.mul_add(b, c),
                    a.mul_add(b, c),
                    a.sqrt(),
                    1.0 / a,
                    (-a).mul_add(b.abs(), 4.0),
                    1.5 + a,
                ];
                for (reg, want) in (4..).zip(wants) {
                    same(end.vector(reg)[i], want, &what(&format!("v{reg}")));
                }
            }
        },
    );
}

#[test]
fn mad_rounds_twice_and_flushes() {
    let test = Test::new(&[
        0xd1c1_0004,
        0x040e_0501, // v_mad_f32 v4, v1, v2, v3
    ]);
    let (a, b, c) = (1.0_f32 + f32::EPSILON, 1.0_f32 - f32::EPSILON, -1.0_f32);
    test.both(
        |_, w| {
            *w.vector_mut(1) = [a.to_bits(); 64];
            *w.vector_mut(2) = [b.to_bits(); 64];
            *w.vector_mut(3) = [c.to_bits(); 64];
            w.vector_mut(1)[1] = 1;
            w.vector_mut(2)[1] = 1.0_f32.to_bits();
            w.vector_mut(3)[1] = 0;
        },
        |end| {
            same(end.vector(4)[0], a * b + c, "rounded product");
            assert_ne!(a * b + c, a.mul_add(b, c), "the inputs tell the two apart");
            same(end.vector(4)[1], 0.0, "subnormal input");
        },
    );
}

#[test]
fn subnormals_are_flushed_only_where_the_mode_says() {
    let mut test = Test::new(&[
        0x0208_0501, // v_add_f32 v4, v1, v2
        0x0a0a_06f0, // v_mul_f32 v5, 0.5, v3
        0xd280_0006,
        0x0001_0108, // v_add_f64 v[6:7], v[8:9], 0
    ]);
    for (mode, sum, half) in [(USUAL_MODE, 2, 0x40_0000), (USUAL_MODE & !0x30, 0, 0)] {
        test.mode = mode;
        test.both(
            |_, w| {
                *w.vector_mut(1) = [1; 64];
                *w.vector_mut(2) = [1; 64];
                *w.vector_mut(3) = [0x80_0000; 64];
                set_u64(w, 8, &[1; 64]);
            },
            |end| {
                assert_eq!(end.vector(4)[5], sum, "mode {mode:#x}: sum of subnormals");
                assert_eq!(end.vector(5)[5], half, "mode {mode:#x}: subnormal product");
                assert_eq!(end.u64(6)[5], 1, "doubles are not flushed");
            },
        );
    }
}

/// The compiler's expansion of a correctly rounded single-precision division v1 / v2.
#[test]
fn division_is_correctly_rounded() {
    let test = Test::new(&[
        0xd1e0_0803,
        0x0406_0502, // v_div_scale_f32 v3, s[8:9], v2, v2, v1
        0xd1e0_6a04,
        0x0406_0501, // v_div_scale_f32 v4, vcc, v1, v2, v1
        0x7e0a_4503, // v_rcp_f32 v5, v3
        0xd1cb_0006,
        0x23ca_0b03, // v_fma_f32 v6, -v3, v5, 1.0
        0xd1cb_0005,
        0x0416_0b06, // v_fma_f32 v5, v6, v5, v5
        0x0a0c_0b04, // v_mul_f32 v6, v4, v5
        0xd1cb_0007,
        0x2412_0d03, // v_fma_f32 v7, -v3, v6, v4
        0xd1cb_0006,
        0x041a_0b07, // v_fma_f32 v6, v7, v5, v6
        0xd1cb_0003,
        0x2412_0d03, // v_fma_f32 v3, -v3, v6, v4
        0xd1e2_0003,
        0x041a_0b03, // v_div_fmas_f32 v3, v3, v5, v6
        0xd1de_0008,
        0x0406_0503, // v_div_fixup_f32 v8, v3, v2, v1
    ]);
    for seed in 0..40 {
        let (a, b) = (singles(2 * seed), singles(2 * seed + 1));
        test.both(
            |_, w| {
                *w.vector_mut(1) = a;
                *w.vector_mut(2) = b;
            },
            |end| {
                for i in 0..64 {
                    let (a, b) = (f32::from_bits(a[i]), f32::from_bits(b[i]));
                    same(end.vector(8)[i], a / b, &format!("{a:e} / {b:e}"));
                }
            },
        );
    }
}

#[test]
fn double_precision_is_that_of_ieee() {
    let test = Test::new(&[
        0xd280_0008,
        0x0002_0902, // v_add_f64 v[8:9], v[2:3], v[4:5]
        0xd281_000a,
        0x4002_0902, // v_mul_f64 v[10:11], v[2:3], -v[4:5]
        0xd1cc_000c,
        0x03d2_0902, // v_fma_f64 v[12:13], v[2:3], v[4:5], 2.0
        0xd283_000e,
        0x0002_0902, // v_max_f64 v[14:15], v[2:3], v[4:5]
        0x7e20_1f02, // v_cvt_f32_f64 v16, v[2:3]
        0x7e24_2110, // v_cvt_f64_f32 v[18:19], v16
        0x7e28_3302, // v_rndne_f64 v[20:21], v[2:3]
    ]);
    let mut a = random_u64(1);
    let b = random_u64(2);
    for (k, value) in [2.5, 3.5, -0.5, 1e-310, f64::INFINITY, 1e300]
        .into_iter()
        .enumerate()
    {
        a[k * 3] = f64::to_bits(value);
    }
    test.both(
        |_, w| {
            set_u64(w, 2, &a);
            set_u64(w, 4, &b);
        },
        |end| {
            for i in 0..64 {
                let (a, b) = (f64::from_bits(a[i]), f64::from_bits(b[i]));
                let narrow = a as f32;
                let wants = [
                    (8, a + b),
                    (10, a * -b),
                    (12, a.mul_add(b, 2.0)),
                    (14, a.max(b)),
                    (18, f64::from(narrow)),
                    (20, a.round_ties_even()),
                ];
                for (reg, want) in wants {
                    let got = f64::from_bits(end.u64(reg)[i]);
                    let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(equal, "v{reg} of {a:e}, {b:e}: {got:e}, want {want:e}");
                }
            }
        },
    );
}

#[test]
fn conversions_truncate_saturate_and_make_nan_zero() {
    let test = Test::new(&[
        0x7e04_1101, // v_cvt_i32_f32 v2, v1
        0x7e06_0f01, // v_cvt_u32_f32 v3, v1
        0x7e08_0b01, // v_cvt_f32_i32 v4, v1
        0x7e0a_0d01, // v_cvt_f32_u32 v5, v1
        0x7e0c_2701, // v_cvt_f32_ubyte2 v6, v1
        0x7e0e_1b01, // v_cvt_flr_i32_f32 v7, v1
        0xd296_0008,
        0x0001_e501, // v_cvt_pkrtz_f16_f32 v8, v1, 1.0
    ]);
    let mut x = singles(5);
    for (k, value) in [-1.5_f32, 3e9, -3e9, 5e9, -0.9, 2_147_483_520.0]
        .into_iter()
        .enumerate()
    {
        x[k] = value.to_bits();
    }
    test.both(
        |_, w| *w.vector_mut(1) = x,
        |end| {
            for i in 0..64 {
                let value = f32::from_bits(x[i]);
                let what = format!("{value:e} ({:#x})", x[i]);
                assert_eq!(end.vector(2)[i], (value as i32).cast_unsigned(), "{what}");
                assert_eq!(end.vector(3)[i], value as u32, "{what}");
                same(end.vector(4)[i], x[i].cast_signed() as f32, &what);
                same(end.vector(5)[i], x[i] as f32, &what);
                same(end.vector(6)[i], (x[i] >> 16 & 0xff) as f32, &what);
                assert_eq!(
                    end.vector(7)[i],
                    (value.floor() as i32).cast_unsigned(),
                    "{what}"
                );
                assert_eq!(end.vector(8)[i] >> 16, 0x3c00, "{what}");
            }
        },
    );
}

#[test]
fn comparisons_know_nan() {
    let test = Test::new(&[
        0xd041_0008,
        0x0002_0501, // v_cmp_lt_f32 s[8:9], v1, v2
        0xd04e_000a,
        0x0002_0501, // v_cmp_nlt_f32 s[10:11], v1, v2
        0xd045_000c,
        0x0002_0501, // v_cmp_lg_f32 s[12:13], v1, v2
        0xd04d_000e,
        0x0002_0501, // v_cmp_neq_f32 s[14:15], v1, v2
        0xd048_0010,
        0x0002_0501, // v_cmp_u_f32 s[16:17], v1, v2
        0xd010_0012,
        0x0001_0701, // v_cmp_class_f32 s[18:19], v1, 3
        0x7c8c_0501, // v_cmp_ge_f32 vcc, v1, v2
    ]);
    let (a, b) = (singles(6), singles(7));
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
        },
        |end| {
            let mask = |f: &dyn Fn(f32, f32) -> bool| {
                (0..64).fold(0_u64, |mask, i| {
                    mask | u64::from(f(f32::from_bits(a[i]), f32::from_bits(b[i]))) << i
                })
            };
            let w = end.wave();
            let lt = mask(&|a, b| a < b);
            assert_eq!(w.scalar64(8), lt);
            assert_eq!(w.scalar64(10), !lt);
            assert_eq!(w.scalar64(12), mask(&|a, b| a < b || b < a));
            assert_eq!(w.scalar64(14), mask(&|a, b| a != b));
            assert_eq!(w.scalar64(16), mask(&|a, b| a.is_nan() || b.is_nan()));
            assert_eq!(w.scalar64(18), mask(&|a, _| a.is_nan()));
            assert_eq!(w.vcc(), mask(&|a, b| a >= b));
        },
    );
}

#[test]
fn clamp_limits_to_the_unit_interval() {
    let test = Test::new(&[
        0xd101_8002,
        0x0001_0101, // v_add_f32_e64 v2, v1, 0 clamp
        0xd38f_c004,
        0x1802_0703, // v_pk_add_f16 v4, v3, v3 clamp
    ]);
    let x = singles(8);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            // 0.75 and -1.
            *w.vector_mut(3) = [0x3a00 | 0xbc00 << 16; 64];
        },
        |end| {
            for i in 0..64 {
                let value = f32::from_bits(x[i]);
                let want = if value.is_nan() {
                    0.0
                } else {
                    value.clamp(0.0, 1.0)
                };
                assert_eq!(f32::from_bits(end.vector(2)[i]), want, "{value:e}");
            }
            assert_eq!(end.vector(4)[9], 0x3c00);
        },
    );
}
