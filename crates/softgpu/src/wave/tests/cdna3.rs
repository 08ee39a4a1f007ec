//! What gfx942 has and gfx90a has not.

use strobe_code_object::Descriptor;
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;

use super::super::dispatch::PRELOADED;
use super::super::register::{ACCUMULATORS, Lanes};
use super::super::stop::Stop;
use super::super::unit::ComputeUnit;
use super::super::{Dispatch, launch};
use super::{CODE, DATA, Test, random, random_u64, set_u64};

fn gfx942(words: &[u32]) -> Test {
    Test {
        target: &Target::GFX942,
        ..Test::new(words)
    }
}

fn singles(values: impl Fn(usize) -> f32) -> Lanes {
    std::array::from_fn(|lane| values(lane).to_bits())
}

#[test]
fn words_of_64_bits_are_moved_and_added() {
    let test = gfx942(&[
        0x7e08_7102, // v_mov_b64_e32 v[4:5], v[2:3]
        0x7e0c_7085, // v_mov_b64_e32 v[6:7], 5
        0x7e10_7008, // v_mov_b64_e32 v[8:9], s[8:9]
        0xd208_000a,
        0x0411_0702, // v_lshl_add_u64 v[10:11], v[2:3], 3, v[4:5]
        0xd208_000c,
        0x0409_0008, // v_lshl_add_u64 v[12:13], s[8:9], 0, v[2:3]
    ]);
    let x = random_u64(1);
    const SCALAR: u64 = 0x9234_5678_fedc_ba98;
    test.both(
        |_, w| {
            set_u64(w, 2, &x);
            w.set_scalar64(8, SCALAR);
        },
        |end| {
            assert_eq!(end.u64(4), x);
            assert_eq!(end.u64(6), [5; 64]);
            assert_eq!(end.u64(8), [SCALAR; 64]);
            assert_eq!(end.u64(10), x.map(|x| (x << 3).wrapping_add(x)));
            assert_eq!(end.u64(12), x.map(|x| SCALAR.wrapping_add(x)));
        },
    );
}

#[test]
fn sums_with_a_literal_round_once() {
    let test = gfx942(&[
        0x2e1c_0501,
        0x4040_0001, // v_fmamk_f32 v14, v1, 0x40400001, v2
        0x301e_0501,
        0x4040_0001, // v_fmaak_f32 v15, v1, v2, 0x40400001
    ]);
    let (a, b) = (
        |lane: usize| 1.0 + lane as f32 / 7.0,
        |lane: usize| 1e-3 * lane as f32,
    );
    let literal = f32::from_bits(0x4040_0001);
    test.both(
        |_, w| {
            *w.vector_mut(1) = singles(a);
            *w.vector_mut(2) = singles(b);
        },
        |end| {
            let sums = |lane: usize| a(lane).mul_add(literal, b(lane));
            assert_eq!(*end.vector(14), singles(sums));
            let sums = |lane: usize| a(lane).mul_add(b(lane), literal);
            assert_eq!(*end.vector(15), singles(sums));
        },
    );
}

#[test]
fn there_is_one_die_and_caches_are_of_no_effect() {
    let words = [
        0xb884_f814, // s_getreg_b32 s4, hwreg(HW_REG_XCC_ID)
        0xe0a0_8000,
        0x0000_0000, // buffer_wbl2 sc1
        0xe0a4_c000,
        0x0000_0000, // buffer_inv sc0 sc1
    ];
    gfx942(&words).both(
        |_, w| w.set_scalar(4, 7),
        |end| assert_eq!(end.wave().scalar(4), 0),
    );
    let stop = Test::new(&words[..1]).stops(|_, _| {});
    assert!(matches!(stop, Stop::Unknown { .. }), "{stop}");
}

