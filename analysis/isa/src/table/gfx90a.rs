//! What gfx90a adds to gfx908: packed singles, atomics and matrices of doubles.

#[rustfmt::skip]
macro_rules! gfx90a {
    ($then:ident $args:tt) => { $then! { $args
    gfx90a vop1 [
        0x52 v_accvgpr_mov_b32 (c_b32) (c_b32) Alu [] ();
    ]
    gfx90a vop2 [
        0x04 v_fmac_f64 (v_f64) (a_f64 a_f64) Alu [READS_DST] (VOP3 CLAMP OMOD MODS DPP);
    ]
    gfx90a vop3p [
        0x30 v_pk_fma_f32 (v_pf32) (a_pf32 a_pf32 a_pf32) Alu [];
        0x31 v_pk_mul_f32 (v_pf32) (a_pf32 a_pf32)        Alu [];
        0x32 v_pk_add_f32 (v_pf32) (a_pf32 a_pf32)        Alu [];
        0x33 v_pk_mov_b32 (v_pb32) (a_pb32 a_pb32)        Alu [];
    ]
    gfx90a vop3p_mai [
        0x63 v_mfma_f32_32x32x4bf16_1k  (m_b1024) (m_b64 m_b64 n_b1024) Matrix [IGNORES_EXEC];
        0x64 v_mfma_f32_16x16x4bf16_1k  (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x65 v_mfma_f32_4x4x4bf16_1k    (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x66 v_mfma_f32_32x32x8bf16_1k  (m_b512)  (m_b64 m_b64 n_b512)  Matrix [IGNORES_EXEC];
        0x67 v_mfma_f32_16x16x16bf16_1k (m_b128)  (m_b64 m_b64 n_b128)  Matrix [IGNORES_EXEC];
        0x6e v_mfma_f64_16x16x4f64      (m_b256)  (m_b64 m_b64 n_b256)  Matrix [IGNORES_EXEC];
        0x6f v_mfma_f64_4x4x4f64        (m_b64)   (m_b64 m_b64 n_b64)   Matrix [IGNORES_EXEC];
    ]
    gfx90a ds [
        0x5c ds_add_f64     ()      (v_u32 v_f64) Atomic 8 [];
        0x7c ds_add_rtn_f64 (v_f64) (v_u32 v_f64) Atomic 8 [];
    ]
    gfx90a flat [
        0x4f flat_atomic_add_f64 (v_f64) (v_u64 v_f64) Atomic 8 [READS_FLAT_SCRATCH];
        0x50 flat_atomic_min_f64 (v_f64) (v_u64 v_f64) Atomic 8 [READS_FLAT_SCRATCH];
        0x51 flat_atomic_max_f64 (v_f64) (v_u64 v_f64) Atomic 8 [READS_FLAT_SCRATCH];
    ]
    gfx90a global [
        0x4f global_atomic_add_f64 (v_f64) (v_u64 v_f64 s_u64) Atomic 8 [];
        0x50 global_atomic_min_f64 (v_f64) (v_u64 v_f64 s_u64) Atomic 8 [];
        0x51 global_atomic_max_f64 (v_f64) (v_u64 v_f64 s_u64) Atomic 8 [];
    ]
    gfx90a mubuf [
        0x28 buffer_wbl2           ()      ()                         Cache 0  [IGNORES_EXEC];
        0x29 buffer_invl2          ()      ()                         Cache 0  [IGNORES_EXEC];
        0x4f buffer_atomic_add_f64 (v_f64) (v_u32 s_b128 s_u32 v_f64) Atomic 8 [];
        0x50 buffer_atomic_min_f64 (v_f64) (v_u32 s_b128 s_u32 v_f64) Atomic 8 [];
        0x51 buffer_atomic_max_f64 (v_f64) (v_u32 s_b128 s_u32 v_f64) Atomic 8 [];
    ] } };
}
pub(crate) use gfx90a;
