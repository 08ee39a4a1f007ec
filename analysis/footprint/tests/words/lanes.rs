//! Scalars that are kept in lanes of vector registers, and those in scratch.

use super::*;

/// `s_add_u32 s0, s0, s7` and `s_addc_u32 s1, s1, 0`: to the scratch of the wave.
const TO_WAVE: [u32; 2] = [0x8000_0700, 0x8201_8001];

/// What one work-group writes to A: the descriptor of its scratch is in `s[0:3]`, the kernarg pointer in `s[4:5]`, the
/// work-group id in `s6`.
fn writes(code: &[u32]) -> Side {
    let code = [&TO_WAVE, code].concat();
    let mut kernel = KernelSource::new("kernel", &code).args(&[(0, 8, "global_buffer")]);
    kernel.rsrc2 = 1 | 6 << 1 | 1 << 7;
    kernel.properties = 1 | 8;
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    launch(&footprint_of(kernel), &[A], &device).writes
}

/// Two scalars go through two lanes of `v3`, which holds the item before and after.
#[rustfmt::skip]
const IN_TWO_LANES: &[u32] = &[
    0xc006_0202, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[4:5], 0x0
    0x7e06_0300,               // v_mov_b32_e32 v3, v0
    0xbea2_017e,               // s_mov_b64 s[34:35], exec
    0xbefe_0183,               // s_mov_b64 exec, 3
    0xe070_0000, 0x8000_0300,  // buffer_store_dword v3, off, s[0:3], 0
    0xd28a_0003, 0x0001_0008,  // v_writelane_b32 v3, s8, 0
    0xd28a_0003, 0x0001_0209,  // v_writelane_b32 v3, s9, 1
    0xe070_0008, 0x8000_0300,  // buffer_store_dword v3, off, s[0:3], 0 offset:8
    0xe050_0000, 0x8000_0300,  // buffer_load_dword v3, off, s[0:3], 0
    0xbefe_0122,               // s_mov_b64 exec, s[34:35]
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0xbea2_017e,               // s_mov_b64 s[34:35], exec
    0xbefe_0183,               // s_mov_b64 exec, 3
    0xe070_0000, 0x8000_0300,  // buffer_store_dword v3, off, s[0:3], 0
    0xe050_0008, 0x8000_0300,  // buffer_load_dword v3, off, s[0:3], 0 offset:8
    0xd289_0008, 0x0001_0103,  // v_readlane_b32 s8, v3, 0
    0xd289_0009, 0x0001_0303,  // v_readlane_b32 s9, v3, 1
    0xe050_0000, 0x8000_0300,  // buffer_load_dword v3, off, s[0:3], 0
    0xbefe_0122,               // s_mov_b64 exec, s[34:35]
    0x2402_0682,               // v_lshlrev_b32_e32 v1, 2, v3
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

/// `buffer_load_dword v3, off, s[0:3], 0`: what it held before.
const RESTORED: [u32; 2] = [0xe050_0000, 0x8000_0300];

/// With what stands in place of the last that restores `v3`.
fn instead_of_restoring(words: &[u32]) -> Vec<u32> {
    let mut pairs = IN_TWO_LANES.windows(2);
    let at = pairs.rposition(|pair| pair == RESTORED).expect("a load");
    [&IN_TWO_LANES[..at], words, &IN_TWO_LANES[at + 2..]].concat()
}

#[test]
fn scalars_go_through_lanes_that_are_switched_on_by_number() {
    assert_eq!(writes(IN_TWO_LANES), run_of(A..A + 256));
}

#[test]
fn a_lane_is_one_of_those_or_not() {
    // v_mov_b32_e32 v3, 64
    let set = instead_of_restoring(&[0x7e06_02c0]);
    assert_eq!(writes(&set), run_of(A..A + 260));
}

#[test]
fn what_is_written_to_a_lane_that_is_off_stays() {
    // v_writelane_b32 v3, s6, 2
    let beside = [&[0xd28a_0003, 0x0001_0406], &RESTORED[..]].concat();
    assert_eq!(writes(&instead_of_restoring(&beside)), run_of(whole(A)));
    // v_writelane_b32 v3, s6, 1
    let among = [&[0xd28a_0003, 0x0001_0206], &RESTORED[..]].concat();
    assert_eq!(writes(&instead_of_restoring(&among)), run_of(A..A + 256));
}

#[test]
fn spilled_scalars_come_back_and_other_lanes_are_unknown() {
    assert_eq!(run(SPILLED, &[A]).writes, run_of(A..A + 4));
    assert!(run(OTHER_LANES_VALUE, &[A]).writes.is_unknown());
}

/// Compilers use registers again that the other side of an if alone still needs: its lanes are off meanwhile.
#[test]
fn an_else_has_nothing_of_what_the_if_has_put_into_registers() {
    #[rustfmt::skip]
    let code = [
        0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
        0x7e02_0204,               // v_mov_b32_e32 v1, s4
        0x7e04_0205,               // v_mov_b32_e32 v2, s5
        0x7d98_0090,               // v_cmp_gt_u32_e32 vcc, 16, v0
        0xbe8a_206a,               // s_and_saveexec_b64 s[10:11], vcc
        0x888a_0a7e,               // s_xor_b64 s[10:11], exec, s[10:11]
        0xbf88_0004,               // s_cbranch_execz 4
        0x7e02_0206,               // v_mov_b32_e32 v1, s6
        0x7e04_0207,               // v_mov_b32_e32 v2, s7
        0xdc50_8000, 0x037f_0001,  // global_load_dword v3, v[1:2], off
        0xbe8a_230a,               // s_andn2_saveexec_b64 s[10:11], s[10:11]
        0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
        0xbf81_0000,               // s_endpgm
    ];
    let args = [(0, 8, "global_buffer"), (8, 8, "global_buffer")];
    let footprint = footprint_of(KernelSource::new("kernel", &code).args(&args));
    let summary = footprint.summary();
    let offsets =
        |side: &SideSummary| -> Vec<_> { side.slots().iter().map(|slot| slot.offset).collect() };
    assert_eq!(offsets(&summary.writes), [Some(0)]);
    assert_eq!(offsets(&summary.reads), [Some(8)]);
}

/// `v1` is 8; lanes leave a loop that leaves it alone; those that are left change it to 0, and then the others come back.
#[rustfmt::skip]
const CHANGED_BEHIND_A_LOOP: &[u32] = &[
    0xc006_0202, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[4:5], 0x0
    0x7e02_0288,               // v_mov_b32_e32 v1, 8
    0xe070_0000, 0x8000_0100,  // buffer_store_dword v1, off, s[0:3], 0
    0xbe8a_017e,               // s_mov_b64 s[10:11], exec
    0xb006_0003,               // s_movk_i32 s6, 0x3
    0x8086_8106,               // s_sub_u32 s6, s6, 1
    0xbf85_0003,               // s_cbranch_scc1 3
    0x7d98_00a0,               // v_cmp_gt_u32_e32 vcc, 32, v0
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0xbf82_fffb,               // s_branch -5
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xe070_0000, 0x8000_0100,  // buffer_store_dword v1, off, s[0:3], 0
    0x87fe_0a7e,               // s_or_b64 exec, exec, s[10:11]
];

#[test]
fn lanes_that_have_left_a_loop_do_not_change_with_those_behind_it() {
    // global_store_dword v1, v0, s[8:9]; s_endpgm
    let store = [0xdc70_8000, 0x0008_0001, 0xbf81_0000];
    let both = bytes(&[A..A + 4, A + 8..A + 12]);
    let flat = |code: &[&[u32]]| -> Side {
        let writes = writes(&code.concat());
        writes
            .known()
            .expect("they are known")
            .flat(u64::MAX)
            .into()
    };
    assert_eq!(flat(&[CHANGED_BEHIND_A_LOOP, &store]), both);
    // buffer_load_dword v1, off, s[0:3], 0
    let slot = [0xe050_0000, 0x8000_0100];
    assert_eq!(flat(&[CHANGED_BEHIND_A_LOOP, &slot, &store]), both);
}
