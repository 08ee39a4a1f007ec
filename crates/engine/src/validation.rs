//! Whether what was stored is what was there at the cut, wherever the footprints lie.
//!
//! Each chunk is fingerprinted where it lies, after the last write before the cut and before anything of
//! the program runs after it, and compared with the fingerprint of the bytes that were stored. A write
//! that nobody announced comes between the two, so they differ, and the checkpoint is not committed.
//!
//! A fingerprint of an earlier moment would not do, however quiet the chunk is said to be: a write that
//! nobody announced before the cut, and another after it that puts back what was there, would go
//! unnoticed, and the image would hold what was not there at the cut.
//!
//! What [`crate::SetAside`] names is not fingerprinted: it was copied while everything stood still.

use crate::writer::KernelId;
use std::collections::BTreeMap;
use strobe_extent::{ChunkIndex, ChunkMap, ChunkMapError, Extent, Side};

/// One chunk in so many is fingerprinted when samples are enough.
const SAMPLED_OF: u64 = 8;
/// Launches since the cut whose footprints are remembered one by one.
const REMEMBERED: usize = 4096;

/// Which chunks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validate {
    /// All of them.
    Full,
    /// One in eight, others with another seed.
    Sampled {
        /// Chooses them.
        seed: u64,
    },
    /// None.
    Off,
}

impl Validate {
    /// The chunks of what is promised whose fingerprints are to be taken at the cut, by address.
    ///
    /// # Errors
    /// When the extents overlap, or are more chunks than there are numbers for.
    pub fn choose(
        self,
        tracked: &[Extent],
        chunk_bytes: u64,
    ) -> Result<Vec<Extent>, ChunkMapError> {
        let map = ChunkMap::new(tracked.iter().copied(), chunk_bytes)?;
        let chunks = map.iter().map(|chunk| map.extent(chunk));
        Ok(chunks.filter(|chunk| self.chooses(*chunk)).collect())
    }

    /// Whether this chunk is one of them.
    pub fn chooses(self, chunk: Extent) -> bool {
        match self {
            Validate::Full => true,
            Validate::Off => false,
            Validate::Sampled { seed } => {
                let mixed = (chunk.start() ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & (SAMPLED_OF - 1)
                    == 0
            }
        }
    }
}

/// A launch let through after the cut.
#[derive(Clone, Debug)]
struct Launched {
    kernel: KernelId,
    writes: Side,
}

/// What tells, after a missed write, who may have made it: the launches since the cut, and when each
/// chunk was out of reach.
#[derive(Clone, Debug)]
pub struct Evidence {
    map: ChunkMap,
    /// Of each chunk, how many launches had been let through when its copy was complete.
    secured: Vec<u64>,
    launches: Vec<Launched>,
    /// Kernels launched after those, and the number of their first launch there.
    later: BTreeMap<KernelId, u64>,
    count: u64,
}

impl Evidence {
    pub(crate) fn new(map: ChunkMap) -> Evidence {
        Evidence {
            secured: vec![u64::MAX; map.len()],
            map,
            launches: Vec::new(),
            later: BTreeMap::new(),
            count: 0,
        }
    }

    pub(crate) fn launched(&mut self, kernel: KernelId, writes: &Side) {
        if self.launches.len() < REMEMBERED {
            let writes = writes.clone();
            self.launches.push(Launched { kernel, writes });
        } else if !writes.is_unknown() {
            self.later.entry(kernel).or_insert(self.count);
        }
        self.count += 1;
    }

    pub(crate) fn secured(&mut self, chunk: ChunkIndex) {
        let secured = &mut self.secured[chunk.0 as usize];
        *secured = (*secured).min(self.count);
    }