/// With an address in a vector register, in a scalar one, in both, in none.
#[test]
fn scratch_has_its_place_by_itself() {
    let mut test = gfx942(&[
        0xdc70_4008,
        0x007f_0100, // scratch_store_dword off, v1, off offset:8
        0xdc74_6004,
        0x007f_0206, // scratch_store_dwordx2 v6, v[2:3], off offset:4
        0xdc50_4004,
        0x0703_0000, // scratch_load_dword v7, off, s3 offset:4
        0xdc54_6000,
        0x0803_0006, // scratch_load_dwordx2 v[8:9], v6, s3
        0xdc40_4009,
        0x0a7f_0000, // scratch_load_ubyte v10, off, off offset:9
    ]);
    test.private = 64;
    let (x, y) = (random(1), random_u64(2));
    test.both(
        |_, w| {
            w.set_scalar(3, 4);
            *w.vector_mut(1) = x;
            set_u64(w, 2, &y);
            *w.vector_mut(6) = std::array::from_fn(|lane| 12 + 8 * (lane as u32 & 3));
        },
        |end| {
            assert_eq!(*end.vector(7), x);
            assert_eq!(end.u64(8), y);
            assert_eq!(*end.vector(10), x.map(|x| x >> 8 & 0xff));
        },
    );
    let beyond = gfx942(&[0xdc70_4008, 0x007f_0100]).stops(|_, _| {});
    assert!(
        matches!(beyond, Stop::Fault { write: true, .. }),
        "{beyond}"
    );
}

#[test]
fn arguments_are_in_registers_before_the_first_instruction() {
    let mut preloaded = [0; PRELOADED];
    preloaded[..4].copy_from_slice(&[11, 12, 13, 14]);
    let mut dispatch = Dispatch {
        target: &Target::GFX942,
        packet: KernelDispatch {
            workgroup_size: [64, 1, 1],
            grid_size: [640, 1, 1],
            kernel_object: CODE,
            kernarg_address: DATA,
            ..KernelDispatch::default()
        },
        descriptor: Descriptor {
            entry_offset: 0x40,
            rsrc1: 0xf0 << 12,
            // The kernarg pointer and four words; x of the workgroup.
            rsrc2: 6 << 1 | 1 << 7,
            properties: 1 << 3,
            preload_length: 4,
            preload_offset: 2,
            ..Descriptor::default()
        },
        preloaded,
        ..Dispatch::default()
    };
    let mut unit = ComputeUnit::new();
    unit.start(&dispatch, [5, 0, 0]);
    let wave = &unit.waves[0];
    assert_eq!(wave.pc, CODE + 0x40 + 256, "what loads them is skipped");
    assert_eq!(wave.scalar64(0), DATA);
    let words: Vec<u32> = (2..8).map(|reg| wave.scalar(reg)).collect();
    assert_eq!(words, [11, 12, 13, 14, 5, 0]);
    assert_eq!(launch::check(&dispatch), Ok(()));
    dispatch.descriptor.preload_length = 17;
    let stop = launch::check(&dispatch).expect_err("there are 16");
    assert!(stop.to_string().contains("preloaded arguments"), "{stop}");
}

/// `fp8` and `bf8` of one value: its exponent is biased by 8, and by 16.
const NUMBERS: [(f32, u8, u8); 4] = [
    (1.0, 0x40, 0x40),
    (2.0, 0x48, 0x44),
    (-1.0, 0xc0, 0xc0),
    (1.5, 0x44, 0x42),
];

