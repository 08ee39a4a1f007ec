//! Launches, and how well they were predicted.

use strobe_extent::{Access, ExtentSet, Side};

/// Of one kernel, or of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) launches: u64,
    /// Launches whose writes were no "anything".
    pub(crate) writes_exact: u64,
    /// Launches whose reads were none.
    pub(crate) reads_exact: u64,
    /// Bytes that were read and not predicted.
    pub(crate) missed_reads: u64,
    /// Bytes that were written and not predicted.
    pub(crate) missed_writes: u64,
    /// Bytes that each launch whose writes are exact was predicted to write, and has written.
    writes: Vec<[u64; 2]>,
}

impl Tally {
    /// A launch, as predicted and as seen, both in extents.
    pub(crate) fn add(&mut self, predicted: &Access, seen: &Access) {
        self.launches += 1;
        self.writes_exact += u64::from(!predicted.writes.is_unknown());
        self.reads_exact += u64::from(!predicted.reads.is_unknown());
        self.missed_reads += missed(&predicted.reads, &seen.reads);
        self.missed_writes += missed(&predicted.writes, &seen.writes);
        if let (Some(predicted), Some(written)) = (predicted.writes.known(), seen.writes.known()) {
            let bytes = [predicted, written].map(|side| side.extents().bytes());
            self.writes.push(bytes);
        }
    }

    pub(crate) fn missed(&self) -> u64 {
        self.missed_reads.saturating_add(self.missed_writes)
    }

    /// Bytes that exact launches were predicted to write, and did not.
    pub(crate) fn needless(&self) -> u64 {
        let needless = |[predicted, written]: &[u64; 2]| predicted.saturating_sub(*written);
        self.writes.iter().map(needless).sum()
    }

    /// Exact launches that wrote all that was predicted.
    pub(crate) fn to_the_byte(&self) -> usize {
        let same = |[predicted, written]: &&[u64; 2]| predicted == written;
        self.writes.iter().filter(same).count()
    }

    /// Bytes predicted over bytes written, of an exact launch: such that this part of them is no wider. A launch
    /// that wrote nothing of what was predicted is infinitely wide.
    pub(crate) fn width(&self, part: f64) -> Option<f64> {
        let width = |&[predicted, written]: &[u64; 2]| match (predicted, written) {
            (0, 0) => 1.0,
            _ => predicted as f64 / written as f64,
        };
        let mut each: Vec<f64> = self.writes.iter().map(width).collect();
        each.sort_by(f64::total_cmp);
        let index = (each.len() as f64 * part) as usize;
        each.get(index.min(each.len().saturating_sub(1))).copied()
    }
}

fn missed(predicted: &Side, seen: &Side) -> u64 {
    let nothing = ExtentSet::new();
    match predicted {
        Side::Unknown(_) => 0,
        Side::Known(predicted) => {
            let seen = seen.known().map_or(&nothing, |seen| seen.extents());
            seen.subtract(predicted.extents()).bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_launches_in_their_order() {
        let mut tally = Tally::default();
        assert_eq!(tally.width(0.5), None);
        tally.writes = (1..=10).map(|width| [width * 8, 8]).collect();
        assert_eq!(tally.width(0.5), Some(6.0));
        assert_eq!(tally.width(0.9), Some(10.0));
        assert_eq!((tally.needless(), tally.to_the_byte()), (45 * 8, 1));
        tally.writes = vec![[0, 0], [4, 0]];
        assert_eq!(tally.width(0.0), Some(1.0));
        assert_eq!(tally.width(0.9), Some(f64::INFINITY));
    }
}
