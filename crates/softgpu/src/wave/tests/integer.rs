//! Integers, vector and scalar.

use super::{Test, random, random_u64, set_u64};

#[test]
fn carries_chain_through_masks() {
    let test = Test::new(&[
        0x320c_0902, // v_add_co_u32 v6, vcc, v2, v4
        0x380e_0b03, // v_addc_co_u32 v7, vcc, v3, v5, vcc
        0xd11a_0808,
        0x0002_0902, // v_sub_co_u32 v8, s[8:9], v2, v4
        0xd11d_0a09,
        0x0022_0b03, // v_subb_co_u32 v9, s[10:11], v3, v5, s[8:9]
        0xd100_000a,
        0x002a_0902, // v_cndmask_b32 v10, v2, v4, s[10:11]
    ]);
    let (a, b) = (random_u64(1), random_u64(2));
    test.both(
        |_, w| {
            set_u64(w, 2, &a);
            set_u64(w, 4, &b);
        },
        |end| {
            let (mut carries, mut borrows) = (0_u64, 0_u64);
            for i in 0..64 {
                let (sum, carry) = a[i].overflowing_add(b[i]);
                let (difference, borrow) = a[i].overflowing_sub(b[i]);
                assert_eq!(end.u64(6)[i], sum);
                assert_eq!(end.u64(8)[i], difference);
                carries |= u64::from(carry) << i;
                borrows |= u64::from(borrow) << i;
                let chosen = if borrow { b[i] } else { a[i] };
                assert_eq!(end.vector(10)[i], chosen as u32);
            }
            assert_eq!(end.wave().vcc(), carries);
            assert_eq!(end.wave().scalar64(10), borrows);
        },
    );
}

#[test]
fn inactive_lanes_keep_their_values_and_have_no_mask_bit() {
    let test = Test::new(&[
        0xbefe_01ff,
        0x0000_f0f0, // s_mov_b64 exec, 0xf0f0
        0x3206_0501, // v_add_co_u32 v3, vcc, v1, v2
        0xd0ca_0008,
        0x0002_0301, // v_cmp_eq_u32 s[8:9], v1, v1
        0xd286_0004,
        0x0002_0501, // v_mul_hi_u32 v4, v1, v2
    ]);
    test.both(
        |_, w| {
            *w.vector_mut(1) = [u32::MAX; 64];
            *w.vector_mut(2) = [u32::MAX; 64];
            *w.vector_mut(3) = [77; 64];
            *w.vector_mut(4) = [78; 64];
        },
        |end| {
            assert_eq!(end.wave().vcc(), 0xf0f0);
            assert_eq!(end.wave().scalar64(8), 0xf0f0);
            for i in 0..64 {
                let active = 0xf0f0_u64 >> i & 1 != 0;
                let want = if active {
                    (u32::MAX - 1, u32::MAX - 1)
                } else {
                    (77, 78)
                };
                assert_eq!((end.vector(3)[i], end.vector(4)[i]), want, "lane {i}");
            }
        },
    );
}

