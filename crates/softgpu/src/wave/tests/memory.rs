//! Loads, stores and atomics in all four memories.

use super::{DATA, Test, random};
use crate::wave::{LDS_APERTURE, PRIVATE_APERTURE, Stop};

/// Puts `base + stride * lane` into a register pair.
fn point(w: &mut crate::wave::state::Wave, reg: u16, base: u64, stride: u64) {
    super::set_u64(w, reg, &std::array::from_fn(|i| base + stride * i as u64));
}

#[test]
fn scalar_loads() {
    let mut test = Test::new(&[
        0xc00a_0202,
        0x0000_0010, // s_load_dwordx4 s[8:11], s[4:5], 0x10
        0xbe8c_0084, // s_mov_b32 s12, 4
        0xc000_0342,
        0x0000_000c, // s_load_dword s13, s[4:5], s12
        0xc012_0402,
        0x0000_0000, // s_load_dwordx16 s[16:31], s[4:5], 0x0
        0xc094_0380,
        0x0000_0000, // s_memrealtime s[14:15]
    ]);
    test.data = (100..200).collect();
    test.both(
        |_, _| {},
        |end| {
            let w = end.wave();
            assert_eq!(
                [8, 9, 10, 11, 13].map(|s| w.scalar(s)),
                [104, 105, 106, 107, 101]
            );
            assert_eq!(
                (16..32).map(|s| w.scalar(s)).collect::<Vec<_>>(),
                (100..116).collect::<Vec<_>>()
            );
            assert_eq!(w.scalar64(14), 0x1_0000_0002);
            assert_eq!(end.log.reads(), std::slice::from_ref(&(DATA..DATA + 64)));
        },
    );
}

#[test]
fn global_memory_of_every_width_and_layout() {
    let test = Test::new(&[
        0xdc7c_8000,
        0x007f_0402, // global_store_dwordx4 v[2:3], v[4:7], off
        0xdc58_8004,
        0x087f_0002, // global_load_dwordx3 v[8:10], v[2:3], off offset:4
        0xdc68_8000,
        0x007f_040c, // global_store_short v[12:13], v4, off
        0xdc64_8002,
        0x007f_040c, // global_store_byte_d16_hi v[12:13], v4, off offset:2
        0xdc4c_8000,
        0x0e7f_000c, // global_load_sshort v14, v[12:13], off
        0xdc84_8002,
        0x0f7f_000c, // global_load_ubyte_d16_hi v15, v[12:13], off offset:2
        0xbefe_01ff,
        0x0000_00f0, // s_mov_b64 exec, 0xf0
        0xdc54_8008,
        0x1004_0012, // global_load_dwordx2 v[16:17], v18, s[4:5] offset:8
        0xdc50_0000,
        0x1300_0002, // flat_load_dword v19, v[2:3]
    ]);
    let x = random(1);
    test.both(
        |_, w| {
            point(w, 2, DATA, 16);
            for k in 0..4 {
                *w.vector_mut(4 + k) = x.map(|x| x.wrapping_add(u32::from(k)));
            }
            // Not in order, and not aligned.
            let scattered: [u64; 64] =
                std::array::from_fn(|i| DATA + 8193 + (i as u64 * 37 % 64) * 5);
            super::set_u64(w, 12, &scattered);
            *w.vector_mut(15) = [0x1111_2222; 64];
            *w.vector_mut(16) = [5; 64];
            *w.vector_mut(18) = std::array::from_fn(|i| 16 * i as u32);
            *w.vector_mut(19) = [6; 64];
        },
        |end| {
            for i in 0..64 {
                assert_eq!(
                    end.data[4 * i..][..4],
                    [0, 1, 2, 3].map(|k| x[i].wrapping_add(k))
                );
                assert_eq!(
                    [8, 9, 10].map(|r| end.vector(r)[i]),
                    [1, 2, 3].map(|k| x[i].wrapping_add(k))
                );
                assert_eq!(end.vector(14)[i], i32::from(x[i] as i16).cast_unsigned());
                assert_eq!(end.vector(15)[i], 0x2222 | (x[i] >> 16 & 0xff) << 16);
                let active = (4..8).contains(&i);
                let want = if active {
                    [x[i].wrapping_add(2), x[i].wrapping_add(3), x[i]]
                } else {
                    [5, 0, 6]
                };
                assert_eq!(
                    [end.vector(16)[i], end.vector(17)[i], end.vector(19)[i]],
                    want
                );
            }
            let written = end.log.writes().to_vec();
            assert_eq!(written[0], DATA..DATA + 1024);
            assert_eq!(written.len(), 65, "three bytes, five apart: {written:x?}");
            assert!(written[1..].iter().all(|e| e.end - e.start == 3));
        },
    );
}

