//! Values at a launch: intervals, and where a pointer points into.
//!
//! Pointers from the kernarg segment are plain numbers, so an address is an interval of numbers and
//! sound whatever it was made of. The origin is for intervals that are too wide: then the whole
//! allocation that the pointer points into may be touched.

use std::rc::Rc;

use strobe_extent::Reason;

use crate::broken::Rule;
use crate::expr::Symbolic;
use crate::range::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A number.
    Number,
    /// A number that comes from something the analysis does not follow. It may be a pointer.
    Lost(Reason),
    /// A pointer into a tracked allocation, by index.
    Base(u32),
    /// Relative to a symbolic address.
    Symbol(Symbolic),
    /// Relative to where the code object is loaded.
    Image,
    /// Memory of the runtime (host calls, device heap), by an argument that only the runtime sets.
    Runtime,
    /// A word that stands there: a pointer to more memory of the runtime, or a number. What is read
    /// through it may come from the program.
    RuntimeWord,
    /// Something lost less a pointer: an index if both point into one allocation, else the way from
    /// there to anywhere.
    Apart(Reason),
    /// A pointer less one into another allocation: the way from there to here. With the pointer added
    /// it is a number, that of another place.
    Between,
    /// Relative to a phi whose value is being looked for.
    Anchor(u64),
}

impl Origin {
    /// The interval is relative to an address that is no number.
    pub(crate) fn is_relative(self) -> bool {
        matches!(
            self,
            Self::Symbol(_) | Self::Image | Self::Runtime | Self::Anchor(_)
        )
    }
}

/// One alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alternative {
    pub(crate) origin: Origin,
    pub(crate) range: Range,
}

impl Alternative {
    pub(crate) fn number(range: Range) -> Self {
        Self {
            origin: Origin::Number,
            range,
        }
    }

    /// A number computed of two words, or of one twice.
    pub(crate) fn computed(range: Range, a: Self, b: Self) -> Self {
        let origin = computed(a.origin, b.origin);
        Self { origin, range }
    }

    pub(crate) fn lost(reason: Reason, bits: u32) -> Self {
        Self {
            origin: Origin::Lost(reason),
            range: Range::full(bits),
        }
    }

    /// The interval, if it is one of numbers.
    pub(crate) fn numbers(self) -> Option<Range> {
        (!self.origin.is_relative()).then_some(self.range)
    }

    /// The interval of numbers, every word if it is relative.
    pub(crate) fn words(self, bits: u32) -> Range {
        self.numbers().unwrap_or(Range::full(bits))
    }
}

/// More alternatives than that are a value that is not known.
const MAX_ALTERNATIVES: usize = 64;

/// A value: any of its alternatives. None at all: the place is not reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Empty,
    One(Alternative),
    Many(Rc<Vec<Alternative>>),
}

impl Value {
    pub(crate) fn lost(reason: Reason, bits: u32) -> Self {
        Self::One(Alternative::lost(reason, bits))
    }

    pub(crate) fn alternatives(&self) -> &[Alternative] {
        match self {
            Self::Empty => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }

    /// The interval of a value that is a number.
    pub(crate) fn numbers(&self) -> Option<Range> {
        let mut hull: Option<Range> = None;
        for alternative in self.alternatives() {
            let range = alternative.numbers()?;
            hull = Some(hull.map_or(range, |hull| hull.hull(range)));
        }
        hull
    }

    /// Any of these; alternatives of one origin become one.
    pub(crate) fn any(all: impl IntoIterator<Item = Alternative>, bits: u32) -> Self {
        let mut all = all.into_iter();
        let Some(mut only) = all.next() else {
            return Self::Empty;
        };
        // Most are of one origin.
        let second = loop {
            match all.next() {
                None => return Self::One(only),
                Some(next) if next.origin == only.origin => {
                    only.range = only.range.hull(next.range).reduce(bits);
                }
                Some(next) => break next,
            }
        };
        let mut kept = vec![only, second];
        for next in all {
            match kept.iter().position(|known| known.origin == next.origin) {
                Some(known) => {
                    let known = &mut kept[known];
                    known.range = known.range.hull(next.range).reduce(bits);
                }
                None if kept.len() == MAX_ALTERNATIVES => {
                    return Self::lost(Reason::Budget, bits);
                }
                None => kept.push(next),
            }
        }
        Self::Many(Rc::new(kept))
    }

    /// Whether another value has no origin that this one has not, whatever it was lost by.
    pub(crate) fn has_origins_of(&self, other: &Self) -> bool {
        let same =
            |a: Origin, b: Origin| a == b || matches!((a, b), (Origin::Lost(_), Origin::Lost(_)));
        let mine = self.alternatives();
        let mut theirs = other.alternatives().iter();
        theirs.all(|one| mine.iter().any(|known| same(known.origin, one.origin)))
    }

    /// Whether another value is no more than this one.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        let mine = self.alternatives();
        other.alternatives().iter().all(|one| {
            let known = mine.iter().find(|known| known.origin == one.origin);
            known.is_some_and(|known| known.range.holds(one.range))
        })
    }

    pub(crate) fn map(&self, bits: u32, f: impl Fn(Alternative) -> Alternative) -> Self {
        match self {
            Self::Empty => Self::Empty,
            Self::One(one) => Self::One(f(*one)),
            Self::Many(many) => Self::any(many.iter().map(|one| f(*one)), bits),
        }
    }

