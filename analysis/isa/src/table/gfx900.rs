//! What gfx900 adds to GCN5: multiplication in mixed precision that rounds twice.

#[rustfmt::skip]
macro_rules! gfx900 {
    ($then:ident $args:tt) => { $then! { $args gfx900 vop3p [
        0x20 v_mad_mix_f32   (v_f32) (a_f32 a_f32 a_f32) Alu [];
        0x21 v_mad_mixlo_f16 (v_f16) (a_f32 a_f32 a_f32) Alu [READS_DST];
        0x22 v_mad_mixhi_f16 (v_f16) (a_f32 a_f32 a_f32) Alu [READS_DST];
    ] } };
}
pub(crate) use gfx900;