#[test]
fn faults_name_address_and_instruction() {
    let read = Test::new(&[
        0x7e02_0280, // v_mov_b32 v1, 0
        0xdc50_8000,
        0x037f_0002, // global_load_dword v3, v[2:3], off
    ]);
    let stop = read.stops(|_, w| {
        point(w, 2, DATA, 4);
        super::set_u64(
            w,
            2,
            &std::array::from_fn(|i| if i == 9 { 0x1234 } else { DATA }),
        );
    });
    assert_eq!(
        stop,
        Stop::Fault {
            addr: 0x1234,
            write: false,
            pc: super::CODE + 4
        }
    );
    let write = Test::new(&[
        0xdc70_0000,
        0x0000_0102, // flat_store_dword v[2:3], v1
    ]);
    let stop = write.stops(|_, w| point(w, 2, super::CODE, 4));
    let text = stop.to_string();
    assert_eq!(
        text,
        "memory fault: write of address 0x1000000000 by the instruction at 0x1000000000"
    );
}

#[test]
fn atomics_return_old_values() {
    let mut test = Test::new(&[
        0xdd09_8000,
        0x047f_0102, // global_atomic_add v4, v[2:3], v1, off glc
        0xdd1c_8004,
        0x007f_0102, // global_atomic_umax v[2:3], v1, off offset:4
        0xdd05_8008,
        0x057f_0602, // global_atomic_cmpswap v5, v[2:3], v[6:7], off offset:8 glc
        0xddad_8010,
        0x087f_0a02, // global_atomic_inc_x2 v[8:9], v[2:3], v[10:11], off offset:16 glc
        0xdd01_0018,
        0x0c00_0102, // flat_atomic_swap v12, v[2:3], v1 offset:24 glc
    ]);
    test.data = vec![1000, 3, 50, 0, 61, 0, 7];
    let lanes: [u32; 64] = std::array::from_fn(|i| i as u32);
    test.both(
        |_, w| {
            *w.vector_mut(1) = lanes;
            point(w, 2, DATA, 0);
            // New value, then the one compared with.
            *w.vector_mut(6) = lanes.map(|i| i + 51);
            *w.vector_mut(7) = lanes.map(|i| i + 50);
            super::set_u64(w, 10, &[100; 64]);
        },
        |end| {
            let mut sum = 1000;
            for i in 0..64 {
                assert_eq!(end.vector(4)[i], sum, "lanes in order");
                sum += i as u32;
                assert_eq!(end.vector(5)[i], 50 + i as u32, "every exchange succeeds");
                assert_eq!(end.u64(8)[i], (61 + i as u64) % 101);
                assert_eq!(end.vector(12)[i], if i == 0 { 7 } else { i as u32 - 1 });
            }
            assert_eq!(end.data[..7], [sum, 63, 114, 0, (61 + 64) % 101, 0, 63]);
        },
    );
}

