//! A set of bytes as sorted, disjoint, non-adjacent extents.

use crate::extent::Extent;
use std::fmt;

/// A set of byte addresses. Members are sorted, disjoint and never adjacent, so equal sets compare
/// equal. Look-ups are logarithmic; an insertion in the middle moves the members behind it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ExtentSet {
    members: Vec<Extent>,
}

impl ExtentSet {
    /// The empty set; allocates nothing.
    pub const fn new() -> ExtentSet {
        ExtentSet {
            members: Vec::new(),
        }
    }

    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// How many maximal runs of bytes it holds.
    pub fn runs(&self) -> usize {
        self.members.len()
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.members.iter().map(|e| e.len()).sum()
    }

    /// The maximal runs, in address order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Extent> + ExactSizeIterator + '_ {
        self.members.iter().copied()
    }

    /// The smallest extent that holds the whole set.
    pub fn hull(&self) -> Option<Extent> {
        let (first, last) = (self.members.first()?, self.members.last()?);
        Extent::new(first.start(), last.end()).ok()
    }

    /// Removes everything and keeps the allocation.
    pub fn clear(&mut self) {
        self.members.clear();
    }

    /// Adds the bytes of `extent`.
    pub fn insert(&mut self, extent: Extent) {
        // The common case while a footprint is built: ascending addresses.
        match self.members.last() {
            Some(last) if last.end() >= extent.start() => {}
            _ => return self.members.push(extent),
        }
        let from = self.members.partition_point(|m| m.end() < extent.start());
        let to = self.members.partition_point(|m| m.start() <= extent.end());
        if from == to {
            self.members.insert(from, extent);
            return;
        }
        let start = extent.start().min(self.members[from].start());
        let end = extent.end().max(self.members[to - 1].end());
        self.members[from] = Extent::new(start, end).expect("a union of extents is not empty");
        self.members.drain(from + 1..to);
    }

    /// Takes the bytes of `extent` out.
    pub fn remove(&mut self, extent: Extent) {
        let span = self.overlapping(extent);
        let Some(first) = self.members.get(span.start).filter(|_| !span.is_empty()) else {
            return;
        };
        let last = self.members[span.end - 1];
        let before = Extent::new(first.start(), extent.start()).ok();
        let after = Extent::new(extent.end(), last.end()).ok();
        self.members.splice(span, before.into_iter().chain(after));
    }

    /// Adds every byte of `other`.
    pub fn union_with(&mut self, other: &ExtentSet) {
        match other.members.as_slice() {
            [] => {}
            [one] => self.insert(*one),
            _ if self.is_empty() => self.members.clone_from(&other.members),
            _ => {
                let mut all = std::mem::take(&mut self.members);
                all.extend_from_slice(&other.members);
                *self = all.into_iter().collect();
            }
        }
    }

    /// The bytes in either set.
    pub fn union(&self, other: &ExtentSet) -> ExtentSet {
        let mut result = self.clone();
        result.union_with(other);
        result
    }

    /// The bytes in both sets.
    pub fn intersect(&self, other: &ExtentSet) -> ExtentSet {
        let (mut a, mut b) = (
            self.members.iter().peekable(),
            other.members.iter().peekable(),
        );
        let mut members = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            members.extend(x.intersect(**y));
            if x.end() <= y.end() {
                a.next();
            } else {
                b.next();
            }
        }
        ExtentSet { members }
    }

    /// The bytes of this set that are not in `other`.
    pub fn subtract(&self, other: &ExtentSet) -> ExtentSet {
        let mut members = Vec::with_capacity(self.members.len());
        let mut cuts = other.members.as_slice();
        for whole in &self.members {
            let mut start = whole.start();
            while let [cut, rest @ ..] = cuts {
                if cut.start() >= whole.end() {
                    break;
                }
                members.extend(Extent::new(start, cut.start()));
                start = start.max(cut.end());
                if cut.end() > whole.end() {
                    // It may reach into the next member too.
                    break;
                }
                cuts = rest;
            }
            members.extend(Extent::new(start, whole.end()));
        }
        ExtentSet { members }
    }

    /// Whether the byte at `address` is in the set.
    pub fn contains_address(&self, address: u64) -> bool {
        let at = self.members.partition_point(|m| m.end() <= address);
        self.members.get(at).is_some_and(|m| m.start() <= address)
    }

    /// Whether every byte of `extent` is in the set.
    pub fn contains(&self, extent: Extent) -> bool {
        let at = self.members.partition_point(|m| m.end() <= extent.start());
        self.members.get(at).is_some_and(|m| m.contains(extent))
    }

    /// Whether every byte of `other` is in the set.
    pub fn contains_all(&self, other: &ExtentSet) -> bool {
        other.members.iter().all(|e| self.contains(*e))
    }

    /// Whether the set and `extent` share a byte.
    pub fn overlaps(&self, extent: Extent) -> bool {
        !self.overlapping(extent).is_empty()
    }

    /// The parts of the set inside `extent`, in address order.
    pub fn within(&self, extent: Extent) -> impl Iterator<Item = Extent> + '_ {
        let span = self.overlapping(extent);
        self.members[span]
            .iter()
            .filter_map(move |m| m.intersect(extent))
    }

    fn overlapping(&self, extent: Extent) -> std::ops::Range<usize> {
        let from = self.members.partition_point(|m| m.end() <= extent.start());
        let to = self.members.partition_point(|m| m.start() < extent.end());
        from..to.max(from)
    }
}

