//! Branches, calls, barriers, messages, traps, and what is refused.

use super::{CODE, DATA, Test};
use crate::wave::Stop;

#[test]
fn loops_and_calls() {
    let test = Test::new(&[
        0xb008_0000, // s_movk_i32 s8, 0
        0xb009_000a, // s_movk_i32 s9, 10
        0x8008_0908, // s_add_u32 s8, s8, s9
        0x8089_8109, // s_sub_u32 s9, s9, 1
        0xbf07_8009, // s_cmp_lg_u32 s9, 0
        0xbf85_fffc, // s_cbranch_scc1 65532
        0xbe8a_1c00, // s_getpc_b64 s[10:11]
        0x800a_900a, // s_add_u32 s10, s10, 16
        0x820b_800b, // s_addc_u32 s11, s11, 0
        0xbe8c_1e0a, // s_swappc_b64 s[12:13], s[10:11]
        0xbf82_0002, // s_branch 2
        0xb00e_004d, // s_movk_i32 s14, 77
        0xbe80_1d0c, // s_setpc_b64 s[12:13]
    ]);
    test.both(
        |_, _| {},
        |end| {
            let w = end.wave();
            assert_eq!(w.scalar(8), 55);
            assert_eq!(w.scalar(14), 77);
            assert_eq!(w.scalar64(12), CODE + 4 * 10);
        },
    );
}

#[test]
fn barriers_order_waves() {
    // Each wave leaves its number in LDS; after the barrier all read all.
    let mut test = Test::new(&[
        0x2404_0082, // v_lshlrev_b32 v2, 2, v0
        0xd81a_0000,
        0x0000_0002, // ds_write_b32 v2, v0
        0xbf8a_0000, // s_barrier
        0x2a04_04ff,
        0x0000_03fc, // v_xor_b32 v2, 0x3fc, v2
        0xd86c_0000,
        0x0300_0002, // ds_read_b32 v3, v2
    ]);
    test.items = 256;
    test.both(
        |_, _| {},
        |end| {
            for (index, wave) in end.unit.waves[..4].iter().enumerate() {
                for lane in 0..64 {
                    assert_eq!(wave.vector(3)[lane], 255 - (64 * index + lane) as u32);
                }
            }
        },
    );
}

#[test]
fn a_spinning_wave_lets_the_others_run() {
    // Wave 0 waits for a word that wave 1 sets.
    let mut test = Test::new(&[
        0xbf07_8008, // s_cmp_lg_u32 s8, 0
        0xbf85_0006, // s_cbranch_scc1 6
        0xdc51_8000,
        0x037f_0004, // global_load_dword v3, v[4:5], off glc
        0x7e12_0503, // v_readfirstlane_b32 s9, v3
        0xbf06_8009, // s_cmp_eq_u32 s9, 0
        0xbf85_fffb, // s_cbranch_scc1 65531
        0xbf81_0000, // s_endpgm
        0x7e06_0281, // v_mov_b32 v3, 1
        0xdc70_8000,
        0x007f_0304, // global_store_dword v[4:5], v3, off
    ]);
    test.items = 128;
    test.both(
        |index, w| {
            w.set_scalar(8, index as u32);
            super::set_u64(w, 4, &[DATA; 64]);
        },
        |end| assert_eq!(end.data[0], 1),
    );
}

#[test]
fn code_that_was_written_runs_once_the_instruction_cache_is_invalid() {
    let mut test = Test::new(&[
        0xbe8c_1e0a, // s_swappc_b64 s[12:13], s[10:11]
        0xbf07_8009, // s_cmp_lg_u32 s9, 0
        0xbf85_0007, // s_cbranch_scc1 7
        0xbe8e_0008, // s_mov_b32 s14, s8
        0xb009_0001, // s_movk_i32 s9, 1
        0xdc70_8000,
        0x007f_0604, // global_store_dword v[4:5], v6, off
        0xbf8c_0f70, // s_waitcnt vmcnt(0)
        0xbf93_0000, // s_icache_inv
        0xbf82_fff6, // s_branch 65526
    ]);
    test.data = vec![
        0xb008_0001, // s_movk_i32 s8, 1
        0xbe80_1d0c, // s_setpc_b64 s[12:13]
    ];
    test.both(
        |_, w| {
            w.set_scalar64(10, DATA);
            super::set_u64(w, 4, &[DATA; 64]);
            *w.vector_mut(6) = [0xb008_0002; 64];
        },
        |end| assert_eq!([14, 8].map(|s| end.wave().scalar(s)), [1, 2]),
    );
}

#[test]
fn messages_reach_the_host() {
    let test = Test::new(&[
        0xbefc_00aa, // s_mov_b32 m0, 0x2a
        0xbf90_0001, // s_sendmsg sendmsg(MSG_INTERRUPT)
    ]);
    test.both(|_, _| {}, |end| assert_eq!(end.interrupt, 0x2a));
}