    pub(crate) fn with(
        &self,
        other: &Self,
        bits: u32,
        f: impl Fn(Alternative, Alternative) -> Alternative,
    ) -> Self {
        if let (Self::One(a), Self::One(b)) = (self, other) {
            return Self::One(f(*a, *b));
        }
        let (mine, theirs) = (self.alternatives(), other.alternatives());
        Self::any(
            mine.iter().flat_map(|a| theirs.iter().map(|b| f(*a, *b))),
            bits,
        )
    }

    /// What is both: the narrower one, if one lies in the other.
    pub(crate) fn and(self, other: &Self, bits: u32) -> Self {
        match (&self, other) {
            (Self::One(a), Self::One(b)) if a.origin == b.origin => {
                let range = a.range.among(b.range, bits).unwrap_or(a.range);
                let origin = a.origin;
                Self::One(Alternative { origin, range })
            }
            _ => self,
        }
    }

    pub(crate) fn or(&self, other: &Self, bits: u32) -> Self {
        match (self, other) {
            (Self::Empty, value) | (value, Self::Empty) => value.clone(),
            _ => Self::any(
                self.alternatives()
                    .iter()
                    .chain(other.alternatives())
                    .copied(),
                bits,
            ),
        }
    }
}

/// A sum; pointer plus number is a pointer.
pub(crate) fn add(a: Alternative, b: Alternative, bits: u32) -> Alternative {
    use Origin::{Apart, Base, Between, Lost, Number, RuntimeWord};
    let sum = a.range.add(b.range, bits);
    let origin = match (a.origin, b.origin) {
        (Number, origin) | (origin, Number) => origin,
        (Between, Base(_)) | (Base(_), Between) => Number,
        (Between, Between) => Between,
        (Between, Lost(reason)) | (Lost(reason), Between) => Apart(reason),
        (Between, Apart(reason)) | (Apart(reason), Between) => Apart(reason),
        (Apart(reason), Lost(_) | Apart(_)) | (Lost(_), Apart(reason)) => Apart(reason),
        (Apart(reason), _) | (_, Apart(reason)) => return Alternative::lost(reason, bits),
        (Lost(reason), RuntimeWord) | (RuntimeWord, Lost(reason)) => {
            return Alternative::lost(reason, bits);
        }
        (Lost(_), Base(base)) | (Base(base), Lost(_)) => Base(base),
        (Lost(reason), Lost(_)) => Lost(reason),
        // An index loaded from memory.
        (Lost(_), relative) | (relative, Lost(_)) => relative,
        (Base(_), Base(_)) => Lost(Reason::UntrackedAddress),
        _ => return Alternative::lost(Reason::UntrackedAddress, bits),
    };
    Alternative { origin, range: sum }
}

/// A difference; pointer minus pointer is a number.
pub(crate) fn sub(a: Alternative, b: Alternative, bits: u32) -> Alternative {
    use Origin::{Anchor, Apart, Base, Between, Image, Lost, Number, RuntimeWord, Symbol};
    let range = a.range.sub(b.range, bits);
    let origin = match (a.origin, b.origin) {
        (origin, Number) => origin,
        (Lost(reason), Lost(_)) => Lost(reason),
        (Lost(reason), _) if Rule::DifferencesAreNoIndices.is_broken() => Lost(reason),
        (Lost(reason) | Apart(reason), _) => {
            return Alternative {
                origin: Apart(reason),
                range: Range::full(bits),
            };
        }
        (RuntimeWord, _) | (_, RuntimeWord | Apart(_)) => {
            return Alternative::lost(Reason::UntrackedAddress, bits);
        }
        (Between, Lost(reason)) => Apart(reason),
        (origin, Lost(_)) => origin,
        (Base(x), Base(y)) if x == y => Number,
        (Base(_), Base(_)) if Rule::WaysLeadElsewhere.is_broken() => Number,
        (Base(_) | Number | Between, Base(_)) | (Number | Between, Between) => Between,
        (Base(_), Between) => Number,
        (x @ (Symbol(_) | Image | Anchor(_)), y) if x == y => Number,
        (Number | Base(_), _) | (_, Base(_)) => return Alternative::number(Range::full(bits)),
        _ => return Alternative::lost(Reason::UntrackedAddress, bits),
    };
    Alternative { origin, range }
}

/// The origin of a number that is computed of two: what is computed of the way between two pointers may
/// be that way again, shorter and longer by turns.
fn computed(a: Origin, b: Origin) -> Origin {
    match (a, b) {
        (Origin::Apart(reason), _) | (_, Origin::Apart(reason)) => Origin::Apart(reason),
        (Origin::Between, _) | (_, Origin::Between) => Origin::Between,
        _ => Origin::Number,
    }
}

/// The origin of a word made of two by bitwise logic: aligning a pointer leaves a pointer.
pub(crate) fn mixed(a: Origin, b: Origin) -> Origin {
    match (a, b) {
        (Origin::Number, origin) | (origin, Origin::Number) => origin,
        (Origin::Base(base), Origin::Lost(_)) | (Origin::Lost(_), Origin::Base(base)) => {
            Origin::Base(base)
        }
        (a, b) if a == b => a,
        _ => Origin::Lost(Reason::UntrackedAddress),
    }
}
