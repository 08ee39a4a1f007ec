//! The machine code, with LLVM's text beside it.

#![allow(dead_code, reason = "each test binary uses a part")]

#[rustfmt::skip]
pub(crate) const STORE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x3202_0204,               // v_add_co_u32_e32 v1, vcc, s4, v1
    0x3804_0503,               // v_addc_co_u32_e32 v2, vcc, v3, v2, vcc
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const BEFORE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_9ff0, 0x0004_0001,  // global_store_dword v1, v0, s[4:5] offset:-16
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const WRAP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_009e,               // v_lshlrev_b32_e32 v1, 30, v0
    0xd285_0001, 0x0002_0101,  // v_mul_lo_u32 v1, v1, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const DIFFERENCE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0200, 0x0000_0010,  // s_load_dwordx2 s[8:9], s[0:1], 0x10
    0x8084_0604,               // s_sub_u32 s4, s4, s6
    0x8285_0705,               // s_subb_u32 s5, s5, s7
    0x8008_0408,               // s_add_u32 s8, s8, s4
    0x8209_0509,               // s_addc_u32 s9, s9, s5
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const DISTANCE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x8004_0604,               // s_add_u32 s4, s4, s6
    0x8205_0705,               // s_addc_u32 s5, s5, s7
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const OTHER_LOW_HALF: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe84_0006,               // s_mov_b32 s4, s6
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const RETURNING_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const OTHER_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x8888_087e,               // s_xor_b64 s[8:9], exec, s[8:9]
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0xbe88_2108,               // s_or_saveexec_b64 s[8:9], s[8:9]
    0x88fe_087e,               // s_xor_b64 exec, exec, s[8:9]
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LEAVING_LANES: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7e06_0300,               // v_mov_b32_e32 v3, v0
    0x7d94_0680,               // v_cmp_eq_u32_e32 vcc, 0, v3
    0x8788_086a,               // s_or_b64 s[8:9], vcc, s[8:9]
    0x89fe_087e,               // s_andn2_b64 exec, exec, s[8:9]
    0xbf88_0004,               // s_cbranch_execz E
    0x6806_06c1,               // v_add_u32_e32 v3, -1, v3
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0207,               // v_mov_b32_e32 v2, s7
    0xbf82_fff8,               // s_branch L
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const SKIPPED: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0xbf88_0003,               // s_cbranch_execz E
    0x2406_0082,               // v_lshlrev_b32_e32 v3, 2, v0
    0xdc70_8000, 0x0006_0003,  // global_store_dword v3, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const SPILLED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xd28a_0009, 0x0001_0004,  // v_writelane_b32 v9, s4, 0
    0xd28a_0009, 0x0001_0205,  // v_writelane_b32 v9, s5, 1
    0xbe84_0180,               // s_mov_b64 s[4:5], 0
    0xd289_0006, 0x0001_0109,  // v_readlane_b32 s6, v9, 0
    0xd289_0007, 0x0001_0309,  // v_readlane_b32 s7, v9, 1
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const OTHER_LANES_VALUE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e12_0204,               // v_mov_b32_e32 v9, s4
    0xd289_0006, 0x0000_0509,  // v_readlane_b32 s6, v9, s2
    0xbe87_0006,               // s_mov_b32 s7, s6
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const CALL: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe9e_1e04,               // s_swappc_b64 s[30:31], s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const ATOMIC: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdd08_8000, 0x0004_0001,  // global_atomic_add v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const TABLE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0202, 0x0000_0008,  // s_load_dwordx2 s[8:9], s[4:5], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LOADED_INDEX: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xc002_0182, 0x0000_0000,  // s_load_dword s6, s[4:5], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x8e06_8206,               // s_lshl_b32 s6, s6, 2
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xdc70_8000, 0x0004_0201,  // global_store_dword v1, v2, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LOOP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbe87_0080,               // s_mov_b32 s7, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf07_0607,               // s_cmp_lg_u32 s7, s6
    0xbf85_fff9,               // s_cbranch_scc1 L
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const TWO_ENTRIES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbe87_0080,               // s_mov_b32 s7, 0
    0xbf07_8006,               // s_cmp_lg_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 MIDDLE
    0xdc70_8000, 0x0004_0001,  // TOP: global_store_dword v1, v0, s[4:5]
    0xdc70_8040, 0x0004_0001,  // MIDDLE: global_store_dword v1, v0, s[4:5] offset:64
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf0a_8407,               // s_cmp_lt_u32 s7, 4
    0xbf85_fff9,               // s_cbranch_scc1 TOP
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const INDEXED: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0xbf11_0802,               // s_set_gpr_idx_on s2, gpr_idx(DST)
    0x7e02_0206,               // v_mov_b32_e32 v1, s6
    0xbf9c_0000,               // s_set_gpr_idx_off
    0xdc70_8000, 0x007f_0002,  // global_store_dword v[2:3], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const ARGUMENT_TABLE: &[u32] = &[
    0x8e02_8302,               // s_lshl_b32 s2, s2, 3
    0x8000_0200,               // s_add_u32 s0, s0, s2
    0x8201_8001,               // s_addc_u32 s1, s1, 0
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const GUARDED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x7d88_0006,               // v_cmp_gt_i32_e32 vcc, s6, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const WIDENED_GUARD: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const NOT_IN_MASK: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x7d98_00a0,               // v_cmp_gt_u32_e32 vcc, 32, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0xd0cc_000a, 0x0002_00c0,  // v_cmp_gt_u32_e64 s[10:11], 64, v0
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0x89fe_0a7e,               // s_andn2_b64 exec, exec, s[10:11]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const DATA: &[u32] = &[
    0xbe84_1c00,               // s_getpc_b64 s[4:5]
    0x8004_ff04, 0x0000_fffc,  // s_add_u32 s4, s4, 0xfffc
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const FROM_MEMORY_TO_ARGUMENT: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xc006_0202, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[4:5], 0x0
    0x8088_0608,               // s_sub_u32 s8, s8, s6
    0x8289_0709,               // s_subb_u32 s9, s9, s7
    0x8008_0806,               // s_add_u32 s8, s6, s8
    0x8209_0907,               // s_addc_u32 s9, s7, s9
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const MOVING_BOUND: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe88_0080,               // s_mov_b32 s8, 0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xc002_0243, 0x0000_0000,  // s_load_dword s9, s[6:7], 0x0
    0x8609_9f09,               // s_and_b32 s9, s9, 31
    0x8709_a009,               // s_or_b32 s9, s9, 32
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8108_8108,               // s_add_i32 s8, s8, 1
    0xbf07_0908,               // s_cmp_lg_u32 s8, s9
    0xbf85_fff5,               // s_cbranch_scc1 L
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LANES_LEAVE_THE_WAVE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0284,               // v_mov_b32_e32 v2, 4
    0xbe87_0080,               // s_mov_b32 s7, 0
    0x7d92_0407,               // v_cmp_lt_u32_e32 vcc, s7, v2
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x8004_8404,               // s_add_u32 s4, s4, 4
    0x8205_8005,               // s_addc_u32 s5, s5, 0
    0x8107_8107,               // s_add_i32 s7, s7, 1
    0xbf07_9007,               // s_cmp_lg_u32 s7, 16
    0xbf85_fff9,               // s_cbranch_scc1 L
    0xbefe_0108,               // s_mov_b64 exec, s[8:9]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const ALL_OF_THE_ACTIVE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7d98_0088,               // v_cmp_gt_u32_e32 vcc, 8, v0
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x868a_c17e,               // s_and_b64 s[10:11], exec, -1
    0xbefe_0108,               // s_mov_b64 exec, s[8:9]
    0x89fe_0a7e,               // s_andn2_b64 exec, exec, s[10:11]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const RUNTIME_HEAP: &[u32] = &[
    0xc006_0100, 0x0000_0008,  // s_load_dwordx2 s[4:5], s[0:1], 0x8
    0xc006_0182, 0x0000_0000,  // s_load_dwordx2 s[6:7], s[4:5], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xc006_0203, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[6:7], 0x0
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const COMPARED_BY_NOBODY: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0285,               // v_mov_b32_e32 v2, 5
    0x7d98_0006,               // v_cmp_gt_u32_e32 vcc, s6, v0
    0xbe8a_206a,               // s_and_saveexec_b64 s[10:11], vcc
    0x7d9a_04bf,               // v_cmp_ne_u32_e32 vcc, 63, v2
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbf86_0001,               // s_cbranch_vccz E
    0xbf81_0000,               // s_endpgm
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const ROWS: &[u32] = &[
    0xc006_0080, 0x0000_0000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
    0xc002_0100, 0x0000_0008,  // s_load_dword s4, s[0:1], 0x8
    0xbf06_8004,               // s_cmp_eq_u32 s4, 0
    0xbf85_000d,               // s_cbranch_scc1 E
    0x7e02_0300,               // v_mov_b32_e32 v1, v0
    0x7e04_0280,               // v_mov_b32_e32 v2, 0
    0xd28f_0004, 0x0002_0282,  // v_lshlrev_b64 v[4:5], 2, v[1:2]
    0x7e0c_0203,               // v_mov_b32_e32 v6, s3
    0x3208_0802,               // v_add_co_u32_e32 v4, vcc, s2, v4
    0x380a_0b06,               // v_addc_co_u32_e32 v5, vcc, v6, v5, vcc
    0xdc70_8000, 0x007f_0204,  // global_store_dword v[4:5], v2, off
    0x8104_c104,               // s_add_i32 s4, s4, -1
    0x6802_0281,               // v_add_u32_e32 v1, 1, v1
    0xbf06_8004,               // s_cmp_eq_u32 s4, 0
    0xbf84_fff5,               // s_cbranch_scc0 L
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const JUMP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe86_1c00,               // s_getpc_b64 s[6:7]
    0x8108_8490,               // s_add_i32 s8, 16, 4
    0x8006_0806,               // s_add_u32 s6, s6, s8
    0x8207_8007,               // s_addc_u32 s7, s7, 0
    0xbe80_1d06,               // s_setpc_b64 s[6:7]
    0xffff_ffff,               // no instruction
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const JUMP_BACK: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbe88_0080,               // s_mov_b32 s8, 0
    0xdc70_8000, 0x0004_0001,  // L: global_store_dword v1, v0, s[4:5]
    0x6802_0284,               // v_add_u32_e32 v1, 4, v1
    0x8108_8108,               // s_add_i32 s8, s8, 1
    0xbf07_8808,               // s_cmp_lg_u32 s8, 8
    0xbf84_0004,               // s_cbranch_scc0 E
    0xbe86_1c00,               // s_getpc_b64 s[6:7]
    0x8086_9c06,               // s_sub_u32 s6, s6, 28
    0x8287_8007,               // s_subb_u32 s7, s7, 0
    0xbe80_1d06,               // s_setpc_b64 s[6:7]
    0xbf81_0000,               // E: s_endpgm
];

