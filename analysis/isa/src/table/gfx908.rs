//! What gfx908 adds to gfx906: accumulation registers, dot products into the destination, atomic
//! additions of floating-point numbers. Its matrix instructions are refused by name
//! ([`crate::DecodeError::Matrix`]).

#[rustfmt::skip]
macro_rules! gfx908 {
    ($then:ident $args:tt) => { $then! { $args
    gfx908 vop2 [
        0x37 v_dot2c_f32_f16 (v_f32)  (a_pf16 a_pf16) Alu [READS_DST] (DPP);
        0x38 v_dot2c_i32_i16 (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (DPP);
        0x39 v_dot4c_i32_i8  (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (DPP);
        0x3a v_dot8c_i32_i4  (v_i32)  (a_b32 a_b32)   Alu [READS_DST] (DPP);
        0x3c v_pk_fmac_f16   (v_pf16) (a_pf16 a_pf16) Alu [READS_DST] ();
    ]
    gfx908 vop3p_mai [
        0x58 v_accvgpr_read_b32  (v_b32) (c_b32) Alu [];
        0x59 v_accvgpr_write_b32 (c_b32) (a_b32) Alu [];
    ]
    gfx908 global [
        0x4d global_atomic_add_f32    () (v_u64 v_f32 s_u64)  Atomic 4 [];
        0x4e global_atomic_pk_add_f16 () (v_u64 v_pf16 s_u64) Atomic 4 [];
    ]
    gfx908 mubuf [
        0x4d buffer_atomic_add_f32    () (v_u32 s_b128 s_u32 v_f32)  Atomic 4 [];
        0x4e buffer_atomic_pk_add_f16 () (v_u32 s_b128 s_u32 v_pf16) Atomic 4 [];
    ] } };
}
pub(crate) use gfx908;
