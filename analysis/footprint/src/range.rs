//! Intervals of machine words.
//!
//! A [`Range`] stands for the words `{ x mod 2^bits : x = lo, lo + step, ..., hi }`. Sums and products
//! are taken on integers and only then reduced, so a negative offset is a small range and not a wrapped
//! one. In the normal form `lo` is a signed word, `-2^(bits-1) <= lo < 2^(bits-1)`, and `hi` is less
//! than `lo + 2^bits`; what does not fit is every word.
//!
//! Steps keep the fields of records apart: a table of pairs is read at every sixteenth byte, and what
//! stands between is none of the values.

use crate::levels::Levels;

/// An interval of integers, standing for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) lo: i128,
    pub(crate) hi: i128,
    /// 0 if there is just one; a divisor of `hi - lo`.
    pub(crate) step: i128,
    /// Which of these integers, by their way from `lo`; `hi` is the last. All, if there are none.
    pub(crate) levels: Levels,
}

fn gcd(a: i128, b: i128) -> i128 {
    if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
        // By far the most, and several times as fast.
        let (mut a, mut b) = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        return a.into();
    }
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

impl Range {
    pub(crate) fn exactly(value: i128) -> Self {
        Self::stepped(value, value, 0)
    }

    /// As it is given: in one level.
    pub(crate) const fn stepped(lo: i128, hi: i128, step: i128) -> Self {
        let levels = Levels::NONE;
        Self {
            lo,
            hi,
            step,
            levels,
        }
    }

    /// All integers from `lo` to `hi`.
    pub(crate) fn span(lo: i128, hi: i128) -> Self {
        Self::stepped(lo, hi, i128::from(lo != hi))
    }

    /// Every word.
    pub(crate) fn full(bits: u32) -> Self {
        Self::span(0, (1 << bits) - 1)
    }

    /// `lo` and every `step`-th integer after it up to `hi`; all of them if `step` is 0.
    pub(crate) fn from(lo: i128, hi: i128, step: i128) -> Self {
        let step = step.max(1);
        let hi = lo + (hi - lo) / step * step;
        let step = if lo == hi { 0 } else { step };
        Self::stepped(lo, hi, step)
    }

    /// `hi` and every `step`-th integer before it down to `lo`.
    pub(crate) fn back_from(hi: i128, lo: i128, step: i128) -> Self {
        let step = step.max(1);
        let lo = hi - (hi - lo) / step * step;
        let step = if lo == hi { 0 } else { step };
        Self::stepped(lo, hi, step)
    }

    /// Strides and how often they may be taken: what is added to `lo`. `None` if that is not known in 64 bits.
    pub(crate) fn ways(self) -> Option<impl Iterator<Item = (u64, u64)>> {
        let own = if self.levels.is_none() && self.lo != self.hi {
            let step = u64::try_from(self.step).ok()?;
            Some((step, u64::try_from((self.hi - self.lo) / self.step).ok()?))
        } else {
            None
        };
        Some(own.into_iter().chain(self.levels.iter()))
    }

    /// What divides all of its integers.
    pub(crate) fn divisor(self) -> i128 {
        self.divisor_with(0)
    }

    /// What divides all of its integers and another one.
    pub(crate) fn divisor_with(self, other: i128) -> i128 {
        gcd(gcd(self.lo, self.step), other)
    }

    /// Whether all integers of another are among its own.
    pub(crate) fn holds(self, other: Self) -> bool {
        let on_step = |way: i128| match self.step {
            0 => way == 0,
            step => way % step == 0,
        };
        self.lo <= other.lo
            && other.hi <= self.hi
            && on_step(other.lo - self.lo)
            && on_step(other.step)
            && (self.levels.is_none() || self == other)
    }

    /// Those of its integers that are not below `lo` nor above `hi`.
    pub(crate) fn within(self, lo: i128, hi: i128) -> Option<Self> {
        if lo <= self.lo && self.hi <= hi {
            return Some(self);
        }
        let step = self.step.max(1);
        let below = (lo - self.lo).max(0);
        let above = (self.hi - hi).max(0);
        let lo = self.lo + (below + step - 1) / step * step;
        let hi = self.hi - (above + step - 1) / step * step;
        (lo <= hi).then(|| Self::stepped(lo, hi, if lo == hi { 0 } else { step }))
    }

