//! On-demand restore, seen from the program: what of its memory is there, and what an operation has to wait for.
//!
//! A chunk is away, asked for, or there, and never goes back. An operation waits for all chunks that it may read or
//! write: whatever is written to a chunk that is away would be overwritten when it arrives.

use std::mem;

use strobe_extent::{Access, ChunkIndex, ChunkMap, Side};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Arriving {
    map: ChunkMap,
    chunks: Vec<Chunk>,
    /// Chunks that are not there.
    left: usize,
    /// Their bytes.
    left_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Away,
    Asked,
    There,
}

/// What an operation waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// All chunks that it may touch and that are not there, ascending.
    pub chunks: Vec<ChunkIndex>,
    /// Of these, the ones that nobody has asked for before.
    pub asked_first: Vec<ChunkIndex>,
}

/// A chunk is said to have arrived that is none, or that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk {0} arrives that is not awaited")]
pub struct ArrivalError(pub u32);

impl Arriving {
    /// All of `map` is away.
    pub fn new(map: ChunkMap) -> Arriving {
        Arriving {
            chunks: vec![Chunk::Away; map.len()],
            left: map.len(),
            left_bytes: map.bytes(),
            map,
        }
    }

    /// An operation is about to touch this. It may begin when [`Arriving::is_there`].
    pub fn need(&mut self, access: &Access) -> Needed {
        if self.is_complete() {
            return Needed::default();
        }
        let mut chunks = match (&access.reads, &access.writes) {
            (Side::Known(reads), Side::Known(writes)) => {
                let mut chunks = self.map.touching_any_of(reads);
                chunks.extend(self.map.touching_any_of(writes));
                chunks.sort_unstable();
                chunks.dedup();
                chunks
            }
            _ => self.map.iter().collect(),
        };
        chunks.retain(|chunk| self.chunks[chunk.0 as usize] != Chunk::There);
        let ask = |chunk: &ChunkIndex| {
            let state = &mut self.chunks[chunk.0 as usize];
            mem::replace(state, Chunk::Asked) == Chunk::Away
        };
        let asked_first = chunks.iter().copied().filter(ask).collect();
        Needed {
            chunks,
            asked_first,
        }
    }

    /// Whether all of these are there.
    pub fn is_there(&self, needed: &Needed) -> bool {
        let mut chunks = needed.chunks.iter();
        chunks.all(|chunk| self.chunks[chunk.0 as usize] == Chunk::There)
    }

    /// A chunk has been filled.
    pub fn arrived(&mut self, chunk: ChunkIndex) -> Result<(), ArrivalError> {
        let state = self.chunks.get_mut(chunk.0 as usize);
        let state = state.filter(|state| **state != Chunk::There);
        *state.ok_or(ArrivalError(chunk.0))? = Chunk::There;
        self.left -= 1;
        self.left_bytes -= self.map.extent(chunk).len();
        Ok(())
    }

    /// Whether everything is there.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Bytes that are not there.
    pub fn left_bytes(&self) -> u64 {
        self.left_bytes
    }

    /// The chunks.
    pub fn map(&self) -> &ChunkMap {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_extent::{Extent, Reason};

    const CHUNK: u64 = 0x1000;

    fn extent(start: u64, end: u64) -> Extent {
        Extent::new(start, end).unwrap()
    }

    /// Four chunks from 0x10000 on, the last one short, and one at 0x20000.
    fn five() -> Arriving {
        let regions = [extent(0x20000, 0x21000), extent(0x10000, 0x13800)];
        Arriving::new(ChunkMap::new(regions, CHUNK).unwrap())
    }

    fn access(reads: Option<Extent>, writes: Option<Extent>) -> Access {
        let side = |extent: Option<Extent>| extent.map_or(Side::none(), Side::from);
        Access {
            reads: side(reads),
            writes: side(writes),
        }
    }

    fn chunks(numbers: &[u32]) -> Vec<ChunkIndex> {
        numbers.iter().copied().map(ChunkIndex).collect()
    }

    #[test]
    fn reads_and_writes_are_waited_for_and_nothing_else() {
        let mut memory = five();
        let both = access(
            Some(extent(0x10fff, 0x11001)),
            Some(extent(0x20010, 0x20011)),
        );
        let needed = memory.need(&both);
        assert_eq!(needed.chunks, chunks(&[0, 1, 4]));
        for number in [0, 4, 1] {
            assert!(!memory.is_there(&needed));
            memory.arrived(ChunkIndex(number)).unwrap();
        }
        assert!(memory.is_there(&needed));
        assert_eq!(memory.need(&both), Needed::default());
        assert_eq!(memory.left_bytes(), 0x1800);
        let elsewhere = access(Some(extent(0x30000, 0x40000)), None);
        assert_eq!(memory.need(&elsewhere), Needed::default());
    }

    #[test]
    fn a_chunk_is_asked_for_once_and_waited_for_by_all() {
        let mut memory = five();
        let first = memory.need(&access(Some(extent(0x10000, 0x12000)), None));
        assert_eq!(first.asked_first, chunks(&[0, 1]));
        let second = memory.need(&access(None, Some(extent(0x11000, 0x13000))));
        assert_eq!(second.chunks, chunks(&[1, 2]));
        assert_eq!(second.asked_first, chunks(&[2]));
        memory.arrived(ChunkIndex(1)).unwrap();
        assert!(!memory.is_there(&first) && !memory.is_there(&second));
    }

    #[test]
    fn what_is_unknown_on_either_side_waits_for_everything_that_is_left() {
        for unknown in [
            Access::unknown(Reason::Budget),
            Access {
                reads: Reason::Budget.into(),
                writes: Side::none(),
            },
            Access {
                reads: Side::none(),
                writes: Reason::Budget.into(),
            },
        ] {
            let mut memory = five();
            memory.arrived(ChunkIndex(3)).unwrap();
            let needed = memory.need(&unknown);
            assert_eq!(needed.chunks, chunks(&[0, 1, 2, 4]));
            for chunk in needed.chunks.clone() {
                assert!(!memory.is_there(&needed) && !memory.is_complete());
                memory.arrived(chunk).unwrap();
            }
            assert!(memory.is_there(&needed) && memory.is_complete());
            assert_eq!(memory.left_bytes(), 0);
            assert_eq!(memory.need(&unknown), Needed::default());
        }
    }

    #[test]
    fn an_arrival_that_nobody_awaits_is_an_error() {
        let mut memory = five();
        assert_eq!(memory.arrived(ChunkIndex(5)), Err(ArrivalError(5)));
        memory.arrived(ChunkIndex(2)).unwrap();
        assert_eq!(memory.arrived(ChunkIndex(2)), Err(ArrivalError(2)));
        assert_eq!(memory.left_bytes(), 0x3800);
    }
}