#[test]
fn lds_reads_writes_and_atomics() {
    let test = Test::new(&[
        0xd81a_0000,
        0x0000_0201, // ds_write_b32 v1, v2
        0xd89c_6020,
        0x0006_0403, // ds_write2_b64 v3, v[4:5], v[6:7] offset0:32 offset1:96
        0xd86e_0301,
        0x0800_0001, // ds_read2_b32 v[8:9], v1 offset0:1 offset1:3
        0xd870_0201,
        0x0a00_0001, // ds_read2st64_b32 v[10:11], v1 offset0:1 offset1:2
        0xd9fe_0100,
        0x0c00_0003, // ds_read_b128 v[12:15], v3 offset:256
        0xd83e_0501,
        0x0000_0201, // ds_write_b16 v1, v2 offset:1281
        0xd872_0502,
        0x1000_0001, // ds_read_i8 v16, v1 offset:1282
        0xd840_0000,
        0x1100_0212, // ds_add_rtn_u32 v17, v18, v2
        0xd82a_0004,
        0x0000_1312, // ds_add_f32 v18, v19 offset:4
        0xd86c_0004,
        0x1400_0012, // ds_read_b32 v20, v18 offset:4
        0xd86c_0000,
        0x1500_0016, // ds_read_b32 v21, v22
    ]);
    let (x, y) = (random(2), super::random_u64(3));
    test.both(
        |_, w| {
            *w.vector_mut(1) = std::array::from_fn(|i| 4 * i as u32);
            *w.vector_mut(2) = x;
            *w.vector_mut(3) = std::array::from_fn(|i| 8 * i as u32);
            super::set_u64(w, 4, &y);
            super::set_u64(w, 6, &y.map(|y| !y));
            *w.vector_mut(18) = [2000; 64];
            *w.vector_mut(19) = [0.5_f32.to_bits(); 64];
            *w.vector_mut(22) = [4096; 64];
            *w.vector_mut(21) = [1; 64];
        },
        |end| {
            for i in 0..60 {
                assert_eq!([end.vector(8)[i], end.vector(9)[i]], [x[i + 1], x[i + 3]]);
                let word = |at: usize| (y[at / 2] >> (32 * (at % 2))) as u32;
                assert_eq!(end.vector(10)[i], word(i));
                assert_eq!(end.vector(11)[i], word(i + 64));
                assert_eq!(end.u64(12)[i], y[i]);
                assert_eq!(end.u64(14)[i], y[i + 1]);
                assert_eq!(
                    end.vector(16)[i],
                    i32::from((x[i] >> 8) as i8).cast_unsigned()
                );
            }
            let mut sum = 0_u32;
            // What the preceding writes left at byte 2000 is inside the second array.
            let start = end.vector(17)[0];
            for i in 0..64 {
                assert_eq!(end.vector(17)[i], start.wrapping_add(sum));
                sum = sum.wrapping_add(x[i]);
            }
            assert_eq!(end.vector(21)[3], 0, "beyond the allocation");
        },
    );
}

#[test]
fn private_memory_by_all_three_ways() {
    let mut test = Test::new(&[
        0xbe8c_0080, // s_mov_b32 s12, 0
        0xe070_0008,
        0x8000_0100, // buffer_store_dword v1, off, s[0:3], 0 offset:8
        0xe070_1004,
        0x0c00_0104, // buffer_store_dword v1, v4, s[0:3], s12 offen offset:4
        0xe068_0012,
        0x8000_0100, // buffer_store_short v1, off, s[0:3], 0 offset:18
        0xdc50_0008,
        0x0500_0002, // flat_load_dword v5, v[2:3] offset:8
        0xdc54_0010,
        0x0600_0002, // flat_load_dwordx2 v[6:7], v[2:3] offset:16
        0xdc74_0018,
        0x0000_0802, // flat_store_dwordx2 v[2:3], v[8:9] offset:24
        0xe050_001c,
        0x8000_0a00, // buffer_load_dword v10, off, s[0:3], 0 offset:28
        0xdc50_4004,
        0x0b7f_0004, // scratch_load_dword v11, v4, off offset:4
        0xbefe_0181, // s_mov_b64 exec, 1
        0xdc70_0040,
        0x0000_0102, // flat_store_dword v[2:3], v1 offset:64
    ]);
    test.private = 64;
    let x = random(4);
    let setup = |_: usize, w: &mut crate::wave::state::Wave| {
        *w.vector_mut(1) = x;
        point(w, 2, PRIVATE_APERTURE, 0);
        // A different offset in each lane.
        *w.vector_mut(4) = std::array::from_fn(|i| 32 + 4 * (i as u32 % 5));
        *w.vector_mut(8) = [1; 64];
        *w.vector_mut(9) = x;
    };
    let beyond = test.stops(setup);
    assert!(
        matches!(beyond, Stop::Fault { write: true, .. }),
        "{beyond}"
    );
    test.private = 68;
    test.both(setup, |end| {
        for i in 0..64 {
            assert_eq!(end.vector(5)[i], x[i]);
            assert_eq!([end.vector(6)[i], end.vector(7)[i]], [x[i] << 16, 0]);
            assert_eq!(end.vector(10)[i], x[i]);
            assert_eq!(end.vector(11)[i], x[i]);
        }
        assert!(end.log.writes().is_empty(), "private memory is not logged");
    });
}