#[test]
fn numbers_of_8_bits_are_converted() {
    let test = gfx942(&[
        0x7e08_a901, // v_cvt_f32_fp8_e32 v4, v1
        0x7e0a_a8f9,
        0x0003_0601, // v_cvt_f32_fp8_sdwa v5, v1 src0_sel:BYTE_3
        0x7e0c_aaf9,
        0x0002_0601, // v_cvt_f32_bf8_sdwa v6, v1 src0_sel:BYTE_2
        0x7e10_ad01, // v_cvt_pk_f32_fp8_e32 v[8:9], v1
        0x7e14_aef9,
        0x0005_0601, // v_cvt_pk_f32_bf8_sdwa v[10:11], v1 src0_sel:WORD_1
        0xd2a2_000c,
        0x0002_0702, // v_cvt_pk_fp8_f32 v12, v2, v3
        0xd2a2_400c,
        0x2002_0702, // v_cvt_pk_fp8_f32 v12, -v2, v3 op_sel:[0,0,1]
        0xd2a3_000d,
        0x0002_0702, // v_cvt_pk_bf8_f32 v13, v2, v3
    ]);
    let number = |lane: usize| NUMBERS[lane % 4];
    let next = |lane: usize| NUMBERS[(lane + 1) % 4];
    test.both(
        |_, w| {
            *w.vector_mut(1) = std::array::from_fn(|lane| {
                let [(_, a, c), (_, b, d)] = [number(lane), next(lane)];
                u32::from_le_bytes([a, b, c, d])
            });
            *w.vector_mut(2) = singles(|lane| number(lane).0);
            *w.vector_mut(3) = singles(|lane| next(lane).0);
            *w.vector_mut(13) = [0x1234_5678; 64];
        },
        |end| {
            assert_eq!(*end.vector(4), singles(|lane| number(lane).0));
            // A byte of the other format: what it says there.
            for lane in 0..64 {
                let (x, y) = (number(lane), next(lane));
                let of = |reg: u16| f32::from_bits(end.vector(reg)[lane]);
                assert_eq!(of(6), x.0);
                assert_eq!([of(8), of(9)], [x.0, y.0]);
                assert_eq!([of(10), of(11)], [x.0, y.0]);
                let as_fp8 = [1.0, 1.5, -1.0, 1.25][(lane + 1) % 4];
                assert_eq!(of(5), as_fp8);
                let opposite = x.1 ^ 0x80;
                assert_eq!(
                    end.vector(12)[lane],
                    u32::from_le_bytes([x.1, y.1, opposite, y.1])
                );
                assert_eq!(
                    end.vector(13)[lane],
                    u32::from_le_bytes([x.2, y.2, 0x34, 0x12])
                );
            }
        },
    );
    let rounded_at_random = gfx942(&[0xd2a4_000c, 0x0002_0702]); // v_cvt_sr_fp8_f32 v12, v2, v3
    let stop = rounded_at_random.stops(|_, _| {});
    assert!(stop.to_string().contains("v_cvt_sr_fp8_f32"), "{stop}");
}

/// 1.0 and 0.5 are added to 2.0 and -3.0; as `bf16`, so much more that it is rounded: to the even neighbour.
#[test]
fn atomics_add_singles_and_pairs() {
    let mut test = gfx942(&[
        0xdd39_8000,
        0x0a7f_0408, // global_atomic_pk_add_f16 v10, v[8:9], v4, off sc0
        0xdd48_8004,
        0x007f_0508, // global_atomic_pk_add_bf16 v[8:9], v5, off offset:4
        0xdf34_8008,
        0x007f_0608, // global_atomic_add_f32 v[8:9], v6, off offset:8 sc1
        0xdd34_0008,
        0x0000_0608, // flat_atomic_add_f32 v[8:9], v6 offset:8
        0xd96e_0000,
        0x0c00_0401, // ds_pk_add_rtn_f16 v12, v1, v4
        0xd830_0004,
        0x0000_0501, // ds_pk_add_bf16 v1, v5 offset:4
    ]);
    let halves = 0xc200_4000; // -3.0, 2.0
    let brains = 0x4380_4380; // 256.0 twice
    test.data = vec![halves, brains, 1.0_f32.to_bits()];
    test.lds = vec![halves, brains];
    test.both(
        |_, w| {
            w.set_exec(1 << 9);
            *w.vector_mut(4) = [0x3c00_3800; 64]; // 1.0, 0.5
            *w.vector_mut(5) = [0x3f80_4040; 64]; // 1.0, 3.0
            *w.vector_mut(6) = singles(|_| 0.25);
            set_u64(w, 8, &[DATA; 64]);
        },
        |end| {
            // Of 256 the neighbours are 254 and 258.
            let sums = [0xc000_4100, 0x4380_4382];
            assert_eq!(end.data[..2], sums);
            assert_eq!(end.unit.lds.words[..2], sums);
            assert_eq!(f32::from_bits(end.data[2]), 1.5);
            assert_eq!([10, 12].map(|reg| end.vector(reg)[9]), [halves; 2]);
        },
    );
}

