//! Fingerprints of memory: 128 bits that come out the same on the device and on the CPU.
//!
//! They tell whether bytes are what they were; they are no defence against somebody who wants two
//! contents to agree. (Content addresses in the store are another matter.)
//!
//! All numbers are 32 bits wide and wrap around. With `P` = [`MULTIPLIER`], a **step** takes a state
//! `(a0, a1, a2, a3)` and four words `(w0, w1, w2, w3)` to the state
//!
//! ```text
//! m0 = mix((a0 ^ w0) + a1)        mix(x) = (x ^ (x >> 15)) * P
//! m1 = mix( a1 ^ w1      )
//! m2 = mix((a2 ^ w2) + a3)        the new state: (m1, m2, m3, m0)
//! m3 = mix( a3 ^ w3      )
//! ```
//! It loses nothing: for given words it is one to one in the state, for a given state in the words.
//! The shift brings the high bits, which a product leaves where they are, to where it spreads them: so
//! no small change is undone by another small one in the next step.
//!
//! - Memory is cut into **blocks** of 64 KiB, a block into **rows** of 1 KiB, a row into 64 pieces of
//!   16 bytes, one for each **lane**: four little-endian words. The last piece may be short; zeros
//!   fill it up. Lane `l` of block `b` has the key `k = 64 * b + l`, starts from [`START`] with `k`
//!   added to `a0`, and makes a step for each piece of its own, row after row, and then
//!   [`CLOSING_STEPS`] steps with `(k, k, k, k)`. A lane without a piece contributes nothing.
//! - The states of all lanes of all blocks are added, word by word: in any order, by a grid of any
//!   shape.
//! - The sum makes [`CLOSING_STEPS`] steps with `(low, high, low, high)` word of the length in bytes.
//!
//! The device adds the lanes of a block ([`KERNEL`], source in `crates/agent/kernels`); the rest is
//! [`Fingerprint::of_blocks`].

// But for the vectors of some processors.
#![deny(unsafe_code)]

mod block;
mod device;

pub use device::{BlockEntry, KERNEL, KERNEL_ARGUMENT_BYTES, KernelArguments, SUM_BYTES};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64 << 10;
/// Lanes that work on a block.
pub const LANES: usize = 64;
/// What a step multiplies by.
pub const MULTIPLIER: u32 = 0x9e37_79b1;
/// Where lanes start.
pub const START: [u32; 4] = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
/// Steps after the last piece: every bit of the state has then met every other.
pub const CLOSING_STEPS: usize = 6;

const PIECE_BYTES: usize = 16;

/// The fingerprint of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u32; 4]);

/// The lanes of one block, or of several, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSum(pub [u32; 4]);

impl Fingerprint {
    /// The fingerprint of `bytes`.
    pub fn of(bytes: &[u8]) -> Fingerprint {
        let blocks = bytes.chunks(BLOCK_BYTES).zip(0..);
        let sums = blocks.map(|(block, number)| BlockSum::of(block, number));
        Fingerprint::of_blocks(sums, bytes.len() as u64)
    }

    /// The fingerprint of `len` bytes whose blocks are these, in any order.
    pub fn of_blocks(sums: impl IntoIterator<Item = BlockSum>, len: u64) -> Fingerprint {
        let mut total = BlockSum::default();
        for sum in sums {
            total.add(sum);
        }
        let (low, high) = (len as u32, (len >> 32) as u32);
        Fingerprint(close(total.0, [low, high, low, high]))
    }

    /// As 16 bytes, little endian.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        for (place, word) in bytes.chunks_exact_mut(4).zip(self.0) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The reverse of [`Fingerprint::to_bytes`]; `None` when there are not 16 of them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Fingerprint> {
        <&[u8; PIECE_BYTES]>::try_from(bytes)
            .ok()
            .map(|bytes| Fingerprint(words(bytes)))
    }
}

impl BlockSum {
    /// From what the kernel has written.
    pub fn from_bytes(bytes: &[u8; SUM_BYTES]) -> BlockSum {
        BlockSum(words(bytes))
    }

    /// As the kernel writes it.
    pub fn to_bytes(self) -> [u8; SUM_BYTES] {
        Fingerprint(self.0).to_bytes()
    }

    /// The lanes of block `number`, which holds at most [`BLOCK_BYTES`].
    pub fn of(block: &[u8], number: u32) -> BlockSum {
        block::sum(block, number)
    }

    fn add(&mut self, other: BlockSum) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word = word.wrapping_add(other);
        }
    }
}

#[inline(always)]
fn words(bytes: &[u8; PIECE_BYTES]) -> [u32; 4] {
    [0, 4, 8, 12].map(|at: usize| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    })
}

#[inline(always)]
fn step(a: [u32; 4], w: [u32; 4]) -> [u32; 4] {
    let mix = |word: u32| (word ^ word >> 15).wrapping_mul(MULTIPLIER);
    let m0 = mix((a[0] ^ w[0]).wrapping_add(a[1]));
    let m1 = mix(a[1] ^ w[1]);
    let m2 = mix((a[2] ^ w[2]).wrapping_add(a[3]));
    let m3 = mix(a[3] ^ w[3]);
    [m1, m2, m3, m0]
}

fn close(mut state: [u32; 4], words: [u32; 4]) -> [u32; 4] {
    for _ in 0..CLOSING_STEPS {
        state = step(state, words);
    }
    state
}
