//! What an operation may read and write: the one type between the analysis and the engine.

use crate::byte_set::ByteSet;
use crate::extent::Extent;
use crate::set::ExtentSet;
use crate::strided::Cover;
use std::fmt;

/// What one operation on the GPU may read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Every byte it may read.
    pub reads: Side,
    /// Every byte it may write.
    pub writes: Side,
}

/// One side of an [`Access`]. `Known` is a promise: nothing outside is touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// Only these bytes may be touched.
    Known(ByteSet),
    /// Anything may be touched, for the reason given.
    Unknown(Reason),
}

/// Why a footprint could not be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// An address was loaded from memory that does not count as known.
    PointerFromMemory,
    /// The code calls or jumps to an address that could not be resolved.
    UnresolvedCall,
    /// The analysis reached its limit of steps or of extents.
    Budget,
    /// An address has lost its origin in arithmetic that is not modelled.
    UntrackedAddress,
    /// The code is for a target, by name, whose code is not analysed.
    Target(&'static str),
    /// Nobody has analysed the code (yet).
    NotAnalysed,
    /// The code is made or changed at run time.
    DynamicCode,
    /// It has been found to write what its footprint did not say.
    Distrusted,
    /// Something else, in words.
    Other(&'static str),
}

impl Access {
    /// Touches nothing.
    pub const fn none() -> Access {
        Access {
            reads: Side::none(),
            writes: Side::none(),
        }
    }

    /// May touch anything.
    pub const fn unknown(reason: Reason) -> Access {
        Access {
            reads: Side::Unknown(reason),
            writes: Side::Unknown(reason),
        }
    }

    /// Whether both sides are known.
    pub fn is_exact(&self) -> bool {
        !self.reads.is_unknown() && !self.writes.is_unknown()
    }

    /// Adds what `other` may touch.
    pub fn union_with(&mut self, other: &Access) {
        self.reads.union_with(&other.reads);
        self.writes.union_with(&other.writes);
    }

    /// Whether everything that was seen to be touched was expected: `self` is a footprint, `observed`
    /// an access log. What is unknown contains everything, and only that contains the unknown.
    pub fn contains(&self, observed: &Access) -> bool {
        self.reads.contains_side(&observed.reads) && self.writes.contains_side(&observed.writes)
    }

    /// Whether the order of the two matters: one may write what the other may touch.
    pub fn conflicts(&self, other: &Access) -> bool {
        self.writes.may_overlap(&other.writes)
            || self.writes.may_overlap(&other.reads)
            || self.reads.may_overlap(&other.writes)
    }
}

impl Side {
    /// Touches nothing.
    pub const fn none() -> Side {
        Side::Known(ByteSet::new())
    }

    /// The known bytes; `None` when anything may be touched.
    pub fn known(&self) -> Option<&ByteSet> {
        match self {
            Side::Known(bytes) => Some(bytes),
            Side::Unknown(_) => None,
        }
    }

    /// Why it is unknown, if it is.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Side::Known(_) => None,
            Side::Unknown(reason) => Some(*reason),
        }
    }

    /// Whether anything may be touched.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Side::Unknown(_))
    }

    /// Whether it is known that nothing is touched.
    pub fn is_none(&self) -> bool {
        matches!(self, Side::Known(bytes) if bytes.is_empty())
    }

    /// Whether every byte of `extent` may be touched, as far as is known: [`ByteSet::contains`].
    pub fn contains(&self, extent: Extent) -> bool {
        match self {
            Side::Known(bytes) => bytes.contains(extent),
            Side::Unknown(_) => true,
        }
    }

    /// Whether every byte that `other` may touch may be touched. Takes time and room for each block of a pattern.
    pub fn contains_side(&self, other: &Side) -> bool {
        match (self, other) {
            (Side::Unknown(_), _) => true,
            (Side::Known(_), Side::Unknown(_)) => false,
            (Side::Known(bytes), Side::Known(inside)) => {
                bytes.flat(u64::MAX).contains_all(&inside.flat(u64::MAX))
            }
        }
    }

    /// Whether a byte of `extent` may be touched.
    pub fn overlaps(&self, extent: Extent) -> bool {
        match self {
            Side::Known(bytes) => bytes.overlaps(extent),
            Side::Unknown(_) => true,
        }
    }

    /// Whether some byte may be touched by both.
    pub fn may_overlap(&self, other: &Side) -> bool {
        match (self, other) {
            (Side::Known(a), Side::Known(b)) => a.meets(b),
            (Side::Unknown(_), known) | (known, Side::Unknown(_)) => !known.is_none(),
        }
    }

    /// Adds the bytes of `extent`.
    pub fn insert(&mut self, extent: Extent) {
        if let Side::Known(bytes) = self {
            bytes.insert(extent);
        }
    }

    /// Adds what `cover` holds.
    pub fn insert_cover(&mut self, cover: Cover) {
        if let Side::Known(bytes) = self {
            bytes.insert_cover(cover);
        }
    }

    /// Adds what `other` may touch; the first reason stays.
    pub fn union_with(&mut self, other: &Side) {
        match (&mut *self, other) {
            (Side::Known(bytes), Side::Known(more)) => bytes.union_with(more),
            (Side::Known(_), Side::Unknown(reason)) => *self = Side::Unknown(*reason),
            (Side::Unknown(_), _) => {}
        }
    }

    /// What either may touch.
    pub fn union(&self, other: &Side) -> Side {
        let mut result = self.clone();
        result.union_with(other);
        result
    }
}

