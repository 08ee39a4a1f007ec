//! Which values EXEC has, by number.
//!
//! An if with an else takes the lanes of EXEC apart and puts them together again, by masks that say nothing
//! of the condition: `rest = saved ^ exec`, later `exec |= rest` or `exec ^= exec`'s other part. That all
//! lanes are back then follows from what the registers hold. So each value that EXEC takes gets a number:
//! equal numbers are equal values, in all states of one iteration of all loops around. Of two values of
//! which one is the rest of a third without the other it is kept that they make it up.
//!
//! So do EXEC and the mask in which a loop collects the lanes that have left it: together they are those that
//! came to the loop. That is taken for granted at the head and checked where the loop goes round.
//!
//! A value is that of the wave, be there a lane or not: where EXEC is found to be empty its number stays.
//! At a loop's head EXEC has another number than before, unless the loop leaves it as it is; and so have
//! masks that the loop defines, because a phi is none of those here.

use crate::broken::Rule;
use crate::expr::{Id, Map};

#[derive(Debug, Default)]
pub(crate) struct ExecValues {
    last: u32,
    /// What is left of a value without a part of it.
    rests: Map<(u32, u32), u32>,
    /// A snapshot of the value that two others without common lanes make up.
    wholes: Map<(u32, u32), u32>,
    /// Values of masks that are rests.
    masks: Map<Id, u32>,
}

impl ExecValues {
    /// A value of which nothing is known.
    pub(crate) fn fresh(&mut self) -> u32 {
        if Rule::ChangesMakeValues.is_broken() {
            return self.last;
        }
        self.last += 1;
        self.last
    }

    /// A mask holds the lanes of a snapshot, whose value is `whole`, without those of `part`, which are
    /// among them.
    pub(crate) fn take_apart(&mut self, mask: Id, snapshot: u32, whole: u32, part: u32) {
        let rest = match self.rests.get(&(whole, part)) {
            Some(&known) => known,
            None => self.fresh(),
        };
        self.masks.insert(mask, rest);
        for (a, b) in [(part, rest), (rest, part)] {
            self.rests.insert((whole, a), b);
            self.wholes.insert((a, b), snapshot);
        }
    }

    /// A value without a part of it, if that has a number.
    pub(crate) fn rest(&self, whole: u32, part: u32) -> Option<u32> {
        self.rests.get(&(whole, part)).copied()
    }

    /// A snapshot of what two values make up, if they are known to have no common lanes.
    pub(crate) fn whole(&self, a: u32, b: u32) -> Option<u32> {
        self.wholes.get(&(a, b)).copied()
    }

    pub(crate) fn of_mask(&self, mask: Id) -> Option<u32> {
        self.masks.get(&mask).copied()
    }
}