#[rustfmt::skip]
pub(crate) const JUMP_TWO_WAYS: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe86_1c00,               // s_getpc_b64 s[6:7]
    0x8006_8c06,               // s_add_u32 s6, s6, 12
    0x8207_8007,               // s_addc_u32 s7, s7, 0
    0xbe80_1d06,               // J: s_setpc_b64 s[6:7]
    0x8006_9406,               // s_add_u32 s6, s6, 20
    0x8207_8007,               // s_addc_u32 s7, s7, 0
    0xbf82_fffc,               // s_branch J
    0xffff_ffff,               // no instruction
    0xffff_ffff,               // no instruction
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const CALLED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe86_1c00,               // s_getpc_b64 s[6:7]
    0x8006_9006,               // s_add_u32 s6, s6, 16
    0x8207_8007,               // s_addc_u32 s7, s7, 0
    0xbe9e_1e06,               // s_swappc_b64 s[30:31], s[6:7]
    0xbf81_0000,               // s_endpgm
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbe80_1d1e,               // s_setpc_b64 s[30:31]
];

#[rustfmt::skip]
pub(crate) const GIVES_UP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbf06_8006,               // s_cmp_eq_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 S
    0xbf92_0002,               // s_trap 2
    0xffff_ffff,               // no instruction
    0x2402_0082,               // S: v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const NEVER_RETURNS: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0xbf06_8006,               // s_cmp_eq_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 S
    0xba9e_0005,               // s_call_b64 s[30:31], F
    0xffff_ffff,               // no instruction
    0x2402_0082,               // S: v_lshlrev_b32_e32 v1, 2, v0
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
    0xbf81_0000,               // F: s_endpgm
];

