//! What gfx90a has and gfx906 has not.

use strobe_code_object::Descriptor;
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;

use super::super::dispatch::Dispatch;
use super::super::register::{ACCUMULATORS, Lanes};
use super::super::stop::Stop;
use super::super::unit::ComputeUnit;
use super::{DATA, Test, USUAL_MODE, random, random_u64, set_u64};

fn gfx90a(words: &[u32]) -> Test {
    Test {
        target: &Target::GFX90A,
        ..Test::new(words)
    }
}

fn singles(values: impl Fn(usize) -> f32) -> Lanes {
    std::array::from_fn(|lane| values(lane).to_bits())
}

fn doubles(values: impl Fn(usize) -> f64) -> [u64; 64] {
    std::array::from_fn(|lane| values(lane).to_bits())
}

#[test]
fn accumulation_registers_are_moved_loaded_and_stored() {
    let test = gfx90a(&[
        0xd3d9_4004,
        0x1800_0101, // v_accvgpr_write_b32 a4, v1
        0xd3d9_40ff,
        0x1800_0087, // v_accvgpr_write_b32 a255, 7
        0x7e0a_a504, // v_accvgpr_mov_b32 a5, a4
        0xd3d8_4002,
        0x1800_0105, // v_accvgpr_read_b32 v2, a5
        0xdc74_8000,
        0x00ff_0408, // global_store_dwordx2 v[8:9], a[4:5], off
        0xbf8c_0f70, // s_waitcnt vmcnt(0)
        0xdc54_8000,
        0x06ff_0008, // global_load_dwordx2 a[6:7], v[8:9], off
        0xda1a_0000,
        0x0000_060a, // ds_write_b32 v10, a6
        0xda6c_0000,
        0x0900_000a, // ds_read_b32 a9, v10
        0xd3d8_4003,
        0x1800_0109, // v_accvgpr_read_b32 v3, a9
    ]);
    let x = random(3);
    let places: [u64; 64] = std::array::from_fn(|lane| DATA + 8 * lane as u64);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            set_u64(w, 8, &places);
            *w.vector_mut(10) = std::array::from_fn(|lane| 4 * lane as u32);
        },
        |end| {
            assert_eq!(*end.vector(2), x);
            assert_eq!(*end.vector(3), x);
            assert_eq!(*end.vector(ACCUMULATORS + 255), [7; 64]);
            assert_eq!(*end.vector(255), [0; 64]);
            for lane in 0..64 {
                assert_eq!(end.data[2 * lane..][..2], [x[lane]; 2]);
            }
        },
    );
}

/// Those that a kernel does not ask for are zero: compilers do not mask the first one where it is alone.
#[test]
fn the_ids_of_a_work_item_that_are_asked_for_are_in_one_register() {
    let dispatch = |asked: u32| Dispatch {
        target: &Target::GFX90A,
        packet: KernelDispatch {
            workgroup_size: [5, 4, 6],
            grid_size: [5, 4, 6],
            ..KernelDispatch::default()
        },
        descriptor: Descriptor {
            rsrc2: asked << 11,
            ..Descriptor::default()
        },
        ..Dispatch::default()
    };
    for (asked, kept) in [(0, 0x3ff), (1, 0xf_ffff), (2, 0x3fff_ffff)] {
        let mut unit = ComputeUnit::new();
        assert_eq!(unit.start(&dispatch(asked), [0; 3]), 2);
        for item in 0..120_u32 {
            let [column, row, layer] = [item % 5, item / 5 % 4, item / 20];
            let (wave, lane) = (item as usize / 64, item as usize % 64);
            assert_eq!(
                unit.waves[wave].vector(0)[lane],
                (column | row << 10 | layer << 20) & kept
            );
        }
    }
}

