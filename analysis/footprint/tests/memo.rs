//! A launch like one before touches the same, and what differs in anything that matters is evaluated anew.

#[path = "words/code.rs"]
mod code;
#[path = "../../code-object/tests/elf/mod.rs"]
mod elf;

use std::cell::Cell;
use std::sync::Arc;

use elf::KernelSource;
use strobe_code_object::{CodeObject, ObjectLimits};
use strobe_extent::Extent;
use strobe_footprint::{
    AnalysisLimits, KernelFootprint, Launch, LaunchMemo, LaunchMemory, analyse,
};

const A: u64 = 0x7f00_0000_0000;
const B: u64 = 0x7f00_1000_0000;
const SIZE: u64 = 4096;
const ROOM: usize = 4 << 20;

struct Device {
    buffers: Vec<u64>,
    /// All that is known of memory: the words from A on.
    words: Vec<u64>,
    epoch: Option<u64>,
    asked: Cell<u32>,
}

impl Device {
    fn with(buffers: &[u64], epoch: Option<u64>) -> Self {
        Self {
            buffers: buffers.to_vec(),
            words: Vec::new(),
            epoch,
            asked: Cell::new(0),
        }
    }

    /// Questions about allocations, from here on.
    fn questions<T>(&self, of: impl FnOnce() -> T) -> (T, u32) {
        self.asked.set(0);
        let answer = of();
        (answer, self.asked.get())
    }
}

impl LaunchMemory for Device {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        self.asked.set(self.asked.get() + 1);
        let has = |start: &&u64| (**start..**start + SIZE).contains(&addr);
        Extent::with_len(*self.buffers.iter().find(has)?, SIZE).ok()
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.asked.set(self.asked.get() + 1);
        let all = self.buffers.iter();
        let mut all = all.filter_map(|start| Extent::with_len(*start, SIZE).ok());
        all.any(|buffer| buffer.overlaps(extent))
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let start = usize::try_from(addr.checked_sub(A)?).ok()?;
        Some(bytes.get(start..start.checked_add(len)?)?.to_vec())
    }

    fn allocations_epoch(&self) -> Option<u64> {
        self.epoch
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
    let device = Device::with(&[A, B], None);
    let mut memo = LaunchMemo::new(ROOM);
    let mut ask = |kernarg: &[u64], items| {
        let kernarg = bytes(kernarg);
        let launch = launch(&kernarg, items);
        device.questions(|| memo.evaluate(&footprint, &launch, &device))
    };
    let (first, evaluated) = ask(&[A, 1], 64);
    // The second argument is of no use to the kernel.
    let (second, again) = ask(&[A, 2], 64);
    assert!(Arc::ptr_eq(&first, &second), "one for both");
    let (other, _) = ask(&[B, 1], 64);
    assert_ne!(first, other);
    assert_eq!(ask(&[A, 3], 64), (first.clone(), again), "both are kept");
    assert!(again <= evaluated);
    // 64 lanes and no more are of one group.
    assert_eq!(ask(&[A, 3], 128).0, first);
}

#[test]
fn allocations_are_asked_for_again_when_some_have_changed() {
    let footprint = footprint(code::STORE);
    let kernarg = bytes(&[A]);
    let launch = launch(&kernarg, 64);
    let mut memo = LaunchMemo::new(ROOM);
    let mut ask = |device: &Device| device.questions(|| memo.evaluate(&footprint, &launch, device));
    let (first, evaluated) = ask(&Device::with(&[A, B], Some(1)));
    assert!(evaluated > 0);
    let (second, asked) = ask(&Device::with(&[A, B], Some(1)));
    assert!(Arc::ptr_eq(&first, &second) && asked == 0);
    // B does not matter.
    let (third, asked) = ask(&Device::with(&[A], Some(2)));
    assert!(Arc::ptr_eq(&first, &third) && asked > 0);
    assert_eq!(ask(&Device::with(&[A], Some(2))).1, 0, "nor any more");
    let (other, _) = ask(&Device::with(&[B], Some(3)));
    assert_ne!(first, other, "nobody has A");
    let (again, asked) = ask(&Device::with(&[A, B], Some(4)));
    assert!(Arc::ptr_eq(&first, &again) && asked > 0, "both are kept");
}

#[test]
fn launches_in_turn_are_found_again_even_where_there_is_no_room_for_all() {
    let footprint = footprint(code::STORE);
    let starts: Vec<u64> = (0..2000).map(|n| A + n * 2 * SIZE).collect();
    let device = Device::with(&starts, Some(1));
    // One takes some hundred bytes.
    for (room, expected) in [
        (ROOM, 2000..=2000),
        (400 << 10, 400..=1600),
        (8 << 10, 0..=30),
    ] {
        let mut memo = LaunchMemo::new(room);
        let mut found = 0;
        for _ in 0..4 {
            found = 0;
            for &start in &starts {
                let kernarg = bytes(&[start]);
                let launch = launch(&kernarg, 64);
                let (access, asked) =
                    device.questions(|| memo.evaluate(&footprint, &launch, &device));
                assert!(access.writes.contains(Extent::with_len(start, 4).unwrap()));
                found += usize::from(asked == 0);
            }
        }
        assert!(expected.contains(&found), "{found} of {room} bytes");
    }
}

#[test]
fn the_answer_is_that_of_an_evaluation_whatever_has_changed() {
    let codes = [
        code::STORE,
        code::BEFORE,
        code::TABLE,
        code::ARGUMENT_TABLE,
        code::GUARDED,
    ];
    let footprints = codes.map(footprint);
    for room in [ROOM, 20 << 10] {
        // Of all kernels in turn.
        let mut memo = LaunchMemo::new(room);
        let mut state = 0x9e37_79b9_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % below
        };
        let mut seen = vec![Vec::new(); codes.len()];
        let mut device = Device::with(&[A], Some(0));
        for round in 0..20_000_u64 {
            let mut pointer = || [0, A, A + 8, A + SIZE, B, B + 16][random(6) as usize];
            let kernarg = bytes(&[pointer(), pointer(), pointer(), pointer()]);
            let words = vec![pointer(), pointer()];
            if random(4) == 0 {
                let buffers = [vec![A], vec![A, B], vec![A, A + SIZE]];
                device.buffers = buffers[random(3) as usize].clone();
                device.epoch = [None, Some(round)][random(2) as usize];
            }
            device.words = [words, Vec::new()][random(2) as usize].clone();
            let given = &kernarg[..[8, 12, 32][random(3) as usize]];
            let launch = launch(given, [64, 128][random(2) as usize]);
            let number = random(codes.len() as u64) as usize;
            let access = footprints[number].evaluate(&launch, &device);
            let answer = memo.evaluate(&footprints[number], &launch, &device);
            assert_eq!(*answer, access, "code {number}, round {round}");
            if !seen[number].contains(&access) {
                seen[number].push(access);
            }
        }
        for (number, seen) in seen.iter().enumerate() {
            assert!(seen.len() > 2, "code {number}: {} answers", seen.len());
        }
    }
}
