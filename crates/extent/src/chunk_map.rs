//! How regions are cut into chunks.

use crate::byte_set::ByteSet;
use crate::extent::Extent;
use std::fmt;
use std::ops::Range;

/// A chunk of one [`ChunkMap`]: chunks are numbered from 0 in address order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkIndex(pub u32);

/// Why regions cannot be cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkMapError {
    /// The chunk size is no power of two.
    ChunkSize(u64),
    /// Two regions share bytes.
    Overlap(Extent, Extent),
    /// There would be more than `u32::MAX` chunks.
    TooManyChunks,
}

impl fmt::Display for ChunkMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChunkMapError::ChunkSize(size) => {
                write!(f, "a chunk size of {size} bytes is no power of two")
            }
            ChunkMapError::Overlap(a, b) => write!(f, "the regions {a} and {b} overlap"),
            ChunkMapError::TooManyChunks => f.write_str("there are more than 2^32 chunks"),
        }
    }
}

impl std::error::Error for ChunkMapError {}

#[derive(Clone, Copy, Debug)]
struct Region {
    extent: Extent,
    /// Index of the region's first chunk.
    first: u32,
}

/// The chunks of a list of regions (allocations). Each region is cut from its start on, and its last
/// chunk may be short: two adjacent allocations never share a chunk.
#[derive(Clone, Debug)]
pub struct ChunkMap {
    regions: Vec<Region>,
    shift: u32,
    len: u32,
}

impl ChunkMap {
    /// Cuts `regions`, in any order but disjoint, into chunks of `chunk_bytes`, a power of two.
    pub fn new(
        regions: impl IntoIterator<Item = Extent>,
        chunk_bytes: u64,
    ) -> Result<ChunkMap, ChunkMapError> {
        if !chunk_bytes.is_power_of_two() {
            return Err(ChunkMapError::ChunkSize(chunk_bytes));
        }
        let shift = chunk_bytes.trailing_zeros();
        let mut extents: Vec<Extent> = regions.into_iter().collect();
        extents.sort_unstable();
        if let Some(pair) = extents.windows(2).find(|pair| pair[0].overlaps(pair[1])) {
            return Err(ChunkMapError::Overlap(pair[0], pair[1]));
        }
        let mut next = 0u64;
        let mut cut = Vec::with_capacity(extents.len());
        for extent in extents {
            let first = u32::try_from(next).map_err(|_| ChunkMapError::TooManyChunks)?;
            cut.push(Region { extent, first });
            next = next.saturating_add(extent.len().div_ceil(chunk_bytes));
        }
        let len = u32::try_from(next).map_err(|_| ChunkMapError::TooManyChunks)?;
        Ok(ChunkMap {
            regions: cut,
            shift,
            len,
        })
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The largest size of a chunk in bytes.
    pub fn chunk_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// The sum of all chunks, in bytes.
    pub fn bytes(&self) -> u64 {
        self.regions.iter().map(|r| r.extent.len()).sum()
    }

    /// The regions, in address order.
    pub fn regions(&self) -> impl Iterator<Item = Extent> + '_ {
        self.regions.iter().map(|r| r.extent)
    }

    /// All chunks.
    pub fn iter(&self) -> impl Iterator<Item = ChunkIndex> + use<> {
        (0..self.len).map(ChunkIndex)
    }

    /// The bytes of `chunk`. Panics when there is no such chunk.
    pub fn extent(&self, chunk: ChunkIndex) -> Extent {
        assert!(chunk.0 < self.len, "chunk {} of {}", chunk.0, self.len);
        let region = self.region_of(chunk);
        let start = region.extent.start() + (u64::from(chunk.0 - region.first) << self.shift);
        let len = self.chunk_bytes().min(region.extent.end() - start);
        Extent::with_len(start, len).expect("a chunk holds at least one byte")
    }

    /// The region (allocation) that `chunk` belongs to. Panics when there is no such chunk.
    pub fn region(&self, chunk: ChunkIndex) -> Extent {
        assert!(chunk.0 < self.len, "chunk {} of {}", chunk.0, self.len);
        self.region_of(chunk).extent
    }

    /// The chunks that share a byte with `extent`, ascending.
    pub fn touching(&self, extent: Extent) -> impl Iterator<Item = ChunkIndex> + use<> {
        self.touched(extent).map(ChunkIndex)
    }

    /// The numbers of these chunks: those of adjoining regions follow each other.
    pub fn touched(&self, extent: Extent) -> Range<u32> {
        let from = self
            .regions
            .partition_point(|r| r.extent.end() <= extent.start());
        let until = self
            .regions
            .partition_point(|r| r.extent.start() < extent.end());
        let Some((first, last)) = self
            .regions
            .get(from..until)
            .and_then(|regions| regions.first().zip(regions.last()))
        else {
            return 0..0;
        };
        let start = extent.start().max(first.extent.start());
        let end = extent.end().min(last.extent.end());
        self.chunk_in(first, start).0..self.chunk_in(last, end - 1).0 + 1
    }

