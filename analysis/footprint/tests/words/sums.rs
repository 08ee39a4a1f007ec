//! Terms of a sum that belong together.

use super::*;

/// What is written by 16 work-groups of 256.
fn written(code: &[u32]) -> Side {
    written_with(code, &[A])
}

/// The same with more arguments.
pub(super) fn written_with(code: &[u32], arguments: &[u64]) -> Side {
    let words = arguments.iter().flat_map(|word| word.to_le_bytes());
    let kernarg: Vec<u8> = words.collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [4096, 1, 1],
        block: [256, 1, 1],
        dynamic_lds: 0,
    };
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    let numbers = (1..arguments.len() as u32).map(|index| (8 * index, 8, "by_value"));
    let args: Vec<_> = [(0, 8, "global_buffer")]
        .into_iter()
        .chain(numbers)
        .collect();
    let footprint = footprint_of(KernelSource::new("kernel", code).args(&args));
    footprint.evaluate(&launch, &device).writes
}

/// The words that begin a kernel: `v1` is the item's number in the launch.
#[rustfmt::skip]
pub(super) const NUMBER: [u32; 4] = [
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x8e03_8802,               // s_lshl_b32 s3, s2, 8
    0x6802_0003,               // v_add_u32_e32 v1, s3, v0
];

/// Those that end it: `v3` is the element that is written.
#[rustfmt::skip]
pub(super) const WRITE: [u32; 4] = [
    0x2406_0682,               // v_lshlrev_b32_e32 v3, 2, v3
    0xdc70_8000, 0x0004_0003,  // global_store_dword v3, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[test]
fn what_a_shift_cuts_off_is_less_than_its_power() {
    #[rustfmt::skip]
    let code = [
        0x2004_0286,  // v_lshrrev_b32_e32 v2, 6, v1
        0x2404_0486,  // v_lshlrev_b32_e32 v2, 6, v2
        0x6806_0285,  // v_add_u32_e32 v3, 5, v1
        0x6a06_0503,  // v_sub_u32_e32 v3, v3, v2
    ];
    let code = [&NUMBER[..], &code, &WRITE].concat();
    assert_eq!(written(&code), run_of(A + 20..A + 20 + 256));
}

#[test]
fn so_it_is_of_a_signed_division() {
    #[rustfmt::skip]
    let code = [
        0x2204_029f,               // v_ashrrev_i32_e32 v2, 31, v1
        0x2004_049b,               // v_lshrrev_b32_e32 v2, 27, v2
        0x6804_0501,               // v_add_u32_e32 v2, v1, v2
        0x2604_04ff, 0xffff_ffe0,  // v_and_b32_e32 v2, 0xffffffe0, v2
        0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
    ];
    let code = [&NUMBER[..], &code, &WRITE].concat();
    assert_eq!(written(&code), run_of(A..A + 128));
}

#[test]
fn and_of_a_division_by_a_product() {
    #[rustfmt::skip]
    let of_unsigned = [
        0xbe86_00ff, 0x2492_4925,  // s_mov_b32 s6, 0x24924925
        0xd286_0002, 0x0000_0d01,  // v_mul_hi_u32 v2, v1, s6
        0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
        0x2006_0681,               // v_lshrrev_b32_e32 v3, 1, v3
        0x6804_0503,               // v_add_u32_e32 v2, v3, v2
        0x2004_0482,               // v_lshrrev_b32_e32 v2, 2, v2
        0xd285_0002, 0x0001_0f02,  // v_mul_lo_u32 v2, v2, 7
        0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
    ];
    #[rustfmt::skip]
    let of_signed = [
        0xbe86_00ff, 0x9249_2493,  // s_mov_b32 s6, 0x92492493
        0xd287_0002, 0x0000_0d01,  // v_mul_hi_i32 v2, v1, s6
        0x6804_0302,               // v_add_u32_e32 v2, v2, v1
        0x2006_049f,               // v_lshrrev_b32_e32 v3, 31, v2
        0x2204_0482,               // v_ashrrev_i32_e32 v2, 2, v2
        0x6804_0702,               // v_add_u32_e32 v2, v2, v3
        0xd285_0002, 0x0001_0f02,  // v_mul_lo_u32 v2, v2, 7
        0x6a06_0501,               // v_sub_u32_e32 v3, v1, v2
    ];
    for code in [&of_unsigned[..], &of_signed] {
        let code = [&NUMBER[..], code, &WRITE].concat();
        assert_eq!(written(&code), run_of(A..A + 28));
    }
}

/// Buffers, and the words at B.
fn with_table(words: impl Iterator<Item = u32>) -> Device<'static> {
    Device {
        buffers: &[A, B],
        content: Some((B, words.flat_map(u32::to_le_bytes).collect())),
    }
}

