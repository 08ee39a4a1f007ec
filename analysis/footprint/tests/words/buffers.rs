//! Buffer descriptors: of scratch, of what only looks like it, and of elements.
//!
//! Of kernels with scratch, the descriptor is in `s[0:3]`, the kernarg pointer in `s[4:5]`, where flat addresses begin in `s[6:7]`, the
//! work-group id in `s8`, the offset of the wave in `s9`.

use super::*;

fn writes(code: &[u32]) -> Side {
    let mut kernel = KernelSource::new("kernel", code).args(&[(0, 8, "global_buffer")]);
    kernel.rsrc2 = 1 | 8 << 1 | 1 << 7;
    kernel.properties = 1 | 8 | 32;
    let device = Device {
        buffers: &[A, B],
        content: None,
    };
    launch(&footprint_of(kernel), &[A], &device).writes
}

/// 64 is put into a slot and stored at.
#[rustfmt::skip]
const THROUGH_SLOT: &[u32] = &[
    0x8000_0900,               // s_add_u32 s0, s0, s9
    0x8201_8001,               // s_addc_u32 s1, s1, 0
    0xc006_0302, 0x0000_0000,  // s_load_dwordx2 s[12:13], s[4:5], 0x0
    0x7e06_02c0,               // v_mov_b32_e32 v3, 64
    0xe070_0008, 0x8000_0300,  // buffer_store_dword v3, off, s[0:3], 0 offset:8
    0xe050_0008, 0x8000_0500,  // buffer_load_dword v5, off, s[0:3], 0 offset:8
    0xdc70_8000, 0x000c_0005,  // global_store_dword v5, v0, s[12:13]
    0xbf81_0000,               // s_endpgm
];

/// How many words of that come before the load.
const BEFORE_LOAD: usize = 7;

fn with(between: &[u32]) -> Vec<u32> {
    let (before, behind) = THROUGH_SLOT.split_at(BEFORE_LOAD);
    [before, between, behind].concat()
}

/// The same slot from 256 bytes further on, which is 4 of each lane's.
#[rustfmt::skip]
const OTHER_BASE: &[u32] = &[
    0xbe94_0000,               // s_mov_b32 s20, s0
    0xbe95_0001,               // s_mov_b32 s21, s1
    0x8014_ff14, 0x0000_0100,  // s_add_u32 s20, s20, 0x100
    0x8215_8015,               // s_addc_u32 s21, s21, 0
    0xbe96_0102,               // s_mov_b64 s[22:23], s[2:3]
    0xe070_0004, 0x8005_0400,  // buffer_store_dword v4, off, s[20:23], 0 offset:4
];

#[test]
fn a_descriptor_with_another_base_may_lead_to_any_slot() {
    assert_eq!(writes(THROUGH_SLOT), run_of(A + 64..A + 68));
    assert!(writes(&with(OTHER_BASE)).is_unknown());
}

/// The base is an argument's, the rest scratch's.
#[rustfmt::skip]
const OF_ARGUMENT: &[u32] = &[
    0xc006_0202, 0x0000_0000,  // s_load_dwordx2 s[8:9], s[4:5], 0x0
    0xbe8a_0102,               // s_mov_b64 s[10:11], s[2:3]
    0xe070_0000, 0x8002_0000,  // buffer_store_dword v0, off, s[8:11], 0
    0xbf81_0000,               // s_endpgm
];

#[test]
fn where_the_base_is_an_argument_it_is_no_scratch() {
    assert_eq!(writes(OF_ARGUMENT), run_of(whole(A)));
}

/// `s_add_u32 flat_scratch_lo, s6, s9` and `s_addc_u32 flat_scratch_hi, s7, 0`.
const FLAT_TO_WAVE: [u32; 2] = [0x8066_0906, 0x8267_8007];

/// `s_add_u32 flat_scratch_lo, flat_scratch_lo, 4` and `s_addc_u32 flat_scratch_hi, flat_scratch_hi, 0`.
const FLAT_FURTHER: [u32; 2] = [0x8066_8466, 0x8267_8067];

/// 0 is stored in the slot by a flat address.
#[rustfmt::skip]
const FLAT_STORE: &[u32] = &[
    0x7e08_0280,               // v_mov_b32_e32 v4, 0
    0xbe8e_01ed,               // s_mov_b64 s[14:15], src_private_base
    0x7e0c_0288,               // v_mov_b32_e32 v6, 8
    0x7e0e_020f,               // v_mov_b32_e32 v7, s15
    0xdc70_0000, 0x0000_0406,  // flat_store_dword v[6:7], v4
];

#[test]
fn flat_addresses_are_those_slots_where_both_begin_at_the_wave() {
    let both = with(&[&FLAT_TO_WAVE, FLAT_STORE].concat());
    assert_eq!(writes(&both), run_of(A..A + 4));
    let apart = with(&[&FLAT_TO_WAVE, &FLAT_FURTHER, FLAT_STORE].concat());
    assert_eq!(writes(&apart), run_of(whole(A)));
    assert_eq!(writes(&with(FLAT_STORE)), run_of(whole(A)));
}

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
