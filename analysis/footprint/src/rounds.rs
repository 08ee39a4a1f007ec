//! How often a loop goes round.

use crate::range::Range;

/// How often a loop goes round at most, if that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) lane: Option<i128>,
    pub(crate) wave: Option<i128>,
}

/// Rounds of a loop that ends when its counter is equal to the bound.
pub(crate) fn rounds_until(
    start: Range,
    step: i128,
    bound: Range,
    after: bool,
    bits: u32,
) -> Option<i128> {
    let (start, bound) = if step > 0 {
        (start, bound)
    } else {
        // Mirror it.
        (
            Range::span(-start.hi, -start.lo),
            Range::span(-bound.hi, -bound.lo),
        )
    };
    let step = step.abs();
    let modulus = 1_i128 << bits;
    // Nothing may stand between that steps over the bound.
    let exact = match (start.single(), bound.single()) {
        (Some(start), Some(bound)) => (bound - start) % step == 0,
        _ => step == 1,
    };
    let first = if after { start.hi + 1 } else { start.hi };
    if !exact || bound.lo < first || bound.hi - start.lo >= modulus {
        return None;
    }
    let steps = (bound.hi - start.lo) / step;
    Some(if after { steps - 1 } else { steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_until_equal_count_their_rounds() {
        let one = Range::exactly;
        // i = 0; do { } while (++i != 10): goes round 9 times.
        assert_eq!(rounds_until(one(0), 1, one(10), true, 32), Some(9));
        // while (i != 10) { ++i }: 10 times.
        assert_eq!(rounds_until(one(0), 1, one(10), false, 32), Some(10));
        assert_eq!(rounds_until(one(64), -4, one(0), true, 32), Some(15));
        assert_eq!(
            rounds_until(one(0), 3, one(10), true, 32),
            None,
            "it steps over 10"
        );
        assert_eq!(
            rounds_until(one(10), 1, one(10), true, 32),
            None,
            "it wraps first"
        );
        assert_eq!(
            rounds_until(Range::span(0, 63), 1, one(100), true, 32),
            Some(99)
        );
        assert_eq!(rounds_until(Range::span(0, 63), 1, one(32), true, 32), None);
    }
}
