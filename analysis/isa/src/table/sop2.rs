//! SOP2: two scalar sources.

#[rustfmt::skip]
macro_rules! sop2 {
    ($then:ident $args:tt) => { $then! { $args gcn5 sop2 [
        0x00 s_add_u32         (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x01 s_sub_u32         (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x02 s_add_i32         (s_i32) (s_i32 s_i32) Alu  [WRITES_SCC];
        0x03 s_sub_i32         (s_i32) (s_i32 s_i32) Alu  [WRITES_SCC];
        0x04 s_addc_u32        (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC READS_SCC];
        0x05 s_subb_u32        (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC READS_SCC];
        0x06 s_min_i32         (s_i32) (s_i32 s_i32) Alu  [WRITES_SCC];
        0x07 s_min_u32         (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x08 s_max_i32         (s_i32) (s_i32 s_i32) Alu  [WRITES_SCC];
        0x09 s_max_u32         (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x0a s_cselect_b32     (s_b32) (s_b32 s_b32) Alu  [READS_SCC];
        0x0b s_cselect_b64     (s_b64) (s_b64 s_b64) Alu  [READS_SCC];
        0x0c s_and_b32         (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x0d s_and_b64         (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x0e s_or_b32          (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x0f s_or_b64          (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x10 s_xor_b32         (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x11 s_xor_b64         (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x12 s_andn2_b32       (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x13 s_andn2_b64       (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x14 s_orn2_b32        (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x15 s_orn2_b64        (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x16 s_nand_b32        (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x17 s_nand_b64        (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x18 s_nor_b32         (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x19 s_nor_b64         (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x1a s_xnor_b32        (s_b32) (s_b32 s_b32) Alu  [WRITES_SCC];
        0x1b s_xnor_b64        (s_b64) (s_b64 s_b64) Alu  [WRITES_SCC];
        0x1c s_lshl_b32        (s_b32) (s_b32 s_u32) Alu  [WRITES_SCC];
        0x1d s_lshl_b64        (s_b64) (s_b64 s_u32) Alu  [WRITES_SCC];
        0x1e s_lshr_b32        (s_b32) (s_b32 s_u32) Alu  [WRITES_SCC];
        0x1f s_lshr_b64        (s_b64) (s_b64 s_u32) Alu  [WRITES_SCC];
        0x20 s_ashr_i32        (s_i32) (s_i32 s_u32) Alu  [WRITES_SCC];
        0x21 s_ashr_i64        (s_i64) (s_i64 s_u32) Alu  [WRITES_SCC];
        0x22 s_bfm_b32         (s_b32) (s_b32 s_u32) Alu  [];
        0x23 s_bfm_b64         (s_b64) (s_b32 s_u32) Alu  [];
        0x24 s_mul_i32         (s_i32) (s_i32 s_i32) Alu  [];
        0x25 s_bfe_u32         (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x26 s_bfe_i32         (s_i32) (s_i32 s_u32) Alu  [WRITES_SCC];
        0x27 s_bfe_u64         (s_u64) (s_u64 s_u32) Alu  [WRITES_SCC];
        0x28 s_bfe_i64         (s_i64) (s_i64 s_u32) Alu  [WRITES_SCC];
        0x29 s_cbranch_g_fork  ()      (s_b64 s_b64) Fork [READS_EXEC WRITES_EXEC];
        0x2a s_absdiff_i32     (s_i32) (s_i32 s_i32) Alu  [WRITES_SCC];
        0x2b s_rfe_restore_b64 ()      (s_b64 s_b32) Jump [WRITES_EXEC];
        0x2c s_mul_hi_u32      (s_u32) (s_u32 s_u32) Alu  [];
        0x2d s_mul_hi_i32      (s_i32) (s_i32 s_i32) Alu  [];
        0x2e s_lshl1_add_u32   (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x2f s_lshl2_add_u32   (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x30 s_lshl3_add_u32   (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x31 s_lshl4_add_u32   (s_u32) (s_u32 s_u32) Alu  [WRITES_SCC];
        0x32 s_pack_ll_b32_b16 (s_b32) (s_b32 s_b32) Alu  [];
        0x33 s_pack_lh_b32_b16 (s_b32) (s_b32 s_b32) Alu  [];
        0x34 s_pack_hh_b32_b16 (s_b32) (s_b32 s_b32) Alu  [];
    ] } };
}
pub(crate) use sop2;
