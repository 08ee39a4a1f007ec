//! Mutations: bytes that are nearly right get further than bytes that are not.

use crate::random::Random;

/// No input is longer, in bytes.
const LONGEST: usize = 1 << 20;
/// Numbers at the edges of what a field can hold.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0xffff,
    1 << 20,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 47,
    i64::MAX as u64,
    u64::MAX,
];

/// One of `valid`, changed in one to eight places.
pub fn mutate(random: &mut Random, valid: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = valid[random.below(valid.len())].clone();
    for _ in 0..1 + random.below(8) {
        change(random, &mut bytes, valid);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, valid: &[Vec<u8>]) {
    let at = place(random, bytes);
    let len = random.below(64).min(bytes.len() - at);
    match random.below(9) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + len)),
        2 => {
            let again = bytes[at..at + len].to_vec();
            bytes.splice(at..at, again);
        }
        3 => {
            let other = &valid[random.below(valid.len())];
            let from = place(random, other);
            let part = &other[from..other.len().min(from + 1 + random.below(256))];
            bytes.splice(at..at + len.min(part.len()), part.iter().copied());
        }
        4 => bytes.insert(at, random.word() as u8),
        5 | 6 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        _ => {
            // Lengths, counts and offsets are 1, 2, 4 or 8 bytes wide, or groups of 7 bits.
            let number = match random.below(4) {
                0 => random.word() >> random.below(64),
                1 => bytes.len() as u64,
                _ => random.pick(&EDGES),
            };
            let width = 1 << random.below(4);
            let field = number.wrapping_sub(random.below(2) as u64).to_le_bytes();
            let end = bytes.len().min(at + width);
            match random.chance(70) {
                true => bytes[at..end].copy_from_slice(&field[..end - at]),
                false => drop(bytes.splice(at..end.min(at + 1), varint(number))),
            }
        }
    }
}

/// Where to change something: mostly where there is something but zeros.
fn place(random: &mut Random, bytes: &[u8]) -> usize {
    let mut at = random.below(bytes.len() + 1);
    for _ in 0..64 {
        if bytes.get(at).is_some_and(|&byte| byte != 0) || random.chance(2) {
            break;
        }
        at = random.below(bytes.len() + 1);
    }
    at
}

/// As protobuf writes numbers.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_they_differ() {
        let valid = [vec![1; 100], b"an input of its own".to_vec(), Vec::new()];
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000)
                .map(|_| mutate(&mut random, &valid))
                .collect::<Vec<_>>()
        };
        let inputs = draw(1);
        assert_eq!(inputs, draw(1));
        let mut different = inputs.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 800, "{} different ones", different.len());
    }
}
