//! What is known of the content of small pieces of device memory: tables of pointers that kernels follow.
//!
//! Content becomes known when the program copies it there from the host and the copy is over, and when a
//! kernel is launched of which it can be computed what it stores; in both cases only where nothing that was
//! enqueued before, and may be under way still, may overwrite it (the graph says so). It
//! stays known as long as nothing that may have written it was enqueued since, "may write anything"
//! included, in the order of the calls. What a launch leaves is there for what happens after it, as far
//! as that is known: on its stream, and where something has waited for it. At a cut nothing is under way,
//! so what was known once is looked up again, and so is what was asked for in vain.
//!
//! The program's CPU writes device memory as well, where a large BAR maps it, and nobody sees that:
//! a host callback may fill a table after the launch that follows it. Before a cut that makes a
//! prediction wrong and no image. From the cut on footprints decide what is kept, so then a table
//! that the CPU can reach is not known.

use std::collections::{BTreeMap, VecDeque};
use strobe_extent::{Extent, ExtentSet, Side, StreamId};
use strobe_graph::Sequence;

/// The longest copy that is looked at, in bytes. One that is longer than [`SHORT_COPY`] must begin with a
/// pointer.
pub(crate) const LONGEST_COPY: u64 = 256 << 10;
pub(crate) const SHORT_COPY: usize = 16 << 10;
/// All together, in bytes and pieces.
const ALL_BYTES: u64 = 16 << 20;
const ALL_PIECES: usize = 1 << 14;
/// Blocks of a pattern that are told apart; of one with more, all between them counts.
const BLOCKS: u64 = 1024;
/// What was last asked for in vain.
const WANTED: usize = 64;

/// Pieces by address. They do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_start: BTreeMap<u64, Piece>,
    bytes: u64,
    wanted: VecDeque<Extent>,
    /// Whether images depend on what is known: a checkpoint is being copied.
    must_be_right: bool,
}

#[derive(Clone, Debug)]
struct Piece {
    content: Box<[u8]>,
    /// Whether nothing that was enqueued may have written it since, or still may.
    known: bool,
    /// Whether the CPU can reach it.
    mapped: bool,
    left_by: Option<LeftBy>,
}

/// The launch that leaves a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftBy {
    pub stream: StreamId,
    pub sequence: Sequence,
}

/// How tables are looked up in the program's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Fills a buffer with what is at an address, if the CPU can read it there.
    pub read: fn(u64, &mut [u8]) -> bool,
    /// Whether the CPU can reach an address.
    pub is_mapped: fn(u64) -> bool,
}

impl Tables {
    /// `content` is at `address` now; `known` says whether it stays there, `mapped` whether the CPU can reach
    /// it.
    pub(crate) fn learn(
        &mut self,
        address: u64,
        content: &[u8],
        known: bool,
        mapped: bool,
        left_by: Option<LeftBy>,
    ) {
        let Ok(extent) = Extent::with_len(address, content.len() as u64) else {
            return;
        };
        self.take_out(extent);
        let is_full = self.by_start.len() >= ALL_PIECES;
        if is_full || self.bytes + extent.len() > ALL_BYTES {
            self.by_start.clear();
            self.bytes = 0;
        }
        if extent.len() > ALL_BYTES {
            return;
        }
        let piece = Piece {
            content: content.into(),
            known,
            mapped,
            left_by,
        };
        self.put(address, piece);
    }

    /// Something that may write `writes` was enqueued.
    pub(crate) fn written(&mut self, writes: &Side) {
        let Some(bytes) = writes.known() else {
            self.by_start.values_mut().for_each(|p| p.known = false);
            return;
        };
        let cut;
        let set = if bytes.patterns().is_empty() {
            bytes.extents()
        } else {
            cut = bytes.flat(BLOCKS);
            &cut
        };
        for extent in set.iter() {
            for (start, mut piece) in self.take_out(extent) {
                piece.known = false;
                self.put(start, piece);
            }
        }
        if self.by_start.len() > ALL_PIECES {
            self.by_start.clear();
            self.bytes = 0;
        }
    }

