//! Divisions by arguments, as compilers make them.

use super::sums::{NUMBER, WRITE, written_with};
use super::*;

/// `v2` becomes the quotient of `v1` and the argument that follows the buffer, `v4` the rest.
#[rustfmt::skip]
const DIVIDE: [u32; 29] = [
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0c06,               // v_cvt_f32_u32_e32 v2, s6
    0x7e04_4702,               // v_rcp_iflag_f32_e32 v2, v2
    0x0a04_04ff, 0x4f7f_fffe,  // v_mul_f32_e32 v2, 0x4f7ffffe, v2
    0x7e04_0f02,               // v_cvt_u32_f32_e32 v2, v2
    0x8187_0680,               // s_sub_i32 s7, 0, s6
    0xd285_0003, 0x0002_0407,  // v_mul_lo_u32 v3, s7, v2
    0xd286_0003, 0x0002_0702,  // v_mul_hi_u32 v3, v2, v3
    0x6804_0702,               // v_add_u32_e32 v2, v2, v3
    0xd286_0002, 0x0002_0501,  // v_mul_hi_u32 v2, v1, v2
    0xd285_0004, 0x0000_0d02,  // v_mul_lo_u32 v4, v2, s6
    0x6a08_0901,               // v_sub_u32_e32 v4, v1, v4
    0x6806_0481,               // v_add_u32_e32 v3, 1, v2
    0x7d96_0806,               // v_cmp_le_u32_e32 vcc, s6, v4
    0x0004_0702,               // v_cndmask_b32_e32 v2, v2, v3, vcc
    0x6c06_0806,               // v_subrev_u32_e32 v3, s6, v4
    0x0008_0704,               // v_cndmask_b32_e32 v4, v4, v3, vcc
    0x6806_0481,               // v_add_u32_e32 v3, 1, v2
    0x7d96_0806,               // v_cmp_le_u32_e32 vcc, s6, v4
    0x0004_0702,               // v_cndmask_b32_e32 v2, v2, v3, vcc
    0x6c06_0806,               // v_subrev_u32_e32 v3, s6, v4
    0x0008_0704,               // v_cndmask_b32_e32 v4, v4, v3, vcc
];

/// What is written where an element of that number is, of 4,096 items divided by `by`.
fn written(number: &[u32], by: u64) -> Side {
    let code = [&NUMBER[..], &DIVIDE, number, &WRITE].concat();
    written_with(&code, &[A, by])
}

const QUOTIENT: [u32; 1] = [0x7e06_0302]; // v_mov_b32_e32 v3, v2
const REST: [u32; 1] = [0x7e06_0304]; // v_mov_b32_e32 v3, v4
#[rustfmt::skip]
const LESS_WHOLE: [u32; 3] = [
    0xd285_0002, 0x0000_0d02,  // v_mul_lo_u32 v2, v2, s6
    0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
];

#[test]
fn a_quotient_is_no_more_than_the_greatest_by_the_divisor() {
    assert_eq!(written(&QUOTIENT, 100), run_of(A..A + 4 * 41));
    assert_eq!(written(&QUOTIENT, 5000), run_of(A..A + 4));
}

#[test]
fn a_rest_is_less_than_the_divisor_however_it_is_made() {
    assert_eq!(written(&REST, 100), run_of(A..A + 4 * 100));
    assert_eq!(written(&LESS_WHOLE, 100), run_of(A..A + 4 * 100));
    assert_eq!(written(&LESS_WHOLE, 1), run_of(A..A + 4));
}

#[test]
fn of_a_division_by_nothing_nothing_is_known() {
    for number in [&QUOTIENT[..], &REST, &LESS_WHOLE] {
        assert_eq!(written(number, 0), run_of(whole(A)));
    }
}

#[test]
fn what_is_nearly_a_division_is_none() {
    // The second correction compares with another word.
    let mut code = [&NUMBER[..], &DIVIDE, &REST, &WRITE].concat();
    let last = code.iter().rposition(|word| *word == 0x7d96_0806).unwrap();
    code[last] = 0x7d96_0807; // v_cmp_le_u32_e32 vcc, s7, v4
    assert_eq!(written_with(&code, &[A, 100]), run_of(whole(A)));
}

#[test]
fn where_floats_are_rounded_otherwise_nothing_is_made_of_them() {
    #[rustfmt::skip]
    let modes = [
        ([0xba00_0801, 1], true),   // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
        ([0xba00_0901, 3], false),  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
    ];
    for (mode, is_rounding) in modes {
        let code = [&NUMBER[..], &mode, &DIVIDE, &REST, &WRITE].concat();
        let writes = written_with(&code, &[A, 100]);
        assert_eq!(writes.is_unknown(), is_rounding, "{writes:?}");
    }
}

/// Left of `v1` by the last argument, where two before it are made of that: a factor and a shift.
#[rustfmt::skip]
const PREPARED: [u32; 12] = [
    0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
    0xc002_0200, 0x0000_0010,  // s_load_dword s8, s[0:1], 0x10
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xd286_0002, 0x0000_0d01,  // v_mul_hi_u32 v2, v1, s6
    0x6804_0501,               // v_add_u32_e32 v2, v1, v2
    0x2004_0407,               // v_lshrrev_b32_e32 v2, s7, v2
    0xd285_0002, 0x0000_1102,  // v_mul_lo_u32 v2, v2, s8
    0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
];

#[test]
fn a_rest_by_a_factor_and_a_shift_that_are_arguments_is_less_than_the_divisor() {
    let code = [&NUMBER[..], &PREPARED, &WRITE].concat();
    let written =
        |times: u64, shift: u64, by: u64| written_with(&code, &[A, times | shift << 32, by]);
    // Of 100: 2^32 * (2^7 - 100) / 100 + 1, and 7 bits.
    assert_eq!(written(0x47ae_147b, 7, 100), run_of(A..A + 4 * 100));
    assert_eq!(written(1, 3, 8), run_of(A..A + 4 * 8));
    // These are not of each other: it is as far off as they are.
    assert_eq!(written(1, 3, 7), run_of(A..A + 4 * 519));
    assert_eq!(written(1, 3, 0), run_of(A..A + 4 * 4096));
}
