//! Lanes that come back.
//!
//! The walk follows one active lane. Where code switches lanes off, the state is kept as a snapshot: it is
//! *parked*, and stands for the lanes that are not active. Three things are known of what is parked, and
//! change together:
//!
//! - `parked`, a list: which snapshots, and which loops, some of whose lanes have left them and wait
//!   behind. Switching off adds to it; a loop with masks adds itself.
//! - `bound`, a snapshot whose lanes contain those that are active: nobody else can be.
//! - the `epoch`, a name for the set of active lanes ([`crate::epoch`]): what "not in this mask" says
//!   is known only of lanes that were active when the mask was made.
//!
//! Where code switches lanes on, any of those parked since a snapshot may become active: the active lane is
//! from then on one of these or one that was active before. So each register and each slot of scratch is
//! what it is in one of the states that come together: a join of the active state, of the snapshots, and of
//! what the loops' lanes had when they left. The epoch is nobody's child then, because the lanes
//! are not some of those before.

use std::rc::Rc;

use crate::broken::Rule;
use crate::differing::Differing;
use crate::expr::{BOTTOM, Compare, FactId, Id, Lost, Node, ZERO};
use crate::facts::NOTHING;
use crate::merge::{Point, PointPhis, Way};
use crate::place::Place;
use crate::registers::Defined;
use crate::state::{NONE_PARKED, Parked, Slots, Snapshot, State};
use crate::walk::Walk;

/// States that come together.
struct Return {
    /// Where they do.
    point: u32,
    /// Registers and scratch of the lanes that are active, where there are any.
    own: Option<(Rc<Vec<Id>>, Rc<Slots>)>,
    snapshots: Vec<u32>,
    loops: Vec<u32>,
    /// What may have become of them.
    changes: Vec<u32>,
    /// Lanes without a work-item are among them.
    vacant: bool,
    /// Loops that these lanes were in and that are over, a bit for each: their registers are of some
    /// iteration.
    over: u64,
}