#[test]
fn words_are_loaded_to_local_data_share() {
    let mut test = gfx942(&[
        0xbefc_00ff,
        0x0000_0100, // s_mov_b32 m0, 0x100
        0xdca8_8010,
        0x007f_0008, // global_load_lds_dword v[8:9], off offset:16
        0xbf8c_0f70, // s_waitcnt vmcnt(0)
    ]);
    test.data = (100..200).collect();
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    test.both(
        |_, w| {
            w.set_exec(ODD);
            set_u64(
                w,
                8,
                &std::array::from_fn(|lane| DATA + 4 * (63 - lane as u64)),
            );
        },
        |end| {
            let first = (0x100 + 16) / 4;
            for lane in 0..64 {
                let expected = if lane % 2 == 1 { 104 + 63 - lane } else { 0 };
                assert_eq!(end.unit.lds.words[first + lane], expected as u32);
            }
        },
    );
    let halves = gfx942(&[0xdca0_8000, 0x007f_0008]); // global_load_lds_ushort v[8:9], off
    let stop = halves.stops(|_, _| {});
    assert!(
        stop.to_string().contains("global_load_lds_ushort"),
        "{stop}"
    );
}

/// Four blocks of four rows: a lane has row and column `lane % 4` of block `lane / 4 % 4`, `k = lane / 16`; of the sums
/// row `lane / 16`.
#[test]
fn matrices_of_doubles_have_signs() {
    let test = gfx942(&[
        0xd3ef_0004,
        0x2412_0500, // v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[4:5] neg:[1,0,0]
        0xd3ef_0006,
        0xc41a_0500, // v_mfma_f64_4x4x4_4b_f64 v[6:7], v[0:1], v[2:3], v[6:7] neg:[0,1,1]
        0xd3ef_0008,
        0x0202_0500, // v_mfma_f64_4x4x4_4b_f64 v[8:9], v[0:1], v[2:3], 0
    ]);
    let whole = |seed: u32| random(seed).map(|x| f64::from(x as i16));
    let (a, b, c, d) = (whole(1), whole(2), whole(3), whole(4));
    test.both(
        |_, w| {
            for (reg, values) in [(0, a), (2, b), (4, c), (6, d)] {
                set_u64(w, reg, &values.map(f64::to_bits));
            }
        },
        |end| {
            let sums = [4, 6, 8].map(|reg| end.u64(reg).map(f64::from_bits));
            for lane in 0..64 {
                let (row, block) = (lane / 16, lane % 16 / 4 * 4);
                let product: f64 = (0..4)
                    .map(|k| a[16 * k + block + row] * b[16 * k + block + lane % 4])
                    .sum();
                assert_eq!(sums[0][lane], c[lane] - product);
                assert_eq!(sums[1][lane], -d[lane] - product);
                assert_eq!(sums[2][lane], product);
            }
        },
    );
}

#[test]
fn singles_are_cut_and_subnormal_halves_are_kept_in_matrices() {
    let test = gfx942(&[
        0xd3be_0004,
        0x0202_0500, // v_mfma_f32_16x16x8_xf32 v[4:7], v[0:1], v[2:3], 0
        0xd3ca_0008,
        0x0202_150a, // v_mfma_f32_4x4x4_16b_f16 v[8:11], v[10:11], v[10:11], 0
    ]);
    test.both(
        |_, w| {
            *w.vector_mut(0) = [0x3f80_3fff; 64];
            *w.vector_mut(1) = [0; 64];
            *w.vector_mut(2) = [0x4000_1fff; 64];
            *w.vector_mut(3) = [0x7f80_0000_u32.wrapping_sub(1); 64];
            *w.vector_mut(10) = [0x3c00_03ff; 64];
            *w.vector_mut(11) = [0; 64];
        },
        |end| {
            // Four of the eight products, of 1 + 2^-10 and 2.
            let cut = 4.0 * 2.0 * f32::from_bits(0x3f80_2000);
            for reg in 4..8 {
                assert_eq!(*end.vector(reg), [cut.to_bits(); 64]);
            }
            let subnormal = 1023.0 / 16_777_216.0_f32;
            let sum = 1.0_f32.mul_add(1.0, subnormal * subnormal);
            for reg in 8..12 {
                assert_eq!(*end.vector(reg), [sum.to_bits(); 64]);
            }
        },
    );
    let kept = gfx942(&[0xd3ca_0008, 0x0202_150a]);
    kept.both(
        |_, w| *w.vector_mut(10) = [0x0000_03ff; 64],
        |end| {
            let square = (1023.0 / 16_777_216.0_f32).powi(2);
            assert_eq!(*end.vector(8), [square.to_bits(); 64]);
        },
    );
}

