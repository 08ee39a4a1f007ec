//! What gfx906 adds to gfx904: what deep learning asks for, first of all dot products.

#[rustfmt::skip]
macro_rules! gfx906 {
    ($then:ident $args:tt) => { $then! { $args
    gfx906 vop2 [
        0x3b v_fmac_f32 (v_f32) (a_f32 a_f32) Alu [READS_DST] (VOP3 CLAMP OMOD MODS DPP);
        0x3d v_xnor_b32 (v_b32) (a_b32 a_b32) Alu [] (VOP3 SDWA DPP);
    ]
    gfx906 vop3p [
        0x23 v_dot2_f32_f16 (v_f32) (a_pf16 a_pf16 a_f32) Alu [];
        0x26 v_dot2_i32_i16 (v_i32) (a_pi16 a_pi16 a_i32) Alu [];
        0x27 v_dot2_u32_u16 (v_u32) (a_pu16 a_pu16 a_u32) Alu [];
        0x28 v_dot4_i32_i8  (v_i32) (a_b32 a_b32 a_i32)   Alu [];
        0x29 v_dot4_u32_u8  (v_u32) (a_b32 a_b32 a_u32)   Alu [];
        0x2a v_dot8_i32_i4  (v_i32) (a_b32 a_b32 a_i32)   Alu [];
        0x2b v_dot8_u32_u4  (v_u32) (a_b32 a_b32 a_u32)   Alu [];
    ] } };
}
pub(crate) use gfx906;
