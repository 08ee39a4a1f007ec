//! Values that go from lane to lane.

use super::{Test, random};

#[test]
fn lanes_to_scalars_and_back() {
    let test = Test::new(&[
        0xbefe_01ff,
        0x0000_ff00, // s_mov_b64 exec, 0xff00
        0x7e10_0501, // v_readfirstlane_b32 s8, v1
        0xd289_0009,
        0x0001_0b01, // v_readlane_b32 s9, v1, 5
        0xbe8a_00a1, // s_mov_b32 s10, 33
        0xd289_000b,
        0x0000_1501, // v_readlane_b32 s11, v1, s10
        0xd28a_0002,
        0x0001_7e09, // v_writelane_b32 v2, s9, 63
        0xbefe_0180, // s_mov_b64 exec, 0
        0x7e18_0501, // v_readfirstlane_b32 s12, v1
    ]);
    let x = random(1);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            *w.vector_mut(2) = [0; 64];
        },
        |end| {
            let w = end.wave();
            assert_eq!(
                [8, 9, 11, 12].map(|s| w.scalar(s)),
                [x[8], x[5], x[33], x[0]]
            );
            assert_eq!(end.vector(2)[63], x[5], "EXEC does not matter");
            assert_eq!(end.vector(2)[62], 0);
        },
    );
}

#[test]
fn permutes_go_through_addresses() {
    let test = Test::new(&[
        0x2406_0482, // v_lshlrev_b32 v3, 2, v2
        0xd87e_0000,
        0x0400_0103, // ds_bpermute_b32 v4, v3, v1
        0xd87c_0000,
        0x0500_0103, // ds_permute_b32 v5, v3, v1
        0xd87a_003c,
        0x0600_0001, // ds_swizzle_b32 v6, v1 offset:swizzle(BROADCAST,4,1)
        0xd87a_801b,
        0x0700_0001, // ds_swizzle_b32 v7, v1 offset:swizzle(QUAD_PERM,3,2,1,0)
        0xbefe_00ff,
        0x5555_5555, // s_mov_b32 exec_lo, 0x55555555
        0xbeff_007e, // s_mov_b32 exec_hi, exec_lo
        0xd87e_0000,
        0x0800_0109, // ds_bpermute_b32 v8, v9, v1
    ]);
    let x = random(2);
    // An odd multiplier permutes.
    let to: [u32; 64] = std::array::from_fn(|i| (i as u32 * 5 + 3) % 64);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            *w.vector_mut(2) = to;
            // The lane's right-hand neighbour.
            *w.vector_mut(9) = std::array::from_fn(|i| (i as u32 + 1) * 4);
        },
        |end| {
            for i in 0..64 {
                assert_eq!(end.vector(4)[i], x[to[i] as usize]);
                assert_eq!(end.vector(5)[to[i] as usize], x[i]);
                assert_eq!(end.vector(6)[i], x[i & !3 | 1]);
                assert_eq!(end.vector(7)[i], x[i ^ 3]);
            }
            assert_eq!(end.vector(8)[2], 0, "an inactive lane gives zero");
        },
    );
}

#[test]
fn dpp_reads_neighbours_and_masks_rows() {
    let test = Test::new(&[
        0x7e04_02fa,
        0xff01_1101, // v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf
        0x7e06_02fa,
        0xff09_1101, // v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        0x6808_02fa,
        0xaf01_4201, // v_add_u32_dpp v4, v1, v1 row_bcast:15 row_mask:0xa bank_mask:0xf
        0x680a_02fa,
        0xcf01_4301, // v_add_u32_dpp v5, v1, v1 row_bcast:31 row_mask:0xc bank_mask:0xf
        0x7e0c_02fa,
        0xf301_3c01, // v_mov_b32_dpp v6, v1 wave_ror:1 row_mask:0xf bank_mask:0x3
        0x020e_10fa,
        0xff90_b108, // v_add_f32_dpp v7, -v8, |v8| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
    ]);
    let x = random(3);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            for reg in 2..8 {
                *w.vector_mut(reg) = [99; 64];
            }
            *w.vector_mut(8) = std::array::from_fn(|i| (i as f32 - 30.0).to_bits());
        },
        |end| {
            for i in 0..64 {
                let first = i % 16 == 0;
                let left = if first { 0 } else { x[i - 1] };
                assert_eq!(end.vector(2)[i], if first { 99 } else { left }, "lane {i}");
                assert_eq!(end.vector(3)[i], left, "lane {i}");
                let row = i / 16;
                let want = if row % 2 == 1 {
                    x[row * 16 - 1].wrapping_add(x[i])
                } else {
                    99
                };
                assert_eq!(end.vector(4)[i], want, "lane {i}");
                let want = if row >= 2 {
                    x[31].wrapping_add(x[i])
                } else {
                    99
                };
                assert_eq!(end.vector(5)[i], want, "lane {i}");
                let want = if i % 16 < 8 { x[(i + 63) % 64] } else { 99 };
                assert_eq!(end.vector(6)[i], want, "lane {i}");
                let f = |i: usize| i as f32 - 30.0;
                assert_eq!(
                    f32::from_bits(end.vector(7)[i]),
                    -f(i ^ 1) + f(i).abs(),
                    "lane {i}"
                );
            }
            assert_eq!(end.wave().exec(), !0, "EXEC is as before");
        },
    );
}

#[test]
fn lanes_below_are_counted() {
    let test = Test::new(&[
        0xd28c_0002,
        0x0001_0008, // v_mbcnt_lo_u32_b32 v2, s8, 0
        0xd28d_0002,
        0x0002_0409, // v_mbcnt_hi_u32_b32 v2, s9, v2
    ]);
    let mask = 0xdead_beef_1234_5678_u64;
    test.both(
        |_, w| w.set_scalar64(8, mask),
        |end| {
            for i in 0..64 {
                assert_eq!(
                    end.vector(2)[i],
                    (mask & ((1 << i) - 1)).count_ones(),
                    "lane {i}"
                );
            }
        },
    );
}
