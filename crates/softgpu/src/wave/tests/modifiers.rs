//! Sub-dword addressing, operand selection of packed and mixed operations, register indexing.

use half::f16;

use super::{Test, random};

#[test]
fn sdwa_selects_parts_and_places_results() {
    let test = Test::new(&[
        0x6806_04f9,
        0x0501_0601, // v_add_u32_sdwa v3, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1
        0x6808_04f9,
        0x060b_1201, // v_add_u32_sdwa v4, sext(v1), v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:DWORD
        0x260a_04f9,
        0x0504_0501, // v_and_b32_sdwa v5, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_1
        0x7e0c_02f9,
        0x0002_0801, // v_mov_b32_sdwa v6, v1 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_2
        0x7d94_02f9,
        0x0100_0001, // v_cmp_eq_u32_sdwa vcc, v1, v1 src0_sel:BYTE_0 src1_sel:BYTE_1
        0x440e_10f9,
        0x2514_1508, // v_mul_f16_sdwa v7, -v8, |v8| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_1
    ]);
    let (mut a, b) = (random(1), random(2));
    a[7] = 0x1234_5656;
    let (x, y) = (f16::from_f32(1.5), f16::from_f32(-2.0));
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
            *w.vector_mut(4) = [0x1122_3344; 64];
            *w.vector_mut(7) = [0xabcd_ef01; 64];
            *w.vector_mut(8) = [u32::from(x.to_bits()) | u32::from(y.to_bits()) << 16; 64];
        },
        |end| {
            for i in 0..64 {
                let (a, b) = (a[i], b[i]);
                assert_eq!(end.vector(3)[i], (a >> 8 & 0xff) + (b >> 16));
                let sum = i32::from((a >> 24) as i8).cast_unsigned().wrapping_add(b);
                assert_eq!(end.vector(4)[i], 0x1100_3344 | (sum & 0xff) << 16);
                assert_eq!(end.vector(5)[i], (a & b >> 16 & 0xffff) << 16);
                assert_eq!(end.vector(6)[i], i32::from((a >> 16) as i8).cast_unsigned());
                assert_eq!(end.wave().vcc() >> i & 1 != 0, a & 0xff == a >> 8 & 0xff);
            }
            let product = u32::from(f16::from_f32(-3.0).to_bits());
            assert_eq!(end.vector(7)[0], 0xef01 | product << 16);
        },
    );
}

#[test]
fn packed_operations_select_halves() {
    let test = Test::new(&[
        0xd38a_4803,
        0x1002_0501, // v_pk_add_u16 v3, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]
        0xd38e_4406,
        0x3c12_0b04, // v_pk_fma_f16 v6, v4, v5, v4 neg_lo:[1,0,0] neg_hi:[0,0,1]
        0xd38f_4007,
        0x0801_e504, // v_pk_add_f16 v7, v4, 1.0 op_sel_hi:[1,0]
        0xd3a0_4808,
        0x0c12_1304, // v_fma_mix_f32 v8, v4, v9, v4 op_sel:[1,0,0] op_sel_hi:[1,0,1]
        0xd3a2_400a,
        0x0c12_1304, // v_fma_mixhi_f16 v10, v4, v9, v4 op_sel_hi:[1,0,1]
    ]);
    let (a, b) = (random(3), random(4));
    let h = |x: f32| u32::from(f16::from_f32(x).to_bits());
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
            *w.vector_mut(4) = [h(1.5) | h(-3.0) << 16; 64];
            *w.vector_mut(5) = [h(2.0) | h(4.0) << 16; 64];
            *w.vector_mut(9) = [0.25_f32.to_bits(); 64];
            *w.vector_mut(10) = [0x1234_5678; 64];
        },
        |end| {
            for i in 0..64 {
                let lo = (a[i] >> 16).wrapping_add(b[i]) & 0xffff;
                let hi = a[i].wrapping_add(b[i] >> 16) & 0xffff;
                assert_eq!(end.vector(3)[i], lo | hi << 16);
            }
            assert_eq!(
                end.vector(6)[1],
                h(-1.5 * 2.0 + 1.5) | h(-3.0 * 4.0 + 3.0) << 16
            );
            assert_eq!(end.vector(7)[1], h(2.5) | h(-2.0) << 16);
            assert_eq!(f32::from_bits(end.vector(8)[1]), -3.0 * 0.25 + 1.5);
            assert_eq!(end.vector(10)[1], 0x5678 | h(1.5 * 0.25 + 1.5) << 16);
        },
    );
}