    /// The kernels that may have overwritten these chunks, in the order of their numbers; none when
    /// no launch can have done it.
    ///
    /// By elimination: a launch that came when the copy was complete did no harm, nor did one whose
    /// footprint names the chunk or is unknown, because it waited for the copy. Where one kernel can
    /// have made all the missed writes, it is taken to have.
    pub fn suspects(&self, missed: &[Extent]) -> Vec<KernelId> {
        let of_each: Vec<Vec<KernelId>> = missed
            .iter()
            .flat_map(|extent| self.map.touching(*extent))
            .map(|chunk| self.suspects_of(chunk))
            .filter(|kernels| !kernels.is_empty())
            .collect();
        let mut all: Vec<KernelId> = of_each.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let common = |kernel: &KernelId| of_each.iter().all(|kernels| kernels.contains(kernel));
        let in_common: Vec<KernelId> = all.iter().copied().filter(common).collect();
        if in_common.is_empty() { all } else { in_common }
    }

    fn suspects_of(&self, chunk: ChunkIndex) -> Vec<KernelId> {
        let extent = self.map.extent(chunk);
        let secured = self.secured[chunk.0 as usize];
        let reached = usize::try_from(secured).unwrap_or(usize::MAX);
        let early = self.launches.iter().take(reached);
        let mut kernels: Vec<KernelId> = early
            .filter(|launch| !launch.writes.overlaps(extent))
            .map(|launch| launch.kernel)
            .collect();
        let later = self.later.iter().filter(|(_, first)| **first < secured);
        kernels.extend(later.map(|(kernel, _)| *kernel));
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_extent::Reason;

    fn extent(start: u64, end: u64) -> Extent {
        Extent::new(start, end).unwrap()
    }

    #[test]
    fn samples_are_some_and_others_with_another_seed() {
        let chosen = |validate: Validate| {
            let tracked = [extent(0, 0x100 * 4096)];
            validate.choose(&tracked, 0x100).unwrap()
        };
        let (one, two) = (
            chosen(Validate::Sampled { seed: 1 }),
            chosen(Validate::Sampled { seed: 2 }),
        );
        assert!((256..1024).contains(&one.len()), "{}", one.len());
        assert_ne!(one, two);
        assert_eq!(chosen(Validate::Off).len(), 0);
        assert_eq!(chosen(Validate::Full).len(), 4096);
    }

    #[test]
    fn suspects_are_found_by_elimination() {
        let chunks = [extent(0, 0x100), extent(0x100, 0x200), extent(0x200, 0x300)];
        let map = ChunkMap::new([extent(0, 0x300)], 0x100).unwrap();
        let [a, b, c, d] = [1, 2, 3, 4].map(KernelId);
        let mut evidence = Evidence::new(map);
        assert!(evidence.suspects(&chunks).is_empty(), "nothing ran");
        evidence.launched(a, &extent(0, 1).into());
        evidence.launched(b, &extent(0x100, 0x101).into());
        evidence.secured(ChunkIndex(0));
        evidence.launched(c, &Side::Unknown(Reason::NotAnalysed));
        evidence.secured(ChunkIndex(1));
        evidence.launched(d, &Side::none());
        assert_eq!(evidence.suspects(&chunks[..1]), [b], "a said so");
        assert_eq!(evidence.suspects(&chunks[1..2]), [a], "b said so");
        assert_eq!(evidence.suspects(&chunks[2..]), [a, b, d], "c waited");
        assert_eq!(evidence.suspects(&chunks[1..]), [a], "one for both");
        assert_eq!(evidence.suspects(&chunks[..2]), [a, b], "no one for both");
    }

    #[test]
    fn many_launches_are_remembered_in_brief() {
        let map = ChunkMap::new([extent(0, 0x100)], 0x100).unwrap();
        let mut evidence = Evidence::new(map);
        for _ in 0..REMEMBERED {
            evidence.launched(KernelId(1), &extent(0, 1).into());
        }
        evidence.launched(KernelId(2), &Side::none());
        evidence.launched(KernelId(3), &Side::Unknown(Reason::NotAnalysed));
        evidence.secured(ChunkIndex(0));
        evidence.launched(KernelId(4), &Side::none());
        assert_eq!(evidence.suspects(&[extent(0, 0x100)]), [KernelId(2)]);
    }
}