    /// Launches that were announced and are not over may not have happened.
    pub(crate) fn doubt_launches(&mut self, is_over: impl Fn(LeftBy) -> bool) {
        for piece in self.by_start.values_mut() {
            piece.left_by = piece.left_by.filter(|left_by| !is_over(*left_by));
            piece.known &= piece.left_by.is_none();
        }
    }

    /// `extent` was freed.
    pub(crate) fn freed(&mut self, extent: Extent) {
        self.take_out(extent);
        self.wanted.retain(|wanted| !wanted.overlaps(extent));
    }

    /// The content of `[address, address + len)`, if all of it is known to who comes after the launches
    /// that have left it.
    pub(crate) fn known(
        &self,
        address: u64,
        len: usize,
        comes_after: impl Fn(LeftBy) -> bool,
    ) -> Option<Vec<u8>> {
        let end = address.checked_add(len as u64)?;
        let mut content = Vec::with_capacity(len.min(ALL_BYTES as usize));
        let mut asked = None;
        let mut at = address;
        while at < end {
            let (start, piece) = self.by_start.range(..=at).next_back()?;
            let from = usize::try_from(at - start).ok()?;
            let rest = piece.content.get(from..).filter(|rest| !rest.is_empty())?;
            let rest = &rest[..rest.len().min(len - content.len())];
            if !piece.known || (self.must_be_right && piece.mapped) {
                return None;
            }
            if let Some(left_by) = piece.left_by
                && asked != piece.left_by
            {
                if !comes_after(left_by) {
                    return None;
                }
                asked = piece.left_by;
            }
            content.extend_from_slice(rest);
            at += rest.len() as u64;
        }
        Some(content)
    }

    /// Whether the CPU can reach some of it, as far as it is known.
    pub(crate) fn is_mapped(&self, extent: Extent) -> bool {
        let before = self.by_start.range(..=extent.start()).next_back();
        let within = self.by_start.range(extent.start()..extent.end());
        let mut pieces = before.into_iter().chain(within);
        pieces.any(|(start, piece)| {
            piece.mapped && piece.at(*start).is_some_and(|at| at.overlaps(extent))
        })
    }

    /// This was asked for and is not known.
    pub(crate) fn want(&mut self, extent: Extent) {
        self.wanted.retain(|wanted| *wanted != extent);
        if self.wanted.len() == WANTED {
            self.wanted.pop_front();
        }
        self.wanted.push_back(extent);
    }

    /// Nothing is under way: reads everything again that the CPU can read.
    pub(crate) fn look_up_again(&mut self, look: Look) {
        for (start, piece) in &mut self.by_start {
            piece.left_by = None;
            piece.mapped = (look.is_mapped)(*start);
            if piece.mapped {
                piece.known = (look.read)(*start, &mut piece.content);
            }
        }
    }

    /// What is not known and should be, the last wanted first, with no more than so many bytes.
    pub(crate) fn unknown(&self, most: u64) -> Vec<Extent> {
        let wanted = self.wanted.iter().rev().copied();
        let lost = self.by_start.iter().filter(|(_, piece)| !piece.known);
        let lost = lost.filter_map(|(start, piece)| piece.at(*start));
        // Neighbours are one.
        let mut together = ExtentSet::new();
        lost.for_each(|piece| together.insert(piece));
        let mut left = most;
        let mut found: Vec<Extent> = Vec::new();
        for extent in wanted.chain(together.iter()) {
            let is_known = || {
                let content = self.known(extent.start(), extent.len() as usize, |_| true);
                content.is_some()
            };
            let has_it = found.iter().any(|known| known.contains(extent));
            if extent.len() <= left && !has_it && !is_known() {
                left -= extent.len();
                found.push(extent);
            }
        }
        found
    }

    /// From now on, or no longer, images depend on what is known.
    pub(crate) fn must_be_right(&mut self, must: bool) {
        self.must_be_right = must;
    }

    pub(crate) fn clear(&mut self) {
        self.by_start.clear();
        self.bytes = 0;
        self.wanted.clear();
    }

    fn put(&mut self, start: u64, piece: Piece) {
        self.bytes += piece.content.len() as u64;
        self.by_start.insert(start, piece);
    }