#[test]
fn shifts_fields_and_products() {
    let test = Test::new(&[
        0xd28f_000a,
        0x0002_0501, // v_lshlrev_b64 v[10:11], v1, v[2:3]
        0xd290_000c,
        0x0002_0501, // v_lshrrev_b64 v[12:13], v1, v[2:3]
        0xd291_000e,
        0x0002_0501, // v_ashrrev_i64 v[14:15], v1, v[2:3]
        0xd1c8_0010,
        0x0412_0302, // v_bfe_u32 v16, v2, v1, v4
        0xd1c9_0011,
        0x0412_0302, // v_bfe_i32 v17, v2, v1, v4
        0xd1ce_0012,
        0x0406_0503, // v_alignbit_b32 v18, v3, v2, v1
        0xd1e8_0814,
        0x040a_0902, // v_mad_u64_u32 v[20:21], s[8:9], v2, v4, v[2:3]
        0xd1e9_0a16,
        0x040a_0902, // v_mad_i64_i32 v[22:23], s[10:11], v2, v4, v[2:3]
        0xd287_0018,
        0x0002_0902, // v_mul_hi_i32 v24, v2, v4
        0xd1c2_0019,
        0x0406_0902, // v_mad_i32_i24 v25, v2, v4, v1
        0xd1ca_001a,
        0x0412_0501, // v_bfi_b32 v26, v1, v2, v4
        0x7e36_5f02, // v_ffbh_i32 v27, v2
        0xd1d7_001c,
        0x0412_0501, // v_med3_i32 v28, v1, v2, v4
        0xd1ed_001d,
        0x0406_0902, // v_perm_b32 v29, v2, v4, v1
        0xd1d9_001e,
        0x0406_0902, // v_sad_u8 v30, v2, v4, v1
    ]);
    let (n, wide, b) = (random(3), random_u64(4), random(6));
    test.both(
        |_, w| {
            *w.vector_mut(1) = n;
            set_u64(w, 2, &wide);
            *w.vector_mut(4) = b;
        },
        |end| {
            let mut carries = 0_u64;
            for i in 0..64 {
                let (n, x, b) = (n[i], wide[i], b[i]);
                let lo = x as u32;
                let (slo, sb) = (lo.cast_signed(), b.cast_signed());
                assert_eq!(end.u64(10)[i], x << (n & 63));
                assert_eq!(end.u64(12)[i], x >> (n & 63));
                assert_eq!(
                    end.u64(14)[i],
                    (x.cast_signed() >> (n & 63)).cast_unsigned()
                );
                let (at, width) = (n & 31, b & 31);
                let field = u64::from(lo) >> at & ((1 << width) - 1);
                assert_eq!(u64::from(end.vector(16)[i]), field);
                // Bits above the word are copies of its sign.
                let extended = i64::from(slo) >> at;
                let signed = if width == 0 {
                    0
                } else {
                    extended << (64 - width) >> (64 - width)
                };
                assert_eq!(
                    end.vector(17)[i],
                    signed as u32,
                    "{lo:#x} at {at}, {width} bits"
                );
                assert_eq!(end.vector(18)[i], (x >> (n & 31)) as u32);
                let (sum, carry) = (u64::from(lo) * u64::from(b)).overflowing_add(x);
                assert_eq!(end.u64(20)[i], sum);
                carries |= u64::from(carry) << i;
                let product = i64::from(slo) * i64::from(sb);
                assert_eq!(
                    end.u64(22)[i],
                    product.wrapping_add(x.cast_signed()).cast_unsigned()
                );
                assert_eq!(end.vector(24)[i], (product >> 32) as u32);
                let i24 = |x: i32| i64::from(x << 8 >> 8);
                assert_eq!(
                    end.vector(25)[i],
                    (i24(slo) * i24(sb) + i64::from(n)) as u32
                );
                assert_eq!(end.vector(26)[i], n & lo | !n & b);
                let same = (0..32)
                    .take_while(|k| lo >> (31 - k) & 1 == lo >> 31)
                    .count();
                assert_eq!(
                    end.vector(27)[i],
                    if same == 32 { u32::MAX } else { same as u32 }
                );
                let mut sorted = [n.cast_signed(), slo, sb];
                sorted.sort_unstable();
                assert_eq!(end.vector(28)[i], sorted[1].cast_unsigned());
                let source = (u64::from(lo) << 32 | u64::from(b)).to_le_bytes();
                let bytes = n.to_le_bytes().map(|selector| match selector {
                    0..=7 => source[usize::from(selector)],
                    8..=11 => (source[usize::from(selector - 8) * 2 + 1] >> 7) * 0xff,
                    12 => 0,
                    _ => 0xff,
                });
                assert_eq!(end.vector(29)[i], u32::from_le_bytes(bytes));
                let distance: u32 = lo
                    .to_le_bytes()
                    .iter()
                    .zip(b.to_le_bytes())
                    .map(|(&x, y)| u32::from(x.abs_diff(y)))
                    .sum();
                assert_eq!(end.vector(30)[i], n.wrapping_add(distance));
            }
            assert_eq!(end.wave().scalar64(8), carries);
        },
    );
}

#[test]
fn saturating_forms() {
    let test = Test::new(&[
        0xd134_8003,
        0x0002_0501, // v_add_u32_e64 v3, v1, v2 clamp
        0xd135_8004,
        0x0002_0501, // v_sub_u32_e64 v4, v1, v2 clamp
        0xd29c_8005,
        0x0002_0501, // v_add_i32 v5, v1, v2 clamp
        0xd38b_c006,
        0x1802_0501, // v_pk_sub_u16 v6, v1, v2 clamp
    ]);
    let (a, b) = (random(7), random(8));
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
        },
        |end| {
            for i in 0..64 {
                let (a, b) = (a[i], b[i]);
                assert_eq!(end.vector(3)[i], a.saturating_add(b));
                assert_eq!(end.vector(4)[i], a.saturating_sub(b));
                let signed = a.cast_signed().saturating_add(b.cast_signed());
                assert_eq!(end.vector(5)[i], signed.cast_unsigned());
                let lo = u32::from((a as u16).saturating_sub(b as u16));
                let hi = (a >> 16).saturating_sub(b >> 16);
                assert_eq!(end.vector(6)[i], lo | hi << 16);
            }
        },
    );
}