#[rustfmt::skip]
pub(crate) const NOBODY_RUNS_ON: &[u32] = &[
    0xbefe_0180,               // s_mov_b64 exec, 0
    0xbf88_0001,               // s_cbranch_execz E
    0xbf81_0000,               // s_endpgm
    0xffff_ffff,               // E: no instruction
];

#[rustfmt::skip]
pub(crate) const UNSET: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_00c0, 0x0000_0008,  // s_load_dword s3, s[0:1], 0x8
    0xbf06_8003,               // s_cmp_eq_u32 s3, 0
    0xbf85_0002,               // s_cbranch_scc1 U
    0xbe86_0004,               // s_mov_b32 s6, s4
    0xbe87_0005,               // s_mov_b32 s7, s5
    0x7e02_0280,               // U: v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x0006_0001,  // global_store_dword v1, v0, s[6:7]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const HOST_CALL: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xdc55_8018, 0x0206_0001,  // global_load_dwordx2 v[2:3], v1, s[6:7] offset:24 glc
    0xdc54_8028, 0x0406_0001,  // global_load_dwordx2 v[4:5], v1, s[6:7] offset:40
    0xdc5c_8000, 0x0606_0001,  // global_load_dwordx4 v[6:9], v1, s[6:7]
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0x2604_0902,               // v_and_b32_e32 v2, v2, v4
    0xd285_0004, 0x0001_3102,  // v_mul_lo_u32 v4, v2, 24
    0x3208_0906,               // v_add_co_u32_e32 v4, vcc, v6, v4
    0x380a_0e80,               // v_addc_co_u32_e32 v5, vcc, 0, v7, vcc
    0xdc74_8008, 0x007f_0204,  // global_store_dwordx2 v[4:5], v[2:3], off offset:8
    0x2404_048c,               // v_lshlrev_b32_e32 v2, 12, v2
    0x3210_0508,               // v_add_co_u32_e32 v8, vcc, v8, v2
    0x3812_1280,               // v_addc_co_u32_e32 v9, vcc, 0, v9, vcc
    0xdc74_8000, 0x007f_0408,  // global_store_dwordx2 v[8:9], v[4:5], off
    0xdd85_8020, 0x0406_0201,  // global_atomic_cmpswap_x2 v[4:5], v1, v[2:5], s[6:7] offset:32 glc
    0xdc54_8010, 0x0a06_0001,  // global_load_dwordx2 v[10:11], v1, s[6:7] offset:16
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdd88_8008, 0x007f_020a,  // global_atomic_add_x2 v[10:11], v[2:3], off offset:8
    0xdc54_8010, 0x0c7f_000a,  // global_load_dwordx2 v[12:13], v[10:11], off offset:16
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc74_8000, 0x007f_000c,  // global_store_dwordx2 v[12:13], v[0:1], off
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const HOST_ANSWER: &[u32] = &[
    0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xdc54_8008, 0x0206_0001,  // global_load_dwordx2 v[2:3], v1, s[6:7] offset:8
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc54_8000, 0x047f_0002,  // global_load_dwordx2 v[4:5], v[2:3], off
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc70_8000, 0x007f_0004,  // global_store_dword v[4:5], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const HOST_POINTER_CHANGED: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0xdc74_8008, 0x0006_0201,  // global_store_dwordx2 v1, v[2:3], s[6:7] offset:8
    0xdc54_8008, 0x0406_0001,  // global_load_dwordx2 v[4:5], v1, s[6:7] offset:8
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc70_8000, 0x007f_0004,  // global_store_dword v[4:5], v0, off
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const PRINTED: &[u32] = &[
    0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e04_0284,               // v_mov_b32_e32 v2, 4
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xdd09_8000, 0x0306_0201,  // global_atomic_add v3, v1, v2, s[6:7] glc
    0xbf8c_0f70,               // s_waitcnt vmcnt(0)
    0xdc70_8008, 0x0006_0003,  // global_store_dword v3, v0, s[6:7] offset:8
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const PRINTED_POINTER: &[u32] = &[
    0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xc006_0203, 0x0000_0008,  // s_load_dwordx2 s[8:9], s[6:7], 0x8
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xdc70_8000, 0x0008_0001,  // global_store_dword v1, v0, s[8:9]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const IF_ELSE_FIRST_LANE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x8888_087e,               // s_xor_b64 s[8:9], exec, s[8:9]
    0xbf88_0001,               // s_cbranch_execz 1
    0x6804_04a0,               // v_add_u32_e32 v2, 32, v2
    0xbe88_2108,               // s_or_saveexec_b64 s[8:9], s[8:9]
    0x88fe_087e,               // s_xor_b64 exec, exec, s[8:9]
    0xbf88_0001,               // s_cbranch_execz 1
    0x6804_04c0,               // v_add_u32_e32 v2, 64, v2
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0x7e14_0502,               // v_readfirstlane_b32 s10, v2
    0x7e16_0503,               // v_readfirstlane_b32 s11, v3
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x000a_0001,  // global_store_dword v1, v0, s[10:11]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const ONE_HALF_FIRST_LANE: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0206,               // v_mov_b32_e32 v2, s6
    0x7e06_0207,               // v_mov_b32_e32 v3, s7
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x8888_087e,               // s_xor_b64 s[8:9], exec, s[8:9]
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7d92_00ff, 0x0000_0046,  // v_cmp_lt_u32_e32 vcc, 0x46, v0
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x88fe_087e,               // s_xor_b64 exec, exec, s[8:9]
    0x7e14_0502,               // v_readfirstlane_b32 s10, v2
    0x7e16_0503,               // v_readfirstlane_b32 s11, v3
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xdc70_8000, 0x000a_0001,  // global_store_dword v1, v0, s[10:11]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LOOP_WITH_LANES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe8c_0084,               // s_mov_b32 s12, 4
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e14_0502,               // v_readfirstlane_b32 s10, v2
    0x7e16_0503,               // v_readfirstlane_b32 s11, v3
    0xdc70_8000, 0x000a_0001,  // global_store_dword v1, v0, s[10:11]
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x6808_0881,               // v_add_u32_e32 v4, 1, v4
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0x3204_0484,               // v_add_co_u32_e32 v2, vcc, 4, v2
    0x3806_0680,               // v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
    0x808c_810c,               // s_sub_u32 s12, s12, 1
    0xbf07_800c,               // s_cmp_lg_u32 s12, 0
    0xbf85_fff3,               // s_cbranch_scc1 65523
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LOOP_THAT_RUNS_EMPTY: &[u32] = &[
    0xc00a_0100, 0x0000_0000,  // s_load_dwordx4 s[4:7], s[0:1], 0x0
    0xbe8c_0084,               // s_mov_b32 s12, 4
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0206,               // v_mov_b32_e32 v2, s6
    0x7e06_0207,               // v_mov_b32_e32 v3, s7
    0x7d92_0080,               // v_cmp_lt_u32_e32 vcc, 0, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x7e14_0502,               // v_readfirstlane_b32 s10, v2
    0x7e16_0503,               // v_readfirstlane_b32 s11, v3
    0xc042_0305, 0x0000_0000,  // s_store_dword s12, s[10:11], 0x0
    0x7d92_00ff, 0x0000_0046,  // v_cmp_lt_u32_e32 vcc, 0x46, v0
    0x86fe_6a7e,               // s_and_b64 exec, exec, vcc
    0x808c_810c,               // s_sub_u32 s12, s12, 1
    0xbf07_800c,               // s_cmp_lg_u32 s12, 0
    0xbf85_fff6,               // s_cbranch_scc1 65526
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const LANES_THAT_LEFT: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7e0a_0300,               // v_mov_b32_e32 v5, v0
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0x680a_0ac1,               // v_add_u32_e32 v5, -1, v5
    0x6804_0484,               // v_add_u32_e32 v2, 4, v2
    0x7d88_0a81,               // v_cmp_gt_i32_e32 vcc, 1, v5
    0x8788_086a,               // s_or_b64 s[8:9], vcc, s[8:9]
    0x89fe_087e,               // s_andn2_b64 exec, exec, s[8:9]
    0xbf89_fffa,               // s_cbranch_execnz 65530
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0x7e04_0204,               // v_mov_b32_e32 v2, s4
    0x7e06_0205,               // v_mov_b32_e32 v3, s5
    0x7e14_0502,               // v_readfirstlane_b32 s10, v2
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0x0004_0703,               // v_cndmask_b32_e32 v2, v3, v3, vcc
    0x7e16_0502,               // v_readfirstlane_b32 s11, v2
    0xdc70_8000, 0x000a_0001,  // global_store_dword v1, v0, s[10:11]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const CALLS_IN_A_LOOP: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbe8c_0084,               // s_mov_b32 s12, 4
    0x7e02_0280,               // v_mov_b32_e32 v1, 0
    0xbe8a_1c00,               // s_getpc_b64 s[10:11]
    0x800a_9c0a,               // s_add_u32 s10, s10, 28
    0x820b_800b,               // s_addc_u32 s11, s11, 0
    0xbe9e_1e0a,               // s_swappc_b64 s[30:31], s[10:11]
    0x808c_810c,               // s_sub_u32 s12, s12, 1
    0xbf07_800c,               // s_cmp_lg_u32 s12, 0
    0xbf85_fffc,               // s_cbranch_scc1 65532
    0xbf81_0000,               // s_endpgm
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbe80_1d1e,               // s_setpc_b64 s[30:31]
];

#[rustfmt::skip]
pub(crate) const HALVES_CROSSED: &[u32] = &[
    0xc006_0100, 0x0000_0008,  // s_load_dwordx2 s[4:5], s[0:1], 0x8
    0x9206_9802,               // s_mul_i32 s6, s2, 24
    0x9607_9802,               // s_mul_hi_u32 s7, s2, 24
    0x8e08_8402,               // s_lshl_b32 s8, s2, 4
    0x8107_0807,               // s_add_i32 s7, s7, s8
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0x7e02_0204,               // v_mov_b32_e32 v1, s4
    0x7e04_0205,               // v_mov_b32_e32 v2, s5
    0x7e06_0207,               // v_mov_b32_e32 v3, s7
    0x3202_0206,               // v_add_co_u32_e32 v1, vcc, s6, v1
    0x3804_0702,               // v_addc_co_u32_e32 v2, vcc, v2, v3, vcc
    0xdc70_8000, 0x007f_0001,  // global_store_dword v[1:2], v0, off
    0xbf81_0000,               // s_endpgm
];
