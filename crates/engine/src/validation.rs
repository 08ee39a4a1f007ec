//! Whether what was stored is what was there at the cut, wherever the footprints lie.
//!
//! Each chunk is fingerprinted where it lies, before anything of the program runs after the cut, and
//! compared with the fingerprint of the bytes that were stored. A write that nobody announced comes
//! between the two, so they differ, and the checkpoint is not committed.
//!
//! ```text
//!           next_ahead              ahead_done
//! wanted ---------------> under way ----------> known ----> good at the cut
//!    |  written               | written           | written
//!    +------------------------+-------------------+------> stale: done at the cut
//! ```
//! While the program still runs, chunks that are not expected to be written are done ahead of the
//! cut. An announced write makes them stale, an unannounced one makes the two fingerprints differ:
//! so the trick is safe, provided that writes which were enqueued before [`Validation::begin`] and
//! have not ended are reported by [`Validation::written`] too. (One that is forgotten costs a false
//! alarm, never a wrong image.)
//!
//! What [`crate::SetAside`] names is not fingerprinted: it was copied while everything stood still.

use crate::KernelId;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State<F> {
    Wanted,
    UnderWay,
    Known(F),
    Stale,
}

#[derive(Clone, Copy, Debug)]
struct AtCut<F> {
    len: u64,
    fingerprint: F,
    ahead: bool,
}

/// The fingerprints of one checkpoint, from before its cut on.
#[derive(Debug)]
pub struct Validation<F> {
    validate: Validate,
    chunk_bytes: u64,
    map: ChunkMap,
    states: Vec<State<F>>,
    /// Chunks before it are not wanted any more.
    cursor: usize,
    /// At the cut, by address.
    at_cut: BTreeMap<u64, AtCut<F>>,
    ahead_bytes: u64,
}

impl<F: Copy> Validation<F> {
    /// Starts while the program runs, with what is allocated now.
    pub fn begin(
        validate: Validate,
        tracked: Vec<Extent>,
        chunk_bytes: u64,
    ) -> Result<Validation<F>, ChunkMapError> {
        let map = ChunkMap::new(tracked, chunk_bytes)?;
        Ok(Validation {
            validate,
            chunk_bytes,
            states: vec![State::Wanted; map.len()],
            map,
            cursor: 0,
            at_cut: BTreeMap::new(),
            ahead_bytes: 0,
        })
    }

    /// Something was announced that may write, or give up, these bytes.
    pub fn written(&mut self, writes: &Side) {
        match writes {
            Side::Extents(set) => {
                for chunk in self.map.touching_set(set) {
                    self.states[chunk.0 as usize] = State::Stale;
                }
            }
            Side::Unknown(_) => self.states.fill(State::Stale),
        }
    }

    /// A chunk to fingerprint ahead of the cut; reported by [`Validation::ahead_done`].
    pub fn next_ahead(&mut self) -> Option<Extent> {
        while let Some(state) = self.states.get_mut(self.cursor) {
            let chunk = ChunkIndex(self.cursor as u32);
            self.cursor += 1;
            let extent = self.map.extent(chunk);
            if matches!(state, State::Wanted) && self.validate.chooses(extent) {
                *state = State::UnderWay;
                return Some(extent);
            }
        }
        None
    }

    /// A chunk that [`Validation::next_ahead`] named has this fingerprint; counts unless it has been
    /// written since.
    pub fn ahead_done(&mut self, extent: Extent, fingerprint: F) {
        let Some(chunk) = self.map.at(extent.start()) else {
            return;
        };
        let state = &mut self.states[chunk.0 as usize];
        if matches!(state, State::UnderWay) {
            *state = State::Known(fingerprint);
        }
    }

    /// The cut, with what is promised: the chunks whose fingerprints are to be taken now, before
    /// anything runs, and reported by [`Validation::taken`]. Empties what was known before.
    pub fn cut(&mut self, tracked: &[Extent]) -> Result<Vec<Extent>, ChunkMapError> {
        let now = ChunkMap::new(tracked.iter().copied(), self.chunk_bytes)?;
        let mut wanted = Vec::new();
        self.at_cut.clear();
        for chunk in now.iter() {
            let extent = now.extent(chunk);
            if !self.validate.chooses(extent) {
                continue;
            }
            let known = self.map.at(extent.start()).and_then(|before| {
                match self.states[before.0 as usize] {
                    State::Known(known) if self.map.extent(before) == extent => Some(known),
                    _ => None,
                }
            });
            match known {
                Some(known) => {
                    self.ahead_bytes += extent.len();
                    self.enter(extent, known, true);
                }
                None => wanted.push(extent),
            }
        }
        Ok(wanted)
    }

