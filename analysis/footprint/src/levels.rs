//! Sums of steps: what a range that is one interval with one step cannot say.
//!
//! A column and a row each have their stride, and an element of a part of a matrix is the sum of both. As one interval that is all
//! between the first element and the last; its levels say which of it.

/// Levels that are kept of a sum. Of more, the finest become one.
const MOST: usize = 3;

/// The integers `sum of k * stride`, for all `k` from 0 to `times` of each level. Fewer than two levels are none: the step
/// of the range says it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Levels {
    /// Ascending; behind the last level 0.
    strides: [u64; MOST],
    times: [u32; MOST],
}

/// A stride and how often it may be taken.
type Level = (u64, u64);

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Levels {
    pub(crate) const NONE: Self = Self {
        strides: [0; MOST],
        times: [0; MOST],
    };

    pub(crate) fn is_none(self) -> bool {
        self.strides[0] == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Level> {
        let all = self.strides.into_iter().zip(self.times);
        let all = all.take_while(|(stride, _)| *stride > 0);
        all.map(|(stride, times)| (stride, times.into()))
    }

    /// Of all sums of one of these and one of those.
    pub(crate) fn sum(
        own: impl Iterator<Item = Level>,
        other: impl Iterator<Item = Level>,
    ) -> Self {
        let mut all = [(0, 0); 2 * MOST];
        let mut len = 0;
        for level in own.chain(other) {
            let at = all[..len].partition_point(|known| known.0 <= level.0);
            all.copy_within(at..len, at + 1);
            all[at] = level;
            len += 1;
        }
        // What leaves no gap between the steps of a finer one is more of it.
        let mut kept = 0;
        for at in 0..len {
            let (stride, times) = all[at];
            let goes_on = |(finer, so_far): Level| {
                stride.is_multiple_of(finer) && stride / finer <= so_far.saturating_add(1)
            };
            match all[..kept].iter().rposition(|known| goes_on(*known)) {
                Some(finer) => {
                    let more = (stride / all[finer].0).saturating_mul(times);
                    all[finer].1 = all[finer].1.saturating_add(more);
                }
                None => {
                    all[kept] = (stride, times);
                    kept += 1;
                }
            }
        }
        while kept > MOST {
            let [(a, n), (b, m)] = [all[0], all[1]];
            let step = gcd(a, b);
            let times = (a / step).saturating_mul(n);
            all[1] = (step, times.saturating_add((b / step).saturating_mul(m)));
            all.copy_within(1..kept, 0);
            kept -= 1;
        }
        if kept < 2 {
            return Self::NONE;
        }
        let mut levels = Self::NONE;
        for (at, (stride, times)) in all[..kept].iter().enumerate() {
            let Ok(times) = u32::try_from(*times) else {
                return Self::NONE;
            };
            levels.strides[at] = *stride;
            levels.times[at] = times;
        }
        levels
    }

    /// Of all products with a factor.
    pub(crate) fn scaled(self, factor: u64) -> Self {
        let mut levels = self;
        for stride in &mut levels.strides {
            match stride.checked_mul(factor) {
                Some(scaled) => *stride = scaled,
                None => return Self::NONE,
            }
        }
        levels
    }
}