impl From<Extent> for ExtentSet {
    fn from(extent: Extent) -> ExtentSet {
        ExtentSet {
            members: vec![extent],
        }
    }
}

impl FromIterator<Extent> for ExtentSet {
    fn from_iter<I: IntoIterator<Item = Extent>>(extents: I) -> ExtentSet {
        let mut sorted: Vec<Extent> = extents.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, kept| {
            let joins = next.start() <= kept.end();
            if joins && next.end() > kept.end() {
                *kept = Extent::new(kept.start(), next.end()).expect("grows a non-empty extent");
            }
            joins
        });
        ExtentSet { members: sorted }
    }
}

impl Extend<Extent> for ExtentSet {
    fn extend<I: IntoIterator<Item = Extent>>(&mut self, extents: I) {
        for extent in extents {
            self.insert(extent);
        }
    }
}

impl fmt::Display for ExtentSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.members).finish()
    }
}

impl fmt::Debug for ExtentSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn e(start: u64, end: u64) -> Extent {
        Extent::new(start, end).unwrap()
    }

    fn set(bits: u32) -> ExtentSet {
        (0..10)
            .filter(|b| bits >> b & 1 == 1)
            .map(|b| e(b, b + 1))
            .collect()
    }

    fn bits(set: &ExtentSet) -> u32 {
        set.iter()
            .flat_map(|e| e.start()..e.end())
            .fold(0, |acc, b| acc | 1 << b)
    }

    fn assert_canonical(set: &ExtentSet) {
        assert!(
            set.members.windows(2).all(|w| w[0].end() < w[1].start()),
            "{set} is not canonical"
        );
    }

    /// Every pair of sets over ten bytes, against bit operations.
    #[test]
    fn algebra_agrees_with_bits() {
        for a in (0..1024u32).step_by(3) {
            for b in 0..1024u32 {
                let (x, y) = (set(a), set(b));
                for (got, want, name) in [
                    (x.union(&y), a | b, "union"),
                    (x.intersect(&y), a & b, "intersect"),
                    (x.subtract(&y), a & !b, "subtract"),
                ] {
                    assert_canonical(&got);
                    assert_eq!(bits(&got), want, "{name} of {x} and {y}");
                }
                assert_eq!(x.contains_all(&y), a & b == b, "{x} contains {y}");
            }
        }
    }

    /// Every extent over ten bytes, inserted into and removed from every set.
    #[test]
    fn insert_and_remove_agree_with_bits() {
        for a in 0..1024u32 {
            for start in 0..10 {
                for end in start + 1..=10 {
                    let mask = (1u32 << end) - (1 << start);
                    let mut grown = set(a);
                    grown.insert(e(start, end));
                    assert_canonical(&grown);
                    assert_eq!(
                        bits(&grown),
                        a | mask,
                        "insert {} into {}",
                        e(start, end),
                        set(a)
                    );
                    let mut cut = set(a);
                    cut.remove(e(start, end));
                    assert_canonical(&cut);
                    assert_eq!(
                        bits(&cut),
                        a & !mask,
                        "remove {} from {}",
                        e(start, end),
                        set(a)
                    );
                    assert_eq!(set(a).overlaps(e(start, end)), a & mask != 0);
                    assert_eq!(set(a).contains(e(start, end)), a & mask == mask);
                    let within: ExtentSet = set(a).within(e(start, end)).collect();
                    assert_eq!(bits(&within), a & mask);
                }
            }
            assert!((0..10).all(|b| set(a).contains_address(b) == (a >> b & 1 == 1)));
        }
    }

    #[test]
    fn counts_bytes_and_runs() {
        let set: ExtentSet = [e(8, 12), e(0, 4), e(2, 6), e(12, 13)]
            .into_iter()
            .collect();
        assert_eq!(
            (set.runs(), set.bytes(), set.hull()),
            (2, 11, Some(e(0, 13)))
        );
        assert_eq!(ExtentSet::new().hull(), None);
    }
}
