//! Whatever the words, decoding and printing end without a panic.

use std::collections::HashSet;
use std::fmt::Write as _;

mod registers;

use registers::{list, reads, writes};
use strobe_isa::{DecodeError, Inst, Op, Target, WaveSize};

fn decode(target: &Target, words: &[u32]) -> Result<Inst, DecodeError> {
    target.isa.decode(words, WaveSize::Lanes64)
}

/// SplitMix64.
fn random(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as u32
}

/// Decodes, and uses everything that is offered on the result.
fn exercise(target: &Target, words: &[u32], text: &mut String) -> Option<Op> {
    text.clear();
    match decode(target, words) {
        Ok(inst) => {
            assert!(
                usize::from(inst.size) <= 4 * words.len(),
                "{words:x?} is longer than given"
            );
            write!(text, "{inst}").expect("what decodes can be printed");
            assert!(
                text.starts_with(inst.op.name()),
                "{words:x?} prints as {text}"
            );
            let registers = reads(&inst).len() + writes(&inst).len();
            assert!(registers <= 16, "{text} has {registers} operands");
            Some(inst.op)
        }
        Err(error) => {
            write!(text, "{error}").expect("an error can be printed");
            assert!(!text.is_empty(), "{words:x?} are refused without a reason");
            None
        }
    }
}

#[test]
fn random_words() {
    let mut state = 0x5eed;
    let mut text = String::new();
    for target in Target::ALL {
        let mut decoded = 0;
        for _ in 0..1_000_000 {
            let words = [random(&mut state), random(&mut state), random(&mut state)];
            decoded += usize::from(exercise(target, &words, &mut text).is_some());
        }
        assert!(
            decoded > 100_000,
            "only {decoded} of the words decode for {target}"
        );
    }
}

/// Every first word with a few second words: each opcode of each encoding comes up.
#[test]
fn every_operation_decodes() {
    let seconds = [
        0,
        4,
        0x804,
        0x14_0804,
        0x1e00_0000,
        0x1e00_0004,
        0x1e00_0804,
        0x1e14_0804,
        0x7f_0804,
        0x1e7f_0004,
        0x0012_0804,
        0x0402_0504,
        0x0002_0904,
        0x0000_0104,
        0x0012_1104,
        0x0002_0104,
        0x0000_0800,
        0x1e00_0800,
    ];
    let mut all = HashSet::new();
    let mut text = String::new();
    // Of targets with the same instructions, one is enough.
    let differ = |target: &&&Target| target.isa.name == target.name;
    for target in Target::ALL.iter().filter(differ) {
        let mut seen = HashSet::new();
        // The low bits hold operands that any operation takes: s4 or v4, s2.
        for high in 0..=0xffffu32 {
            for low in [0x0104, 0x0004, 0x0204, 0x0400, 0x4000, 0x8000, 0] {
                let first = high << 16 | low;
                for second in seconds {
                    seen.extend(exercise(target, &[first, second], &mut text));
                }
            }
        }
        // SOP1, VOP1 have their opcode in the low half.
        for low in 0..=0xffffu32 {
            for high in [0xbe84, 0x7e08, 0x7e00] {
                seen.extend(exercise(target, &[high << 16 | low, 0], &mut text));
            }
        }
        let expected: HashSet<_> = target.isa.operations().collect();
        let missing: Vec<_> = expected.difference(&seen).collect();
        assert!(
            missing.is_empty(),
            "never decoded for {target}: {missing:?}"
        );
        let foreign: Vec<_> = seen.difference(&expected).collect();
        assert!(foreign.is_empty(), "{target} does not have {foreign:?}");
        all.extend(seen);
    }
    let missing: Vec<_> = Op::ALL.iter().filter(|op| !all.contains(op)).collect();
    assert!(missing.is_empty(), "of no target: {missing:?}");
}

/// A decoder must not read beyond the words it has.
#[test]
fn truncated_words() {
    let mut state = 0x7a11;
    let mut text = String::new();
    assert!(
        decode(&Target::GFX906, &[]).is_err(),
        "no words are no instruction"
    );
    for _ in 0..500_000 {
        let words = [random(&mut state), random(&mut state)];
        if let Ok(inst) = decode(&Target::GFX906, &words)
            && inst.size == 8
        {
            assert!(
                decode(&Target::GFX906, &words[..1]).is_err(),
                "{inst} decodes from half of its words"
            );
        }
        exercise(&Target::GFX906, &words[..1], &mut text);
    }
}

/// What LLVM aborts on: selections that SDWA does not have.
#[test]
fn reserved_sdwa_selections() {
    // v_add_f32_sdwa v10, v4, v20
    let first = 1 << 25 | 10 << 17 | 20 << 9 | 249;
    let good = 0x0606_0604;
    assert!(
        decode(&Target::GFX906, &[first, good]).is_ok(),
        "the plain form decodes"
    );
    for field in [7 << 8, 3 << 11, 7 << 16, 7 << 24] {
        let error =
            decode(&Target::GFX906, &[first, good | field]).expect_err("a reserved selection");
        assert!(error.to_string().contains("Vop2 opcode 0x1"), "{error}");
    }
}

/// VCC, EXEC and carries have a bit for each lane.
#[test]
fn lane_masks_are_as_wide_as_the_wave() {
    // v_addc_co_u32 v4, v5, v6
    let words = [0x3808_0d05];
    let describe = |wave| {
        let inst = Target::GFX906.isa.decode(&words, wave).expect("a sum");
        format!("{inst}{}{}", list(reads(&inst)), list(writes(&inst)))
    };
    assert_eq!(
        describe(WaveSize::Lanes64),
        "v_addc_co_u32_e32 v4, vcc, v5, v6, vcc v5 v6 vcc exec v4 vcc"
    );
    assert_eq!(
        describe(WaveSize::Lanes32),
        "v_addc_co_u32_e32 v4, vcc_lo, v5, v6, vcc_lo v5 v6 vcc_lo exec_lo v4 vcc_lo"
    );
}