/// Row `i` of 16 and `k` of 32 are in lane `k / 8 * 16 + i`, eight bytes each.
#[test]
fn more_bytes_are_multiplied_at_once() {
    let test = gfx942(&[
        0xd3d7_0004,
        0x0412_0500, // v_mfma_i32_16x16x32_i8 v[4:7], v[0:1], v[2:3], v[4:7]
    ]);
    let (a, b) = (random_u64(1), random_u64(2));
    let c = [5, 6, 7, 8].map(random);
    let byte = |x: &[u64; 64], i: usize, k: usize| {
        i32::from(x[k / 8 * 16 + i].to_le_bytes()[k % 8].cast_signed())
    };
    test.both(
        |_, w| {
            set_u64(w, 0, &a);
            set_u64(w, 2, &b);
            for (reg, c) in (4..).zip(c) {
                *w.vector_mut(reg) = c;
            }
        },
        |end| {
            for (i, j) in (0..256).map(|at| (at / 16, at % 16)) {
                let lane = i / 4 * 16 + j;
                let product: i32 = (0..32).map(|k| byte(&a, i, k) * byte(&b, j, k)).sum();
                let expected = c[i % 4][lane].cast_signed().wrapping_add(product);
                let is = end.vector(4 + i as u16 % 4)[lane].cast_signed();
                assert_eq!(is, expected, "{i} {j}");
            }
        },
    );
}

/// Row `i` of 32 and `k` of 16 are in lane `k / 8 * 32 + i`.
#[test]
fn matrices_of_numbers_of_8_bits_are_multiplied() {
    let test = gfx942(&[
        0xd3f6_8000,
        0x0202_0500, // v_mfma_f32_32x32x16_fp8_bf8 a[0:15], v[0:1], v[2:3], 0
    ]);
    let a = |i: usize, k: usize| NUMBERS[(7 * i + 3 * k + i * k) % 4];
    let b = |j: usize, k: usize| NUMBERS[(5 * j + k) % 4];
    let bytes = |byte: &dyn Fn(usize, usize) -> u8| -> [u64; 64] {
        std::array::from_fn(|lane| {
            u64::from_le_bytes(std::array::from_fn(|n| byte(lane % 32, lane / 32 * 8 + n)))
        })
    };
    test.both(
        |_, w| {
            set_u64(w, 0, &bytes(&|i, k| a(i, k).1));
            set_u64(w, 2, &bytes(&|j, k| b(j, k).2));
        },
        |end| {
            for (i, j) in (0..1024).map(|at| (at / 32, at % 32)) {
                let (reg, lane) = (i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j);
                let expected: f32 = (0..16).map(|k| a(i, k).0 * b(j, k).0).sum();
                let is = end.vector(ACCUMULATORS + reg as u16)[lane];
                assert_eq!(f32::from_bits(is), expected, "{i} {j}");
            }
        },
    );
}

/// Where in `k` the value `stored` of a row stands, by two bits for each that its lane has.
fn place(places: u32, of_a_lane: usize, stored: usize) -> usize {
    stored / 2 * 4 + (places >> (2 * (stored % of_a_lane)) & 3) as usize
}

