//! FLAT: addresses that the aperture resolves.

#[rustfmt::skip]
macro_rules! flat {
    ($then:ident $args:tt) => { $then! { $args gcn5 flat [
        0x10 flat_load_ubyte         (v_b32)  (v_u64)        Load 1   [READS_FLAT_SCRATCH];
        0x11 flat_load_sbyte         (v_b32)  (v_u64)        Load 1   [READS_FLAT_SCRATCH];
        0x12 flat_load_ushort        (v_b32)  (v_u64)        Load 2   [READS_FLAT_SCRATCH];
        0x13 flat_load_sshort        (v_b32)  (v_u64)        Load 2   [READS_FLAT_SCRATCH];
        0x14 flat_load_dword         (v_b32)  (v_u64)        Load 4   [READS_FLAT_SCRATCH];
        0x15 flat_load_dwordx2       (v_b64)  (v_u64)        Load 8   [READS_FLAT_SCRATCH];
        0x16 flat_load_dwordx3       (v_b96)  (v_u64)        Load 12  [READS_FLAT_SCRATCH];
        0x17 flat_load_dwordx4       (v_b128) (v_u64)        Load 16  [READS_FLAT_SCRATCH];
        0x18 flat_store_byte         ()       (v_u64 v_b32)  Store 1  [READS_FLAT_SCRATCH];
        0x19 flat_store_byte_d16_hi  ()       (v_u64 v_b32)  Store 1  [READS_FLAT_SCRATCH];
        0x1a flat_store_short        ()       (v_u64 v_b32)  Store 2  [READS_FLAT_SCRATCH];
        0x1b flat_store_short_d16_hi ()       (v_u64 v_b32)  Store 2  [READS_FLAT_SCRATCH];
        0x1c flat_store_dword        ()       (v_u64 v_b32)  Store 4  [READS_FLAT_SCRATCH];
        0x1d flat_store_dwordx2      ()       (v_u64 v_b64)  Store 8  [READS_FLAT_SCRATCH];
        0x1e flat_store_dwordx3      ()       (v_u64 v_b96)  Store 12 [READS_FLAT_SCRATCH];
        0x1f flat_store_dwordx4      ()       (v_u64 v_b128) Store 16 [READS_FLAT_SCRATCH];
        0x20 flat_load_ubyte_d16     (v_b32)  (v_u64)        Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x21 flat_load_ubyte_d16_hi  (v_b32)  (v_u64)        Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x22 flat_load_sbyte_d16     (v_b32)  (v_u64)        Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x23 flat_load_sbyte_d16_hi  (v_b32)  (v_u64)        Load 1   [READS_DST READS_FLAT_SCRATCH];
        0x24 flat_load_short_d16     (v_b32)  (v_u64)        Load 2   [READS_DST READS_FLAT_SCRATCH];
        0x25 flat_load_short_d16_hi  (v_b32)  (v_u64)        Load 2   [READS_DST READS_FLAT_SCRATCH];
        0x40 flat_atomic_swap        (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x41 flat_atomic_cmpswap     (v_b32)  (v_u64 v_b64)  Atomic 4 [READS_FLAT_SCRATCH];
        0x42 flat_atomic_add         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x43 flat_atomic_sub         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x44 flat_atomic_smin        (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x45 flat_atomic_umin        (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x46 flat_atomic_smax        (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x47 flat_atomic_umax        (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x48 flat_atomic_and         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x49 flat_atomic_or          (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x4a flat_atomic_xor         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x4b flat_atomic_inc         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x4c flat_atomic_dec         (v_b32)  (v_u64 v_b32)  Atomic 4 [READS_FLAT_SCRATCH];
        0x60 flat_atomic_swap_x2     (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x61 flat_atomic_cmpswap_x2  (v_b64)  (v_u64 v_b128) Atomic 8 [READS_FLAT_SCRATCH];
        0x62 flat_atomic_add_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x63 flat_atomic_sub_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x64 flat_atomic_smin_x2     (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x65 flat_atomic_umin_x2     (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x66 flat_atomic_smax_x2     (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x67 flat_atomic_umax_x2     (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x68 flat_atomic_and_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x69 flat_atomic_or_x2       (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x6a flat_atomic_xor_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x6b flat_atomic_inc_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
        0x6c flat_atomic_dec_x2      (v_b64)  (v_u64 v_b64)  Atomic 8 [READS_FLAT_SCRATCH];
    ] } };
}
pub(crate) use flat;
