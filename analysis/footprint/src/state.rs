//! What one lane knows at a point of the program, and what the lanes that are switched off know.
//!
//! The walk follows an active lane. Switching lanes off takes a [`Snapshot`] of their vector
//! registers and puts it on the list of parked ones; switching lanes on again joins the snapshots
//! that may come back with the values of the lanes that stayed ([`crate::masks`]).

use std::cell::Cell;
use std::rc::Rc;

use crate::expr::{BOTTOM, FactId, Id};
use crate::paths::{PathId, Paths};
use crate::place::Holder;
use crate::registers::SCALARS;
use crate::sorted::Sorted;

/// Per-lane memory by byte offset of the dword.
pub(crate) type Slots = Sorted<i64>;

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) scalars: Rc<Vec<Id>>,
    pub(crate) vectors: Rc<Vec<Id>>,
    pub(crate) scratch: Rc<Slots>,
    /// Scalars kept in lanes of vector registers, and of such registers in scratch.
    pub(crate) spills: Rc<Sorted<(Holder, u32)>>,
    /// The value of EXEC with which all lanes are active, those too that no work-item has.
    pub(crate) whole: Option<u32>,
    /// What it was when they were made so.
    pub(crate) widened: Option<Rc<Widened>>,
    /// A truth value.
    pub(crate) scc: Id,
    /// What holds for active lanes.
    pub(crate) facts: FactId,
    /// What holds for the wave, even with no lane active.
    pub(crate) wave: FactId,
    /// Which lanes are active: [`crate::epoch`].
    pub(crate) epoch: u32,
    /// The number of EXEC's value: [`crate::exec_values`].
    pub(crate) exec: u32,
    pub(crate) parked: ParkedId,
    /// A snapshot whose lanes contain the active ones.
    pub(crate) bound: Option<u32>,
    /// No lane is active: vector registers have no values here.
    pub(crate) idle: bool,
    /// Some lane is active for certain.
    pub(crate) occupied: bool,
    /// Vector registers are addressed through M0.
    pub(crate) indexed: bool,
    /// The ways that the wave may have taken here.
    pub(crate) path: PathId,
    /// Whether all lanes of the wave for which the facts hold are active: [`crate::certain`].
    pub(crate) all_active: bool,
}

impl State {
    /// Nothing is in the registers: what nobody has set is not used.
    pub(crate) fn new(vectors: usize) -> Self {
        Self {
            scalars: Rc::new(vec![BOTTOM; SCALARS]),
            vectors: Rc::new(vec![BOTTOM; vectors]),
            scratch: Rc::default(),
            spills: Rc::default(),
            whole: None,
            widened: None,
            scc: BOTTOM,
            facts: FactId(0),
            wave: FactId(0),
            epoch: 0,
            exec: 0,
            parked: NONE_PARKED,
            bound: None,
            idle: false,
            occupied: true,
            indexed: false,
            path: Paths::BEGIN,
            all_active: true,
        }
    }

    /// Which lanes are active, a bit each, if that is known: whatever the instruction does, it does in these.
    pub(crate) fn lanes(&self) -> Option<u64> {
        if self.whole == Some(self.exec) {
            return Some(u64::MAX);
        }
        let widened = self.widened.as_ref();
        let widened = widened.filter(|widened| widened.exec == self.exec);
        match widened?.lanes {
            Switched::Numbered(lanes) => Some(lanes),
            Switched::Others => None,
        }
    }

    /// Forgets what is in the lanes of one holder.
    pub(crate) fn forget_lanes_of(&mut self, holder: Holder) {
        let all = (holder, 0)..=(holder, u32::MAX);
        if !self.spills.is_empty() && !self.spills.range(all).is_empty() {
            self.forget_lanes(|other, _| other == holder);
        }
    }

    /// Likewise, of some lanes of some holders.
    pub(crate) fn forget_lanes(&mut self, of: impl Fn(Holder, u32) -> bool) {
        if self.spills.keys().any(|(holder, lane)| of(*holder, *lane)) {
            Rc::make_mut(&mut self.spills).retain(|(holder, lane)| !of(*holder, *lane));
        }
    }

    /// What a holder has in some lanes.
    pub(crate) fn kept_in(&self, holder: Holder, lanes: u64) -> Vec<(u32, Id)> {
        let kept = self.spills.range((holder, 0)..=(holder, u32::MAX));
        let kept = kept.iter().map(|((_, lane), value)| (*lane, *value));
        kept.filter(|(lane, _)| is_in(lanes, *lane)).collect()
    }

    /// Lets a holder have these in its lanes.
    pub(crate) fn keep(&mut self, holder: Holder, kept: Vec<(u32, Id)>) {
        if !kept.is_empty() {
            let kept = kept.into_iter();
            Rc::make_mut(&mut self.spills)
                .extend(kept.map(|(lane, value)| ((holder, lane), value)));
        }
    }

    /// Nothing is known of scratch.
    pub(crate) fn lose_scratch(&mut self) {
        self.scratch = Rc::default();
        self.widened = None;
        self.forget_lanes(|holder, _| matches!(holder, Holder::Slot(_)));
    }