impl Default for Side {
    fn default() -> Side {
        Side::none()
    }
}

impl From<Extent> for Side {
    fn from(extent: Extent) -> Side {
        ExtentSet::from(extent).into()
    }
}

impl From<ExtentSet> for Side {
    fn from(set: ExtentSet) -> Side {
        Side::Known(set.into())
    }
}

impl From<Reason> for Side {
    fn from(reason: Reason) -> Side {
        Side::Unknown(reason)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Known(bytes) => fmt::Display::fmt(bytes, f),
            Side::Unknown(reason) => write!(f, "anything ({reason})"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::PointerFromMemory => "pointer loaded from memory",
            Reason::UnresolvedCall => "unresolved call",
            Reason::Budget => "analysis budget exceeded",
            Reason::UntrackedAddress => "untracked address",
            Reason::NotAnalysed => "not analysed",
            Reason::DynamicCode => "code made at run time",
            Reason::Distrusted => "distrusted: it may have written outside of its footprint",
            Reason::Target(name) => {
                return write!(f, "code for {name}, which is not analysed");
            }
            Reason::Other(words) => words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(start: u64, end: u64) -> Side {
        Extent::new(start, end).unwrap().into()
    }

    #[test]
    fn unknown_absorbs_and_keeps_its_first_reason() {
        let mut all = side(0, 4).union(&Reason::Budget.into());
        assert_eq!(all.reason(), Some(Reason::Budget));
        all.union_with(&Reason::DynamicCode.into());
        all.insert(Extent::new(8, 9).unwrap());
        assert_eq!(all, Side::Unknown(Reason::Budget));
        assert!(all.contains(Extent::new(100, 200).unwrap()));
        assert_eq!(all.to_string(), "anything (analysis budget exceeded)");
    }

    #[test]
    fn unknown_conflicts_with_anything_but_nothing() {
        let unknown = Access {
            reads: Side::none(),
            writes: Reason::NotAnalysed.into(),
        };
        let reader = Access {
            reads: side(0, 4),
            writes: Side::none(),
        };
        assert!(unknown.conflicts(&reader) && reader.conflicts(&unknown));
        assert!(!unknown.conflicts(&Access::none()));
    }

    #[test]
    fn containment_is_side_by_side_and_unknown_contains_all() {
        let predicted = Access {
            reads: side(0, 16),
            writes: side(8, 16),
        };
        let observed = Access {
            reads: side(4, 8),
            writes: side(8, 9),
        };
        assert!(predicted.contains(&observed) && !observed.contains(&predicted));
        let swapped = Access {
            reads: observed.writes,
            writes: observed.reads,
        };
        assert!(
            !predicted.contains(&swapped),
            "a read at 4 does not allow a write"
        );
        assert!(Access::unknown(Reason::Budget).contains(&predicted));
        assert!(!predicted.contains(&Access::unknown(Reason::Budget)));
    }

    #[test]
    fn readers_do_not_conflict() {
        let a = Access {
            reads: side(0, 8),
            writes: side(8, 12),
        };
        let b = Access {
            reads: side(4, 8),
            writes: side(16, 20),
        };
        let c = Access {
            reads: side(11, 13),
            writes: Side::none(),
        };
        assert!(!a.conflicts(&b));
        assert!(a.conflicts(&c) && c.conflicts(&a));
        assert!(a.is_exact() && !Access::unknown(Reason::Budget).is_exact());
    }
}
