//! SOPC: scalar comparisons.

#[rustfmt::skip]
macro_rules! sopc {
    ($then:ident $args:tt) => { $then! { $args gcn5 sopc [
        0x00 s_cmp_eq_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x01 s_cmp_lg_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x02 s_cmp_gt_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x03 s_cmp_ge_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x04 s_cmp_lt_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x05 s_cmp_le_i32     () (s_i32 s_i32) Alu  [WRITES_SCC];
        0x06 s_cmp_eq_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x07 s_cmp_lg_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x08 s_cmp_gt_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x09 s_cmp_ge_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x0a s_cmp_lt_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x0b s_cmp_le_u32     () (s_u32 s_u32) Alu  [WRITES_SCC];
        0x0c s_bitcmp0_b32    () (s_b32 s_u32) Alu  [WRITES_SCC];
        0x0d s_bitcmp1_b32    () (s_b32 s_u32) Alu  [WRITES_SCC];
        0x0e s_bitcmp0_b64    () (s_b64 s_u32) Alu  [WRITES_SCC];
        0x0f s_bitcmp1_b64    () (s_b64 s_u32) Alu  [WRITES_SCC];
        0x10 s_setvskip       () (s_b32 s_b32) Mode [];
        0x11 s_set_gpr_idx_on () (s_u32)       Mode [READS_M0 WRITES_M0];
        0x12 s_cmp_eq_u64     () (s_u64 s_u64) Alu  [WRITES_SCC];
        0x13 s_cmp_lg_u64     () (s_u64 s_u64) Alu  [WRITES_SCC];
    ] } };
}
pub(crate) use sopc;
