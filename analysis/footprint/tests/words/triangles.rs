//! Indices that are made of floats: rows of a triangle, and the lesser of two.

use super::sums::{NUMBER, WRITE, written_with};
use super::*;

/// `v2` becomes the row of element `v1` of a triangle, `v5` the column, as compilers make them.
#[rustfmt::skip]
const ROW: [u32; 42] = [
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xd28f_0005, 0x0002_0283,  // v_lshlrev_b64 v[5:6], 3, v[1:2]
    0x280a_0a81,               // v_or_b32_e32 v5, 1, v5
    0x7e0e_2d06,               // v_cvt_f64_u32_e32 v[7:8], v6
    0x7e12_2d05,               // v_cvt_f64_u32_e32 v[9:10], v5
    0xd284_0007, 0x0001_4107,  // v_ldexp_f64 v[7:8], v[7:8], 32
    0xd280_0005, 0x0002_1307,  // v_add_f64 v[5:6], v[7:8], v[9:10]
    0x7e0e_4d05,               // v_rsq_f64_e32 v[7:8], v[5:6]
    0xd012_0006, 0x0001_8105,  // v_cmp_class_f64_e64 s[6:7], v[5:6], 64
    0xd281_0009, 0x0002_0b07,  // v_mul_f64 v[9:10], v[7:8], v[5:6]
    0xd281_0007, 0x0001_e107,  // v_mul_f64 v[7:8], v[7:8], 0.5
    0xd1cc_000b, 0x23c2_1307,  // v_fma_f64 v[11:12], -v[7:8], v[9:10], 0.5
    0xd1cc_0009, 0x0426_1709,  // v_fma_f64 v[9:10], v[9:10], v[11:12], v[9:10]
    0xd1cc_0007, 0x041e_1707,  // v_fma_f64 v[7:8], v[7:8], v[11:12], v[7:8]
    0xd1cc_000b, 0x2416_1309,  // v_fma_f64 v[11:12], -v[9:10], v[9:10], v[5:6]
    0xd1cc_0009, 0x0426_0f0b,  // v_fma_f64 v[9:10], v[11:12], v[7:8], v[9:10]
    0xd100_0006, 0x001a_0d0a,  // v_cndmask_b32_e64 v6, v10, v6, s[6:7]
    0xd100_0005, 0x001a_0b09,  // v_cndmask_b32_e64 v5, v9, v5, s[6:7]
    0xd280_0005, 0x0001_e705,  // v_add_f64 v[5:6], v[5:6], -1.0
    0xd281_0005, 0x0001_e105,  // v_mul_f64 v[5:6], v[5:6], 0.5
    0x7e04_0705,               // v_cvt_i32_f64_e32 v2, v[5:6]
    0xd1e8_0605, 0x040a_0502,  // v_mad_u64_u32 v[5:6], s[6:7], v2, v2, v[2:3]
    0x200c_0a9f,               // v_lshrrev_b32_e32 v6, 31, v5
    0x680a_0d05,               // v_add_u32_e32 v5, v5, v6
    0x220a_0a81,               // v_ashrrev_i32_e32 v5, 1, v5
    0x6a0a_0b01,               // v_sub_u32_e32 v5, v1, v5
];
const BY_ROW: [u32; 1] = [0x7e06_0302]; // v_mov_b32_e32 v3, v2
const BY_COLUMN: [u32; 1] = [0x7e06_0305]; // v_mov_b32_e32 v3, v5

/// What is written of 4,096 elements by a number, with some words of the code replaced.
fn written(number: &[u32], replaced: &[(u32, u32)]) -> Side {
    let mut row = ROW;
    for (word, other) in replaced {
        let at = row.iter().position(|known| known == word).expect("a word");
        row[at] = *other;
    }
    let code = [&NUMBER[..], &row, number, &WRITE].concat();
    written_with(&code, &[A])
}

/// The last of 4,096 elements is the 90th of row 90; whether the root is just below a whole number is not known.
#[test]
fn the_row_of_an_element_is_by_a_root_and_its_column_is_no_further() {
    assert_eq!(written(&BY_ROW, &[]), run_of(A..A + 4 * 91));
    assert_eq!(written(&BY_COLUMN, &[]), run_of(A..A + 4 * 92));
}

#[test]
fn where_something_else_is_rooted_there_is_no_triangle() {
    // Of 4 times the number, and of 8 times and 3.
    let other = [(0x0002_0283, 0x0002_0282), (0x280a_0a81, 0x280a_0a83)];
    for one in other {
        assert_eq!(written(&BY_COLUMN, &[one]), run_of(whole(A)));
    }
    // Its square and 1.
    let added = [(0x040a_0502, 0x0206_0502)];
    assert_eq!(written(&BY_COLUMN, &added), run_of(whole(A)));
}

#[test]
fn of_a_root_that_may_be_of_nothing_nothing_is_known() {
    // The class that is asked for is another one.
    let other = [(0x0001_8105, 0x0001_8005)];
    assert_eq!(written(&BY_ROW, &other), run_of(whole(A)));
}

#[test]
fn the_lesser_of_two_floats_that_were_words_is_the_lesser_word() {
    #[rustfmt::skip]
    let code = [
        0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
        0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
        0x7e0a_0806,               // v_cvt_f64_i32_e32 v[5:6], s6
        0x7e0e_2d01,               // v_cvt_f64_u32_e32 v[7:8], v1
        0xd282_0005, 0x0002_0f05,  // v_min_f64 v[5:6], v[5:6], v[7:8]
        0x7e06_0705,               // v_cvt_i32_f64_e32 v3, v[5:6]
    ];
    let code = [&NUMBER[..], &code, &WRITE].concat();
    assert_eq!(written_with(&code, &[A, 99]), run_of(A..A + 400));
}

#[test]
fn a_bound_on_a_long_word_bounds_its_low_half() {
    #[rustfmt::skip]
    let code = [
        0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
        0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
        0x7e02_0280,               // v_mov_b32_e32 v1, 0
        0x7e06_02ff, 0x0000_0100,  // v_mov_b32_e32 v3, 0x100
        0xd1e8_0804, 0x0400_0503,  // v_mad_u64_u32 v[4:5], s[8:9], v3, s2, v[0:1]
        0x7dd8_0806,               // v_cmp_gt_u64_e32 vcc, s[6:7], v[4:5]
        0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
        0x7e06_0304,               // v_mov_b32_e32 v3, v4
    ];
    let code = [&code[..], &WRITE].concat();
    assert_eq!(written_with(&code, &[A, 300]), run_of(A..A + 1200));
    let more = written_with(&code, &[A, 300 | 1 << 40]);
    assert_eq!(more, run_of(A..A + 4 * 4096));
}