/// What LLVM makes of `a[i] = a[i - 1]` on the stack: the offset register may be negative.
#[test]
fn offsets_into_private_memory_wrap() {
    let mut test = Test::new(&[
        0xe070_1008,
        0x8000_0104, // buffer_store_dword v1, v4, s[0:3], 0 offen offset:8
        0xe050_1008,
        0x8000_0504, // buffer_load_dword v5, v4, s[0:3], 0 offen offset:8
        0xe054_1008,
        0x8000_0604, // buffer_load_dwordx2 v[6:7], v4, s[0:3], 0 offen offset:8
        0xe048_100a,
        0x8000_0804, // buffer_load_ushort v8, v4, s[0:3], 0 offen offset:10
        0xe050_1000,
        0x0c00_0909, // buffer_load_dword v9, v9, s[0:3], s12 offen
        0xe050_0008,
        0x8000_0a00, // buffer_load_dword v10, off, s[0:3], 0 offset:8
    ]);
    test.private = 64;
    let x = random(6);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            // The first five words, a different one in each lane.
            let first = |i: usize| 4 * (i as u32 % 5);
            *w.vector_mut(4) = std::array::from_fn(|i| first(i).wrapping_sub(8));
            *w.vector_mut(9) = std::array::from_fn(|i| first(i).wrapping_sub(16));
            // Sixteen bytes of every lane.
            w.set_scalar(12, 64 * 16);
        },
        |end| {
            for i in 0..64 {
                assert_eq!(end.vector(5)[i], x[i]);
                assert_eq!([end.vector(6)[i], end.vector(7)[i]], [x[i], 0]);
                assert_eq!(end.vector(8)[i], x[i] >> 16);
                assert_eq!(end.vector(9)[i], x[i], "with a scalar offset");
                assert_eq!(end.vector(10)[i], if i % 5 == 2 { x[i] } else { 0 });
            }
        },
    );
}

#[test]
fn flat_addresses_reach_lds() {
    let test = Test::new(&[
        0xdc70_0000,
        0x0000_0102, // flat_store_dword v[2:3], v1
        0xd86c_0000,
        0x0400_0002, // ds_read_b32 v4, v2
        0xdd09_0000,
        0x0500_0102, // flat_atomic_add v5, v[2:3], v1 glc
    ]);
    let x = random(5);
    test.both(
        |_, w| {
            *w.vector_mut(1) = x;
            point(w, 2, LDS_APERTURE, 4);
        },
        |end| assert_eq!((end.vector(4), end.vector(5)), (&x, &x)),
    );
}

#[test]
fn buffers_are_bounded() {
    let mut test = Test::new(&[
        0xe050_1000,
        0x8002_0201, // buffer_load_dword v2, v1, s[8:11], 0 offen
        0xe070_2000,
        0x8003_0304, // buffer_store_dword v3, v4, s[12:15], 0 idxen
        0xe050_1001,
        0x8002_0501, // buffer_load_dword v5, v1, s[8:11], 0 offen offset:1
        0xe050_1000,
        0x1002_0601, // buffer_load_dword v6, v1, s[8:11], s16 offen
    ]);
    test.data = (0..256).collect();
    test.both(
        |_, w| {
            *w.vector_mut(1) = std::array::from_fn(|i| 4 * i as u32);
            *w.vector_mut(3) = [9999; 64];
            *w.vector_mut(4) = std::array::from_fn(|i| i as u32);
            w.set_scalar64(8, DATA);
            w.set_scalar(10, 100);
            w.set_scalar(11, 0x0002_4000);
            w.set_scalar(16, 40);
            // Records of eight bytes, ten of them.
            w.set_scalar64(12, (DATA + 512) | (8 << 48));
            w.set_scalar(14, 10);
            w.set_scalar(15, 0x0002_4000);
        },
        |end| {
            for i in 0..64 {
                assert_eq!(end.vector(2)[i], if i < 25 { i as u32 } else { 0 });
                let unaligned = (i as u32) >> 8 | (i as u32 + 1) << 24;
                assert_eq!(end.vector(5)[i], if i < 24 { unaligned } else { 0 });
                assert_eq!(end.vector(6)[i], if i < 15 { i as u32 + 10 } else { 0 });
                let stored = end.data[128 + 2 * i];
                assert_eq!(
                    stored,
                    if i < 10 {
                        9999
                    } else {
                        128 + 2 * i as u32 * u32::from(i < 64)
                    }
                );
            }
        },
    );
}