#[test]
fn packed_singles_take_the_halves_and_signs_that_are_asked_for() {
    let test = gfx90a(&[
        0xd3b0_400a,
        0x1c1a_0902, // v_pk_fma_f32 v[10:11], v[2:3], v[4:5], v[6:7]
        0xd3b1_480c,
        0x1002_0902, // v_pk_mul_f32 v[12:13], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]
        0xd3b2_400e,
        0x0801_e504, // v_pk_add_f32 v[14:15], v[4:5], 1.0 op_sel_hi:[1,0]
        0xd3b1_4010,
        0x1800_1104, // v_pk_mul_f32 v[16:17], v[4:5], s[8:9]
        0xd3b2_c012,
        0x1802_0d04, // v_pk_add_f32 v[18:19], v[4:5], v[6:7] clamp
        0xd3b3_4814,
        0x1802_0d04, // v_pk_mov_b32 v[20:21], v[4:5], v[6:7] op_sel:[1,0]
        0xd3b3_4804,
        0x1802_0904, // v_pk_mov_b32 v[4:5], v[4:5], v[4:5] op_sel:[1,0]
        0xd3b2_5102,
        0x4802_0502, // v_pk_add_f32 v[2:3], v[2:3], v[2:3] op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[0,1] neg_hi:[1,0]
    ]);
    let value = |reg: usize, lane: usize| (reg * 64 + lane) as f32 / 7.0 - 20.0;
    test.both(
        |_, w| {
            for reg in 2..8 {
                *w.vector_mut(reg) = singles(|lane| value(reg.into(), lane));
            }
            w.set_scalar(8, 3.0_f32.to_bits());
            w.set_scalar(9, 5.0_f32.to_bits());
        },
        |end| {
            for lane in 0..64 {
                let of = |reg| f32::from_bits(end.vector(reg)[lane]);
                let [a, b, c, d, e, f] = [2, 3, 4, 5, 6, 7].map(|reg| value(reg, lane));
                let pair = |reg| [of(reg), of(reg + 1)];
                assert_eq!(pair(10), [a.mul_add(c, e), b.mul_add(d, f)]);
                assert_eq!(pair(12), [b * c, a * d]);
                assert_eq!(pair(14), [c + 1.0, d + 1.0]);
                assert_eq!(pair(16), [c * 3.0, d * 5.0]);
                assert_eq!(pair(18), [(c + e).clamp(0.0, 1.0), (d + f).clamp(0.0, 1.0)]);
                assert_eq!(pair(20), [d, e], "the high half, the low half");
                assert_eq!(pair(4), [d, c], "exchanged in place");
                assert_eq!(pair(2), [a - b, -b + a], "in place");
            }
        },
    );
}

#[test]
fn packed_singles_flush_subnormals_where_the_mode_says_so() {
    let mut test = gfx90a(&[
        0xd3b2_400e,
        0x1802_0d04, // v_pk_add_f32 v[14:15], v[4:5], v[6:7]
    ]);
    test.mode = USUAL_MODE & !0x30;
    test.both(
        |_, w| {
            *w.vector_mut(4) = [1; 64];
            *w.vector_mut(7) = [0x0080_0000; 64];
            *w.vector_mut(5) = [0x8080_0001; 64];
        },
        |end| assert_eq!([14, 15].map(|reg| end.vector(reg)[9]), [0, 0x8000_0000]),
    );
}

#[test]
fn the_high_half_of_a_constant_is_not_known() {
    let test = gfx90a(&[0xd3b2_400e, 0x1801_e504]); // v_pk_add_f32 v[14:15], v[4:5], 1.0
    let stop = test.stops(|_, _| {});
    assert!(
        matches!(&stop, Stop::Unknown { text, .. } if text.starts_with("v_pk_add_f32 ")),
        "{stop}"
    );
}

#[test]
fn doubles_are_accumulated() {
    let test = gfx90a(&[
        0x0804_0d04, // v_fmac_f64_e32 v[2:3], v[4:5], v[6:7]
        0xd104_0208,
        0x2002_0d04, // v_fmac_f64_e64 v[8:9], -v[4:5], |v[6:7]|
    ]);
    let value = |seed: u32, lane: usize| f64::from(random(seed)[lane].cast_signed()) / 3.0;
    test.both(
        |_, w| {
            for reg in [2, 4, 6, 8] {
                set_u64(w, reg, &doubles(|lane| value(reg.into(), lane)));
            }
        },
        |end| {
            let [a, b] = [2, 8].map(|reg| end.u64(reg));
            for lane in 0..64 {
                let [c, x, y, d] = [2, 4, 6, 8].map(|seed| value(seed, lane));
                assert_eq!(f64::from_bits(a[lane]), x.mul_add(y, c));
                assert_eq!(f64::from_bits(b[lane]), (-x).mul_add(y.abs(), d));
            }
        },
    );
}

