//! GLOBAL: device memory.

#[rustfmt::skip]
macro_rules! global {
    ($then:ident $args:tt) => { $then! { $args gcn5 global [
        0x10 global_load_ubyte         (v_b32)  (v_u64 none s_u64)   Load 1   [LDS_FORM];
        0x11 global_load_sbyte         (v_b32)  (v_u64 none s_u64)   Load 1   [LDS_FORM];
        0x12 global_load_ushort        (v_b32)  (v_u64 none s_u64)   Load 2   [LDS_FORM];
        0x13 global_load_sshort        (v_b32)  (v_u64 none s_u64)   Load 2   [LDS_FORM];
        0x14 global_load_dword         (v_b32)  (v_u64 none s_u64)   Load 4   [LDS_FORM];
        0x15 global_load_dwordx2       (v_b64)  (v_u64 none s_u64)   Load 8   [];
        0x16 global_load_dwordx3       (v_b96)  (v_u64 none s_u64)   Load 12  [];
        0x17 global_load_dwordx4       (v_b128) (v_u64 none s_u64)   Load 16  [];
        0x18 global_store_byte         ()       (v_u64 v_b32 s_u64)  Store 1  [];
        0x19 global_store_byte_d16_hi  ()       (v_u64 v_b32 s_u64)  Store 1  [];
        0x1a global_store_short        ()       (v_u64 v_b32 s_u64)  Store 2  [];
        0x1b global_store_short_d16_hi ()       (v_u64 v_b32 s_u64)  Store 2  [];
        0x1c global_store_dword        ()       (v_u64 v_b32 s_u64)  Store 4  [];
        0x1d global_store_dwordx2      ()       (v_u64 v_b64 s_u64)  Store 8  [];
        0x1e global_store_dwordx3      ()       (v_u64 v_b96 s_u64)  Store 12 [];
        0x1f global_store_dwordx4      ()       (v_u64 v_b128 s_u64) Store 16 [];
        0x20 global_load_ubyte_d16     (v_b32)  (v_u64 none s_u64)   Load 1   [READS_DST];
        0x21 global_load_ubyte_d16_hi  (v_b32)  (v_u64 none s_u64)   Load 1   [READS_DST];
        0x22 global_load_sbyte_d16     (v_b32)  (v_u64 none s_u64)   Load 1   [READS_DST];
        0x23 global_load_sbyte_d16_hi  (v_b32)  (v_u64 none s_u64)   Load 1   [READS_DST];
        0x24 global_load_short_d16     (v_b32)  (v_u64 none s_u64)   Load 2   [READS_DST];
        0x25 global_load_short_d16_hi  (v_b32)  (v_u64 none s_u64)   Load 2   [READS_DST];
        0x40 global_atomic_swap        (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x41 global_atomic_cmpswap     (v_b32)  (v_u64 v_b64 s_u64)  Atomic 4 [];
        0x42 global_atomic_add         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x43 global_atomic_sub         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x44 global_atomic_smin        (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x45 global_atomic_umin        (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x46 global_atomic_smax        (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x47 global_atomic_umax        (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x48 global_atomic_and         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x49 global_atomic_or          (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x4a global_atomic_xor         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x4b global_atomic_inc         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x4c global_atomic_dec         (v_b32)  (v_u64 v_b32 s_u64)  Atomic 4 [];
        0x60 global_atomic_swap_x2     (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x61 global_atomic_cmpswap_x2  (v_b64)  (v_u64 v_b128 s_u64) Atomic 8 [];
        0x62 global_atomic_add_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x63 global_atomic_sub_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x64 global_atomic_smin_x2     (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x65 global_atomic_umin_x2     (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x66 global_atomic_smax_x2     (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x67 global_atomic_umax_x2     (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x68 global_atomic_and_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x69 global_atomic_or_x2       (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x6a global_atomic_xor_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x6b global_atomic_inc_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
        0x6c global_atomic_dec_x2      (v_b64)  (v_u64 v_b64 s_u64)  Atomic 8 [];
    ] } };
}
pub(crate) use global;
