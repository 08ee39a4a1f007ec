//! Epochs: names for sets of active lanes.
//!
//! A mask holds lanes that were active when it was made, so that a lane that is not in it says
//! something about the condition only if it was active then. Epochs form a tree: switching lanes off
//! makes a child, whose lanes are some of its parent's; switching lanes on makes an epoch that is
//! nobody's child. So "active here, and not in a mask of that epoch" refutes the condition just if the
//! epoch here is that one or stands below it. Lanes that were parked in between are active in the
//! parent alone.
//!
//! Paths that part at a branch of the wave are in the same epoch. What is known of an epoch's lanes since something that
//! happened on one of them, and made a new epoch there, says nothing on the others: hence each epoch knows the one
//! before it, on all paths to it.

use std::cell::Cell;

use crate::expr::Map;
use crate::state::State;

/// Epochs around one that are looked at.
const MOST_AROUND: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// An epoch in which at least the same lanes were active; itself if none is known.
    parent: u32,
    depth: u32,
    /// A snapshot whose lanes contain those active in it.
    bound: Option<u32>,
    /// The one that all paths to it have been in last: an older one, for all but the first.
    before: u32,
}

/// All epochs of a walk.
#[derive(Debug)]
pub(crate) struct Epochs {
    all: Vec<Epoch>,
    /// Later epochs in which all lanes of one are active, on the paths that come to them: lanes came back to them, or paths
    /// met.
    wider: Map<u32, Vec<u32>>,
    /// Those that began when lanes came back to the active ones of one.
    returned_to: Map<u32, Vec<u32>>,
    /// Epochs looked at so far.
    pub(crate) steps: Cell<usize>,
}

impl Epochs {
    /// With the epoch that a kernel begins in.
    pub(crate) fn new() -> Self {
        Self {
            all: vec![Epoch {
                parent: 0,
                depth: 0,
                bound: None,
                before: 0,
            }],
            wider: Map::default(),
            returned_to: Map::default(),
            steps: Cell::new(0),
        }
    }

    /// The lanes that are active in the first.
    pub(crate) fn begin_with(&mut self, items: u32) {
        self.all[0].bound = Some(items);
    }

    /// A snapshot whose lanes contain those active in the epoch.
    pub(crate) fn bound(&self, epoch: u32) -> Option<u32> {
        self.all[epoch as usize].bound
    }

    fn child(&mut self, parent: u32, bound: Option<u32>, before: u32) -> u32 {
        let depth = self.all[parent as usize].depth + 1;
        self.all.push(Epoch {
            parent,
            depth,
            bound,
            before,
        });
        self.all.len() as u32 - 1
    }

    /// Lanes were switched off.
    pub(crate) fn narrower(&mut self, state: &State) -> u32 {
        self.child(state.epoch, state.bound, state.epoch)
    }

    /// Nothing is known of its lanes but a snapshot that contains them.
    pub(crate) fn unrelated(&mut self, before: u32, bound: Option<u32>) -> u32 {
        let parent = self.all.len() as u32;
        self.all.push(Epoch {
            parent,
            depth: 0,
            bound,
            before,
        });
        parent
    }

    /// Lanes came back, and none was switched off.
    pub(crate) fn widened(&mut self, epoch: u32, wider: u32) {
        self.wider.entry(epoch).or_default().push(wider);
    }

    /// Paths have met. Who has been in an epoch has been in none that is older since, so that the lanes of the newest
    /// are those that are active now, if its path was taken at all.
    pub(crate) fn met(&mut self, states: &[State], joined: u32) {
        let Some(newest) = states.iter().map(|state| state.epoch).max() else {
            return;
        };
        let is_idle = states
            .iter()
            .all(|state| state.epoch == newest && state.idle);
        if newest != joined && !is_idle {
            self.widened(newest, joined);
        }
    }

    /// The newest epoch that all paths which meet have been in.
    pub(crate) fn before(&self, states: &[State]) -> u32 {
        let of = states.iter().map(|state| state.epoch);
        let met = of.reduce(|mut a, mut b| {
            while a != b {
                self.steps.update(|steps| steps + 1);
                let newer = if a > b { &mut a } else { &mut b };
                *newer = self.all[*newer as usize].before;
            }
            a
        });
        met.unwrap_or(0)
    }

    /// Those of some epochs, the oldest first, that all paths to one of `now` have been in.
    fn been_in(&self, epochs: &[u32], now: &[u32]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut steps = epochs.len() * now.len();
        for &now in now {
            let mut at = now;
            for &epoch in epochs.iter().rev() {
                while at > epoch {
                    steps += 1;
                    at = self.all[at as usize].before;
                }
                if at == epoch {
                    found.push(epoch);
                }
            }
        }
        self.steps.update(|before| before + steps);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Lanes have come back to those active in an epoch, or to some of them.
    pub(crate) fn returned_to(&mut self, epoch: u32, after: u32) {
        self.returned_to.entry(epoch).or_default().push(after);
    }

    /// The epochs, on all paths to one of `now`, that began when lanes came back to those of one.
    pub(crate) fn returns(&self, epoch: u32, now: &[u32]) -> Vec<u32> {
        let after = self.returned_to.get(&epoch);
        after.map_or_else(Vec::new, |after| self.been_in(after, now))
    }

    /// Whether an epoch began when another one ended, on all paths to it.
    pub(crate) fn follows(&self, epoch: u32, other: u32) -> bool {
        self.all[epoch as usize].before == other
    }

    /// Epochs in which all lanes of one were active, up to one of `now`, that one first; not all of them, if they are many.
    pub(crate) fn around(&self, epoch: u32, now: &[u32]) -> Vec<u32> {
        let mut found = vec![epoch];
        let mut next = 0;
        while next < found.len() && found.len() < MOST_AROUND {
            let epoch = found[next];
            next += 1;
            let of = self.all[epoch as usize];
            let parent = (of.depth > 0).then_some(of.parent);
            let wider = self.wider.get(&epoch);
            let wider = wider.map_or_else(Vec::new, |wider| self.been_in(wider, now));
            for around in parent.into_iter().chain(wider) {
                if !found.contains(&around) {
                    found.push(around);
                }
            }
        }
        self.steps.update(|steps| steps + next);
        found
    }

    /// Where paths meet: below what is above all of them. A path on which no lane is left counts too:
    /// its epoch has no lanes, and that of the other paths may have some.
    pub(crate) fn joined(&mut self, states: &[State], bound: Option<u32>) -> u32 {
        let first = states[0].epoch;
        let mut common = Some(first);
        let mut same = true;
        for state in &states[1..] {
            same &= state.epoch == first;
            common = common.and_then(|common| self.common(common, state.epoch));
        }
        let before = self.before(states);
        match common {
            _ if same => first,
            Some(common) => self.child(common, bound, before),
            None => self.unrelated(before, bound),
        }
    }

    fn common(&self, mut a: u32, mut b: u32) -> Option<u32> {
        while a != b {
            self.steps.update(|steps| steps + 1);
            let (x, y) = (self.all[a as usize], self.all[b as usize]);
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
    pub(crate) fn within(&self, mut epoch: u32, other: u32) -> bool {
        let depth = self.all[other as usize].depth;
        while self.all[epoch as usize].depth > depth {
            self.steps.update(|steps| steps + 1);
            epoch = self.all[epoch as usize].parent;
        }
        epoch == other
    }
}