#[test]
fn half_of_a_matrix_of_halves_is_multiplied() {
    let test = gfx942(&[
        0xd3e2_0008,
        0x041a_0500, // v_smfmac_f32_16x16x32_f16 v[8:11], v[0:1], v[2:5], v6
        0xd3e2_1808,
        0x041a_0500, // v_smfmac_f32_16x16x32_f16 v[8:11], v[0:1], v[2:5], v6 abid:3
    ]);
    const HALVES: [(f32, u64); 4] = [(1.0, 0x3c00), (2.0, 0x4000), (3.0, 0x4200), (-1.0, 0xbc00)];
    let a = |i: usize, stored: usize| HALVES[(3 * i + stored + i * stored) % 4];
    let b = |j: usize, k: usize| HALVES[(j + 5 * k + j * k / 3) % 4];
    let four = |half: &dyn Fn(usize) -> u64| (0..4).map(|n| half(n) << (16 * n)).sum::<u64>();
    let places = random(9);
    test.both(
        |_, w| {
            let of_a = |lane: usize| four(&|n| a(lane % 16, lane / 16 * 4 + n).1);
            set_u64(w, 0, &std::array::from_fn(of_a));
            for part in 0..2 {
                let of_b = |lane: usize| four(&|n| b(lane % 16, lane / 16 * 8 + 4 * part + n).1);
                set_u64(w, 2 + 2 * part as u16, &std::array::from_fn(of_b));
            }
            *w.vector_mut(6) = places;
            for reg in 8..12 {
                *w.vector_mut(reg) = singles(|lane| lane as f32);
            }
        },
        |end| {
            for (i, j) in (0..256).map(|at| (at / 16, at % 16)) {
                let lane = i / 4 * 16 + j;
                let mut expected = lane as f32;
                for set in [0, 3] {
                    for stored in 0..16 {
                        let places = places[stored / 4 * 16 + i] >> (8 * set);
                        expected += a(i, stored).0 * b(j, place(places, 4, stored)).0;
                    }
                }
                let is = f32::from_bits(end.vector(8 + i as u16 % 4)[lane]);
                assert_eq!(is, expected, "{i} {j}");
            }
        },
    );
}

#[test]
fn half_of_a_matrix_of_bytes_is_multiplied() {
    let test = gfx942(&[
        0xd3ec_8800,
        0x041a_0500, // v_smfmac_i32_32x32x32_i8 a[0:15], v[0:1], v[2:5], v6 abid:1
        0xd3ec_8900,
        0x041a_0500, // v_smfmac_i32_32x32x32_i8 a[0:15], v[0:1], v[2:5], v6 cbsz:1 abid:1
    ]);
    let a = random_u64(1);
    let b = [random_u64(3), random_u64(5)];
    let places = random(9);
    test.both(
        |_, w| {
            set_u64(w, 0, &a);
            set_u64(w, 2, &b[0]);
            set_u64(w, 4, &b[1]);
            *w.vector_mut(6) = places;
        },
        |end| {
            let signed = |word: u64, n: usize| i32::from(word.to_le_bytes()[n].cast_signed());
            for (i, j) in (0..1024).map(|at| (at / 32, at % 32)) {
                let (reg, lane) = (i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j);
                let mut expected = 0_i32;
                for set in [1, 0] {
                    for stored in 0..16 {
                        let from = stored / 8 * 32 + i;
                        let k = place(places[from] >> (16 * set), 8, stored);
                        let of_b = signed(b[k / 8 % 2][k / 16 * 32 + j], k % 8);
                        expected += signed(a[from], stored % 8) * of_b;
                    }
                }
                let is = end.vector(ACCUMULATORS + reg as u16)[lane].cast_signed();
                assert_eq!(is, expected, "{i} {j}");
            }
        },
    );
}

#[test]
fn gfx90a_has_none_of_it() {
    for words in [
        [0x7e08_7102, 0xbf80_0000], // v_mov_b64_e32
        [0xd208_000a, 0x0411_0702], // v_lshl_add_u64
        [0xd3be_0004, 0x0202_0500], // v_mfma_f32_16x16x8_xf32
        [0xd3e2_0008, 0x041a_0500], // v_smfmac_f32_16x16x32_f16
        [0xdd48_8004, 0x007f_0508], // global_atomic_pk_add_bf16
    ] {
        let test = Test {
            target: &Target::GFX90A,
            ..Test::new(&words)
        };
        let stop = test.stops(|_, _| {});
        assert!(matches!(stop, Stop::Illegal { .. }), "{stop}");
    }
}
