//! VOP3P: packed mathematics.

#[rustfmt::skip]
macro_rules! vop3p {
    ($then:ident $args:tt) => { $then! { $args gcn5 vop3p [
        0x00 v_pk_mad_i16     (v_pi16) (a_pi16 a_pi16 a_pi16) Alu [];
        0x01 v_pk_mul_lo_u16  (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x02 v_pk_add_i16     (v_pi16) (a_pi16 a_pi16)        Alu [];
        0x03 v_pk_sub_i16     (v_pi16) (a_pi16 a_pi16)        Alu [];
        0x04 v_pk_lshlrev_b16 (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x05 v_pk_lshrrev_b16 (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x06 v_pk_ashrrev_i16 (v_pi16) (a_pi16 a_pi16)        Alu [];
        0x07 v_pk_max_i16     (v_pi16) (a_pi16 a_pi16)        Alu [];
        0x08 v_pk_min_i16     (v_pi16) (a_pi16 a_pi16)        Alu [];
        0x09 v_pk_mad_u16     (v_pu16) (a_pu16 a_pu16 a_pu16) Alu [];
        0x0a v_pk_add_u16     (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x0b v_pk_sub_u16     (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x0c v_pk_max_u16     (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x0d v_pk_min_u16     (v_pu16) (a_pu16 a_pu16)        Alu [];
        0x0e v_pk_fma_f16     (v_pf16) (a_pf16 a_pf16 a_pf16) Alu [];
        0x0f v_pk_add_f16     (v_pf16) (a_pf16 a_pf16)        Alu [];
        0x10 v_pk_mul_f16     (v_pf16) (a_pf16 a_pf16)        Alu [];
        0x11 v_pk_min_f16     (v_pf16) (a_pf16 a_pf16)        Alu [];
        0x12 v_pk_max_f16     (v_pf16) (a_pf16 a_pf16)        Alu [];
    ] } };
}
pub(crate) use vop3p;