#[test]
fn the_mode_register_is_readable_and_checked() {
    let test = Test::new(&[
        0xb888_1901, // s_getreg_b32 s8, hwreg(HW_REG_MODE, 4, 4)
        0xba00_0901,
        0x0000_0000, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
        0xb889_1901, // s_getreg_b32 s9, hwreg(HW_REG_MODE, 4, 4)
        0x0204_0301, // v_add_f32 v2, v1, v1
        0xba00_0901,
        0x0000_0003, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
        0x0206_0301, // v_add_f32 v3, v1, v1
    ]);
    test.both(
        |_, w| *w.vector_mut(1) = [1; 64],
        |end| {
            assert_eq!([8, 9].map(|s| end.wave().scalar(s)), [15, 12]);
            assert_eq!(
                [end.vector(2)[0], end.vector(3)[0]],
                [0, 2],
                "flushing as it stands"
            );
        },
    );
    let rounding = Test::new(&[
        0xba00_0801,
        0x0000_0003, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3
    ]);
    let text = rounding.stops(|_, _| {}).to_string();
    assert!(text.contains("rounding mode"), "{text}");
}

#[test]
fn what_is_not_known_is_named_and_only_when_reached() {
    let test = Test::new(&[
        0xbf82_0002, // s_branch 2
        0xd1e7_0004,
        0x0422_0500, // v_mqsad_u32_u8 v[4:7], v[0:1], v2, v[8:11]
    ]);
    test.both(|_, _| {}, |_| {});
    let reached = Test::new(&[
        0xbf80_0000, // s_nop 0
        0xd1e7_0004,
        0x0422_0500, // v_mqsad_u32_u8 v[4:7], v[0:1], v2, v[8:11]
    ]);
    match reached.stops(|_, _| {}) {
        Stop::Unknown { pc, text } => {
            assert_eq!(pc, CODE + 4);
            assert!(
                text.starts_with("v_mqsad_u32_u8 v[4:7], v[0:1], v2, v[8:11]"),
                "{text}"
            );
        }
        stop => panic!("{stop}"),
    }
}

/// What no GPU of the target has, against what this one alone has not.
#[test]
fn illegal_instructions_and_traps_are_told_from_unknown_ones() {
    for (words, text) in [
        (&[0xffff_ffff][..], "ffffffff"),
        // SOPP opcode 0x7f.
        (&[0xbfff_0000], "Sopp"),
        // image_sample v[0:3], v[4:5], s[0:7], s[8:11] dmask:0xf
        (&[0xf080_0f00, 0x0040_0004], "no images and textures"),
    ] {
        match Test::new(words).stops(|_, _| {}) {
            Stop::Illegal { pc: CODE, text: is } => assert!(is.contains(text), "{is}"),
            stop => panic!("{stop}"),
        }
    }
    // exp mrt0 v0, v0, v0, v0 done vm: hardware has it.
    let stop = Test::new(&[0xc400_180f, 0]).stops(|_, _| {});
    assert!(matches!(stop, Stop::Unknown { pc: CODE, .. }), "{stop}");
    // s_trap 3 is passed by, s_trap 2 and 4 are not.
    for (words, stop) in [
        (&[0xbf92_0002][..], Stop::Trap { id: 2, pc: CODE }),
        (
            &[0xbf92_0003, 0xbf92_0002],
            Stop::Trap {
                id: 2,
                pc: CODE + 4,
            },
        ),
        (&[0xbf92_0004], Stop::Trap { id: 4, pc: CODE }),
    ] {
        assert_eq!(Test::new(words).stops(|_, _| {}), stop);
    }
}

#[test]
fn eviction_ends_an_endless_loop() {
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::wave::{ComputeUnit, Control};
    use crate::wave::{Dispatch, WaveProgram};
    use strobe_isa::Target;

    let words = [0xbf82_ffff_u32]; // s_branch to itself
    let space = super::Space(
        words
            .iter()
            .map(|&w| std::cell::Cell::new(w))
            .chain((0..0x400).map(|_| std::cell::Cell::new(0)))
            .collect(),
    );
    let mut dispatch = Dispatch::default();
    dispatch.packet.kernel_object = CODE;
    dispatch.packet.workgroup_size = [64, 1, 1];
    dispatch.packet.grid_size = [64, 1, 1];
    dispatch.descriptor.rsrc1 = super::USUAL_MODE << 12;
    let (word, host) = (AtomicU32::new(0), super::Recorder::default());
    let control = Control {
        word: &word,
        reasons: 1,
        host: &host,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            word.store(1, Ordering::Relaxed);
        });
        let mut unit = ComputeUnit::new();
        let stop = unit.run_workgroup(
            &dispatch,
            &WaveProgram::new(Target::DEFAULT),
            &space,
            [0; 3],
            &control,
            None,
        );
        assert_eq!(stop, Err(Stop::Evicted));
    });
}