    /// Takes out what shares bytes with `extent`, and puts back the ends that do not; what lies inside.
    fn take_out(&mut self, extent: Extent) -> Vec<(u64, Piece)> {
        let first = self.by_start.range(..extent.start()).next_back();
        let from = first.map_or(extent.start(), |(start, _)| *start);
        let touching: Vec<u64> = self
            .by_start
            .range(from..extent.end())
            .filter(|(start, piece)| piece.at(**start).is_some_and(|at| at.overlaps(extent)))
            .map(|(start, _)| *start)
            .collect();
        let mut inside = Vec::new();
        for start in touching {
            let Some(piece) = self.by_start.remove(&start) else {
                continue;
            };
            self.bytes -= piece.content.len() as u64;
            let end = start + piece.content.len() as u64;
            let cut = [extent.start().clamp(start, end), extent.end().min(end)];
            for (from, to) in [(start, cut[0]), (cut[1], end)] {
                if from < to {
                    self.put(from, piece.part(start, from, to));
                }
            }
            inside.push((cut[0], piece.part(start, cut[0], cut[1])));
        }
        inside
    }
}

impl Piece {
    /// Where it is, if it begins at `start`.
    fn at(&self, start: u64) -> Option<Extent> {
        Extent::with_len(start, self.content.len() as u64).ok()
    }

    /// What is of it between two addresses.
    fn part(&self, start: u64, from: u64, to: u64) -> Piece {
        let [from, to] = [from, to].map(|at| (at - start) as usize);
        Piece {
            content: self.content[from..to].into(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_extent::{Cover, Reason};

    fn extent(start: u64, len: u64) -> Extent {
        Extent::with_len(start, len).unwrap()
    }

    fn side(start: u64, len: u64) -> Side {
        extent(start, len).into()
    }

    fn known(tables: &Tables, address: u64, len: usize) -> Option<Vec<u8>> {
        tables.known(address, len, |_| true)
    }

    #[test]
    fn known_until_something_may_have_written_it() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2, 3, 4], true, false, None);
        tables.learn(0x2000, &[5, 6], true, false, None);
        assert_eq!(known(&tables, 0x1001, 2), Some(vec![2, 3]));
        assert_eq!(known(&tables, 0x1002, 3), None, "one byte beyond");
        tables.written(&side(0x1004, 0x100));
        assert!(
            known(&tables, 0x1000, 4).is_some(),
            "next to it is not in it"
        );
        tables.written(&side(0x1003, 1));
        assert_eq!(known(&tables, 0x1000, 4), None);
        assert_eq!(known(&tables, 0x1000, 3), Some(vec![1, 2, 3]));
        assert!(known(&tables, 0x2000, 2).is_some());
        let every_other = |start| {
            let mut side = Side::none();
            side.insert_cover(Cover::new(start, 2, [(4, 100)]).unwrap());
            side
        };
        tables.written(&every_other(0x1ff2));
        assert!(known(&tables, 0x2000, 2).is_some(), "between two blocks");
        tables.written(&every_other(0x1ff0));
        assert_eq!(known(&tables, 0x2000, 2), None);
        tables.learn(0x2000, &[5, 6], true, false, None);
        tables.written(&Side::Unknown(Reason::NotAnalysed));
        assert_eq!(known(&tables, 0x2000, 2), None);
    }

