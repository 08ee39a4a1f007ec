//! What gfx904 adds to GCN5: fused multiplication in mixed precision, at gfx900's opcodes.

#[rustfmt::skip]
macro_rules! gfx904 {
    ($then:ident $args:tt) => { $then! { $args gfx904 vop3p [
        0x20 v_fma_mix_f32   (v_f32) (a_f32 a_f32 a_f32) Alu [];
        0x21 v_fma_mixlo_f16 (v_f16) (a_f32 a_f32 a_f32) Alu [READS_DST];
        0x22 v_fma_mixhi_f16 (v_f16) (a_f32 a_f32 a_f32) Alu [READS_DST];
    ] } };
}
pub(crate) use gfx904;