    pub(crate) fn is_full(self, bits: u32) -> bool {
        self.hi - self.lo >= (1 << bits) - 1
    }

    /// Whether all are multiples of 4.
    pub(crate) fn is_of_words(self) -> bool {
        self.lo % 4 == 0 && self.step % 4 == 0
    }

    pub(crate) fn single(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The normal form of the words in `[lo, hi]`.
    pub(crate) fn wrap(lo: i128, hi: i128, bits: u32) -> Self {
        if hi < lo {
            return Self::full(bits);
        }
        Self::span(lo, hi).reduce(bits)
    }

    /// The normal form.
    pub(crate) fn reduce(self, bits: u32) -> Self {
        let modulus = 1_i128 << bits;
        if self.hi - self.lo >= modulus - 1 {
            return Self::full(bits);
        }
        let half = modulus >> 1;
        let down = (self.lo + half).div_euclid(modulus) * modulus;
        self.shifted(-down)
    }

    pub(crate) fn shifted(self, by: i128) -> Self {
        Self {
            lo: self.lo + by,
            hi: self.hi + by,
            ..self
        }
    }

    /// As unsigned integers.
    pub(crate) fn unsigned(self, bits: u32) -> Self {
        let modulus = 1_i128 << bits;
        if self.lo >= 0 && self.hi < modulus {
            self
        } else if self.hi < 0 {
            self.shifted(modulus)
        } else {
            Self::full(bits)
        }
    }

    /// As signed integers.
    pub(crate) fn signed(self, bits: u32) -> Self {
        let (modulus, half) = (1_i128 << bits, 1_i128 << (bits - 1));
        if self.lo >= -half && self.hi < half {
            self
        } else if self.lo >= half && self.hi < modulus {
            self.shifted(-modulus)
        } else {
            Self::span(-half, half - 1)
        }
    }

    pub(crate) fn hull(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        Self::stepped(
            self.lo.min(other.lo),
            self.hi.max(other.hi),
            gcd(gcd(self.step, other.step), self.lo - other.lo),
        )
    }

    /// Of sums, and of differences: it is the same whichever end one counts from.
    fn levels_with(self, other: Self) -> Levels {
        if other.lo == other.hi {
            return self.levels;
        }
        if self.lo == self.hi {
            return other.levels;
        }
        match (self.ways(), other.ways()) {
            (Some(own), Some(its)) => Levels::sum(own, its),
            _ => Levels::NONE,
        }
    }

    pub(crate) fn add(self, other: Self, bits: u32) -> Self {
        let sum = Self {
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
            step: gcd(self.step, other.step),
            levels: self.levels_with(other),
        };
        sum.reduce(bits)
    }

    pub(crate) fn sub(self, other: Self, bits: u32) -> Self {
        let difference = Self {
            lo: self.lo - other.hi,
            hi: self.hi - other.lo,
            step: gcd(self.step, other.step),
            levels: self.levels_with(other),
        };
        difference.reduce(bits)
    }

    /// Product of integers, unreduced; factors of up to 64 bits.
    fn product(self, other: Self) -> Option<Self> {
        let (mut lo, mut hi) = (i128::MAX, i128::MIN);
        for a in [self.lo, self.hi] {
            for b in [other.lo, other.hi] {
                let corner = a.checked_mul(b)?;
                (lo, hi) = (lo.min(corner), hi.max(corner));
            }
        }
        if lo == hi {
            return Some(Self::exactly(lo));
        }
        // (a + i s) (b + j t) = ab + i sb + j ta + ij st.
        let steps = [
            self.step.checked_mul(other.lo),
            other.step.checked_mul(self.lo),
            self.step.checked_mul(other.step),
        ];
        let step = steps
            .into_iter()
            .try_fold(0, |all, step| Some(gcd(all, step?)))
            .unwrap_or(1);
        let levels = match (self.single(), other.single()) {
            (None, Some(factor)) => self
                .levels
                .scaled(u64::try_from(factor.unsigned_abs()).ok()?),
            (Some(factor), None) => other
                .levels
                .scaled(u64::try_from(factor.unsigned_abs()).ok()?),
            _ => Levels::NONE,
        };
        Some(Self {
            lo,
            hi,
            step,
            levels,
        })
    }

    pub(crate) fn mul(self, other: Self, bits: u32) -> Self {
        self.product(other)
            .map_or(Self::full(bits), |p| p.reduce(bits))
    }

    /// High word of the product of unsigned words.
    pub(crate) fn mul_high_unsigned(self, other: Self) -> Self {
        let (a, b) = (self.unsigned(32), other.unsigned(32));
        Self::wrap((a.lo * b.lo) >> 32, (a.hi * b.hi) >> 32, 32)
    }

    /// The quotient of unsigned words.
    pub(crate) fn divided_by(self, by: Self) -> Self {
        let (a, by) = (self.unsigned(32), by.unsigned(32));
        if by.lo == 0 {
            return Self::full(32);
        }
        let (lo, hi) = (a.lo / by.hi, a.hi / by.lo);
        // Those that are divided without a rest are as far apart as their quotients are.
        match by.single().filter(|by| a.step % by == 0 && lo != hi) {
            Some(by) => Self::from(lo, hi, a.step / by).reduce(32),
            None => Self::wrap(lo, hi, 32),
        }
    }

    /// What that leaves.
    pub(crate) fn rest_by(self, by: Self) -> Self {
        let (a, by) = (self.unsigned(32), by.unsigned(32));
        if by.lo == 0 {
            return Self::full(32);
        }
        if a.hi < by.lo {
            return a.reduce(32);
        }
        let Some(by) = by.single() else {
            return Self::wrap(0, a.hi.min(by.hi - 1), 32);
        };
        let whole = a.lo / by * by;
        if a.hi - whole < by {
            return a.shifted(-whole).reduce(32);
        }
        let step = gcd(a.step, by);
        let lo = a.lo % step;
        Self::from(lo, (by - 1).min(a.hi), step).reduce(32)
    }

    pub(crate) fn mul_high_signed(self, other: Self) -> Self {
        match self.signed(32).product(other.signed(32)) {
            Some(p) => Self::wrap(p.lo >> 32, p.hi >> 32, 32),
            None => Self::full(32),
        }
    }

    /// Shift counts, as the machine takes them.
    fn count(self, bits: u32) -> Self {
        let count = self.unsigned(32);
        if count.hi < i128::from(bits) {
            count
        } else if let Some(count) = count.single() {
            Self::exactly(count & i128::from(bits - 1))
        } else {
            Self::span(0, i128::from(bits - 1))
        }
    }

    pub(crate) fn shl(self, by: Self, bits: u32) -> Self {
        let by = by.count(bits);
        let (lo, hi) = (1_i128 << by.lo, 1_i128 << by.hi);
        let step = if lo == hi { 0 } else { lo };
        self.mul(Self::stepped(lo, hi, step), bits)
    }

    pub(crate) fn shr(self, by: Self, bits: u32) -> Self {
        let (value, by) = (self.unsigned(bits), by.count(bits));
        Self::wrap(value.lo >> by.hi, value.hi >> by.lo, bits)
    }

    pub(crate) fn sar(self, by: Self, bits: u32) -> Self {
        let (value, by) = (self.signed(bits), by.count(bits));
        let corners = [
            value.lo >> by.lo,
            value.lo >> by.hi,
            value.hi >> by.lo,
            value.hi >> by.hi,
        ];
        let (lo, hi) = corners.iter().fold((i128::MAX, i128::MIN), |(lo, hi), &c| {
            (lo.min(c), hi.max(c))
        });
        Self::wrap(lo, hi, bits)
    }

    pub(crate) fn and(self, other: Self, bits: u32) -> Self {
        for (value, mask) in [(self, other), (other, self)] {
            // Clearing low bits is monotonous, signed and unsigned.
            if let Some(mask) = mask.signed(bits).single()
                && mask < 0
                && (-mask).count_ones() == 1
            {
                if value.lo % mask == 0 && value.step % mask == 0 {
                    // They are clear.
                    return value.reduce(bits);
                }
                let (lo, hi) = (value.lo & mask, value.hi & mask);
                let step = if lo == hi { 0 } else { -mask };
                return Self::stepped(lo, hi, step).reduce(bits);
            }
            // Low bits of a range that does not leave a block of that size.
            if let Some(mask) = mask.unsigned(bits).single()
                && (mask + 1).count_ones() == 1
                && value.lo >> (mask + 1).trailing_zeros()
                    == value.hi >> (mask + 1).trailing_zeros()
            {
                return value.shifted((value.lo & mask) - value.lo).reduce(bits);
            }
        }
        let (a, b) = (self.unsigned(bits), other.unsigned(bits));
        let zeros = a.zeros(bits).max(b.zeros(bits));
        let same = a.same_bits(bits).min(b.same_bits(bits)).max(zeros);
        let low = a.lo & b.lo & ((1 << same) - 1) & -(1 << zeros);
        Self::from(low, a.hi.min(b.hi), 1 << same).reduce(bits)
    }

    /// Low bits that are the same in all words.
    fn same_bits(self, bits: u32) -> u32 {
        self.step.trailing_zeros().min(bits)
    }

    /// Low bits that are 0 in all words.
    fn zeros(self, bits: u32) -> u32 {
        (self.lo | self.step).trailing_zeros().min(bits)
    }

    /// Whether one has only zeros, below a power of two, and the other nothing but that: bitwise it is a sum.
    pub(crate) fn is_disjoint(self, other: Self, bits: u32) -> bool {
        let (a, b) = (self.unsigned(bits), other.unsigned(bits));
        a.hi < 1 << b.zeros(bits) || b.hi < 1 << a.zeros(bits)
    }

    /// Those of its words that are among others.
    pub(crate) fn among(self, others: Self, bits: u32) -> Option<Self> {
        let modulus = 1_i128 << bits;
        let around = [-modulus, 0, modulus].map(|by| others.shifted(by));
        let mut meets = around
            .into_iter()
            .filter(|others| others.lo <= self.hi && self.lo <= others.hi);
        match (meets.next(), meets.next()) {
            (None, _) => None,
            (Some(others), None) => Some(self.within(others.lo, others.hi)?.reduce(bits)),
            (Some(_), Some(_)) => Some(self),
        }
    }

    pub(crate) fn or(self, other: Self, bits: u32) -> Self {
        let (a, b) = (self.unsigned(bits), other.unsigned(bits));
        if self.is_disjoint(other, bits) {
            return a.add(b, bits);
        }
        let sum = (a.hi + b.hi).min((1 << bits) - 1);
        Self::wrap(a.lo.max(b.lo), sum, bits)
    }

    pub(crate) fn xor(self, other: Self, bits: u32) -> Self {
        if let (Some(a), Some(b)) = (self.unsigned(bits).single(), other.unsigned(bits).single()) {
            return Self::wrap(a ^ b, a ^ b, bits);
        }
        if other.signed(bits).single() == Some(-1) {
            // Complement: -1 - x.
            return Self::wrap(-1 - self.hi, -1 - self.lo, bits);
        }
        let (a, b) = (self.unsigned(bits), other.unsigned(bits));
        // No bit above the highest of either, and those below the steps are always the same.
        let top = 128 - (a.hi | b.hi).leading_zeros();
        let same = a.same_bits(bits).min(b.same_bits(bits)).min(top);
        let low = (a.lo ^ b.lo) & ((1 << same) - 1);
        Self::from(low, low + (1 << top) - (1 << same), 1 << same).reduce(bits)
    }

    pub(crate) fn min(self, other: Self, signed: bool, bits: u32) -> Self {
        let (a, b) = self.both(other, signed, bits);
        Self::wrap(a.lo.min(b.lo), a.hi.min(b.hi), bits)
    }

    pub(crate) fn max(self, other: Self, signed: bool, bits: u32) -> Self {
        let (a, b) = self.both(other, signed, bits);
        Self::wrap(a.lo.max(b.lo), a.hi.max(b.hi), bits)
    }

    pub(crate) fn both(self, other: Self, signed: bool, bits: u32) -> (Self, Self) {
        if signed {
            (self.signed(bits), other.signed(bits))
        } else {
            (self.unsigned(bits), other.unsigned(bits))
        }
    }

    /// Sign extension from the low `from` bits to 32.
    pub(crate) fn sign(self, from: u32) -> Self {
        self.reduce(from).signed(from).reduce(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All words of a range of 5-bit words, as a bit set.
    fn words(range: Range) -> u32 {
        assert!(
            range.hi >= range.lo && range.hi - range.lo < 32,
            "{range:?}"
        );
        integers(range).fold(0, |set, x| set | 1 << (x.rem_euclid(32)))
    }

    fn integers(range: Range) -> std::vec::IntoIter<i128> {
        assert_eq!((range.hi - range.lo) % range.step.max(1), 0, "{range:?}");
        assert_eq!(range.step == 0, range.lo == range.hi, "{range:?}");
        let mut all = vec![range.lo];
        for (stride, times) in range.ways().expect("small numbers") {
            all = (0..=i128::from(times))
                .flat_map(|time| all.iter().map(move |x| x + i128::from(stride) * time))
                .collect();
        }
        assert_eq!(all.last(), Some(&range.hi), "{range:?}");
        let on_step = |x: &i128| (x - range.lo) % range.step.max(1) == 0;
        assert!(all.iter().all(on_step), "{range:?}");
        all.into_iter()
    }

    fn ranges() -> impl Iterator<Item = Range> {
        let of = |lo: i128, step: i128, count: i128| {
            Range::stepped(lo, lo + step * count, if count == 0 { 0 } else { step })
        };
        (-16..16).flat_map(move |lo| {
            let spans = (0..32).step_by(5).map(move |n| Range::wrap(lo, lo + n, 5));
            let steps = [(2, 3), (3, 2), (4, 4), (8, 2), (6, 3)];
            let sums = [((1, 1), (5, 2)), ((2, 2), (7, 2)), ((3, 1), (8, 3))];
            let sums = sums.map(move |((a, n), (b, m))| of(lo, a, n).add(of(0, b, m), 5));
            let stepped = steps.map(move |(step, n)| of(lo, step, n).reduce(5));
            spans.chain(stepped).chain(sums)
        })
    }

    fn signed(x: i128) -> i128 {
        (x & 31) - if x & 16 != 0 { 32 } else { 0 }
    }

    /// Every operation on every pair of words of every pair of ranges lands in the result.
    #[test]
    fn operations_contain_every_result() {
        type Case = (
            &'static str,
            fn(Range, Range) -> Range,
            fn(i128, i128) -> i128,
        );
        let cases: [Case; 12] = [
            ("add", |a, b| a.add(b, 5), |x, y| x + y),
            ("sub", |a, b| a.sub(b, 5), |x, y| x - y),
            ("mul", |a, b| a.mul(b, 5), |x, y| x * y),
            ("and", |a, b| a.and(b, 5), |x, y| x & y),
            ("or", |a, b| a.or(b, 5), |x, y| (x & 31) | (y & 31)),
            ("xor", |a, b| a.xor(b, 5), |x, y| (x & 31) ^ (y & 31)),
            (
                "minu",
                |a, b| a.min(b, false, 5),
                |x, y| (x & 31).min(y & 31),
            ),
            (
                "maxu",
                |a, b| a.max(b, false, 5),
                |x, y| (x & 31).max(y & 31),
            ),
            (
                "mins",
                |a, b| a.min(b, true, 5),
                |x, y| signed(x).min(signed(y)),
            ),
            (
                "maxs",
                |a, b| a.max(b, true, 5),
                |x, y| signed(x).max(signed(y)),
            ),
            ("hull", |a, b| a.hull(b).reduce(5), |x, _| x),
            (
                "sign",
                |a, _| Range::wrap(a.lo, a.hi, 4).signed(4),
                |x, _| ((x & 15) ^ 8) - 8,
            ),
        ];
        for (name, on_ranges, on_words) in cases {
            for a in ranges() {
                for b in ranges() {
                    let result = on_ranges(a, b);
                    let set = words(result);
                    for x in integers(a) {
                        for y in integers(b) {
                            let word = on_words(x, y).rem_euclid(32);
                            assert!(
                                set >> word & 1 == 1,
                                "{name} {a:?} {b:?}: {x} {y} not in {result:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn shifts_contain_every_result() {
        for lo in [-5_i128, 0, 7, i128::from(u32::MAX) - 3] {
            for width in [0, 1, 9] {
                let value = Range::wrap(lo, lo + width, 32);
                for by in [
                    Range::exactly(0),
                    Range::exactly(3),
                    Range::span(1, 31),
                    Range::exactly(35),
                ] {
                    for x in value.lo..=value.hi {
                        for count in by.lo..=by.hi {
                            let (word, count) = (x as u32, count as u32 & 31);
                            let inside = |range: Range, y: u32| {
                                (range.lo..=range.hi).contains(&y.into())
                                    || (range.lo..=range.hi).contains(&(y as i32).into())
                                    || range.is_full(32)
                            };
                            assert!(inside(value.shl(by, 32), word << count), "{x} << {count}");
                            assert!(inside(value.shr(by, 32), word >> count), "{x} >> {count}");
                            let sar = ((word as i32) >> count) as u32;
                            assert!(inside(value.sar(by, 32), sar), "{x} sar {count}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sums_keep_their_strides() {
        let row = Range::span(0, 15).shl(Range::exactly(2), 64);
        let column = Range::span(0, 9).mul(Range::exactly(-1000), 64);
        let part = row.add(column, 64).add(Range::exactly(1 << 40), 64);
        let ways: Vec<(u64, u64)> = part.ways().expect("small numbers").collect();
        assert_eq!(ways, [(4, 15), (1000, 9)]);
        assert_eq!(part.lo, (1 << 40) - 9000);
        // Work-groups of so many items, and the next rows.
        let groups = Range::span(0, 3).mul(Range::exactly(64), 64);
        let next = Range::span(0, 1).mul(Range::exactly(10_000), 64);
        let more = part.add(groups, 64).sub(next, 64);
        let ways: Vec<(u64, u64)> = more.ways().expect("small numbers").collect();
        assert_eq!(ways, [(4, 63), (1000, 19)]);
        assert_eq!(more.within(0, 1 << 41), Some(more));
        assert!(
            more.within(1 << 40, 1 << 41)
                .expect("some")
                .levels
                .is_none()
        );
        // A fourth stride takes the place of the finest.
        let strides =
            [3, 50, 1700, 60_000].map(|stride| Range::span(0, 4).mul(Range::exactly(stride), 64));
        let all = strides.into_iter().reduce(|all, one| all.add(one, 64));
        let ways: Vec<(u64, u64)> = all.expect("some").ways().expect("small").collect();
        assert_eq!(ways, [(1, 212), (1700, 4), (60_000, 4)]);
    }

    #[test]
    fn what_is_cut_off_stays_in_step() {
        let range = Range::stepped(-4, 20, 8);
        let cut = range.within(0, 13).expect("4 and 12");
        assert_eq!((cut.lo, cut.hi, cut.step), (4, 12, 8));
        assert_eq!(range.within(-100, 4).expect("-4 and 4").hi, 4);
        assert_eq!(range.within(5, 11), None);
    }

    #[test]
    fn negative_offsets_stay_small_and_wide_ones_become_everything() {
        let index = Range::span(0, 1023);
        let minus_four = Range::wrap(0xffff_fffc, 0xffff_fffc, 32);
        assert_eq!(index.add(minus_four, 32), Range::span(-4, 1019));
        assert!(
            index.add(minus_four, 32).unsigned(32).is_full(32),
            "it wraps below zero"
        );
        let wide = Range::span(0, 1 << 31);
        assert!(wide.shl(Range::exactly(2), 32).is_full(32));
        let words = index.shl(Range::exactly(2), 32);
        assert_eq!((words.lo, words.hi, words.step), (0, 4092, 4));
        let records = words
            .add(Range::exactly(4096), 32)
            .mul(Range::exactly(6), 64);
        assert_eq!((records.lo, records.step), (24_576, 24));
    }
}