impl Walk<'_> {
    /// Lanes come back: those parked since a snapshot, or any.
    pub(crate) fn unpark(&mut self, state: &mut State, since: Option<u32>, bound: Option<u32>) {
        let before = state.epoch;
        let tail = since.map_or(NONE_PARKED, |since| self.snapshots[since as usize].parked);
        let (mut snapshots, mut loops, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut vacant = false;
        for entry in self.parked.since(state.parked, tail) {
            match entry {
                Parked::Vacant => vacant = true,
                Parked::Snapshot(snapshot) => snapshots.push(snapshot),
                Parked::Loop(run) => loops.push(run),
                Parked::Changed(other) => changes.push(other),
            }
        }
        state.bound = bound;
        state.epoch = if Rule::SwitchingOnMakesAnEpoch.is_broken() {
            self.epochs.narrower(state)
        } else {
            self.epochs.unrelated(before, bound)
        };
        if snapshots.is_empty() && loops.is_empty() && !vacant {
            let (true, Some(since)) = (state.idle, since) else {
                return;
            };
            if changes.is_empty() || self.snapshots[since as usize].idle {
                return self.as_at(state, since);
            }
            snapshots.push(since);
        }
        let (point, common) = self.meeting(state, &snapshots, &loops, &changes, vacant);
        let returning = Return {
            point,
            own: (!state.idle).then(|| (Rc::clone(&state.vectors), Rc::clone(&state.scratch))),
            over: self.loops_over(&snapshots, &changes),
            snapshots,
            loops,
            changes,
            vacant,
        };
        if returning.own.is_some() {
            self.come_together(state, before, point);
        }
        self.rejoin_vectors(state, &returning);
        self.rejoin_slots(state, &returning);
        state.facts = common;
        state.idle = false;
        self.lose_lane_written(state);
    }

    /// No lane was active, and none was parked since the snapshot: they are as they were at it.
    fn as_at(&mut self, state: &mut State, since: u32) {
        let snapshot = self.snapshots[since as usize].clone();
        state.vectors = snapshot.vectors;
        state.scratch = snapshot.scratch;
        state.facts = snapshot.facts;
        state.idle = snapshot.idle;
        state.occupied = snapshot.occupied;
        self.lose_lane_written(state);
    }

    /// Where the states come together, and the facts that hold in all of them.
    fn meeting(
        &mut self,
        state: &State,
        snapshots: &[u32],
        loops: &[u32],
        changes: &[u32],
        vacant: bool,
    ) -> (u32, FactId) {
        let mut facts: Vec<FactId> = Vec::new();
        if !state.idle {
            facts.push(state.facts);
        }
        let parked = snapshots
            .iter()
            .map(|&snapshot| self.snapshots[snapshot as usize].facts);
        facts.extend(parked);
        let vacant = vacant.then(|| self.some_are_vacant());
        let all = facts.iter().copied().chain(vacant);
        let common = all.reduce(|a, b| self.common(a, b));
        let mut common = common.unwrap_or(state.wave);
        for &run in loops {
            // Whatever held before the loop.
            let before = self.loops[run as usize].parked_facts();
            common = self.common(common, before);
            facts.push(before);
        }
        facts.extend(changes.iter().map(|&c| self.changes[c as usize].facts));
        facts.extend(vacant);
        let ways = facts.into_iter().map(|facts| Way {
            facts,
            wave: FactId(0),
            back: false,
            taken: true,
            occupied: false,
        });
        let point = self.merges.point(Point {
            ways: ways.collect(),
            facts: common,
            wave: state.wave,
            phis: PointPhis::default(),
            loops: 0,
        });
        (point, common)
    }

    /// What holds for a lane without a work-item: waves of the launch have such.
    fn some_are_vacant(&mut self) -> FactId {
        let vacant = self.arena.intern(Node::Vacant);
        let some = self.arena.compare(Compare::Ne, vacant, ZERO);
        self.facts.push(&self.arena, NOTHING, some)
    }

    fn loops_over(&self, snapshots: &[u32], changes: &[u32]) -> u64 {
        let mut over = 0;
        let parked = snapshots.iter().map(|&s| self.snapshots[s as usize].inside);
        let changed = changes
            .iter()
            .flat_map(|&c| self.changes[c as usize].inside.iter().copied());
        for mut inside in parked.chain(changed) {
            while let Some(run) = inside {
                if !self.within(self.inside, run) {
                    over |= self.loops[run as usize].bit;
                }
                inside = self.loops[run as usize].parent;
            }
        }
        over
    }

    fn rejoin_vectors(&mut self, state: &mut State, returning: &Return) {
        let Return {
            own,
            snapshots,
            loops,
            changes,
            over,
            vacant,
            ..
        } = returning;
        let own = own.iter().map(|(vectors, _)| Rc::clone(vectors));
        let parked = snapshots
            .iter()
            .map(|&s| Rc::clone(&self.snapshots[s as usize].vectors));
        let sources: Vec<Rc<Vec<Id>>> = own.chain(parked).collect();
        // What a loop leaves as it is, its lanes have as it was at the head, whatever has become of it behind the loop.
        let heads = loops
            .iter()
            .map(|&run| Rc::clone(&self.loops[run as usize].vectors));
        let heads: Vec<Rc<Vec<Id>>> = heads.collect();
        let mut all = sources.iter().chain(&heads);
        let mut joined = Rc::clone(all.next().unwrap_or(&state.vectors));
        self.charge((sources.len() + loops.len()) * joined.len() / 8);
        let others = all
            .filter(|source| !Rc::ptr_eq(source, &joined))
            .map(|source| source.as_slice());
        let mut concerned = Differing::between(&joined, others);
        let mut defined = Defined::default();
        for &run in loops {
            defined = defined.or(&self.loops[run as usize].defined);
        }
        if *vacant {
            defined = Defined::ALL;
        }
        concerned.add_all(defined.vectors());
        for &changes in changes {
            let registers = self.changes[changes as usize].registers();
            registers.for_each(|register| concerned.add(register));
        }
        if *over != 0 {
            for (register, value) in joined.iter().enumerate() {
                if self.arena.traits(*value).loops & over != 0 {
                    concerned.add(register);
                }
            }
        }
        let vectors = Rc::make_mut(&mut joined);
        let mut values: Vec<Id> = Vec::with_capacity(sources.len() + loops.len());
        let count = vectors.len();
        for register in concerned.iter().take_while(|&r| r < count) {
            // Some may be parked again at once.
            if !self.asked.vector_of_any(register) {
                vectors[register] = self.arena.anything(0);
                continue;
            }
            values.clear();
            values.extend(sources.iter().map(|source| source[register]));
            for &run in loops {
                values.push(self.parked_in_loop(run, Place::Vector(register)));
            }
            for &changes in changes {
                values.push(self.changed(changes, Place::Vector(register)));
            }
            if *vacant {
                values.push(self.arena.opaque(Lost::Arithmetic));
            }
            vectors[register] = self.rejoin(returning, &values);
        }
        state.vectors = joined;
    }

    fn rejoin_slots(&mut self, state: &mut State, returning: &Return) {
        let Return {
            own,
            snapshots,
            loops,
            changes,
            over,
            vacant,
            ..
        } = returning;
        // With no lane there is nothing in it.
        let parked = snapshots.iter().map(|&s| {
            let Snapshot { scratch, idle, .. } = &self.snapshots[s as usize];
            (!idle).then(|| Rc::clone(scratch))
        });
        let own = own.iter().map(|(_, slots)| Some(Rc::clone(slots)));
        let sources: Vec<Option<Rc<Slots>>> = own.chain(parked).collect();
        let heads = loops.iter().map(|&run| &self.loops[run as usize].slots);
        let mut known = sources.iter().flatten().chain(heads);
        let first = known.next().unwrap_or(&state.scratch);
        let is_same = known.all(|other| Rc::ptr_eq(other, first));
        let mut joined = Rc::clone(first);
        let in_loops = loops.iter().any(|&run| self.loops[run as usize].scratch);
        if joined.is_empty()
            || (is_same && !in_loops && changes.is_empty() && !vacant && *over == 0)
        {
            state.scratch = joined;
            return;
        }
        let lost = self.arena.opaque(Lost::Scratch);
        let slots = Rc::make_mut(&mut joined);
        let mut values: Vec<Id> = Vec::new();
        for (at, (offset, joined)) in slots.iter_mut().enumerate() {
            values.clear();
            values.extend(sources.iter().map(|source| match source {
                Some(slots) => slots.get_near(offset, at).copied().unwrap_or(lost),
                None => BOTTOM,
            }));
            for &run in loops {
                values.push(self.parked_in_loop(run, Place::Slot(*offset)));
            }
            for &changes in changes {
                values.push(self.changed(changes, Place::Slot(*offset)));
            }
            if *vacant {
                values.push(lost);
            }
            *joined = self.rejoin(returning, &values);
        }
        state.scratch = joined;
    }

    fn rejoin(&mut self, returning: &Return, values: &[Id]) -> Id {
        let point = returning.point;
        let is_of_some_iteration =
            |value: &Id| self.arena.traits(*value).loops & returning.over != 0;
        if returning.over != 0 && values.iter().any(is_of_some_iteration) {
            return self.merges.phi(&mut self.arena, point, values, false, 0);
        }
        self.merges.join(&mut self.arena, point, values, false)
    }

    /// Lanes that come back may have been written while they were parked.
    fn lose_lane_written(&mut self, state: &mut State) {
        if self.lane_written.is_empty() {
            return;
        }
        let vectors = Rc::make_mut(&mut state.vectors);
        for &register in &self.lane_written {
            if let Some(value) = vectors.get_mut(register) {
                *value = self.arena.opaque(Lost::Arithmetic);
            }
        }
    }
}
