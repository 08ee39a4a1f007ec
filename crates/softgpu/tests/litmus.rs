//! The memory model: accesses of several workers at once, each with a workgroup of its own.
//!
//! What must hold is what the instruction set promises (naturally aligned accesses of up to 64 bits
//! happen at once, accesses to one place have one order) and what LLVM's memory model for gfx906
//! makes of it with waits. Each test repeats until it has seen the workers race, so that it is one.

mod driver;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use driver::{Gpu, Module, compile};
use strobe_isa::Target;

/// For a race to be seen; on a machine with one free processor that takes a while.
const LIMIT: Duration = Duration::from_secs(60);

fn compiled(index: usize) -> &'static [u8] {
    static OBJECTS: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    OBJECTS[index].get_or_init(|| compile("litmus.hip", ["-O2", "-O0"][index], Target::DEFAULT))
}

/// Calls `once` a few times for code of several kinds, and on until it says that workers raced.
fn repeat(launches: usize, once: impl Fn(&mut Gpu, &Module, &str) -> bool) {
    for (index, portable, what) in [(0, false, "-O2, AVX-512"), (1, true, "-O0, portable")] {
        let code = compiled(index);
        let (start, mut raced) = (Instant::now(), false);
        let mut count = 0;
        while count < launches || !raced {
            let mut gpu = Gpu::new(4 << 20);
            gpu.portable = portable;
            let module = gpu.load(code);
            raced |= once(&mut gpu, &module, what);
            count += 1;
            assert!(raced || start.elapsed() < LIMIT, "{what}: nobody raced");
        }
    }
}

fn word(gpu: &mut Gpu, va: u64) -> u32 {
    gpu.download::<u32>(va, 1)[0]
}

#[test]
fn an_aligned_access_happens_at_once() {
    for kernel in ["tearing16", "tearing32", "tearing64", "tearing128"] {
        for spread in [0, 1] {
            repeat(2, |gpu, module, what| {
                let place = gpu.alloc(64 * 16);
                let (torn, seen) = (gpu.alloc(4), gpu.alloc(4));
                let args = args![place, torn, seen, 2000_i32, spread];
                gpu.race(module, kernel, 4, 64, &args).expect(what);
                let torn = word(gpu, torn);
                assert_eq!(torn, 0, "{kernel}, spread {spread}, {what}: torn values");
                word(gpu, seen) > 0
            });
        }
    }
}

#[test]
fn who_sees_the_flag_sees_the_data() {
    let rounds = 2000_usize;
    repeat(10, |gpu, module, what| {
        let (data, flag) = (gpu.alloc(4 * rounds), gpu.alloc(4 * rounds));
        let (wrong, seen, gate) = (gpu.alloc(4), gpu.alloc(4), gpu.alloc(4));
        let args = args![data, flag, wrong, seen, gate, rounds as i32];
        gpu.race(module, "message", 3, 64, &args).expect(what);
        assert_eq!(word(gpu, wrong), 0, "{what}: flags without data");
        let seen = word(gpu, seen);
        seen > 0 && seen < 2 * rounds as u32
    });
}

/// What both sides loaded, by rounds.
fn both_sides(gpu: &mut Gpu, module: &Module, kernel: &str, rounds: usize) -> Vec<(u32, u32)> {
    let [x, y, a, b] = std::array::from_fn(|_| gpu.alloc(4 * rounds));
    let gate = gpu.alloc(4);
    let args = args![x, y, a, b, gate, rounds as i32];
    gpu.race(module, kernel, 2, 64, &args).expect(kernel);
    let (a, b) = (gpu.download(a, rounds), gpu.download(b, rounds));
    a.into_iter().zip(b).collect()
}

#[test]
fn of_two_that_store_and_look_one_sees_the_other() {
    for kernel in ["buffering", "fenced"] {
        repeat(20, |gpu, module, what| {
            let seen = both_sides(gpu, module, kernel, 200);
            let neither = seen.iter().filter(|both| **both == (0, 0)).count();
            assert_eq!(neither, 0, "{kernel}, {what}: neither saw the other");
            seen.contains(&(1, 0)) || seen.contains(&(0, 1)) || seen.contains(&(1, 1))
        });
    }
}

#[test]
fn nobody_sees_what_is_stored_after_having_been_seen() {
    repeat(20, |gpu, module, what| {
        let seen = both_sides(gpu, module, "loads_first", 200);
        let both = seen.iter().filter(|both| **both == (1, 1)).count();
        assert_eq!(both, 0, "{what}: each saw what came after its own load");
        seen.contains(&(0, 0)) || seen.contains(&(1, 0)) || seen.contains(&(0, 1))
    });
}

#[test]
fn a_place_has_one_order_of_stores() {
    repeat(4, |gpu, module, what| {
        let place = gpu.alloc(64 * 4);
        let (wrong, seen, gate) = (gpu.alloc(4), gpu.alloc(4), gpu.alloc(4));
        let args = args![place, wrong, seen, gate, 2000_i32];
        gpu.race(module, "grows", 3, 64, &args).expect(what);
        assert_eq!(word(gpu, wrong), 0, "{what}: older values after newer ones");
        word(gpu, seen) > 0
    });
}

#[test]
fn a_store_happens_once() {
    repeat(4, |gpu, module, what| {
        let place = gpu.alloc(64 * 4);
        let (turn, wrong) = (gpu.alloc(4), gpu.alloc(4));
        let args = args![place, turn, wrong, 200_i32];
        gpu.race(module, "answered", 2, 64, &args).expect(what);
        assert_eq!(word(gpu, wrong), 0, "{what}: answers that were overwritten");
        // Each round is one.
        true
    });
}
