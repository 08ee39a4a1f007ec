//! What gfx908 adds to gfx906: accumulation registers, dot products into the destination, atomic
//! additions of floating-point numbers, and matrix instructions, which work in all lanes whatever EXEC holds.

#[rustfmt::skip]
macro_rules! gfx908 {
    ($then:ident $args:tt) => { $then! { $args
    gfx908 vop2 [
        0x37 v_dot2c_f32_f16 (v_f32)  (a_pf16 a_pf16) Alu [READS_DST] (VOP3 CLAMP OMOD MODS DPP);
        0x38 v_dot2c_i32_i16 (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (VOP3 CLAMP DPP);
        0x39 v_dot4c_i32_i8  (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (VOP3 CLAMP DPP);
        0x3a v_dot8c_i32_i4  (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (VOP3 CLAMP DPP);
        0x3c v_pk_fmac_f16   (v_pf16) (a_pf16 a_pf16) Alu [READS_DST] ();
    ]
    gfx908 vop3p_mai [
        0x40 v_mfma_f32_32x32x1f32  (m_b1024) (m_b32 m_b32 n_b1024) Matrix [IGNORES_EXEC];
        0x41 v_mfma_f32_16x16x1f32  (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x42 v_mfma_f32_4x4x1f32    (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x44 v_mfma_f32_32x32x2f32  (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x45 v_mfma_f32_16x16x4f32  (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x48 v_mfma_f32_32x32x4f16  (m_b1024) (m_b64 m_b64 n_b1024) Matrix [IGNORES_EXEC];
        0x49 v_mfma_f32_16x16x4f16  (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x4a v_mfma_f32_4x4x4f16    (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x4c v_mfma_f32_32x32x8f16  (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x4d v_mfma_f32_16x16x16f16 (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x50 v_mfma_i32_32x32x4i8   (m_b1024) (m_b32 m_b32 n_b1024) Matrix [IGNORES_EXEC];
        0x51 v_mfma_i32_16x16x4i8   (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x52 v_mfma_i32_4x4x4i8     (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x54 v_mfma_i32_32x32x8i8   (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x55 v_mfma_i32_16x16x16i8  (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x68 v_mfma_f32_32x32x2bf16 (m_b1024) (m_b32 m_b32 n_b1024) Matrix [IGNORES_EXEC];
        0x69 v_mfma_f32_16x16x2bf16 (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x6b v_mfma_f32_4x4x2bf16   (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x6c v_mfma_f32_32x32x4bf16 (m_b512)  (m_b32 m_b32 n_b512)  Matrix [IGNORES_EXEC];
        0x6d v_mfma_f32_16x16x8bf16 (m_b128)  (m_b32 m_b32 n_b128)  Matrix [IGNORES_EXEC];
        0x58 v_accvgpr_read_b32  (v_b32) (c_b32) Alu [];
        0x59 v_accvgpr_write_b32 (c_b32) (a_b32) Alu [];
    ]
    gfx908 global [
        0x4d global_atomic_add_f32    (v_f32)  (v_u64 v_f32 s_u64)  Atomic 4 [];
        0x4e global_atomic_pk_add_f16 (v_pf16) (v_u64 v_pf16 s_u64) Atomic 4 [];
    ]
    gfx908 mubuf [
        0x4d buffer_atomic_add_f32    (v_f32)  (v_u32 s_b128 s_u32 v_f32)  Atomic 4 [];
        0x4e buffer_atomic_pk_add_f16 (v_pf16) (v_u32 s_b128 s_u32 v_pf16) Atomic 4 [];
    ] } };
}
pub(crate) use gfx908;