    /// No lane is active from here on.
    pub(crate) fn make_idle(&mut self) {
        self.idle = true;
        self.occupied = false;
        self.vectors = Rc::new(vec![BOTTOM; self.vectors.len()]);
        self.scratch = Rc::default();
        // Spilled scalars live in lanes whatever EXEC says.
    }
}

/// Whether a lane is among some, a bit each.
pub(crate) fn is_in(lanes: u64, lane: u32) -> bool {
    lanes >> (lane & 63) & 1 != 0
}

/// Which lanes were switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switched {
    /// These, a bit each; no others are active.
    Numbered(u64),
    /// Those that were not active, and no others.
    Others,
}

impl Switched {
    pub(crate) const ALL: Self = Self::Numbered(u64::MAX);
}

/// Lanes when all were switched on, or some by their numbers.
#[derive(Debug)]
pub(crate) struct Widened {
    /// Before.
    pub(crate) snapshot: u32,
    /// These, and the value of EXEC.
    pub(crate) lanes: Switched,
    pub(crate) exec: u32,
    /// After.
    pub(crate) vectors: Rc<Vec<Id>>,
    pub(crate) scratch: Rc<Slots>,
}

/// Lanes as they were when they were switched off, or when EXEC was saved.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) vectors: Rc<Vec<Id>>,
    pub(crate) scratch: Rc<Slots>,
    pub(crate) facts: FactId,
    /// As in [`State`].
    pub(crate) exec: u32,
    /// In which its lanes were active, if it is one.
    pub(crate) epoch: Option<u32>,
    /// The innermost loop around it.
    pub(crate) inside: Option<u32>,
    /// What was parked before.
    pub(crate) parked: ParkedId,
    /// An older snapshot whose lanes contain these.
    pub(crate) bound: Option<u32>,
    pub(crate) idle: bool,
    pub(crate) occupied: bool,
    pub(crate) all_active: bool,
}

/// A list of parked snapshots; lists share tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParkedId(u32);

pub(crate) const NONE_PARKED: ParkedId = ParkedId(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// Lanes that no work-item has: they were never on, and anything is in them.
    Vacant,
    Snapshot(u32),
    /// Whatever was parked in earlier iterations of the loop.
    Loop(u32),
    /// No lanes: what may have become of those below while some were switched on by their numbers ([`crate::whole`]).
    Changed(u32),
}

#[derive(Debug)]
pub(crate) struct ParkedLists {
    nodes: Vec<(Parked, ParkedId, u32)>,
    /// Entries looked at so far.
    pub(crate) steps: Cell<usize>,
}

impl ParkedLists {
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![(Parked::Vacant, NONE_PARKED, 0)],
            steps: Cell::new(0),
        }
    }

    pub(crate) fn push(&mut self, list: ParkedId, parked: Parked) -> ParkedId {
        let depth = self.nodes[list.0 as usize].2 + 1;
        self.nodes.push((parked, list, depth));
        ParkedId(self.nodes.len() as u32 - 1)
    }

    /// What was pushed last, and the list without it.
    pub(crate) fn last(&self, list: ParkedId) -> Option<(Parked, ParkedId)> {
        (list != NONE_PARKED).then(|| (self.nodes[list.0 as usize].0, self.parent(list)))
    }

    fn depth(&self, list: ParkedId) -> u32 {
        self.nodes[list.0 as usize].2
    }

    fn parent(&self, list: ParkedId) -> ParkedId {
        self.nodes[list.0 as usize].1
    }

    /// Entries above the common tail of the two lists, of the first list; all if the tail is empty.
    pub(crate) fn since(&self, list: ParkedId, tail: ParkedId) -> Vec<Parked> {
        let stop = self.common(list, tail);
        let mut found = Vec::new();
        let mut at = list;
        while at != stop {
            let entry = self.nodes[at.0 as usize].0;
            self.steps.update(|steps| steps + found.len());
            if !found.contains(&entry) {
                found.push(entry);
            }
            at = self.parent(at);
        }
        found
    }

    /// Whether a list ends in another.
    pub(crate) fn is_tail(&self, tail: ParkedId, list: ParkedId) -> bool {
        self.common(list, tail) == tail
    }

    /// The longest tail of both.
    pub(crate) fn common(&self, mut a: ParkedId, mut b: ParkedId) -> ParkedId {
        while a != b {
            self.steps.update(|steps| steps + 1);
            if self.depth(a) >= self.depth(b) {
                a = self.parent(a);
            } else {
                b = self.parent(b);
            }
        }
        a
    }

    /// What is parked where two paths meet. It ends in what was parked where they parted, and in nothing that is parked on one
    /// of them alone: on the other, those lanes may have been on, and whoever asks what has stayed parked asks of both.
    pub(crate) fn union(&mut self, a: ParkedId, b: ParkedId) -> ParkedId {
        if a == b {
            return a;
        }
        let common = self.common(a, b);
        let (mut mine, its) = (self.since(a, common), self.since(b, common));
        mine.retain(|entry| !its.contains(entry));
        let oldest_first = its.into_iter().rev().chain(mine.into_iter().rev());
        oldest_first.fold(common, |list, entry| self.push(list, entry))
    }
}
