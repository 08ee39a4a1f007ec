//! Draws a launch for the parameters that all HIP kernels have.

use crate::random::Random;
use crate::scene::{Scene, SceneBuffer, Value, Word};

/// Buffers of numbers; tables follow: records, pointers, tagged words.
const DATA: usize = 4;
const SIZE: i64 = 1 << 15;
const TABLE: usize = DATA;
const POINTERS: usize = DATA + 1;
const WORDS: usize = DATA + 2;
/// What only marks are written to.
const MARKS: usize = DATA + 3;

/// One launch with random arguments.
#[must_use]
pub fn scene(random: &mut Random) -> Scene {
    let mut scene = Scene::default();
    let gap = random.pick(&[1 << 16, 1 << 16, 1 << 16, 0]);
    let all_known = random.chance(88);
    let calm = random.chance(40);
    for number in 0..=MARKS {
        scene.buffers.push(SceneBuffer {
            size: match number {
                TABLE | POINTERS | WORDS => 256,
                _ => SIZE as u64,
            },
            gap,
            mask: random.pick(&[1, 0xff, 0xff, u32::MAX]),
            seed: random.word(),
            known: all_known || random.chance(60),
        });
    }
    for slot in 0..8 {
        let pointer = pointer(random);
        let word = |offset, value| Word {
            offset,
            bytes: 8,
            value,
        };
        let number = Value::Number(small(random, calm));
        scene.words.push((TABLE, word(16 * slot, pointer)));
        scene.words.push((TABLE, word(16 * slot + 8, number)));
        let pointer = self::pointer(random);
        scene.words.push((POINTERS, word(8 * slot, pointer)));
        let tagged = match self::pointer(random) {
            Value::Address(buffer, offset) => {
                Value::Address(buffer, offset + random.pick(&[0, 0, 1, 2, 3]))
            }
            number => number,
        };
        let tagged = if random.chance(30) {
            Value::Number(random.between(0, 9))
        } else {
            tagged
        };
        scene.words.push((WORDS, word(8 * slot, tagged)));
    }
    arguments(random, &mut scene, calm);
    let block = random.pick(&[1, 7, 32, 64, 64, 64, 65, 128]);
    scene.block = [block, 1, 1];
    scene.grid = [block * random.between(1, 3) as u32, 1, 1];
    scene
}

/// In the middle of a buffer of numbers: with room on both sides.
fn pointer(random: &mut Random) -> Value {
    let offset = random.pick(&[0, 0, 1, 64, 1000]) * 8;
    Value::Address(random.below(DATA), SIZE / 2 + offset)
}

fn small(random: &mut Random, calm: bool) -> i64 {
    if calm {
        return random.between(0, 7);
    }
    match random.below(8) {
        0 => random.word().cast_signed(),
        1 => random.between(-300, 300),
        2 => 0,
        _ => random.between(0, 5),
    }
}

fn arguments(random: &mut Random, scene: &mut Scene, calm: bool) {
    let mut offset = 0;
    let mut put = |bytes: usize, value: Value| {
        offset = u64::next_multiple_of(offset, bytes as u64);
        scene.arguments.push(Word {
            offset,
            bytes,
            value,
        });
        offset += bytes as u64;
    };
    // int* a, int* b, short* h
    for _ in 0..3 {
        put(8, pointer(random));
    }
    for table in [TABLE, POINTERS, WORDS] {
        put(8, Value::Address(table, 0));
    }
    // Pair s
    put(8, pointer(random));
    put(4, Value::Number(small(random, calm)));
    put(8, pointer(random));
    // Records rs
    for _ in 0..4 {
        put(8, pointer(random));
        put(8, Value::Number(small(random, calm)));
    }
    // int m, u32 n, i64 l, signed char c, u16 d
    put(4, Value::Number(small(random, calm)));
    put(4, Value::Number(small(random, calm)));
    put(8, Value::Number(small(random, calm)));
    put(1, Value::Number(small(random, calm)));
    put(2, Value::Number(small(random, calm)));
    // u32 small, int* before
    put(4, Value::Number(random.between(0, 63)));
    put(8, Value::Address(random.below(DATA), -4));
    // int* marks
    put(8, Value::Address(MARKS, SIZE / 2));
}
