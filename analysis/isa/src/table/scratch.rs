//! SCRATCH: per-lane stack.

#[rustfmt::skip]
macro_rules! scratch {
    ($then:ident $args:tt) => { $then! { $args gcn5 scratch [
        0x10 scratch_load_ubyte         (v_b32)  (v_u32 none s_u32)   Load 1   [READS_FLAT_SCRATCH LDS_FORM];
        0x11 scratch_load_sbyte         (v_b32)  (v_u32 none s_u32)   Load 1   [READS_FLAT_SCRATCH LDS_FORM];
        0x12 scratch_load_ushort        (v_b32)  (v_u32 none s_u32)   Load 2   [READS_FLAT_SCRATCH LDS_FORM];
        0x13 scratch_load_sshort        (v_b32)  (v_u32 none s_u32)   Load 2   [READS_FLAT_SCRATCH LDS_FORM];
        0x14 scratch_load_dword         (v_b32)  (v_u32 none s_u32)   Load 4   [READS_FLAT_SCRATCH LDS_FORM];
        0x15 scratch_load_dwordx2       (v_b64)  (v_u32 none s_u32)   Load 8   [READS_FLAT_SCRATCH];
        0x16 scratch_load_dwordx3       (v_b96)  (v_u32 none s_u32)   Load 12  [READS_FLAT_SCRATCH];
        0x17 scratch_load_dwordx4       (v_b128) (v_u32 none s_u32)   Load 16  [READS_FLAT_SCRATCH];
        0x18 scratch_store_byte         ()       (v_u32 v_b32 s_u32)  Store 1  [READS_FLAT_SCRATCH];
        0x19 scratch_store_byte_d16_hi  ()       (v_u32 v_b32 s_u32)  Store 1  [READS_FLAT_SCRATCH];
        0x1a scratch_store_short        ()       (v_u32 v_b32 s_u32)  Store 2  [READS_FLAT_SCRATCH];
        0x1b scratch_store_short_d16_hi ()       (v_u32 v_b32 s_u32)  Store 2  [READS_FLAT_SCRATCH];
        0x1c scratch_store_dword        ()       (v_u32 v_b32 s_u32)  Store 4  [READS_FLAT_SCRATCH];
        0x1d scratch_store_dwordx2      ()       (v_u32 v_b64 s_u32)  Store 8  [READS_FLAT_SCRATCH];
        0x1e scratch_store_dwordx3      ()       (v_u32 v_b96 s_u32)  Store 12 [READS_FLAT_SCRATCH];
        0x1f scratch_store_dwordx4      ()       (v_u32 v_b128 s_u32) Store 16 [READS_FLAT_SCRATCH];
        0x20 scratch_load_ubyte_d16     (v_b32)  (v_u32 none s_u32)   Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x21 scratch_load_ubyte_d16_hi  (v_b32)  (v_u32 none s_u32)   Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x22 scratch_load_sbyte_d16     (v_b32)  (v_u32 none s_u32)   Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x23 scratch_load_sbyte_d16_hi  (v_b32)  (v_u32 none s_u32)   Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x24 scratch_load_short_d16     (v_b32)  (v_u32 none s_u32)   Load 2   [READS_DST READS_FLAT_SCRATCH];
        0x25 scratch_load_short_d16_hi  (v_b32)  (v_u32 none s_u32)   Load 2   [READS_DST READS_FLAT_SCRATCH];
    ] } };
}
pub(crate) use scratch;
