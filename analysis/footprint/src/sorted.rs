//! Values by place, in the order of the places.
//!
//! States are cloned, compared and gone through far more often than a place is new to them, so the places stand in a
//! vector.

use std::ops::{Index, RangeInclusive};

use crate::expr::Id;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sorted<K>(Vec<(K, Id)>);

impl<K> Default for Sorted<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord> Sorted<K> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn find(&self, place: &K) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if last < place => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.cmp(place)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, place: &K) -> Option<&Id> {
        self.find(place).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, place: &K) -> Option<&mut Id> {
        self.find(place).ok().map(|at| &mut self.0[at].1)
    }

    /// What is there; it may stand where it stands in another that has the same places.
    pub(crate) fn get_near(&self, place: &K, near: usize) -> Option<&Id> {
        match self.0.get(near) {
            Some((there, value)) if there == place => Some(value),
            _ => self.get(place),
        }
    }

    pub(crate) fn contains_key(&self, place: &K) -> bool {
        self.find(place).is_ok()
    }

    /// Says how many places have moved.
    pub(crate) fn insert(&mut self, place: K, value: Id) -> usize {
        match self.find(&place) {
            Ok(at) => {
                self.0[at].1 = value;
                0
            }
            Err(at) => {
                self.0.insert(at, (place, value));
                self.0.len() - at - 1
            }
        }
    }

    pub(crate) fn remove(&mut self, place: &K) {
        if let Ok(at) = self.find(place) {
            self.0.remove(at);
        }
    }

    pub(crate) fn retain(&mut self, keeps: impl Fn(&K) -> bool) {
        self.0.retain(|(place, _)| keeps(place));
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(place, _)| place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &Id)> {
        self.0.iter().map(|(place, value)| (place, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut Id)> {
        self.0.iter_mut().map(|(place, value)| (&*place, value))
    }

    /// Those from one place to another.
    pub(crate) fn range(&self, range: RangeInclusive<K>) -> &[(K, Id)] {
        let from = self.0.partition_point(|(place, _)| place < range.start());
        let behind = &self.0[from..];
        &behind[..behind.partition_point(|(place, _)| place <= range.end())]
    }
}

impl<K: Copy + Ord> Extend<(K, Id)> for Sorted<K> {
    fn extend<I: IntoIterator<Item = (K, Id)>>(&mut self, more: I) {
        for (place, value) in more {
            self.insert(place, value);
        }
    }
}

impl<K: Copy + Ord> Index<&K> for Sorted<K> {
    type Output = Id;

    fn index(&self, place: &K) -> &Id {
        self.get(place).expect("a place that is there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_in_their_order() {
        let mut sorted = Sorted::new();
        let moved = [8, 4, 12, 4].map(|place| sorted.insert(place, Id(place)));
        assert_eq!(moved, [0, 1, 0, 0]);
        assert!(sorted.keys().eq(&[4, 8, 12]));
        assert_eq!((sorted.get(&8), sorted.get(&9)), (Some(&Id(8)), None));
        assert_eq!(sorted.range(5..=12), [(8, Id(8)), (12, Id(12))]);
        sorted.remove(&8);
        sorted.remove(&9);
        assert!(sorted.keys().eq(&[4, 12]));
        sorted.retain(|place| *place > 4);
        assert_eq!(sorted[&12], Id(12));
        assert_eq!(sorted.len(), 1);
    }
}
