//! The CPU's half against the definition, and what a fingerprint is for.

use std::collections::HashSet;

use strobe_fingerprint::{BLOCK_BYTES, CLOSING_STEPS, Fingerprint, LANES, MULTIPLIER, START};

/// Reproducible bytes.
fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// The definition word for word, lane by lane.
fn by_definition(bytes: &[u8]) -> [u32; 4] {
    let step = |a: [u32; 4], w: [u32; 4]| {
        let m = [
            (a[0] ^ w[0]).wrapping_add(a[1]),
            a[1] ^ w[1],
            (a[2] ^ w[2]).wrapping_add(a[3]),
            a[3] ^ w[3],
        ]
        .map(|x| (x ^ x >> 15).wrapping_mul(MULTIPLIER));
        [m[1], m[2], m[3], m[0]]
    };
    let mut sum = [0u32; 4];
    for (number, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        for lane in 0..LANES {
            let pieces: Vec<&[u8]> = block.chunks(16).skip(lane).step_by(LANES).collect();
            if pieces.is_empty() {
                continue;
            }
            let key = (number * LANES + lane) as u32;
            let mut state = START;
            state[0] = state[0].wrapping_add(key);
            for piece in pieces {
                let mut full = [0; 16];
                full[..piece.len()].copy_from_slice(piece);
                let word =
                    |n: usize| u32::from_le_bytes(full[4 * n..4 * n + 4].try_into().unwrap());
                state = step(state, [word(0), word(1), word(2), word(3)]);
            }
            for _ in 0..CLOSING_STEPS {
                state = step(state, [key; 4]);
            }
            for n in 0..4 {
                sum[n] = sum[n].wrapping_add(state[n]);
            }
        }
    }
    let len = bytes.len() as u64;
    let (low, high) = (len as u32, (len >> 32) as u32);
    for _ in 0..CLOSING_STEPS {
        sum = step(sum, [low, high, low, high]);
    }
    sum
}

#[test]
fn the_cpu_computes_what_is_defined() {
    let content = random(1, 3 * BLOCK_BYTES + 5000);
    let lens = [
        0, 1, 2, 15, 16, 17, 1008, 1023, 1024, 1025, 1040, 4096, 65535, 65536, 65537, 66000, 131072,
    ];
    for len in lens.into_iter().chain([content.len()]) {
        let got = Fingerprint::of(&content[..len]);
        assert_eq!(got.0, by_definition(&content[..len]), "{len} bytes");
        assert_eq!(Fingerprint::from_bytes(&got.to_bytes()), Some(got));
    }
    assert_eq!(Fingerprint::from_bytes(&[0; 15]), None);
}

#[test]
fn the_definition_does_not_change_by_accident() {
    let known = [
        (Fingerprint::of(b""), KNOWN_EMPTY),
        (Fingerprint::of(b"strobe"), KNOWN_SHORT),
        (Fingerprint::of(&vec![0; 100_000]), KNOWN_ZEROS),
    ];
    for (got, want) in known {
        assert_eq!(got.0, want, "{:#010x?}", got.0);
    }
}

// Computed by another program.
const KNOWN_EMPTY: [u32; 4] = [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000];
const KNOWN_SHORT: [u32; 4] = [0xa87e_7355, 0xdef8_1d22, 0xdb8c_ffaa, 0xe976_e4ef];
const KNOWN_ZEROS: [u32; 4] = [0x86c7_42d7, 0x8bd2_ff7e, 0x73a1_63da, 0x5bb4_5c9b];

#[test]
fn every_bit_and_every_length_counts() {
    let mut seen = HashSet::new();
    // Zeros, where a weak mixture would show: each bit of some rows, the short piece among them.
    let mut content = vec![0u8; 2048 + 21];
    for bit in 0..content.len() * 8 {
        content[bit / 8] ^= 1 << (bit % 8);
        assert!(seen.insert(Fingerprint::of(&content)), "bit {bit}");
        content[bit / 8] ^= 1 << (bit % 8);
    }
    for len in 0..=content.len() {
        assert!(seen.insert(Fingerprint::of(&content[..len])), "{len} zeros");
    }
}

#[test]
fn exchanged_pieces_differ() {
    let content = random(2, 4 * BLOCK_BYTES);
    let whole = Fingerprint::of(&content);
    let exchange = |a: usize, b: usize, len: usize| {
        let mut other = content.clone();
        other[a..a + len].copy_from_slice(&content[b..b + len]);
        other[b..b + len].copy_from_slice(&content[a..a + len]);
        Fingerprint::of(&other)
    };
    assert_ne!(whole, exchange(0, 16, 16), "lanes");
    assert_ne!(whole, exchange(0, 1024, 1024), "rows");
    assert_ne!(whole, exchange(0, BLOCK_BYTES, BLOCK_BYTES), "blocks");
    assert_ne!(whole, exchange(0, 4, 4), "words");
}

/// Changes that a program makes: one word, the same change at two places, one that moves on.
#[test]
fn small_changes_of_real_looking_contents_are_told_apart() {
    let mut seen = HashSet::new();
    let base: Vec<u8> = (0..8192u32)
        .flat_map(|n| (n as f32 * 0.5).to_le_bytes())
        .collect();
    assert!(seen.insert(Fingerprint::of(&base)));
    for at in (0..base.len()).step_by(4) {
        let mut other = base.clone();
        other[at + 3] ^= 0x80;
        assert!(seen.insert(Fingerprint::of(&other)), "the sign at {at}");
        // In the same lane and word, one row on.
        if at + 1024 < base.len() {
            other[at + 1024 + 3] ^= 0x80;
            assert!(seen.insert(Fingerprint::of(&other)), "two signs at {at}");
        }
    }
}

/// Half of the result's bits follow each bit of the content, early ones and the very last ones.
#[test]
fn a_bit_spreads_over_the_whole_fingerprint() {
    let content = random(3, 5000);
    let whole = Fingerprint::of(&content);
    let mut flips = [0u32; 128];
    let mut trials = 0;
    for bit in (0..content.len() * 8).step_by(7) {
        let mut other = content.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let changed = Fingerprint::of(&other);
        for (n, flips) in flips.iter_mut().enumerate() {
            *flips += (whole.0[n / 32] ^ changed.0[n / 32]) >> (n % 32) & 1;
        }
        trials += 1;
    }
    for (n, flips) in flips.into_iter().enumerate() {
        let share = f64::from(flips) / f64::from(trials);
        assert!((0.4..0.6).contains(&share), "bit {n}: {share}");
    }
}
