//! VOP2: two vector sources.

#[rustfmt::skip]
macro_rules! vop2 {
    ($then:ident $args:tt) => { $then! { $args gcn5 vop2 [
        0x00 v_cndmask_b32    (v_b32)        (a_b32 a_b32 r_mask) Alu [] (VOP3 MODS SDWA DPP);
        0x01 v_add_f32        (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x02 v_sub_f32        (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x03 v_subrev_f32     (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x04 v_mul_legacy_f32 (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x05 v_mul_f32        (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x06 v_mul_i32_i24    (v_i32)        (a_i32 a_i32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x07 v_mul_hi_i32_i24 (v_i32)        (a_i32 a_i32)        Alu [] (VOP3 SDWA DPP);
        0x08 v_mul_u32_u24    (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x09 v_mul_hi_u32_u24 (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 SDWA DPP);
        0x0a v_min_f32        (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x0b v_max_f32        (v_f32)        (a_f32 a_f32)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x0c v_min_i32        (v_i32)        (a_i32 a_i32)        Alu [] (VOP3 SDWA DPP);
        0x0d v_max_i32        (v_i32)        (a_i32 a_i32)        Alu [] (VOP3 SDWA DPP);
        0x0e v_min_u32        (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 SDWA DPP);
        0x0f v_max_u32        (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 SDWA DPP);
        0x10 v_lshrrev_b32    (v_b32)        (a_u32 a_b32)        Alu [] (VOP3 SDWA DPP);
        0x11 v_ashrrev_i32    (v_i32)        (a_u32 a_i32)        Alu [] (VOP3 SDWA DPP);
        0x12 v_lshlrev_b32    (v_b32)        (a_u32 a_b32)        Alu [] (VOP3 SDWA DPP);
        0x13 v_and_b32        (v_b32)        (a_b32 a_b32)        Alu [] (VOP3 SDWA DPP);
        0x14 v_or_b32         (v_b32)        (a_b32 a_b32)        Alu [] (VOP3 SDWA DPP);
        0x15 v_xor_b32        (v_b32)        (a_b32 a_b32)        Alu [] (VOP3 SDWA DPP);
        0x16 v_mac_f32        (v_f32)        (a_f32 a_f32)        Alu [READS_DST] (VOP3 CLAMP OMOD MODS DPP);
        0x17 v_madmk_f32      (v_f32)        (a_f32 l_f32 v_f32)  Alu [] ();
        0x18 v_madak_f32      (v_f32)        (a_f32 v_f32 l_f32)  Alu [] ();
        0x19 v_add_co_u32     (v_u32 s_mask) (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x1a v_sub_co_u32     (v_u32 s_mask) (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x1b v_subrev_co_u32  (v_u32 s_mask) (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x1c v_addc_co_u32    (v_u32 s_mask) (a_u32 a_u32 r_mask) Alu [] (VOP3 CLAMP SDWA DPP);
        0x1d v_subb_co_u32    (v_u32 s_mask) (a_u32 a_u32 r_mask) Alu [] (VOP3 CLAMP SDWA DPP);
        0x1e v_subbrev_co_u32 (v_u32 s_mask) (a_u32 a_u32 r_mask) Alu [] (VOP3 CLAMP SDWA DPP);
        0x1f v_add_f16        (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x20 v_sub_f16        (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x21 v_subrev_f16     (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x22 v_mul_f16        (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x23 v_mac_f16        (v_f16)        (a_f16 a_f16)        Alu [READS_DST] (VOP3 CLAMP OMOD MODS DPP);
        0x24 v_madmk_f16      (v_f16)        (a_f16 l_f16 v_f16)  Alu [] ();
        0x25 v_madak_f16      (v_f16)        (a_f16 v_f16 l_f16)  Alu [] ();
        0x26 v_add_u16        (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x27 v_sub_u16        (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x28 v_subrev_u16     (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x29 v_mul_lo_u16     (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 SDWA DPP);
        0x2a v_lshlrev_b16    (v_b16)        (a_u16 a_b16)        Alu [] (VOP3 SDWA DPP);
        0x2b v_lshrrev_b16    (v_b16)        (a_u16 a_b16)        Alu [] (VOP3 SDWA DPP);
        0x2c v_ashrrev_i16    (v_i16)        (a_u16 a_i16)        Alu [] (VOP3 SDWA DPP);
        0x2d v_max_f16        (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x2e v_min_f16        (v_f16)        (a_f16 a_f16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x2f v_max_u16        (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 SDWA DPP);
        0x30 v_max_i16        (v_i16)        (a_i16 a_i16)        Alu [] (VOP3 SDWA DPP);
        0x31 v_min_u16        (v_u16)        (a_u16 a_u16)        Alu [] (VOP3 SDWA DPP);
        0x32 v_min_i16        (v_i16)        (a_i16 a_i16)        Alu [] (VOP3 SDWA DPP);
        0x33 v_ldexp_f16      (v_f16)        (a_f16 a_i16)        Alu [] (VOP3 CLAMP OMOD MODS SDWA DPP);
        0x34 v_add_u32        (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x35 v_sub_u32        (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
        0x36 v_subrev_u32     (v_u32)        (a_u32 a_u32)        Alu [] (VOP3 CLAMP SDWA DPP);
    ] } };
}
pub(crate) use vop2;
