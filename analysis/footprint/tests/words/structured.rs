//! Buffers of elements: index times stride.

use super::*;

/// The elements have 16 bytes; the last 256 MiB elements before 2^32 bytes stand before the buffer.
#[rustfmt::skip]
const PAST_32_BITS: &[u32] = &[
    0xc006_0200, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[0:1], 0x0
    0x8089_8109,               // s_sub_u32 s9, s9, 1
    0x8609_ff09, 0x0000_ffff,  // s_and_b32 s9, s9, 0xffff
    0x8709_ff09, 0x0010_0000,  // s_or_b32 s9, s9, 0x100000
    0xbe8a_00c1,               // s_mov_b32 s10, -1
    0xbe8b_00ff, 0x0002_7000,  // s_mov_b32 s11, 0x27000
    0x6802_00ff, 0x1000_0000,  // v_add_u32_e32 v1, 0x10000000, v0
    0xe070_2000, 0x8002_0001,  // buffer_store_dword v0, v1, s[8:11], 0 idxen
    0xbf81_0000,               // s_endpgm
];

/// From the element on that is an argument.
#[rustfmt::skip]
const FROM_ARGUMENT: &[u32] = &[
    0xc006_0200, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[0:1], 0x0
    0xc002_00c0, 0x0000_0008,  // s_load_dword s3, s[0:1], 0x8
    0x8709_ff09, 0x0010_0000,  // s_or_b32 s9, s9, 0x100000
    0xbe8a_00c1,               // s_mov_b32 s10, -1
    0xbe8b_00ff, 0x0002_7000,  // s_mov_b32 s11, 0x27000
    0x6802_0003,               // v_add_u32_e32 v1, s3, v0
    0xe070_2000, 0x8002_0001,  // buffer_store_dword v0, v1, s[8:11], 0 idxen
    0xbf81_0000,               // s_endpgm
];

#[test]
fn what_is_beyond_32_bits_of_an_index_times_a_stride_may_count() {
    let touched = |writes: &Side, start: u64| {
        let bytes = (0..64).map(|item| start + 16 * item..start + 16 * item + 4);
        let bytes: Vec<_> = bytes.collect();
        writes.contains_side(&super::bytes(&bytes))
    };
    assert!(touched(&run(PAST_32_BITS, &[A]).writes, A));
    let writes = run(FROM_ARGUMENT, &[A, 8]).writes;
    assert!(touched(&writes, A + 128), "{writes}");
    assert!(
        run_of(A + 128..A + 128 + 1024).contains_side(&writes),
        "{writes}"
    );
}