#[test]
fn atomics_of_doubles_add_and_compare() {
    let mut test = gfx90a(&[
        0xdd3d_8000,
        0x0a7f_0408, // global_atomic_add_f64 v[10:11], v[8:9], v[4:5], off glc
        0xdd44_8008,
        0x007f_0408, // global_atomic_max_f64 v[8:9], v[4:5], off offset:8
        0xdd40_8010,
        0x007f_0408, // global_atomic_min_f64 v[8:9], v[4:5], off offset:16
        0xd8f8_0000,
        0x0c00_0401, // ds_add_rtn_f64 v[12:13], v1, v[4:5]
    ]);
    let words = |value: f64| [value.to_bits() as u32, (value.to_bits() >> 32) as u32];
    test.data = [words(0.5), words(0.0), words(0.0)].concat();
    test.lds = words(100.0).to_vec();
    let before = |lane: usize| (0..lane).map(|lane| lane as f64 - 7.25).sum::<f64>();
    test.both(
        |_, w| {
            set_u64(w, 4, &doubles(|lane| lane as f64 - 7.25));
            set_u64(w, 8, &[DATA; 64]);
        },
        |end| {
            for (at, expected) in [before(64) + 0.5, 55.75, -7.25].into_iter().enumerate() {
                assert_eq!(end.data[2 * at..][..2], words(expected));
            }
            let (memory, shared) = (end.u64(10), end.u64(12));
            for lane in 0..64 {
                assert_eq!(f64::from_bits(memory[lane]), before(lane) + 0.5);
                assert_eq!(f64::from_bits(shared[lane]), before(lane) + 100.0);
            }
        },
    );
}

/// The mode keeps subnormals here; LDS does not ask memory.
#[test]
fn memory_adds_subnormal_doubles_and_no_subnormal_singles() {
    let mut test = gfx90a(&[
        0xbefe_0181, // s_mov_b64 exec, 1
        0xdd34_8000,
        0x007f_0408, // global_atomic_add_f32 v[8:9], v4, off
        0xdd34_8004,
        0x007f_0508, // global_atomic_add_f32 v[8:9], v5, off offset:4
        0xdd34_8008,
        0x007f_0608, // global_atomic_add_f32 v[8:9], v6, off offset:8
        0xdd3c_8010,
        0x007f_0408, // global_atomic_add_f64 v[8:9], v[4:5], off offset:16
        0xd82a_0000,
        0x0000_0401, // ds_add_f32 v1, v4
        0xd86c_0000,
        0x0200_0001, // ds_read_b32 v2, v1
    ]);
    let least = f32::MIN_POSITIVE.to_bits();
    // A subnormal is there; one is added; the sum of two that are none is one.
    test.data = vec![least - 1, least, 3 * least / 2, 0, 1, 0];
    test.lds = vec![1];
    test.both(
        |_, w| {
            *w.vector_mut(4) = [1; 64];
            *w.vector_mut(5) = [0; 64];
            *w.vector_mut(6) = [0x8000_0000 | least; 64];
            set_u64(w, 8, &[DATA; 64]);
        },
        |end| {
            assert_eq!(end.data[..6], [0, least, 0, 0, 2, 0]);
            assert_eq!(end.vector(2)[0], 2);
        },
    );
}

#[test]
fn a_lane_of_its_row_is_broadcast() {
    let test = gfx90a(&[
        0x7e04_02fa,
        0xff01_5301, // v_mov_b32_dpp v2, v1 row_newbcast:3 row_mask:0xf bank_mask:0xf
    ]);
    let x = random(4);
    test.both(
        |_, w| *w.vector_mut(1) = x,
        |end| {
            assert_eq!(
                *end.vector(2),
                std::array::from_fn(|lane| x[lane & !15 | 3])
            )
        },
    );
}

/// 16 blocks of four rows and columns: a lane has row and column `lane % 4` of block `lane / 4`.
#[test]
fn blocks_of_a_matrix_are_chosen_and_sums_begin_with_a_constant() {
    let test = gfx90a(&[
        0xbefe_0180, // s_mov_b64 exec, 0
        0xd3c2_8000,
        0x0402_0501, // v_mfma_f32_4x4x1f32 a[0:3], v1, v2, a[0:3]
        0xd3c2_0004,
        0x03ca_0501, // v_mfma_f32_4x4x1f32 v[4:7], v1, v2, 1.0
        0xd3c2_0a08,
        0x0202_0501, // v_mfma_f32_4x4x1f32 v[8:11], v1, v2, 0 cbsz:2 abid:1
        0xd3c2_000c,
        0x6202_0501, // v_mfma_f32_4x4x1f32 v[12:15], v1, v2, 0 blgp:3
    ]);
    let (a, b) = (
        |lane: usize| lane as f32 + 0.5,
        |lane: usize| 3.0 - lane as f32,
    );
    test.both(
        |_, w| {
            *w.vector_mut(1) = singles(a);
            *w.vector_mut(2) = singles(b);
            for row in 0..4 {
                *w.vector_mut(ACCUMULATORS + row) = singles(|lane| f32::from(row) * lane as f32);
            }
        },
        |end| {
            for lane in 0..64 {
                let block = lane / 4;
                for row in 0..4 {
                    let of = |reg: u16| f32::from_bits(end.vector(reg + row)[lane]);
                    let i = usize::from(row);
                    let product = a(4 * block + i) * b(lane);
                    assert_eq!(of(ACCUMULATORS), f32::from(row) * lane as f32 + product);
                    assert_eq!(of(4), 1.0 + product);
                    assert_eq!(of(8), a(4 * (block / 4 * 4 + 1) + i) * b(lane));
                    assert_eq!(of(12), a(4 * block + i) * b((lane + 16) % 64));
                }
            }
        },
    );
}

