//! The bytes that one side of an access may touch.

use crate::extent::Extent;
use crate::set::ExtentSet;
use crate::strided::{Cover, Strided};
use std::fmt;

/// Patterns that are kept; of more, all between their blocks counts.
const PATTERNS: usize = 16;

/// Extents and strided patterns. A byte may be in several patterns, and in an extent as well. Patterns are cut into
/// what somebody wants (chunks, blocks) as late as possible, since there may be millions of blocks in a few words.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ByteSet {
    extents: ExtentSet,
    /// Most have none, and many of those are remembered. `Some` is not empty.
    #[allow(clippy::box_collection, reason = "one word where there is none")]
    patterns: Option<Box<Vec<Strided>>>,
}

impl ByteSet {
    /// No byte; allocates nothing.
    pub const fn new() -> ByteSet {
        ByteSet {
            extents: ExtentSet::new(),
            patterns: None,
        }
    }

    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty() && self.patterns.is_none()
    }

    /// The bytes that are held as extents.
    pub fn extents(&self) -> &ExtentSet {
        &self.extents
    }

    /// The other bytes.
    pub fn patterns(&self) -> &[Strided] {
        self.patterns.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Adds the bytes of `extent`.
    pub fn insert(&mut self, extent: Extent) {
        self.extents.insert(extent);
        self.leave_out_contained();
    }

    /// Patterns whose bytes are all in an extent say nothing.
    fn leave_out_contained(&mut self) {
        if let Some(patterns) = &mut self.patterns {
            patterns.retain(|pattern| !self.extents.contains(pattern.hull()));
            if patterns.is_empty() {
                self.patterns = None;
            }
        }
    }

    /// Adds the blocks of a pattern.
    pub fn insert_strided(&mut self, strided: Strided) {
        if self.extents.contains(strided.hull()) {
            return;
        }
        let mut patterns = self.patterns.take().unwrap_or_default();
        let mut cover = Cover::Strided(strided);
        // What has grown may join the next.
        while let Cover::Strided(grown) = cover
            && let Some((at, both)) = patterns
                .iter()
                .enumerate()
                .find_map(|(at, known)| Some((at, known.joined(&grown)?)))
        {
            patterns.swap_remove(at);
            cover = both;
        }
        let extent = match cover {
            Cover::Extent(extent) => Some(extent),
            Cover::Strided(grown) if patterns.len() < PATTERNS => {
                patterns.push(grown);
                None
            }
            Cover::Strided(grown) => Some(grown.hull()),
        };
        self.patterns = (!patterns.is_empty()).then_some(patterns);
        if let Some(extent) = extent {
            self.insert(extent);
        }
    }

    /// Adds what a cover holds.
    pub fn insert_cover(&mut self, cover: Cover) {
        match cover {
            Cover::Extent(extent) => self.insert(extent),
            Cover::Strided(strided) => self.insert_strided(strided),
        }
    }

    /// Adds every byte of `other`.
    pub fn union_with(&mut self, other: &ByteSet) {
        self.extents.union_with(&other.extents);
        self.leave_out_contained();
        for pattern in other.patterns() {
            self.insert_strided(*pattern);
        }
    }

    /// Whether `extent` shares a byte with it.
    pub fn overlaps(&self, extent: Extent) -> bool {
        self.extents.overlaps(extent) || self.patterns().iter().any(|one| one.overlaps(extent))
    }

    /// Whether every byte of `extent` is in it, in one extent or one block.
    pub fn contains(&self, extent: Extent) -> bool {
        self.extents.contains(extent) || self.patterns().iter().any(|one| one.contains(extent))
    }

    /// Whether it shares a byte with `other`. Of patterns it may say so wrongly: [`Strided::meets`].
    pub fn meets(&self, other: &ByteSet) -> bool {
        let (few, many) = if self.extents.runs() <= other.extents.runs() {
            (&self.extents, &other.extents)
        } else {
            (&other.extents, &self.extents)
        };
        few.iter().any(|extent| many.overlaps(extent))
            || self.crosses(&other.extents)
            || other.crosses(&self.extents)
            || self
                .patterns()
                .iter()
                .any(|one| other.patterns().iter().any(|another| one.meets(another)))
    }

    /// Whether a pattern shares a byte with a set.
    fn crosses(&self, extents: &ExtentSet) -> bool {
        self.patterns().iter().any(|one| {
            let mut near = extents.within(one.hull());
            near.any(|extent| one.overlaps(extent))
        })
    }

    /// All extents that hold something of it, sorted; for each pattern that has more than `most` blocks, one extent. That
    /// is all its bytes and no other one, where there is no such pattern.
    pub fn flat(&self, most: u64) -> ExtentSet {
        if self.patterns.is_none() {
            return self.extents.clone();
        }
        let mut all: Vec<Extent> = self.extents.iter().collect();
        for pattern in self.patterns() {
            if pattern.blocks() <= most {
                all.extend(pattern.iter());
            } else {
                all.push(pattern.hull());
            }
        }
        all.into_iter().collect()
    }
}

