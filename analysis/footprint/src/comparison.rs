//! Comparisons of words of which an interval is known.

use crate::expr::Compare;
use crate::range::Range;

/// Whether a comparison of any words of two intervals comes out the same.
pub(crate) fn decide(op: Compare, a: Range, b: Range, bits: u32) -> Option<bool> {
    let (signed, strict) = match op {
        Compare::Eq | Compare::Ne => {
            let (x, y) = (a.unsigned(bits), b.unsigned(bits));
            let equal = if x.single().is_some() && x == y {
                Some(true)
            } else if x.hi < y.lo || y.hi < x.lo {
                Some(false)
            } else {
                let (x, y) = (a.signed(bits), b.signed(bits));
                (x.hi < y.lo || y.hi < x.lo).then_some(false)
            };
            return equal.map(|equal| equal == (op == Compare::Eq));
        }
        Compare::LtU => (false, true),
        Compare::LeU => (false, false),
        Compare::LtS => (true, true),
        Compare::LeS => (true, false),
    };
    let (a, b) = a.both(b, signed, bits);
    if a.hi < b.lo || (!strict && a.hi <= b.lo) {
        Some(true)
    } else if a.lo > b.hi || (strict && a.lo >= b.hi) {
        Some(false)
    } else {
        None
    }
}

/// The words of `range` for which the comparison with some word of `bound` holds. `left`: they
/// stand left.
pub(crate) fn clip(
    op: Compare,
    left: bool,
    range: Range,
    bound: Range,
    bits: u32,
) -> Option<Range> {
    let (signed, strict) = match op {
        Compare::Eq => {
            let (a, b) = (range.unsigned(bits), bound.unsigned(bits));
            return Some(a.within(b.lo, b.hi)?.reduce(bits));
        }
        Compare::Ne => {
            let Some(other) = bound.single() else {
                return Some(range);
            };
            let modulus = 1_i128 << bits;
            let mut kept = range;
            if (kept.lo - other).rem_euclid(modulus) == 0 {
                kept = kept.within(kept.lo + 1, kept.hi)?;
            }
            if (kept.hi - other).rem_euclid(modulus) == 0 {
                kept = kept.within(kept.lo, kept.hi - 1)?;
            }
            return Some(kept.reduce(bits));
        }
        Compare::LtU => (false, 1),
        Compare::LeU => (false, 0),
        Compare::LtS => (true, 1),
        Compare::LeS => (true, 0),
    };
    let (kept, bound) = range.both(bound, signed, bits);
    let kept = if left {
        kept.within(kept.lo, bound.hi - strict)
    } else {
        kept.within(bound.lo + strict, kept.hi)
    };
    Some(kept?.reduce(bits))
}
