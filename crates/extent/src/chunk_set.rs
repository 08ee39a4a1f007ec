//! A bitmap of chunks.

use crate::chunk_map::ChunkIndex;
use std::fmt;

/// A set of chunks of one [`ChunkMap`](crate::ChunkMap), one bit each.
#[derive(Clone, PartialEq, Eq)]
pub struct ChunkSet {
    words: Vec<u64>,
    len: usize,
    ones: usize,
}

impl ChunkSet {
    /// No chunk out of `len`.
    pub fn empty(len: usize) -> ChunkSet {
        ChunkSet {
            words: vec![0; len.div_ceil(64)],
            len,
            ones: 0,
        }
    }

    /// All of `len` chunks.
    pub fn full(len: usize) -> ChunkSet {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let Some(last) = words.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last = (1 << (len % 64)) - 1;
        }
        ChunkSet {
            words,
            len,
            ones: len,
        }
    }

    /// How many chunks there are, in the set or not.
    pub fn capacity(&self) -> usize {
        self.len
    }

    /// How many chunks are in the set.
    pub fn count(&self) -> usize {
        self.ones
    }

    /// Whether no chunk is in the set.
    pub fn is_empty(&self) -> bool {
        self.ones == 0
    }

    /// Whether `chunk` is in the set. Panics beyond the capacity.
    pub fn contains(&self, chunk: ChunkIndex) -> bool {
        let (word, bit) = self.position(chunk);
        self.words[word] & bit != 0
    }

    /// Adds `chunk`; says whether it was new. Panics beyond the capacity.
    pub fn set(&mut self, chunk: ChunkIndex) -> bool {
        let (word, bit) = self.position(chunk);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.ones += usize::from(new);
        new
    }

    /// Takes `chunk` out; says whether it was in. Panics beyond the capacity.
    pub fn clear(&mut self, chunk: ChunkIndex) -> bool {
        let (word, bit) = self.position(chunk);
        let was = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        self.ones -= usize::from(was);
        was
    }

    /// The chunks in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ChunkIndex> + '_ {
        self.words.iter().enumerate().flat_map(|(word, bits)| {
            let mut rest = *bits;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(ChunkIndex(word as u32 * 64 + bit))
            })
        })
    }

    /// The first chunk of the set at or after `from`.
    pub fn first_from(&self, from: ChunkIndex) -> Option<ChunkIndex> {
        let first = from.0 as usize / 64;
        let masked = self.words.get(first)? & (u64::MAX << (from.0 % 64));
        let words = std::iter::once(masked).chain(self.words[first + 1..].iter().copied());
        let (word, bits) = words.enumerate().find(|(_, bits)| *bits != 0)?;
        Some(ChunkIndex(
            (first + word) as u32 * 64 + bits.trailing_zeros(),
        ))
    }

    fn position(&self, chunk: ChunkIndex) -> (usize, u64) {
        let at = chunk.0 as usize;
        assert!(at < self.len, "chunk {at} of a set over {}", self.len);
        (at / 64, 1 << (at % 64))
    }
}

impl fmt::Debug for ChunkSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|c| c.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_has_no_bit_beyond_its_length() {
        for len in [0, 1, 63, 64, 65, 128, 200] {
            let full = ChunkSet::full(len);
            assert_eq!(full.iter().count(), len, "full set over {len}");
            assert_eq!(full.count(), len);
        }
    }

    #[test]
    fn set_clear_and_iterate() {
        let mut set = ChunkSet::empty(200);
        for at in [199, 0, 63, 64, 64] {
            set.set(ChunkIndex(at));
        }
        assert_eq!(set.count(), 4, "the second 64 is not new");
        assert_eq!(
            set.iter().map(|c| c.0).collect::<Vec<_>>(),
            [0, 63, 64, 199]
        );
        assert_eq!(set.first_from(ChunkIndex(65)), Some(ChunkIndex(199)));
        assert_eq!(set.first_from(ChunkIndex(64)), Some(ChunkIndex(64)));
        assert!(set.clear(ChunkIndex(199)) && !set.clear(ChunkIndex(199)));
        assert_eq!(set.first_from(ChunkIndex(65)), None);
        assert_eq!(set.first_from(ChunkIndex(4000)), None);
    }

    #[test]
    #[should_panic(expected = "chunk 8 of a set over 8")]
    fn a_chunk_beyond_the_capacity_is_a_bug() {
        ChunkSet::empty(8).set(ChunkIndex(8));
    }
}
