//! SOP1: one scalar source.

#[rustfmt::skip]
macro_rules! sop1 {
    ($then:ident $args:tt) => { $then! { $args gcn5 sop1 [
        0x00 s_mov_b32              (s_b32) (s_b32) Alu   [];
        0x01 s_mov_b64              (s_b64) (s_b64) Alu   [];
        0x02 s_cmov_b32             (s_b32) (s_b32) Alu   [READS_SCC READS_DST];
        0x03 s_cmov_b64             (s_b64) (s_b64) Alu   [READS_SCC READS_DST];
        0x04 s_not_b32              (s_b32) (s_b32) Alu   [WRITES_SCC];
        0x05 s_not_b64              (s_b64) (s_b64) Alu   [WRITES_SCC];
        0x06 s_wqm_b32              (s_b32) (s_b32) Alu   [WRITES_SCC];
        0x07 s_wqm_b64              (s_b64) (s_b64) Alu   [WRITES_SCC];
        0x08 s_brev_b32             (s_b32) (s_b32) Alu   [];
        0x09 s_brev_b64             (s_b64) (s_b64) Alu   [];
        0x0a s_bcnt0_i32_b32        (s_i32) (s_b32) Alu   [WRITES_SCC];
        0x0b s_bcnt0_i32_b64        (s_i32) (s_b64) Alu   [WRITES_SCC];
        0x0c s_bcnt1_i32_b32        (s_i32) (s_b32) Alu   [WRITES_SCC];
        0x0d s_bcnt1_i32_b64        (s_i32) (s_b64) Alu   [WRITES_SCC];
        0x0e s_ff0_i32_b32          (s_i32) (s_b32) Alu   [];
        0x0f s_ff0_i32_b64          (s_i32) (s_b64) Alu   [];
        0x10 s_ff1_i32_b32          (s_i32) (s_b32) Alu   [];
        0x11 s_ff1_i32_b64          (s_i32) (s_b64) Alu   [];
        0x12 s_flbit_i32_b32        (s_i32) (s_b32) Alu   [];
        0x13 s_flbit_i32_b64        (s_i32) (s_b64) Alu   [];
        0x14 s_flbit_i32            (s_i32) (s_i32) Alu   [];
        0x15 s_flbit_i32_i64        (s_i32) (s_i64) Alu   [];
        0x16 s_sext_i32_i8          (s_i32) (s_i32) Alu   [];
        0x17 s_sext_i32_i16         (s_i32) (s_i32) Alu   [];
        0x18 s_bitset0_b32          (s_b32) (s_u32) Alu   [READS_DST];
        0x19 s_bitset0_b64          (s_b64) (s_u32) Alu   [READS_DST];
        0x1a s_bitset1_b32          (s_b32) (s_u32) Alu   [READS_DST];
        0x1b s_bitset1_b64          (s_b64) (s_u32) Alu   [READS_DST];
        0x1c s_getpc_b64            (s_b64) ()      GetPc [];
        0x1d s_setpc_b64            ()      (r_b64) Jump  [];
        0x1e s_swappc_b64           (s_b64) (s_b64) Call  [];
        0x1f s_rfe_b64              ()      (r_b64) Jump  [];
        0x20 s_and_saveexec_b64     (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x21 s_or_saveexec_b64      (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x22 s_xor_saveexec_b64     (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x23 s_andn2_saveexec_b64   (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x24 s_orn2_saveexec_b64    (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x25 s_nand_saveexec_b64    (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x26 s_nor_saveexec_b64     (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x27 s_xnor_saveexec_b64    (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x28 s_quadmask_b32         (s_b32) (s_b32) Alu   [WRITES_SCC];
        0x29 s_quadmask_b64         (s_b64) (s_b64) Alu   [WRITES_SCC];
        0x2a s_movrels_b32          (s_b32) (r_b32) Alu   [READS_M0];
        0x2b s_movrels_b64          (s_b64) (r_b64) Alu   [READS_M0];
        0x2c s_movreld_b32          (s_b32) (s_b32) Alu   [READS_M0];
        0x2d s_movreld_b64          (s_b64) (s_b64) Alu   [READS_M0];
        0x2e s_cbranch_join         ()      (r_b32) Fork  [READS_EXEC WRITES_EXEC];
        0x30 s_abs_i32              (s_i32) (s_i32) Alu   [WRITES_SCC];
        0x32 s_set_gpr_idx_idx      ()      (s_b32) Mode  [READS_M0 WRITES_M0];
        0x33 s_andn1_saveexec_b64   (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x34 s_orn1_saveexec_b64    (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x35 s_andn1_wrexec_b64     (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x36 s_andn2_wrexec_b64     (s_b64) (s_b64) Alu   [WRITES_SCC READS_EXEC WRITES_EXEC];
        0x37 s_bitreplicate_b64_b32 (s_b64) (s_b32) Alu   [];
    ] } };
}
pub(crate) use sop1;
