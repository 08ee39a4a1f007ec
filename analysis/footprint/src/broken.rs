//! Rules of the analysis that tests break on purpose, to see that it is found out. Without the feature
//! `broken` no rule can be broken, and nothing is left of this.

#![cfg_attr(
    not(feature = "broken"),
    allow(unreachable_pub, reason = "public with the feature")
)]

/// A rule, by what is true of kernels and would be overlooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// "Not in the mask" says nothing of lanes that were switched off when it was made.
    SwitchingOffMakesAnEpoch,
    /// Nor of lanes that are switched on later.
    SwitchingOnMakesAnEpoch,
    /// A loop can be entered beside its head.
    LoopsHaveManyEntries,
    /// A word of a table is a number as well as a pointer.
    SlotsHoldNumbers,
    /// A word loaded less a pointer is no index of that pointer.
    DifferencesAreNoIndices,
    /// The way between two pointers, with one of them, is the other.
    WaysLeadElsewhere,
    /// A counter can step over a bound that moves.
    BoundsMove,
    /// A scalar goes round with the wave, not with its lanes.
    WavesOutliveLanes,
    /// What stands before an allocation may point into it.
    ArraysStartAtOne,
    /// With no lane active, lane 0 is read.
    LanesMayBeNone,
    /// A store is as long as its instruction says.
    StoresAreWide,
    /// A loop can go round with no lane active.
    LoopsRunEmpty,
    /// EXEC has another value after each change.
    ChangesMakeValues,
    /// A lane that is on may be taken past a store by the others of its wave.
    StoresAreLeftOut,
    /// Where pointers are stored, something else may be stored as well.
    PlacesAreShared,
    /// An index times a stride may have more than 32 bits.
    ProductsAreWide,
    /// A wave may have lanes without a work-item.
    LanesMayBeVacant,
}

impl Rule {
    #[cfg(feature = "broken")]
    /// Every rule.
    pub const ALL: [Self; 17] = [
        Self::SwitchingOffMakesAnEpoch,
        Self::SwitchingOnMakesAnEpoch,
        Self::LoopsHaveManyEntries,
        Self::SlotsHoldNumbers,
        Self::DifferencesAreNoIndices,
        Self::WaysLeadElsewhere,
        Self::BoundsMove,
        Self::WavesOutliveLanes,
        Self::ArraysStartAtOne,
        Self::LanesMayBeNone,
        Self::StoresAreWide,
        Self::LoopsRunEmpty,
        Self::ChangesMakeValues,
        Self::StoresAreLeftOut,
        Self::PlacesAreShared,
        Self::ProductsAreWide,
        Self::LanesMayBeVacant,
    ];

    #[cfg(not(feature = "broken"))]
    pub(crate) const fn is_broken(self) -> bool {
        false
    }

    #[cfg(feature = "broken")]
    pub(crate) fn is_broken(self) -> bool {
        switch::BROKEN.get() == Some(self)
    }
}

#[cfg(feature = "broken")]
pub use switch::without;

#[cfg(feature = "broken")]
mod switch {
    use std::cell::Cell;

    use super::Rule;

    thread_local! {
        pub(super) static BROKEN: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    /// Does some work of this thread without a rule, or with all of them.
    pub fn without<T>(rule: Option<Rule>, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Rule>);
        impl Drop for Restore {
            fn drop(&mut self) {
                BROKEN.set(self.0);
            }
        }
        let _restore = Restore(BROKEN.replace(rule));
        work()
    }
}