impl From<ExtentSet> for ByteSet {
    fn from(extents: ExtentSet) -> ByteSet {
        ByteSet {
            extents,
            patterns: None,
        }
    }
}

impl fmt::Display for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.extents.iter())
            .entries(self.patterns())
            .finish()
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(start: u64, block: u64, stride: u64, count: u64) -> Cover {
        Cover::new(start, block, [(stride, count)]).expect("a cover")
    }

    #[test]
    fn columns_side_by_side_become_one_and_then_all() {
        let mut bytes = ByteSet::new();
        for column in [0, 8, 12, 4] {
            bytes.insert_cover(every(column, 4, 16, 10));
        }
        assert!(bytes.patterns().is_empty(), "{bytes}");
        assert_eq!(bytes.extents(), &Extent::new(0, 160).unwrap().into());
        bytes.insert_cover(every(20, 4, 16, 3));
        assert!(bytes.patterns().is_empty(), "it is in the extent");
        bytes.insert_cover(every(256, 4, 16, 3));
        bytes.insert_cover(every(304, 4, 16, 3));
        assert_eq!(bytes.patterns().len(), 1, "{bytes}");
        bytes.insert(Extent::new(160, 512).unwrap());
        assert!(bytes.patterns().is_empty(), "{bytes}");
    }

    #[test]
    fn of_many_patterns_all_between_counts() {
        let mut bytes = ByteSet::new();
        for at in 0..40 {
            bytes.insert_cover(every(at * 1000, 1, 7 + at, 5));
        }
        assert_eq!(bytes.patterns().len(), PATTERNS);
        let held = |address| bytes.contains(Extent::with_len(address, 1).unwrap());
        assert!(held(0) && !held(1) && held(7), "a pattern");
        assert!(
            (0..185).all(|at| held(39_000 + at)) && !held(39_185),
            "a hull"
        );
        assert_eq!(
            bytes.flat(5).bytes(),
            16 * 5 + (16..40).map(|at| (7 + at) * 4 + 1).sum::<u64>()
        );
        assert_eq!(bytes.flat(4).runs(), 40);
    }

    #[test]
    fn meeting_is_sharing_a_byte_however_it_is_held() {
        let of = |covers: &[Cover]| {
            let mut bytes = ByteSet::new();
            covers.iter().for_each(|cover| bytes.insert_cover(*cover));
            bytes
        };
        let row = of(&[every(0, 4, 16, 10)]);
        let next = of(&[every(4, 4, 16, 10)]);
        let between = of(&[every(8, 4, 1, 1), every(24, 4, 1, 1)]);
        let last = of(&[every(147, 1, 1, 1)]);
        for (a, b, meet) in [
            (&row, &next, false),
            (&row, &between, false),
            (&row, &last, true),
            (&between, &last, false),
            (&row, &row, true),
            (&row, &ByteSet::new(), false),
        ] {
            assert_eq!((a.meets(b), b.meets(a)), (meet, meet), "{a} {b}");
        }
        let mut both = row.clone();
        both.union_with(&next);
        assert_eq!(both.flat(100).bytes(), 80);
        assert!(both.contains(Extent::new(16, 24).unwrap()));
    }
}
