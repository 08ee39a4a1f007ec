//! Workgroups that are saved and gone on with.

use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;

use super::super::dispatch::Dispatch;
use super::super::register::ACCUMULATORS;
use super::super::state::Status;
use super::super::stop::Stop;
use super::super::unit::ComputeUnit;

const LDS: u32 = 1024;
const PRIVATE: u32 = 8;

/// Two waves of four vector registers each.
fn dispatch() -> Dispatch {
    Dispatch {
        packet: KernelDispatch {
            workgroup_size: [100, 1, 1],
            grid_size: [100, 1, 1],
            private_segment_size: PRIVATE,
            group_segment_size: LDS,
            ..KernelDispatch::default()
        },
        descriptor: strobe_code_object::Descriptor {
            rsrc1: super::USUAL_MODE << 12,
            ..Default::default()
        },
        ..Dispatch::default()
    }
}

fn saved() -> Vec<u8> {
    let mut unit = ComputeUnit::new();
    let dispatch = dispatch();
    assert_eq!(unit.start(&dispatch, [0; 3]), 2);
    unit.turn = 1;
    unit.lds.words[7] = 70;
    let wave = &mut unit.waves[1];
    wave.pc = 0x1234_5678_9abc;
    wave.status = Status::AtBarrier;
    wave.scc = true;
    wave.set_scalar(106, 5);
    wave.vector_mut(3)[63] = 6;
    wave.private
        .store_lane(2, 4, 4, [9, 0, 0, 0])
        .expect("inside");
    unit.save(&dispatch, [0; 3])
}

#[test]
fn all_that_a_workgroup_has_comes_back_in_another_unit() {
    let mut unit = ComputeUnit::new();
    unit.lds.words[8] = 1;
    unit.restore(&dispatch(), [0; 3], &saved()).expect("saved");
    assert_eq!(unit.turn, 1);
    assert_eq!(unit.lds.words[7..9], [70, 0]);
    let wave = &unit.waves[1];
    assert_eq!(
        (wave.pc, wave.status),
        (0x1234_5678_9abc, Status::AtBarrier)
    );
    assert!(wave.scc && !unit.waves[0].scc);
    assert_eq!((wave.scalar(106), wave.vector(3)[63]), (5, 6));
    assert_eq!(wave.private.load_lane(2, 4, 4), Some([9, 0, 0, 0]));
    assert_eq!(unit.save(&dispatch(), [0; 3]), saved());
}

#[test]
fn accumulation_registers_come_back() {
    let dispatch = Dispatch {
        target: &Target::GFX90A,
        descriptor: strobe_code_object::Descriptor {
            // Three granules of eight, the accumulation registers from 12 on.
            rsrc1: 2 | super::USUAL_MODE << 12,
            rsrc3: 2,
            ..Default::default()
        },
        ..dispatch()
    };
    let mut unit = ComputeUnit::new();
    unit.start(&dispatch, [0; 3]);
    for (wave, value) in unit.waves.iter_mut().zip(1..) {
        for register in [11, ACCUMULATORS, ACCUMULATORS + 11] {
            wave.vector_mut(register)[63] = value + u32::from(register);
        }
    }
    let saved = unit.save(&dispatch, [0; 3]);
    let mut other = ComputeUnit::new();
    // What was there before.
    other.start(&dispatch, [0; 3]);
    *other.waves[1].vector_mut(ACCUMULATORS + 5) = [9; 64];
    other.restore(&dispatch, [0; 3], &saved).expect("saved");
    for (wave, value) in other.waves.iter().zip(1..) {
        for register in [11, ACCUMULATORS, ACCUMULATORS + 11] {
            assert_eq!(wave.vector(register)[63], value + u32::from(register));
        }
        assert_eq!(wave.vector(ACCUMULATORS + 5)[0], 0);
    }
    let less = Dispatch {
        target: &Target::GFX906,
        ..dispatch
    };
    let refused = ComputeUnit::new().restore(&less, [0; 3], &saved);
    assert!(matches!(refused, Err(Stop::Damaged { .. })));
}

#[test]
fn what_is_not_of_this_workgroup_is_refused() {
    let whole = saved();
    let refused = |bytes: &[u8], what: &str| {
        let stop = ComputeUnit::new().restore(&dispatch(), [0; 3], bytes);
        assert!(
            matches!(stop, Err(Stop::Damaged { .. })),
            "{what}: {stop:?}"
        );
    };
    for len in (0..whole.len()).step_by(37) {
        refused(&whole[..len], &format!("{len} bytes"));
    }
    refused(&[&whole[..], &[0; 4]].concat(), "more than there is");
    let first_wave = 4 * 5 + LDS as usize;
    for (at, value, what) in [
        (0, 3, "waves"),
        (4, 8, "vector registers"),
        (8, 0, "private memory"),
        (12, 0, "LDS"),
        (16, 3, "the turn of none"),
        (first_wave + 8, 6, "a state that there is not"),
        (first_wave + 12, 2, "SCC"),
        (first_wave + 16, 1, "a mode that is not known"),
        (
            first_wave + 20,
            64 * PRIVATE / 4 + 1,
            "too much private memory",
        ),
    ] {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        refused(&bytes, what);
    }
}
