//! Epochs: names for sets of active lanes.
//!
//! A mask holds lanes that were active when it was made, so that a lane that is not in it says
//! something about the condition only if it was active then. Epochs form a tree: switching lanes off
//! makes a child, whose lanes are some of its parent's; switching lanes on makes an epoch that is
//! nobody's child. So "active here, and not in a mask of that epoch" refutes the condition just if the
//! epoch here is that one or stands below it. Lanes that were parked in between are active in the
//! parent alone.

use crate::state::State;
use crate::walk::Walk;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    /// An epoch in which at least the same lanes were active; itself if none is known.
    pub(crate) parent: u32,
    pub(crate) depth: u32,
    /// A snapshot whose lanes contain those active in it.
    pub(crate) bound: Option<u32>,
}

impl Walk<'_> {
    fn child_epoch(&mut self, parent: u32, bound: Option<u32>) -> u32 {
        let depth = self.epochs[parent as usize].depth + 1;
        self.epochs.push(Epoch {
            parent,
            depth,
            bound,
        });
        self.epochs.len() as u32 - 1
    }

    /// Lanes were switched off.
    pub(crate) fn narrower_epoch(&mut self, state: &State) -> u32 {
        self.child_epoch(state.epoch, state.bound)
    }

    /// Nothing is known but a snapshot that contains the lanes.
    pub(crate) fn unrelated_epoch(&mut self, bound: Option<u32>) -> u32 {
        let parent = self.epochs.len() as u32;
        self.epochs.push(Epoch {
            parent,
            depth: 0,
            bound,
        });
        parent
    }

    /// Where paths meet: below what is above all of them. A path on which no lane is left counts too:
    /// its epoch has no lanes, and that of the other paths may have some.
    pub(crate) fn joined_epoch(&mut self, states: &[State], bound: Option<u32>) -> u32 {
        let first = states[0].epoch;
        let mut common = Some(first);
        let mut same = true;
        for state in &states[1..] {
            same &= state.epoch == first;
            common = common.and_then(|common| self.common_epoch(common, state.epoch));
        }
        match common {
            _ if same => first,
            Some(common) => self.child_epoch(common, bound),
            None => self.unrelated_epoch(bound),
        }
    }

    fn common_epoch(&self, mut a: u32, mut b: u32) -> Option<u32> {
        while a != b {
            let (x, y) = (self.epochs[a as usize], self.epochs[b as usize]);
            if x.depth == 0 && y.depth == 0 {
                return None;
            }
            if x.depth >= y.depth {
                a = x.parent;
            } else {
                b = y.parent;
            }
        }
        Some(a)
    }

    /// Whether all lanes that are active in an epoch were so in another.
    pub(crate) fn within_epoch(&self, mut epoch: u32, other: u32) -> bool {
        let depth = self.epochs[other as usize].depth;
        while self.epochs[epoch as usize].depth > depth {
            epoch = self.epochs[epoch as usize].parent;
        }
        epoch == other
    }
}