    /// A chunk that [`Validation::cut`] named has this fingerprint.
    pub fn taken(&mut self, extent: Extent, fingerprint: F) {
        self.enter(extent, fingerprint, false);
    }

    fn enter(&mut self, extent: Extent, fingerprint: F, ahead: bool) {
        let at_cut = AtCut {
            len: extent.len(),
            fingerprint,
            ahead,
        };
        self.at_cut.insert(extent.start(), at_cut);
    }

    /// The fingerprint of a chunk at the cut, if one was taken.
    pub fn of(&self, extent: Extent) -> Option<F> {
        let at_cut = self.at_cut.get(&extent.start())?;
        (at_cut.len == extent.len()).then_some(at_cut.fingerprint)
    }

    /// The chunks in these bytes, those whose fingerprints are of the cut itself first. Of the others
    /// it is not known whether a write that was missed came after the cut: no launch since then is to
    /// be suspected.
    pub fn of_the_cut(&self, bytes: &[Extent]) -> (Vec<Extent>, Vec<Extent>) {
        let chunks = bytes.iter().flat_map(|bytes| {
            let before_end = self.at_cut.range(..bytes.end()).rev();
            before_end.take_while(|(start, at_cut)| **start + at_cut.len > bytes.start())
        });
        let (ahead, at_cut): (Vec<_>, Vec<_>) = chunks.partition(|(_, at_cut)| at_cut.ahead);
        let extents = |chunks: Vec<(&u64, &AtCut<F>)>| {
            let extents = chunks.into_iter();
            extents
                .filter_map(|(start, at_cut)| Extent::with_len(*start, at_cut.len).ok())
                .collect()
        };
        (extents(at_cut), extents(ahead))
    }

    /// Bytes at the cut whose fingerprint was known before.
    pub fn ahead_bytes(&self) -> u64 {
        self.ahead_bytes
    }
}

impl Validate {
    fn chooses(self, chunk: Extent) -> bool {
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

    fn validation(validate: Validate) -> Validation<u32> {
        Validation::begin(validate, vec![extent(0x1000, 0x1400)], 0x100).unwrap()
    }

    #[test]
    fn what_was_written_since_is_done_at_the_cut() {
        let mut validation = validation(Validate::Full);
        let ahead: Vec<Extent> = std::iter::from_fn(|| validation.next_ahead()).collect();
        assert_eq!(ahead.len(), 4);
        // Written while under way, and after.
        validation.written(&extent(0x1100, 0x1101).into());
        for (number, chunk) in ahead.iter().enumerate() {
            validation.ahead_done(*chunk, number as u32);
        }
        validation.written(&extent(0x12ff, 0x1300).into());
        // One allocation is new at the cut.
        let tracked = [extent(0x1000, 0x1400), extent(0x2000, 0x2080)];
        let wanted = validation.cut(&tracked).unwrap();
        let expected = [
            extent(0x1100, 0x1200),
            extent(0x1200, 0x1300),
            extent(0x2000, 0x2080),
        ];
        assert_eq!(wanted, expected);
        assert_eq!(validation.of(extent(0x1000, 0x1100)), Some(0));
        assert_eq!(validation.of(extent(0x1100, 0x1200)), None);
        validation.taken(extent(0x1100, 0x1200), 7);
        assert_eq!(validation.of(extent(0x1100, 0x1200)), Some(7));
        assert_eq!(validation.of(extent(0x1000, 0x1080)), None, "another chunk");
        assert_eq!(validation.ahead_bytes(), 0x200);
        let (at_cut, before) = validation.of_the_cut(&[extent(0x1080, 0x1200)]);
        assert_eq!(at_cut, [extent(0x1100, 0x1200)]);
        assert_eq!(before, [extent(0x1000, 0x1100)]);
        let (at_cut, before) = validation.of_the_cut(&[extent(0x1300, 0x1301)]);
        assert_eq!((at_cut.len(), before.len()), (0, 1));
    }

    #[test]
    fn an_allocation_of_another_size_is_another_chunk() {
        let mut validation = validation(Validate::Full);
        while let Some(chunk) = validation.next_ahead() {
            validation.ahead_done(chunk, 1);
        }
        let wanted = validation.cut(&[extent(0x1000, 0x1380)]).unwrap();
        assert_eq!(wanted, [extent(0x1300, 0x1380)]);
        validation.written(&Side::Unknown(Reason::NotAnalysed));
        assert_eq!(validation.cut(&[extent(0x1000, 0x1400)]).unwrap().len(), 4);
    }

    #[test]
    fn samples_are_some_and_others_with_another_seed() {
        let chosen = |validate| {
            let tracked = vec![extent(0, 0x100 * 4096)];
            let mut all = Validation::<u32>::begin(validate, Vec::new(), 0x100).unwrap();
            all.cut(&tracked).unwrap()
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
