//! Launches, and how well their footprints held against what they have done.

use strobe_extent::{Access, ExtentSet, Side};

/// Of one kernel, or of all.
#[derive(Clone, Debug, Default)]
pub struct LaunchTally {
    /// All of them.
    pub launches: u64,
    /// Launches whose writes were no "anything".
    pub writes_exact: u64,
    /// Launches whose reads were none.
    pub reads_exact: u64,
    /// Bytes that were read and not predicted.
    pub missed_reads: u64,
    /// Bytes that were written and not predicted.
    pub missed_writes: u64,
    /// Bytes that each launch whose writes are exact was predicted to write, and has written.
    writes: Vec<[u64; 2]>,
}

impl LaunchTally {
    /// A launch, as predicted and as seen.
    pub fn add(&mut self, predicted: &Access, seen: &Access) {
        self.launches += 1;
        self.writes_exact += u64::from(!predicted.writes.is_unknown());
        self.reads_exact += u64::from(!predicted.reads.is_unknown());
        self.missed_reads = self
            .missed_reads
            .saturating_add(missed(&predicted.reads, &seen.reads));
        self.missed_writes = self
            .missed_writes
            .saturating_add(missed(&predicted.writes, &seen.writes));
        if let (Some(predicted), Some(written)) =
            (predicted.writes.extents(), seen.writes.extents())
        {
            self.writes.push([predicted.bytes(), written.bytes()]);
        }
    }

    /// Bytes that were touched and not predicted.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed_reads.saturating_add(self.missed_writes)
    }

    /// Bytes that all exact launches together were predicted to write, and have written.
    #[must_use]
    pub fn written(&self) -> [u64; 2] {
        let sum =
            |[a, b]: [u64; 2], [c, d]: &[u64; 2]| [a.saturating_add(*c), b.saturating_add(*d)];
        self.writes.iter().fold([0; 2], sum)
    }

    /// Bytes that exact launches were predicted to write, and did not.
    #[must_use]
    pub fn needless(&self) -> u64 {
        let needless = |[predicted, written]: &[u64; 2]| predicted.saturating_sub(*written);
        self.writes.iter().map(needless).sum()
    }

    /// Adds the launches of another.
    pub fn merge(&mut self, other: &Self) {
        self.launches += other.launches;
        self.writes_exact += other.writes_exact;
        self.reads_exact += other.reads_exact;
        self.missed_reads = self.missed_reads.saturating_add(other.missed_reads);
        self.missed_writes = self.missed_writes.saturating_add(other.missed_writes);
        self.writes.extend_from_slice(&other.writes);
    }

    /// Exact launches that wrote all that was predicted.
    #[must_use]
    pub fn to_the_byte(&self) -> usize {
        let same = |[predicted, written]: &&[u64; 2]| predicted == written;
        self.writes.iter().filter(same).count()
    }

    /// Bytes predicted over bytes written, of an exact launch: such that this part of them is no wider. A launch
    /// that wrote nothing of what was predicted is infinitely wide.
    #[must_use]
    pub fn width(&self, part: f64) -> Option<f64> {
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
        Side::Extents(predicted) => {
            let seen = seen.extents().unwrap_or(&nothing);
            seen.subtract(predicted).bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_launches_in_their_order() {
        let mut tally = LaunchTally::default();
        assert_eq!(tally.width(0.5), None);
        tally.writes = (1..=10).map(|width| [width * 8, 8]).collect();
        assert_eq!(tally.width(0.5), Some(6.0));
        assert_eq!(tally.width(0.9), Some(10.0));
        assert_eq!((tally.needless(), tally.to_the_byte()), (45 * 8, 1));
        assert_eq!(tally.written(), [55 * 8, 80]);
        let mut twice = tally.clone();
        twice.merge(&tally);
        assert_eq!((twice.needless(), twice.width(0.5)), (90 * 8, Some(6.0)));
        tally.writes = vec![[0, 0], [4, 0]];
        assert_eq!(tally.width(0.0), Some(1.0));
        assert_eq!(tally.width(0.9), Some(f64::INFINITY));
    }
}