    /// The chunks that share a byte with `bytes`, ascending, each once. Of a pattern the chunks of its hull are looked at,
    /// not its blocks.
    pub fn touching_any_of(&self, bytes: &ByteSet) -> Vec<ChunkIndex> {
        let extents = bytes.extents().iter();
        let mut chunks: Vec<ChunkIndex> =
            extents.flat_map(|extent| self.touching(extent)).collect();
        for pattern in bytes.patterns() {
            let near = self.touching(pattern.hull());
            chunks.extend(near.filter(|chunk| pattern.overlaps(self.extent(*chunk))));
        }
        if !bytes.patterns().is_empty() {
            chunks.sort_unstable();
        }
        chunks.dedup();
        chunks
    }

    fn region_of(&self, chunk: ChunkIndex) -> &Region {
        let at = self.regions.partition_point(|r| r.first <= chunk.0);
        &self.regions[at - 1]
    }

    fn chunk_in(&self, region: &Region, address: u64) -> ChunkIndex {
        let offset = (address - region.extent.start()) >> self.shift;
        // `new` counted the region's chunks in u32.
        ChunkIndex(region.first + offset as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strided::Cover;

    fn e(start: u64, end: u64) -> Extent {
        Extent::new(start, end).unwrap()
    }

    fn numbers(chunks: impl Iterator<Item = ChunkIndex>) -> Vec<u32> {
        chunks.map(|c| c.0).collect()
    }

    #[test]
    fn chunks_are_clipped_to_their_allocation() {
        let map = ChunkMap::new([e(0x30, 0x58), e(0x58, 0x60), e(0x08, 0x18)], 0x10).unwrap();
        let chunks: Vec<Extent> = map.iter().map(|c| map.extent(c)).collect();
        assert_eq!(
            chunks,
            [
                e(0x08, 0x18),
                e(0x30, 0x40),
                e(0x40, 0x50),
                e(0x50, 0x58),
                e(0x58, 0x60)
            ]
        );
        assert_eq!(map.bytes(), 0x10 + 0x30);
        assert_eq!(map.region(ChunkIndex(2)), e(0x30, 0x58));
    }

    #[test]
    fn touching_agrees_with_the_extents() {
        let map = ChunkMap::new([e(3, 19), e(19, 20), e(24, 41)], 8).unwrap();
        for start in 0..48 {
            for end in start + 1..=48 {
                let want: Vec<u32> = numbers(
                    map.iter()
                        .filter(|c| map.extent(*c).overlaps(e(start, end))),
                );
                assert_eq!(
                    numbers(map.touching(e(start, end))),
                    want,
                    "{}",
                    e(start, end)
                );
            }
        }
    }

    #[test]
    fn a_set_names_each_chunk_once() {
        let map = ChunkMap::new([e(0, 64)], 16).unwrap();
        let mut bytes = ByteSet::new();
        for extent in [e(0, 2), e(4, 6), e(15, 17), e(18, 20), e(63, 80)] {
            bytes.insert(extent);
        }
        let touched = |bytes: &ByteSet| numbers(map.touching_any_of(bytes).into_iter());
        assert_eq!(touched(&bytes), [0, 1, 3]);
        let far_apart = Cover::new(1, 2, [(40, 2)]).expect("a pattern");
        bytes.insert_cover(far_apart);
        assert_eq!(touched(&bytes), [0, 1, 2, 3]);
    }

    #[test]
    fn of_a_pattern_the_chunks_between_its_blocks_are_free() {
        let map = ChunkMap::new([e(3, 150), e(150, 160), e(170, 400)], 8).unwrap();
        for (start, block, stride) in [(0, 3, 20), (5, 8, 64), (140, 9, 16), (390, 30, 31)] {
            let cover = Cover::new(start, block, [(stride, 3), (stride * 3 + 5, 2)]);
            let mut bytes = ByteSet::new();
            bytes.insert_cover(cover.expect("a pattern"));
            let held = bytes.flat(u64::MAX);
            let want = numbers(map.iter().filter(|c| held.overlaps(map.extent(*c))));
            assert_eq!(
                numbers(map.touching_any_of(&bytes).into_iter()),
                want,
                "{bytes}"
            );
        }
    }

    #[test]
    fn works_at_the_end_of_the_address_space() {
        let map = ChunkMap::new([e(u64::MAX - 20, u64::MAX)], 16).unwrap();
        assert_eq!(map.len(), 2);
        assert_eq!(map.extent(ChunkIndex(1)), e(u64::MAX - 4, u64::MAX));
    }

    #[test]
    fn refuses_what_is_no_chunking() {
        assert_eq!(
            ChunkMap::new([], 3).unwrap_err(),
            ChunkMapError::ChunkSize(3)
        );
        assert_eq!(
            ChunkMap::new([e(0, 8), e(4, 12)], 4).unwrap_err(),
            ChunkMapError::Overlap(e(0, 8), e(4, 12))
        );
        assert_eq!(
            ChunkMap::new([e(0, u64::MAX)], 4).unwrap_err(),
            ChunkMapError::TooManyChunks
        );
    }
}