    #[test]
    fn what_is_learned_replaces_what_it_overlaps() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1; 16], true, false, None);
        tables.learn(0x1008, &[2; 16], true, false, None);
        let both: Vec<u8> = [[1; 8], [2; 8]].concat();
        assert_eq!(
            known(&tables, 0x1000, 16),
            Some(both),
            "pieces are put together"
        );
        tables.learn(0x100c, &[3; 2], true, false, None);
        assert_eq!(known(&tables, 0x100b, 4), Some(vec![2, 3, 3, 2]));
        tables.freed(extent(0x1000, 0x100c - 0x1000));
        assert_eq!(known(&tables, 0x100b, 1), None);
        assert_eq!(tables.bytes, 12);
    }

    #[test]
    fn a_hole_is_not_known() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1; 8], true, false, None);
        tables.learn(0x1010, &[1; 8], true, false, None);
        assert_eq!(known(&tables, 0x1000, 24), None);
        assert_eq!(known(&tables, 0xff8, 16), None);
        assert_eq!(known(&tables, u64::MAX, 2), None);
    }

    #[test]
    fn what_a_launch_leaves_is_known_to_what_comes_after_it() {
        let mut tables = Tables::default();
        let left_by = |sequence| {
            Some(LeftBy {
                stream: StreamId(1),
                sequence: Sequence(sequence),
            })
        };
        tables.learn(0x1000, &[1; 8], true, false, left_by(1));
        tables.learn(0x1008, &[2; 8], true, false, left_by(2));
        let after = |last| move |left_by: LeftBy| left_by.sequence <= Sequence(last);
        assert!(tables.known(0x1000, 16, after(2)).is_some());
        assert!(tables.known(0x1000, 16, after(1)).is_none());
        assert!(tables.known(0x1000, 8, after(1)).is_some());
        tables.doubt_launches(after(0));
        assert!(tables.known(0x1000, 8, after(2)).is_none());
        tables.learn(0x1000, &[1; 8], true, false, left_by(3));
        tables.doubt_launches(after(3));
        assert!(tables.known(0x1000, 8, after(0)).is_some(), "it is over");
    }

    #[test]
    fn at_a_cut_all_that_can_be_read_is_read_again() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2], true, true, None);
        tables.learn(0x2000, &[3, 4], true, true, None);
        tables.learn(0x3000, &[5, 6], true, false, None);
        tables.learn(0x4000, &[7, 8], true, false, None);
        tables.written(&side(0x3000, 1));
        tables.freed(extent(0x2000, 0x100));
        tables.look_up_again(Look {
            read: |address, content| {
                assert_eq!(address, 0x1000, "what is freed or private is not read");
                content.fill(9);
                true
            },
            is_mapped: |address| address < 0x3000,
        });
        let written = Some(vec![9, 9]);
        assert_eq!(known(&tables, 0x1000, 2), written, "written by the CPU");
        assert_eq!(known(&tables, 0x3000, 2), None, "it could not be read");
        assert_eq!(known(&tables, 0x4000, 2), Some(vec![7, 8]));
    }

    #[test]
    fn what_was_asked_for_in_vain_is_wanted_as_long_as_it_is_not_known() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1; 16], true, false, None);
        for start in [0x1000, 0x2000, 0x3000] {
            tables.want(extent(start, 8));
        }
        tables.want(extent(0x2000, 8));
        tables.freed(extent(0x3000, 0x1000));
        tables.written(&side(0x1000, 4));
        let unknown = |tables: &Tables, most| {
            let unknown = tables.unknown(most);
            unknown
                .iter()
                .map(|e| (e.start(), e.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(unknown(&tables, 100), [(0x2000, 8), (0x1000, 8)]);
        assert_eq!(unknown(&tables, 8), [(0x2000, 8)]);
        tables.learn(0x2000, &[1; 8], true, false, None);
        assert_eq!(unknown(&tables, 100), [(0x1000, 8)]);
        assert_eq!(unknown(&tables, 4), [(0x1000, 4)], "what was known once");
    }

    #[test]
    fn there_are_not_too_many_pieces() {
        let mut tables = Tables::default();
        tables.learn(0, &vec![1; 1 << 20], true, false, None);
        for at in 0..ALL_PIECES as u64 {
            tables.written(&side(16 * at, 1));
        }
        assert!(tables.by_start.len() <= ALL_PIECES + 2);
        for at in 0..1000 {
            tables.learn(at << 20, &vec![1; 1 << 16], true, false, None);
        }
        assert!(tables.bytes <= ALL_BYTES);
        let bytes = tables.by_start.values().map(|p| p.content.len() as u64);
        assert_eq!(tables.bytes, bytes.sum::<u64>());
    }

    #[test]
    fn while_images_depend_on_it_what_the_cpu_can_write_is_not_known() {
        let mut tables = Tables::default();
        tables.learn(0x1000, &[1, 2], true, true, None);
        tables.must_be_right(true);
        tables.learn(0x2000, &[3, 4], true, true, None);
        tables.learn(0x3000, &[5, 6], true, false, None);
        let is_known = |tables: &Tables| {
            [0x1000, 0x2000, 0x3000].map(|address| known(tables, address, 2).is_some())
        };
        assert_eq!(is_known(&tables), [false, false, true]);
        tables.must_be_right(false);
        assert_eq!(is_known(&tables), [true; 3]);
    }
}
