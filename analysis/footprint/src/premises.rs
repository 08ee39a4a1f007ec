//! What is taken for granted at the heads of loops.
//!
//! The walk goes through a loop once, so it does not know at the head what will be there when the loop goes
//! round. What is taken for granted is checked at each of the loop's ends. Where it does not hold, the walk is
//! done again without it; a walk on which all of it holds has proved it, round by round.

use crate::broken::Rule;
use crate::expr::Map;
use crate::place::Place;

/// A loop: the entry of its function and the address of its head.
pub(crate) type Which = (u64, u64);

/// Whose place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Of lanes at the head.
    Head,
    /// Of lanes that have left the loop.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Premise {
    /// The lanes at the head are among those that came to the loop. Else it is a *loose* loop.
    Entered,
    /// No lane that is off when the loop goes round has been changed meanwhile, by its number.
    Untouched,
    /// Some lane is active at the head.
    Occupied,
    /// EXEC has the value that it had when the loop was entered.
    Steady,
    /// Half of a mask is at this place, and the other half behind it: of some lanes that came to the loop.
    Mask(Place),
    /// The lanes in that mask, and those of EXEC, are all that came to the loop.
    Collected(Place),
    /// This place is what it was: nothing is called by a phi, and scratch is known as that.
    Kept(Place),
    /// What is at this place, or is there in lanes that have left the loop, is no high half of an address of scratch.
    Elsewhere(Place, Where),
}

/// Premises that do not hold.
#[derive(Debug, Default)]
pub(crate) struct Premises {
    known: Vec<(Which, Premise)>,
    /// Found out on this walk.
    new: Vec<(Which, Premise)>,
}

impl Premises {
    pub(crate) fn granted(&self, which: Which, premise: Premise) -> bool {
        !self.known.contains(&(which, premise))
    }

    /// It does not hold.
    pub(crate) fn refute(&mut self, which: Which, premise: Premise) {
        if premise == Premise::Occupied && Rule::LoopsRunEmpty.is_broken() {
            return;
        }
        self.new.push((which, premise));
    }

    /// Whether all have held on this walk.
    pub(crate) fn held(&self) -> bool {
        self.new.is_empty()
    }

    /// What the next walk has to do without.
    pub(crate) fn left(mut self) -> Self {
        self.known.append(&mut self.new);
        self
    }
}

/// Phis whose inputs are not all known before the walk is over, and those of which some are high halves of such
/// addresses.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    pub(crate) open: Map<u32, (Which, Premise)>,
    pub(crate) relied_on: Vec<u32>,
}

impl Elsewhere {
    /// Some inputs of a phi are not known yet; `premise`: what may be taken for granted of it.
    pub(crate) fn leave_open(&mut self, phi: u32, which: Which, premise: Premise) {
        self.open.insert(phi, (which, premise));
    }
}
