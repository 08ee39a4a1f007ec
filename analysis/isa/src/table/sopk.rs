//! SOPK: a scalar register and a 16-bit constant.

#[rustfmt::skip]
macro_rules! sopk {
    ($then:ident $args:tt) => { $then! { $args gcn5 sopk [
        0x00 s_movk_i32         (s_i32) ()      Alu  [];
        0x01 s_cmovk_i32        (s_i32) ()      Alu  [READS_SCC READS_DST];
        0x02 s_cmpk_eq_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x03 s_cmpk_lg_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x04 s_cmpk_gt_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x05 s_cmpk_ge_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x06 s_cmpk_lt_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x07 s_cmpk_le_i32      ()      (s_i32) Alu  [WRITES_SCC];
        0x08 s_cmpk_eq_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x09 s_cmpk_lg_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x0a s_cmpk_gt_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x0b s_cmpk_ge_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x0c s_cmpk_lt_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x0d s_cmpk_le_u32      ()      (s_u32) Alu  [WRITES_SCC];
        0x0e s_addk_i32         (s_i32) ()      Alu  [WRITES_SCC READS_DST];
        0x0f s_mulk_i32         (s_i32) ()      Alu  [READS_DST];
        0x10 s_cbranch_i_fork   ()      (s_b64) Fork [READS_EXEC WRITES_EXEC];
        0x11 s_getreg_b32       (s_b32) ()      Mode [];
        0x12 s_setreg_b32       ()      (s_b32) Mode [];
        0x14 s_setreg_imm32_b32 ()      (s_b32) Mode [];
        0x15 s_call_b64         (s_b64) ()      Call [];
    ] } };
}
pub(crate) use sopk;
