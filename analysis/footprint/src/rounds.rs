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

/// Rounds of a loop that goes on while its counter is at most `last`, and multiplies it by `times`
/// each time.
pub(crate) fn rounds_growing(start: i128, times: i128, last: i128, after: bool) -> Option<i128> {
    if start < 1 || times < 2 {
        return None;
    }
    let mut counter = if after { start * times } else { start };
    let mut rounds = 0;
    while counter <= last {
        counter *= times;
        rounds += 1;
    }
    Some(rounds)
}

/// Rounds of a loop that goes on while its counter is at least `least`, and shifts it right each time.
pub(crate) fn rounds_shrinking(start: i128, by: u32, least: i128, after: bool) -> Option<i128> {
    if start < 0 || least < 1 {
        return None;
    }
    let mut counter = if after { start >> by } else { start };
    let mut rounds = 0;
    while counter >= least {
        counter >>= by;
        rounds += 1;
    }
    Some(rounds)
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

    #[test]
    fn loops_that_scale_their_counter_count_their_rounds() {
        // i = 1; do { } while ((i *= 2) < 100): goes round with 2, 4, ... 64.
        assert_eq!(rounds_growing(1, 2, 99, true), Some(6));
        assert_eq!(rounds_growing(1, 2, 99, false), Some(7));
        assert_eq!(rounds_growing(100, 2, 99, false), Some(0));
        assert_eq!(rounds_growing(0, 2, 99, false), None, "0 stays 0");
        // i = 64; do { } while ((i >>= 1) != 0): with 32, 16, ... 1.
        assert_eq!(rounds_shrinking(64, 1, 1, true), Some(6));
        assert_eq!(rounds_shrinking(64, 1, 1, false), Some(7));
        assert_eq!(rounds_shrinking(64, 2, 4, false), Some(3));
        assert_eq!(rounds_shrinking(64, 1, 0, true), None, "0 is enough");
    }
}
