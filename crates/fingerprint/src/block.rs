//! The lanes of a block, side by side.

use crate::{BlockSum, CLOSING_STEPS, LANES, PIECE_BYTES, START, step, words};

type Row = [[u8; PIECE_BYTES]; LANES];

/// The states of all lanes.
#[derive(Clone, Copy)]
struct Lanes([[u32; 4]; LANES]);

/// The lanes of block `number`.
pub(crate) fn sum(block: &[u8], number: u32) -> BlockSum {
    let key = |lane: usize| number.wrapping_mul(LANES as u32).wrapping_add(lane as u32);
    let mut lanes = Lanes([START; LANES]);
    for (lane, state) in lanes.0.iter_mut().enumerate() {
        state[0] = state[0].wrapping_add(key(lane));
    }
    let (pieces, rest) = block.as_chunks::<PIECE_BYTES>();
    let (rows, last_row) = pieces.as_chunks::<LANES>();
    lanes.make_steps(rows);
    let mut short = [0; PIECE_BYTES];
    short[..rest.len()].copy_from_slice(rest);
    let short = (!rest.is_empty()).then_some(&short);
    for (state, piece) in lanes.0.iter_mut().zip(last_row.iter().chain(short)) {
        *state = step(*state, words(piece));
    }
    let mut keys: Row = [[0; PIECE_BYTES]; LANES];
    for (lane, piece) in keys.iter_mut().enumerate() {
        let (words, _) = piece.as_chunks_mut();
        words.fill(key(lane).to_le_bytes());
    }
    lanes.make_steps(&[keys; CLOSING_STEPS]);
    let with_piece = match rows {
        [] => last_row.len() + usize::from(short.is_some()),
        _ => LANES,
    };
    let mut sum = BlockSum::default();
    for state in &lanes.0[..with_piece] {
        sum.add(BlockSum(*state));
    }
    sum
}

impl Lanes {
    /// A step of each lane for each row.
    fn make_steps(&mut self, rows: &[Row]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "a function for some processors")]
            // SAFETY: the processor has what the function needs.
            unsafe {
                avx2::make_steps(self, rows);
            }
            return;
        }
        self.make_steps_of_any(rows);
    }

    /// The same on any processor.
    fn make_steps_of_any(&mut self, rows: &[Row]) {
        for row in rows {
            for (state, piece) in self.0.iter_mut().zip(row) {
                *state = step(*state, words(piece));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_shuffle_epi32,
        _mm256_srli_epi32, _mm256_srli_epi64, _mm256_xor_si256,
    };
    use std::array;

    use super::{Lanes, Row};
    use crate::{LANES, MULTIPLIER, PIECE_BYTES};

    /// Lanes of a register: the four words of one, and those of the next.
    const WIDTH: usize = 2;
    /// Registers whose steps run side by side, each of which waits for the one before.
    const TOGETHER: usize = 8;

    /// A step of each lane for each row.
    #[target_feature(enable = "avx2")]
    pub(super) fn make_steps(lanes: &mut Lanes, rows: &[Row]) {
        let (pairs, _) = lanes.0.as_chunks_mut::<WIDTH>();
        for first in (0..LANES / WIDTH).step_by(TOGETHER) {
            let pairs = &mut pairs[first..][..TOGETHER];
            let mut states: [__m256i; TOGETHER] = array::from_fn(|n| words(pairs[n]));
            for row in rows {
                let (pieces, _) = row.as_chunks::<WIDTH>();
                let pieces = &pieces[first..][..TOGETHER];
                for (state, pair) in states.iter_mut().zip(pieces) {
                    *state = step(*state, bytes(*pair));
                }
            }
            for (pair, state) in pairs.iter_mut().zip(states) {
                *pair = lanes_of(state);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn step(state: __m256i, words: __m256i) -> __m256i {
        // The second word of each two to the place of the first.
        let seconds = _mm256_srli_epi64::<32>(state);
        let sum = _mm256_add_epi32(_mm256_xor_si256(state, words), seconds);
        let mixed = _mm256_xor_si256(sum, _mm256_srli_epi32::<15>(sum));
        let mixed = _mm256_mullo_epi32(mixed, _mm256_set1_epi32(MULTIPLIER.cast_signed()));
        // (m0, m1, m2, m3) to (m1, m2, m3, m0).
        _mm256_shuffle_epi32::<0b00_11_10_01>(mixed)
    }

    #[expect(unsafe_code, reason = "a register of bytes")]
    fn bytes(pieces: [[u8; PIECE_BYTES]; WIDTH]) -> __m256i {
        // SAFETY: as large, and any bytes are one.
        unsafe { std::mem::transmute(pieces) }
    }

    #[expect(unsafe_code, reason = "a register of words")]
    fn words(lanes: [[u32; 4]; WIDTH]) -> __m256i {
        // SAFETY: as above.
        unsafe { std::mem::transmute(lanes) }
    }

    #[expect(unsafe_code, reason = "the words of a register")]
    fn lanes_of(register: __m256i) -> [[u32; 4]; WIDTH] {
        // SAFETY: as above.
        unsafe { std::mem::transmute(register) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processors_come_to_the_same() {
        let row = |seed: u32| -> Row {
            let byte = |at: u32| (at.wrapping_mul(seed) >> 13) as u8;
            std::array::from_fn(|lane| std::array::from_fn(|n| byte((lane * 16 + n) as u32)))
        };
        let rows = [3_000_017, 77_777_777, 123_456_789].map(row);
        for rows in [&rows[..], &rows[..1], &[]] {
            let mut fast = Lanes(std::array::from_fn(|lane| [lane as u32, 7, 1 << 31, !0]));
            let mut plain = fast;
            fast.make_steps(rows);
            plain.make_steps_of_any(rows);
            assert_eq!(fast.0, plain.0, "{} rows", rows.len());
        }
    }
}