#[test]
fn halves_of_vop3_results_are_kept() {
    let test = Test::new(&[
        0xd204_4803,
        0x0406_0501, // v_mad_u16 v3, v1, v2, v1 op_sel:[1,0,0,1]
        0xd204_0004,
        0x0406_0501, // v_mad_u16 v4, v1, v2, v1
        0x4c0a_0501, // v_add_u16 v5, v1, v2
    ]);
    let (a, b) = (random(5), random(6));
    test.both(
        |_, w| {
            *w.vector_mut(1) = a;
            *w.vector_mut(2) = b;
            for reg in 3..6 {
                *w.vector_mut(reg) = [0xaaaa_bbbb; 64];
            }
        },
        |end| {
            for i in 0..64 {
                let mad = |x: u32| x.wrapping_mul(b[i]).wrapping_add(a[i]) & 0xffff;
                assert_eq!(end.vector(3)[i], 0xbbbb | mad(a[i] >> 16) << 16);
                assert_eq!(end.vector(4)[i], 0xaaaa_0000 | mad(a[i]));
                assert_eq!(
                    end.vector(5)[i],
                    a[i].wrapping_add(b[i]) & 0xffff,
                    "zero above"
                );
            }
        },
    );
}

#[test]
fn registers_are_indexed_by_m0() {
    let test = Test::new(&[
        0xbf11_0108, // s_set_gpr_idx_on s8, gpr_idx(SRC0)
        0x7e06_0304, // v_mov_b32 v3, v4
        0xbf9c_0000, // s_set_gpr_idx_off
        0xbf11_0808, // s_set_gpr_idx_on s8, gpr_idx(DST)
        0x7e08_0287, // v_mov_b32 v4, 7
        0xbf9c_0000, // s_set_gpr_idx_off
    ]);
    test.both(
        |_, w| {
            w.set_scalar(8, 3);
            *w.vector_mut(4) = [40; 64];
            *w.vector_mut(7) = [70; 64];
        },
        |end| {
            assert_eq!([3, 4, 7].map(|reg| end.vector(reg)[9]), [70, 40, 7]);
        },
    );
}

#[test]
fn special_values_are_those_of_the_operand_type() {
    let test = Test::new(&[
        0x7e02_02f8, // v_mov_b32 v1, 0.15915494
        0xd280_0002,
        0x0001_f080, // v_add_f64 v[2:3], 0, 0.15915494309189532
        0x3e08_0a80, // v_add_f16 v4, 0, v5
        0xd11f_0006,
        0x0001_00f8, // v_add_f16_e64 v6, 0.15915494, 0
        0xbe88_01f7, // s_mov_b64 s[8:9], -4.0
        0xbe8a_01c5, // s_mov_b64 s[10:11], -5
        0xd280_0008,
        0x4002_150a, // v_add_f64 v[8:9], v[10:11], -v[10:11]
        0x7e18_08d0, // v_cvt_f64_i32 v[12:13], -16
        0x7cc4_1cf0, // v_cmp_eq_f64 vcc, 0.5, v[14:15]
    ]);
    test.both(
        |_, w| {
            *w.vector_mut(5) = [0x8001; 64];
            super::set_u64(w, 14, &[0.5_f64.to_bits(); 64]);
        },
        |end| {
            assert_eq!(end.vector(1)[0], 0x3e22_f983);
            assert_eq!(end.u64(2)[0], 0x3fc4_5f30_6dc9_c882);
            assert_eq!(end.vector(4)[0], 0x8001, "a subnormal half stays");
            assert_eq!(end.vector(6)[0], 0x3118);
            assert_eq!(end.wave().scalar64(8), (-4.0_f64).to_bits());
            assert_eq!(end.wave().scalar64(10), (-5_i64).cast_unsigned());
            assert_eq!(f64::from_bits(end.u64(12)[0]), -16.0);
            assert_eq!(end.wave().vcc(), !0);
        },
    );
}