/// Row `4 * register + lane / 16`, column `lane % 16`; a lane has `k = lane / 16` of its row and column.
#[test]
fn matrices_of_doubles_are_multiplied() {
    let test = gfx90a(&[
        0xd3ee_0004,
        0x0412_0500, // v_mfma_f64_16x16x4f64 v[4:11], v[0:1], v[2:3], v[4:11]
    ]);
    let value = |seed: u32| {
        let bits = random_u64(seed);
        move |lane: usize| bits[lane].cast_signed() as f64 / 1e9
    };
    let (a, b) = (value(1), value(2));
    let c = [3, 4, 5, 6].map(value);
    test.both(
        |_, w| {
            set_u64(w, 0, &doubles(a));
            set_u64(w, 2, &doubles(b));
            for (reg, c) in [4, 6, 8, 10].into_iter().zip(&c) {
                set_u64(w, reg, &doubles(c));
            }
        },
        |end| {
            for (r, c) in c.iter().enumerate() {
                let sums = end.u64(4 + 2 * r as u16);
                for lane in 0..64 {
                    let (row, column) = (4 * r + lane / 16, lane % 16);
                    let product =
                        |sum: f64, k: usize| a(16 * k + row).mul_add(b(16 * k + column), sum);
                    let expected = (0..4).fold(c(lane), product);
                    assert_eq!(f64::from_bits(sums[lane]), expected);
                }
            }
        },
    );
}

/// Of halves and `bf16`s in A, C and D; of singles none does.
#[test]
fn subnormals_beside_narrow_elements_count_as_zero_in_matrices() {
    let test = gfx90a(&[
        0xd3ca_0004,
        0x0202_0500, // v_mfma_f32_4x4x4f16 v[4:7], v[0:1], v[2:3], 0
        0xd3ca_0008,
        0x0422_0528, // v_mfma_f32_4x4x4f16 v[8:11], v[40:41], v[2:3], v[8:11]
        0xd3eb_000c,
        0x0432_572a, // v_mfma_f32_4x4x2bf16 v[12:15], v42, v43, v[12:15]
        0xd3eb_0010,
        0x0202_5b2c, // v_mfma_f32_4x4x2bf16 v[16:19], v44, v45, 0
        0xd3c2_0018,
        0x0462_572a, // v_mfma_f32_4x4x1f32 v[24:27], v42, v43, v[24:27]
    ]);
    test.both(
        |_, w| {
            // The greatest subnormal and 1.0, and 2.0 twice.
            *w.vector_mut(0) = [0x3c00_03ff; 64];
            *w.vector_mut(2) = [0x4000_4000; 64];
            // 2^-100 and 2^-27: their product is subnormal, and C, as much again.
            *w.vector_mut(42) = [0x0d80_0000; 64];
            *w.vector_mut(43) = [0x3200_0000; 64];
            for c in [8, 12, 24] {
                for register in c..c + 4 {
                    *w.vector_mut(register) = [0x0040_0000; 64];
                }
            }
            // The least subnormal, and 2^100.
            *w.vector_mut(44) = [0x0001_0000; 64];
            *w.vector_mut(45) = [0x7180_0000; 64];
        },
        |end| {
            assert_eq!(*end.vector(4), [2.0_f32.to_bits(); 64]);
            for register in [8, 12, 16] {
                assert_eq!(*end.vector(register), [0; 64], "v{register}");
            }
            assert_eq!(*end.vector(24), [f32::MIN_POSITIVE.to_bits(); 64]);
        },
    );
    let dot = gfx90a(&[0xd3a3_4001, 0x1c12_0702]); // v_dot2_f32_f16 v1, v2, v3, v4
    assert!(matches!(dot.stops(|_, _| {}), Stop::Unknown { .. }));
}

#[test]
fn gfx906_has_none_of_it() {
    for words in [
        [0xd3b0_400a, 0x1c1a_0902], // v_pk_fma_f32
        [0xd3ee_0004, 0x0412_0500], // v_mfma_f64_16x16x4f64
        [0xd3d8_4002, 0x1800_0105], // v_accvgpr_read_b32
        [0xdd3d_8000, 0x0a7f_0408], // global_atomic_add_f64
    ] {
        let stop = Test::new(&words).stops(|_, _| {});
        assert!(matches!(stop, Stop::Illegal { .. }), "{stop}");
    }
}
