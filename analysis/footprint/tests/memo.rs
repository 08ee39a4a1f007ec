//! A launch like one before touches the same, and what differs in anything that matters is evaluated anew.

#[path = "words/code.rs"]
mod code;
#[path = "../../code-object/tests/elf/mod.rs"]
mod elf;

use std::cell::Cell;

use elf::KernelSource;
use strobe_code_object::{CodeObject, ObjectLimits};
use strobe_extent::Extent;
use strobe_footprint::{
    AnalysisLimits, KernelFootprint, Launch, LaunchMemo, LaunchMemory, analyse,
};

const A: u64 = 0x7f00_0000_0000;
const B: u64 = 0x7f00_1000_0000;
const SIZE: u64 = 4096;

struct Device {
    buffers: Vec<u64>,
    /// All that is known of memory: the words from A on.
    words: Vec<u64>,
    asked: Cell<u32>,
}

impl LaunchMemory for Device {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        self.asked.set(self.asked.get() + 1);
        let has = |start: &&u64| (**start..**start + SIZE).contains(&addr);
        Extent::with_len(*self.buffers.iter().find(has)?, SIZE).ok()
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let all = self.buffers.iter();
        let mut all = all.filter_map(|start| Extent::with_len(*start, SIZE).ok());
        all.any(|buffer| buffer.overlaps(extent))
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let start = usize::try_from(addr.checked_sub(A)?).ok()?;
        Some(bytes.get(start..start.checked_add(len)?)?.to_vec())
    }
}

fn footprint(code: &[u32]) -> KernelFootprint {
    let kernel = KernelSource::new("kernel", code).args(&[(0, 8, "global_buffer")]);
    let bytes = elf::write(&[kernel], &[0; 64], false);
    let object = CodeObject::parse(&bytes, &ObjectLimits::default()).expect("an object");
    analyse(&object, &object.kernels[0], &AnalysisLimits::default())
}

fn bytes(kernarg: &[u64]) -> Vec<u8> {
    kernarg.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn launch(kernarg: &[u8], items: u32) -> Launch<'_> {
    Launch {
        kernarg,
        grid: [items, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
    }
}

#[test]
fn what_decides_nothing_is_not_looked_at() {
    let footprint = footprint(code::STORE);
    let device = Device {
        buffers: vec![A, B],
        words: Vec::new(),
        asked: Cell::new(0),
    };
    let mut memo = LaunchMemo::default();
    let mut ask = |kernarg: &[u64], items| {
        device.asked.set(0);
        let access = memo.evaluate(&footprint, &launch(&bytes(kernarg), items), &device);
        (access, device.asked.get())
    };
    let (first, evaluated) = ask(&[A, 1], 64);
    // The second argument is of no use to the kernel.
    let (second, again) = ask(&[A, 2], 64);
    assert_eq!(first, second);
    let (other, _) = ask(&[B, 1], 64);
    assert_ne!(first, other);
    assert_eq!(ask(&[A, 3], 64), (first.clone(), again), "both are kept");
    assert!(again <= evaluated);
    // 64 lanes and no more are of one group.
    assert_eq!(ask(&[A, 3], 128).0, first);
}

#[test]
fn the_answer_is_that_of_an_evaluation_whatever_has_changed() {
    let codes = [code::STORE, code::BEFORE, code::TABLE, code::ARGUMENT_TABLE];
    for (number, code) in codes.into_iter().enumerate() {
        let footprint = footprint(code);
        let mut memo = LaunchMemo::default();
        let mut state = 0x9e37_79b9_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % below
        };
        let mut seen = Vec::new();
        for round in 0..3000 {
            let mut pointer = || [0, A, A + 8, A + SIZE, B, B + 16][random(6) as usize];
            let kernarg = [pointer(), pointer(), pointer(), pointer()];
            let words = vec![pointer(), pointer()];
            let device = Device {
                buffers: [vec![A], vec![A, B], vec![A, A + SIZE]][random(3) as usize].clone(),
                words: if random(2) == 0 { words } else { Vec::new() },
                asked: Cell::new(0),
            };
            let kernarg = bytes(&kernarg);
            let given = &kernarg[..[8, 32][random(2) as usize]];
            let launch = launch(given, [64, 128][random(2) as usize]);
            let access = footprint.evaluate(&launch, &device);
            let answer = memo.evaluate(&footprint, &launch, &device);
            assert_eq!(answer, access, "code {number}, round {round}");
            if !seen.contains(&access) {
                seen.push(access);
            }
        }
        assert!(seen.len() > 2, "code {number}: {} answers", seen.len());
    }
}