#[test]
fn dot_products() {
    let test = Test::new(&[
        0xd3a8_4004,
        0x1c0e_0501, // v_dot4_i32_i8 v4, v1, v2, v3
        0xd3ab_4005,
        0x1c0e_0501, // v_dot8_u32_u4 v5, v1, v2, v3
        0xd3a6_4006,
        0x1c0e_0501, // v_dot2_i32_i16 v6, v1, v2, v3
        0xd3a3_4007,
        0x1bca_1108, // v_dot2_f32_f16 v7, v8, v8, 1.0
    ]);
    let (a, b, c) = (random(9), random(10), random(11));
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
            *w.vector_mut(3) = c;
            // 1.5 and -2.
            *w.vector_mut(8) = [0x3e00 | 0xc000 << 16; 64];
        },
        |end| {
            for i in 0..64 {
                let signed = |x: u32, k: u32| i64::from((x >> (8 * k)) as i8);
                let dot4: i64 = (0..4).map(|k| signed(a[i], k) * signed(b[i], k)).sum();
                assert_eq!(end.vector(4)[i], c[i].wrapping_add(dot4 as u32));
                let dot8: u32 = (0..8)
                    .map(|k| (a[i] >> (4 * k) & 15) * (b[i] >> (4 * k) & 15))
                    .sum();
                assert_eq!(end.vector(5)[i], c[i].wrapping_add(dot8));
                let half = |x: u32, k: u32| i64::from((x >> (16 * k)) as i16);
                let dot2: i64 = (0..2).map(|k| half(a[i], k) * half(b[i], k)).sum();
                assert_eq!(end.vector(6)[i], c[i].wrapping_add(dot2 as u32));
            }
            assert_eq!(f32::from_bits(end.vector(7)[3]), 1.5 * 1.5 + 4.0 + 1.0);
        },
    );
}

#[test]
fn scalar_arithmetic_sets_scc() {
    let test = Test::new(&[
        0x8014_0a08, // s_add_u32 s20, s8, s10
        0x8215_0b09, // s_addc_u32 s21, s9, s11
        0x8516_8081, // s_cselect_b32 s22, 1, 0
        0x8097_0a08, // s_sub_u32 s23, s8, s10
        0x8298_0b09, // s_subb_u32 s24, s9, s11
        0x8519_8081, // s_cselect_b32 s25, 1, 0
        0x931a_ff08,
        0x0007_0005, // s_bfe_i32 s26, s8, 0x70005
        0x981b_0a08, // s_lshl3_add_u32 s27, s8, s10
        0x909c_9108, // s_ashr_i64 s[28:29], s[8:9], 17
        0xbe9e_1108, // s_ff1_i32_b64 s30, s[8:9]
        0xbe9f_120c, // s_flbit_i32_b32 s31, s12
        0xbea0_0d08, // s_bcnt1_i32_b64 s32, s[8:9]
        0x8521_8081, // s_cselect_b32 s33, 1, 0
        0xb022_8000, // s_movk_i32 s34, 0x8000
        0xb722_7fff, // s_addk_i32 s34, 0x7fff
        0xb4a2_ffff, // s_cmpk_lg_u32 s34, 0xffff
        0x8523_8081, // s_cselect_b32 s35, 1, 0
        0x96a4_0a08, // s_mul_hi_i32 s36, s8, s10
        0x91a6_83a8, // s_bfm_b64 s[38:39], 40, 3
        0x99a8_0a08, // s_pack_lh_b32_b16 s40, s8, s10
        0xbea9_3009, // s_abs_i32 s41, s9
        0x86aa_ff08,
        0xffff_ffff, // s_and_b64 s[42:43], s[8:9], 0xffffffff
    ]);
    for (a, b) in random_u64(12).into_iter().zip(random_u64(13)) {
        test.both(
            |_, w| {
                w.set_scalar64(8, a);
                w.set_scalar64(10, b);
                w.set_scalar(12, 0);
            },
            |end| {
                let w = end.wave();
                let (sum, carry) = a.overflowing_add(b);
                assert_eq!((w.scalar64(20), w.scalar(22)), (sum, u32::from(carry)));
                let (difference, borrow) = a.overflowing_sub(b);
                assert_eq!(
                    (w.scalar64(23), w.scalar(25)),
                    (difference, u32::from(borrow))
                );
                assert_eq!(w.scalar(26), ((a as i32) << 20 >> 25).cast_unsigned());
                assert_eq!(
                    w.scalar(27),
                    (a as u32).wrapping_mul(8).wrapping_add(b as u32)
                );
                assert_eq!(w.scalar64(28), (a.cast_signed() >> 17).cast_unsigned());
                assert_eq!(w.scalar(30), a.trailing_zeros());
                assert_eq!(w.scalar(31), u32::MAX, "no bit is set");
                assert_eq!((w.scalar(32), w.scalar(33)), (a.count_ones(), 1));
                assert_eq!((w.scalar(34), w.scalar(35)), (u32::MAX, 1));
                let product = i64::from(a as i32) * i64::from(b as i32);
                assert_eq!(w.scalar(36), (product >> 32) as u32);
                assert_eq!(w.scalar64(38), ((1 << 40) - 1) << 3);
                assert_eq!(w.scalar(40), a as u32 & 0xffff | b as u32 & 0xffff_0000);
                assert_eq!(w.scalar(41), ((a >> 32) as i32).unsigned_abs());
                assert_eq!(
                    w.scalar64(42),
                    a & 0xffff_ffff,
                    "a literal is zero-extended"
                );
            },
        );
    }
}
