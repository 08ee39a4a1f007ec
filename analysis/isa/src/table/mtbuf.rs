//! MTBUF: typed buffer.

#[rustfmt::skip]
macro_rules! mtbuf {
    ($then:ident $args:tt) => { $then! { $args gcn5 mtbuf [
        0x00 tbuffer_load_format_x         (v_b32)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x01 tbuffer_load_format_xy        (v_b64)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x02 tbuffer_load_format_xyz       (v_b96)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x03 tbuffer_load_format_xyzw      (v_b128) (v_u32 s_b128 s_u32)        Load 0  [];
        0x04 tbuffer_store_format_x        ()       (v_u32 s_b128 s_u32 v_b32)  Store 0 [];
        0x05 tbuffer_store_format_xy       ()       (v_u32 s_b128 s_u32 v_b64)  Store 0 [];
        0x06 tbuffer_store_format_xyz      ()       (v_u32 s_b128 s_u32 v_b96)  Store 0 [];
        0x07 tbuffer_store_format_xyzw     ()       (v_u32 s_b128 s_u32 v_b128) Store 0 [];
        0x08 tbuffer_load_format_d16_x     (v_b32)  (v_u32 s_b128 s_u32)        Load 0  [READS_DST];
        0x09 tbuffer_load_format_d16_xy    (v_b32)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x0a tbuffer_load_format_d16_xyz   (v_b64)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x0b tbuffer_load_format_d16_xyzw  (v_b64)  (v_u32 s_b128 s_u32)        Load 0  [];
        0x0c tbuffer_store_format_d16_x    ()       (v_u32 s_b128 s_u32 v_b32)  Store 0 [];
        0x0d tbuffer_store_format_d16_xy   ()       (v_u32 s_b128 s_u32 v_b32)  Store 0 [];
        0x0e tbuffer_store_format_d16_xyz  ()       (v_u32 s_b128 s_u32 v_b64)  Store 0 [];
        0x0f tbuffer_store_format_d16_xyzw ()       (v_u32 s_b128 s_u32 v_b64)  Store 0 [];
    ] } };
}
pub(crate) use mtbuf;
