//! Floats of 64 bits, as far as it is known what they are made of: [`crate::floats`] follows them.

use serde::{Deserialize, Serialize};

use crate::live::Live;
use crate::node::Id;

/// What an instruction rounds by at most, of its result.
pub(crate) const ROUNDED: f64 = f64::EPSILON;

/// What is followed is no further from 1 than so many times: then neither it nor what the machine has is beyond all floats,
/// or loses bits at their lower end, whichever power of the root of an integer of 64 bits it is taken with.
const FAR: f64 = (1u64 << 63) as f64;
/// How far from 1 what is taken for 1 may be: the bounds of one way to a root are some thousand times narrower.
const NEAR: f64 = 1.0 / (1 << 16) as f64;

/// Numbers, with both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

impl Bounds {
    pub(crate) const ONE: Self = Self { lo: 1.0, hi: 1.0 };

    pub(crate) fn times(self, other: Self) -> Self {
        let all = [
            self.lo * other.lo,
            self.lo * other.hi,
            self.hi * other.lo,
            self.hi * other.hi,
        ];
        Self {
            lo: all.into_iter().fold(f64::INFINITY, f64::min),
            hi: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
        }
    }

    /// What is rounded to that, by the machine, and the bounds here.
    pub(crate) fn off_by(self, error: f64) -> Self {
        let most = self.lo.abs().max(self.hi.abs());
        Self {
            lo: self.lo - most * (error + ROUNDED),
            hi: self.hi + most * (error + ROUNDED),
        }
    }

    /// Whether floats that are so many times a power of a root are as exact as others. (No number is not.)
    fn is_followed(self) -> bool {
        let most = self.lo.abs().max(self.hi.abs());
        self.lo <= self.hi && (1.0 / FAR..=FAR).contains(&most)
    }

    /// Whether it is 1 but for what was rounded.
    pub(crate) fn is_one(self) -> bool {
        (1.0 - NEAR..=1.0).contains(&self.lo) && (1.0..=1.0 + NEAR).contains(&self.hi)
    }

    pub(crate) fn negated(self) -> Self {
        Self {
            lo: -self.hi,
            hi: -self.lo,
        }
    }
}

/// A float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Double {
    /// An integer of 32 bits.
    Word {
        word: Id,
        signed: bool,
    },
    /// A word, 2^32 times.
    Upper(Id),
    Power(Power),
    /// A number times a root, less 1.
    LessOne(Power),
    /// Half of that.
    Half(Power),
}

/// A number times a power of the root of an integer, which is taken without a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Power {
    pub(crate) of: Id,
    /// 2 for the integer itself, 0 for the number alone.
    pub(crate) roots: i8,
    pub(crate) number: Bounds,
    /// It is so if the integer is 0, too.
    pub(crate) of_zero: bool,
}

impl Double {
    /// The word, or the integer, that it is made of.
    pub(crate) fn word(&self) -> Id {
        match *self {
            Self::Word { word, .. } | Self::Upper(word) => word,
            Self::Power(power) | Self::LessOne(power) | Self::Half(power) => power.of,
        }
    }
}

impl Power {
    /// If it can be followed.
    pub(crate) fn checked(self) -> Option<Self> {
        self.number.is_followed().then_some(self)
    }

    pub(crate) fn is_root(&self) -> bool {
        self.roots == 1 && self.of_zero
    }

    /// A product with a power of the same integer's root.
    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let roots = self.roots + other.roots;
        let is_one = self.of == other.of && (-2..=2).contains(&roots);
        let product = is_one.then(|| Self {
            of: self.of,
            roots,
            number: self.number.times(other.number).off_by(ROUNDED),
            of_zero: self.of_zero && other.of_zero,
        });
        product?.checked()
    }
}

/// Half of the root of an integer, which is so many times the root for all that is known, less 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Root {
    /// The float: another one of the same integer, as near to its root, may be rounded otherwise.
    pub(crate) of: Id,
    pub(crate) number: Bounds,
    /// Rounded down; else what comes behind the point is left out.
    pub(crate) floored: bool,
    /// The integer is a sum of these words of 64 bits, with the low halves of each.
    pub(crate) terms: Vec<(Id, Id, i128)>,
    pub(crate) constant: i128,
}

impl Root {
    pub(crate) fn keep(&self, live: &Live) -> Self {
        let terms = self.terms.iter();
        let terms = terms.map(|(whole, low, factor)| (live.node(*whole), live.node(*low), *factor));
        Self {
            of: live.node(self.of),
            terms: terms.collect(),
            ..*self
        }
    }
}