#[test]
fn two_words_of_a_table_are_as_far_apart_as_any_that_stand_so() {
    #[rustfmt::skip]
    let code = [
        0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
        0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
        0xdc54_8000, 0x0206_0001,  // global_load_dwordx2 v[2:3], v1, s[6:7]
        0xbf8c_0f70,               // s_waitcnt vmcnt(0)
        0x6a06_0503,               // v_sub_u32_e32 v3, v3, v2
        0x2406_0682,               // v_lshlrev_b32_e32 v3, 2, v3
        0xdc70_8000, 0x0004_0003,  // global_store_dword v3, v0, s[4:5]
        0xbf81_0000,               // s_endpgm
    ];
    // Three more each time, but seven once.
    let device = with_table((0..65).map(|row| 3 * row + if row > 40 { 4 } else { 0 }));
    assert_eq!(
        run_on(&code, &[A, B], &device).writes,
        run_of(A + 12..A + 32)
    );
}

#[test]
fn a_loop_from_one_to_the_next_goes_round_as_often_as_the_longest() {
    #[rustfmt::skip]
    let code = [
        0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
        0x8e02_8202,               // s_lshl_b32 s2, s2, 2
        0x8006_0206,               // s_add_u32 s6, s6, s2
        0x8207_8007,               // s_addc_u32 s7, s7, 0
        0xc006_0203, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[6:7], 0x0
        0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
        0xbe8c_0180,               // s_mov_b64 s[12:13], 0
        0x6802_0008,               // v_add_u32_e32 v1, s8, v0
        0x7e04_0280,               // v_mov_b32_e32 v2, 0
        0x7d88_0209,               // v_cmp_gt_i32_e32 vcc, s9, v1
        0xbe8a_206a,               // s_and_saveexec_b64 s[10:11], vcc
        0xbf88_0008,               // s_cbranch_execz 8
        0x6802_02c0,               // v_add_u32_e32 v1, 64, v1
        0x7d86_0209,               // v_cmp_le_i32_e32 vcc, s9, v1
        0xdc70_8000, 0x0004_0002,  // global_store_dword v2, v0, s[4:5]
        0x6804_0484,               // v_add_u32_e32 v2, 4, v2
        0x878c_0c6a,               // s_or_b64 s[12:13], vcc, s[12:13]
        0x89fe_0c7e,               // s_andn2_b64 exec, exec, s[12:13]
        0xbf89_fff8,               // s_cbranch_execnz 65528
        0xbf81_0000,               // s_endpgm
    ];
    let kernarg: Vec<u8> = [A, B].iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        kernarg: &kernarg,
        grid: [64 * 64, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    };
    // Rows of 100 need two rounds.
    let device = with_table((0..65).map(|row| 100 * row));
    let args = [(0, 8, "global_buffer"), (8, 8, "global_buffer")];
    let footprint = footprint_of(KernelSource::new("kernel", &code).args(&args));
    assert_eq!(
        footprint.evaluate(&launch, &device).writes,
        run_of(A..A + 8)
    );
}
