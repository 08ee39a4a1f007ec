//! What gfx942 adds to gfx90a: numbers of 8 bits, sums and moves of 64, loads to local data share from any address.
//! LLVM has other names for the matrix instructions that it takes over.

#[rustfmt::skip]
macro_rules! gfx942 {
    ($then:ident $args:tt) => { $then! { $args
    gfx942 vop1 [
        0x38 v_mov_b64           (v_b64)  (a_b64) Alu [] (VOP3 DPP);
        0x54 v_cvt_f32_fp8       (v_f32)  (a_b32) Alu [] (VOP3 CLAMP OMOD SDWA DPP);
        0x55 v_cvt_f32_bf8       (v_f32)  (a_b32) Alu [] (VOP3 CLAMP OMOD SDWA DPP);
        0x56 v_cvt_pk_f32_fp8    (v_pf32) (a_b32) Alu [] (VOP3 CLAMP OMOD SDWA DPP);
        0x57 v_cvt_pk_f32_bf8    (v_pf32) (a_b32) Alu [] (VOP3 CLAMP OMOD SDWA DPP);
    ]
    gfx942 vop2 [
        0x17 v_fmamk_f32 (v_f32) (a_f32 l_f32 v_f32) Alu [] ();
        0x18 v_fmaak_f32 (v_f32) (a_f32 v_f32 l_f32) Alu [] ();
    ]
    gfx942 vop3 [
        0x208 v_lshl_add_u64   (v_u64) (a_u64 a_u32 a_u64) Alu []          ();
        0x2a2 v_cvt_pk_fp8_f32 (v_b32) (a_f32 a_f32)       Alu [READS_DST] (MODS OP_SEL);
        0x2a3 v_cvt_pk_bf8_f32 (v_b32) (a_f32 a_f32)       Alu [READS_DST] (MODS OP_SEL);
        0x2a4 v_cvt_sr_fp8_f32 (v_b32) (a_f32 a_b32)       Alu [READS_DST] (MODS OP_SEL);
        0x2a5 v_cvt_sr_bf8_f32 (v_b32) (a_f32 a_b32)       Alu [READS_DST] (MODS OP_SEL);
    ]
    gfx942 vop3p_mai [
        0x3e v_mfma_f32_16x16x8_xf32       (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x3f v_mfma_f32_32x32x4_xf32       (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x40 v_mfma_f32_32x32x1_2b_f32     (m_b1024) (m_b32 m_b32 n_b1024) Matrix [IGNORES_EXEC];
        0x41 v_mfma_f32_16x16x1_4b_f32     (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x42 v_mfma_f32_4x4x1_16b_f32      (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x44 v_mfma_f32_32x32x2_f32        (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x45 v_mfma_f32_16x16x4_f32        (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x48 v_mfma_f32_32x32x4_2b_f16     (m_b1024) (m_b64 m_b64 n_b1024) Matrix [IGNORES_EXEC];
        0x49 v_mfma_f32_16x16x4_4b_f16     (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x4a v_mfma_f32_4x4x4_16b_f16      (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x4c v_mfma_f32_32x32x8_f16        (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x4d v_mfma_f32_16x16x16_f16       (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x50 v_mfma_i32_32x32x4_2b_i8      (m_b1024) (m_b32 m_b32 n_b1024) Matrix [IGNORES_EXEC];
        0x51 v_mfma_i32_16x16x4_4b_i8      (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x52 v_mfma_i32_4x4x4_16b_i8       (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x56 v_mfma_i32_32x32x16_i8        (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x57 v_mfma_i32_16x16x32_i8        (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x5d v_mfma_f32_32x32x4_2b_bf16    (m_b1024) (m_b64 m_b64 n_b1024) Matrix [IGNORES_EXEC];
        0x5e v_mfma_f32_16x16x4_4b_bf16    (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x5f v_mfma_f32_4x4x4_16b_bf16     (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x60 v_mfma_f32_32x32x8_bf16       (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x61 v_mfma_f32_16x16x16_bf16      (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x62 v_smfmac_f32_16x16x32_f16     (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x64 v_smfmac_f32_32x32x16_f16     (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x66 v_smfmac_f32_16x16x32_bf16    (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x68 v_smfmac_f32_32x32x16_bf16    (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x6a v_smfmac_i32_16x16x64_i8      (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x6c v_smfmac_i32_32x32x32_i8      (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x6e v_mfma_f64_16x16x4_f64        (m_b256)  (m_b64 m_b64 n_b256)  Matrix [IGNORES_EXEC];
        0x6f v_mfma_f64_4x4x4_4b_f64       (m_b64)   (m_b64 m_b64 n_b64)   Matrix [IGNORES_EXEC];
        0x70 v_mfma_f32_16x16x32_bf8_bf8   (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x71 v_mfma_f32_16x16x32_bf8_fp8   (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x72 v_mfma_f32_16x16x32_fp8_bf8   (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x73 v_mfma_f32_16x16x32_fp8_fp8   (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x74 v_mfma_f32_32x32x16_bf8_bf8   (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x75 v_mfma_f32_32x32x16_bf8_fp8   (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x76 v_mfma_f32_32x32x16_fp8_bf8   (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x77 v_mfma_f32_32x32x16_fp8_fp8   (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x78 v_smfmac_f32_16x16x64_bf8_bf8 (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x79 v_smfmac_f32_16x16x64_bf8_fp8 (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7a v_smfmac_f32_16x16x64_fp8_bf8 (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7b v_smfmac_f32_16x16x64_fp8_fp8 (m_b128)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7c v_smfmac_f32_32x32x32_bf8_bf8 (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7d v_smfmac_f32_32x32x32_bf8_fp8 (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7e v_smfmac_f32_32x32x32_fp8_bf8 (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
        0x7f v_smfmac_f32_32x32x32_fp8_fp8 (m_b512)  (m_b64 m_b128 v_b32)  Matrix [READS_DST IGNORES_EXEC];
    ]
    gfx942 ds [
        0x17 ds_pk_add_f16      ()      (v_u32 v_pf16) Atomic 4 [];
        0x18 ds_pk_add_bf16     ()      (v_u32 v_b32)  Atomic 4 [];
        0xb7 ds_pk_add_rtn_f16  (v_pf16) (v_u32 v_pf16) Atomic 4 [];
        0xb8 ds_pk_add_rtn_bf16 (v_b32)  (v_u32 v_b32)  Atomic 4 [];
    ]
    gfx942 flat [
        0x4d flat_atomic_add_f32     (v_f32)  (v_u64 v_f32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x4e flat_atomic_pk_add_f16  (v_pf16) (v_u64 v_pf16) Atomic 4 [READS_FLAT_SCRATCH];
        0x52 flat_atomic_pk_add_bf16 (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
    ]
    gfx942 global [
        0x26 global_load_lds_ubyte     ()      (v_u64 none s_u64)  Load 1   [LDS_ONLY READS_M0];
        0x27 global_load_lds_sbyte     ()      (v_u64 none s_u64)  Load 1   [LDS_ONLY READS_M0];
        0x28 global_load_lds_ushort    ()      (v_u64 none s_u64)  Load 2   [LDS_ONLY READS_M0];
        0x29 global_load_lds_sshort    ()      (v_u64 none s_u64)  Load 2   [LDS_ONLY READS_M0];
        0x2a global_load_lds_dword     ()      (v_u64 none s_u64)  Load 4   [LDS_ONLY READS_M0];
        0x52 global_atomic_pk_add_bf16 (v_b32) (v_u64 v_b32 s_u64) Atomic 4 [];
    ]
    gfx942 scratch [
        0x26 scratch_load_lds_ubyte  () (v_u32 none s_u32) Load 1 [LDS_ONLY READS_M0 READS_FLAT_SCRATCH];
        0x27 scratch_load_lds_sbyte  () (v_u32 none s_u32) Load 1 [LDS_ONLY READS_M0 READS_FLAT_SCRATCH];
        0x28 scratch_load_lds_ushort () (v_u32 none s_u32) Load 2 [LDS_ONLY READS_M0 READS_FLAT_SCRATCH];
        0x29 scratch_load_lds_sshort () (v_u32 none s_u32) Load 2 [LDS_ONLY READS_M0 READS_FLAT_SCRATCH];
        0x2a scratch_load_lds_dword  () (v_u32 none s_u32) Load 4 [LDS_ONLY READS_M0 READS_FLAT_SCRATCH];
    ]
    gfx942 mubuf [
        0x29 buffer_inv () () Cache 0 [IGNORES_EXEC];
    ] } };
}
pub(crate) use gfx942;
