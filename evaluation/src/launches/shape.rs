//! Why a launch was predicted to write more than it has written, as far as the bytes tell.

use strobe_extent::{Extent, ExtentSet};

/// What a part of device memory was predicted as, and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// The whole allocation was predicted: its index has no bound.
    pub whole: bool,
    pub written: Pattern,
}

/// How the bytes lie that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// There are none.
    Nothing,
    /// All together.
    OneRun,
    /// Runs of one length at one distance: columns of a matrix.
    Strided,
    /// At any places: it may be data that says where.
    Scattered,
}

impl Shape {
    /// In words.
    pub fn text(self) -> String {
        let predicted = if self.whole {
            "whole allocation"
        } else {
            "part of an allocation"
        };
        let written = match self.written {
            Pattern::Nothing => "nothing written",
            Pattern::OneRun => "one run written",
            Pattern::Strided => "strided runs written",
            Pattern::Scattered => "scattered runs written",
        };
        format!("{predicted}, {written}")
    }
}

/// Needless bytes of each allocation, by shape.
pub(super) fn shapes(
    predicted: &ExtentSet,
    written: &ExtentSet,
    allocations: impl Iterator<Item = Extent>,
) -> Vec<(Shape, u64)> {
    let of_allocation = |allocation: Extent| {
        let inside: ExtentSet = predicted.within(allocation).collect();
        let touched: ExtentSet = written.within(allocation).collect();
        let needless = inside.subtract(&touched).bytes();
        let shape = Shape {
            whole: inside.bytes() == allocation.len(),
            written: pattern(&touched),
        };
        (needless > 0).then_some((shape, needless))
    };
    allocations.filter_map(of_allocation).collect()
}

fn pattern(written: &ExtentSet) -> Pattern {
    let runs: Vec<Extent> = written.iter().collect();
    match runs[..] {
        [] => Pattern::Nothing,
        [_] => Pattern::OneRun,
        [first, second, ..] => {
            let distance = second.start() - first.start();
            let mut pairs = runs.windows(2);
            let even = pairs.all(|pair| {
                pair[1].start() - pair[0].start() == distance && pair[0].len() == first.len()
            });
            // The last may be cut off.
            let last = runs[runs.len() - 1];
            if even && last.len() <= first.len() {
                Pattern::Strided
            } else {
                Pattern::Scattered
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_what_was_unbounded_and_what_is_a_hull() {
        let extent = |start, end| Extent::new(start, end).unwrap();
        let all = |extents: &[(u64, u64)]| -> ExtentSet {
            extents
                .iter()
                .map(|&(start, end)| extent(start, end))
                .collect()
        };
        let shape = |predicted: &[(u64, u64)], written: &[(u64, u64)]| {
            let allocation = extent(0, 1000);
            let shapes = shapes(&all(predicted), &all(written), [allocation].into_iter());
            shapes
                .first()
                .map(|(shape, bytes)| (shape.whole, shape.written, *bytes))
        };
        let (whole, part) = ([(0, 1000)], [(0, 500)]);
        assert_eq!(
            shape(&whole, &[(0, 10)]),
            Some((true, Pattern::OneRun, 990))
        );
        assert_eq!(shape(&whole, &[]), Some((true, Pattern::Nothing, 1000)));
        let column = [(0, 4), (100, 104), (200, 202)];
        assert_eq!(shape(&part, &column), Some((false, Pattern::Strided, 490)));
        let some = [(0, 4), (100, 104), (150, 154)];
        assert_eq!(shape(&part, &some), Some((false, Pattern::Scattered, 488)));
        assert_eq!(shape(&part, &part), None);
    }
}
