//! What addresses are made of, and conditions on it.

#[rustfmt::skip]
pub(crate) const TERM_GUARDED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x2402_0081,               // v_lshlrev_b32_e32 v1, 1, v0
    0x2802_0281,               // v_or_b32_e32 v1, 1, v1
    0x7d88_0206,               // v_cmp_gt_i32_e32 vcc, s6, v1
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0084,               // v_lshlrev_b32_e32 v1, 4, v0
    0xdc7c_8000, 0x0004_0201,  // global_store_dwordx4 v1, v[2:5], s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const WRAPPED_TERM_GUARDED: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x2402_009b,               // v_lshlrev_b32_e32 v1, 27, v0
    0x7d98_0206,               // v_cmp_gt_u32_e32 vcc, s6, v1
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0084,               // v_lshlrev_b32_e32 v1, 4, v0
    0xdc7c_8000, 0x0004_0201,  // global_store_dwordx4 v1, v[2:5], s[4:5]
    0xbf81_0000,               // s_endpgm
];

#[rustfmt::skip]
pub(crate) const GUARDED_EITHER_WAY: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc002_0180, 0x0000_0008,  // s_load_dword s6, s[0:1], 0x8
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xd0cc_000a, 0x0002_0006,  // v_cmp_gt_u32_e64 s[10:11], s6, v0
    0x2804_00c0,               // v_or_b32_e32 v2, 64, v0
    0xd0cc_000c, 0x0002_0406,  // v_cmp_gt_u32_e64 s[12:13], s6, v2
    0xbe88_200a,               // s_and_saveexec_b64 s[8:9], s[10:11]
    0xbf89_0004,               // s_cbranch_execnz first
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbe88_200c,               // s_and_saveexec_b64 s[8:9], s[12:13]
    0xbf89_0006,               // s_cbranch_execnz second
    0xbf81_0000,               // s_endpgm
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbe88_200c,               // s_and_saveexec_b64 s[8:9], s[12:13]
    0xbf88_0002,               // s_cbranch_execz end
    0xdc70_8100, 0x0004_0001,  // global_store_dword v1, v0, s[4:5] offset:256
    0xbf81_0000,               // s_endpgm
];

/// Rows of 8 items, of which only the first so many store, in a matrix of a width that is an argument, too.
#[rustfmt::skip]
pub(crate) const TILE: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xc006_0180, 0x0000_0008,  // s_load_dwordx2 s[6:7], s[0:1], 0x8
    0x2602_0087,               // v_and_b32_e32 v1, 7, v0
    0x7d98_0206,               // v_cmp_gt_u32_e32 vcc, s6, v1
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2004_0083,               // v_lshrrev_b32_e32 v2, 3, v0
    0xd285_0002, 0x0000_0f02,  // v_mul_lo_u32 v2, v2, s7
    0x6802_0501,               // v_add_u32_e32 v1, v1, v2
    0x2402_0282,               // v_lshlrev_b32_e32 v1, 2, v1
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// What is stored at is chosen with the mask, by the wave.
#[rustfmt::skip]
pub(crate) const CHOSEN_WITH_MASK: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xc002_0182, 0x0000_0000,  // s_load_dword s6, s[4:5], 0x0
    0xb00c_0800,               // s_movk_i32 s12, 0x800
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xbf06_8006,               // s_cmp_eq_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 meet
    0xbe8c_0090,               // s_mov_b32 s12, 16
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0xbe8a_2008,               // s_and_saveexec_b64 s[10:11], s[8:9]
    0x7e02_020c,               // v_mov_b32_e32 v1, s12
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// The mask has more lanes then.
#[rustfmt::skip]
pub(crate) const CHOSEN_AND_MORE_LANES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xc002_0182, 0x0000_0000,  // s_load_dword s6, s[4:5], 0x0
    0xb00c_0800,               // s_movk_i32 s12, 0x800
    0xbe88_0180,               // s_mov_b64 s[8:9], 0
    0xbf8c_c07f,               // s_waitcnt lgkmcnt(0)
    0xbf06_8006,               // s_cmp_eq_u32 s6, 0
    0xbf85_0002,               // s_cbranch_scc1 meet
    0xbe8c_0090,               // s_mov_b32 s12, 16
    0xbe88_017e,               // s_mov_b64 s[8:9], exec
    0x8788_7e08,               // s_or_b64 s[8:9], s[8:9], exec
    0xbe8a_2008,               // s_and_saveexec_b64 s[10:11], s[8:9]
    0x7e02_020c,               // v_mov_b32_e32 v1, s12
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// What is stored at is chosen with the mask, by each lane.
#[rustfmt::skip]
pub(crate) const CHOSEN_BY_LANES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_02ff, 0x0000_0800,  // v_mov_b32_e32 v1, 0x800
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0xbe8c_017e,               // s_mov_b64 s[12:13], exec
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbe88_200c,               // s_and_saveexec_b64 s[8:9], s[12:13]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];

/// The mask is older than the choice.
#[rustfmt::skip]
pub(crate) const CHOSEN_BY_SOME_LANES: &[u32] = &[
    0xc006_0100, 0x0000_0000,  // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e02_02ff, 0x0000_0800,  // v_mov_b32_e32 v1, 0x800
    0xbe8c_017e,               // s_mov_b64 s[12:13], exec
    0x7d98_0085,               // v_cmp_gt_u32_e32 vcc, 5, v0
    0xbe88_206a,               // s_and_saveexec_b64 s[8:9], vcc
    0x2402_0082,               // v_lshlrev_b32_e32 v1, 2, v0
    0x87fe_087e,               // s_or_b64 exec, exec, s[8:9]
    0xbe88_200c,               // s_and_saveexec_b64 s[8:9], s[12:13]
    0xdc70_8000, 0x0004_0001,  // global_store_dword v1, v0, s[4:5]
    0xbf81_0000,               // s_endpgm
];
