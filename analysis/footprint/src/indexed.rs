//! Accesses of scratch at offsets that are no constants.

use crate::expr::{FactId, Id, Map};
use crate::range::Range;

/// The slots that an instruction may access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// None: it is taken for granted that nobody comes there.
    Nowhere,
    /// At this byte offset.
    At(i64),
    /// At one of these.
    Within(Range),
    Anywhere,
}

impl Reach {
    fn of(range: Option<Range>) -> Self {
        range.map_or(Self::Anywhere, Self::Within)
    }

    /// Whether another gets no further.
    fn holds(self, other: Self) -> bool {
        match (self, other) {
            (Self::Anywhere, _) | (_, Self::Nowhere) => true,
            (Self::Within(mine), Self::Within(other)) => mine.holds(other),
            _ => self == other,
        }
    }
}

/// An access at an offset that is no constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    pub(crate) pc: u64,
    pub(crate) offset: Id,
    pub(crate) constant: i64,
    pub(crate) facts: FactId,
}

/// How far such accesses get, by their address: all their walks together. `None`: nothing is known.
pub(crate) type Found = Map<u64, Option<Range>>;

/// How far a walk takes such accesses to get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reaches {
    known: Map<u64, Reach>,
    /// All others.
    others: Reach,
}

impl Reaches {
    /// Nothing is taken for granted.
    pub(crate) fn anywhere() -> Self {
        Self {
            known: Map::default(),
            others: Reach::Anywhere,
        }
    }

    /// Nobody gets anywhere.
    pub(crate) fn nowhere() -> Self {
        Self {
            known: Map::default(),
            others: Reach::Nowhere,
        }
    }

    pub(crate) fn of(&self, pc: u64) -> Reach {
        self.known.get(&pc).copied().unwrap_or(self.others)
    }

    /// Takes no less for granted than what was found; `false` if that was so already. `at_once`: who gets further than
    /// was thought gets anywhere.
    pub(crate) fn widen(&mut self, found: &Found, at_once: bool) -> bool {
        let mut grown = false;
        for (&pc, &range) in found {
            let (before, now) = (self.of(pc), Reach::of(range));
            if before.holds(now) {
                continue;
            }
            grown = true;
            let reach = match (before, now) {
                (Reach::Nowhere, now) => now,
                (Reach::Within(before), Reach::Within(now)) if !at_once => {
                    Reach::Within(before.hull(now))
                }
                _ => Reach::Anywhere,
            };
            self.known.insert(pc, reach);
        }
        grown
    }
}
