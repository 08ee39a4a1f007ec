//! All lanes switched on for a while, or some by their numbers: how functions save and restore registers whose lanes
//! keep scalars, and scalars.
//!
//! `s_or_saveexec_b64 s, -1` or `s_mov_b64 exec, -1`, some instructions, and EXEC is what it was. In between any lane may be active,
//! so the active lane is one of all. Afterwards it is one of those before again: what was not changed
//! in between is what it was for them, and what was copied is what they had there. The others have done
//! what was done in between, too: places that were changed are noted for when they come back.
//!
//! `s_mov_b64 exec, 3` switches on two lanes instead. A lane is one of them or not: it has done all of what was done in
//! between, or nothing.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::expr::{BOTTOM, FactId, Id, Lost, Map, TRUE};
use crate::facts::NOTHING;
use crate::place::Place;
use crate::state::{Parked, ParkedId, State, Switched, Widened};
use crate::walk::Walk;

/// What may have become of lanes that were parked while they were active by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// What held for all lanes.
    pub(crate) facts: FactId,
    /// The innermost loops around.
    pub(crate) inside: Vec<Option<u32>>,
    vectors: BTreeMap<usize, Vec<Id>>,
    pub(crate) scratch: BTreeMap<i64, Vec<Id>>,
}

impl Changes {
    /// Whether a vector register was changed.
    pub(crate) fn has(&self, register: usize) -> bool {
        self.vectors.contains_key(&register)
    }

    /// All of those.
    pub(crate) fn registers(&self) -> impl Iterator<Item = usize> + '_ {
        self.vectors.keys().copied()
    }
}

/// What a place may have become at most; more is anything.
const MAX_CHANGES: usize = 8;

impl Walk<'_> {
    /// These lanes are active now; before, those of a snapshot were.
    pub(crate) fn made_active(&self, state: &mut State, snapshot: u32, lanes: Switched) {
        if lanes == Switched::ALL {
            state.whole = Some(state.exec);
        }
        state.widened = Some(Rc::new(Widened {
            snapshot,
            lanes,
            exec: state.exec,
            vectors: Rc::clone(&state.vectors),
            scratch: Rc::clone(&state.scratch),
        }));
    }

    /// All lanes become active. Where those are that were not before, that is as if it had become what it was before first.
    pub(crate) fn make_all_active(&mut self, state: &mut State) {
        let widened = state.widened.as_ref();
        let others = widened.filter(|widened| widened.lanes == Switched::Others);
        if let Some(before) = others.map(|widened| widened.snapshot) {
            self.narrow_again(state, before);
        }
        let before = self.snapshot(state);
        self.replace_exec(state, TRUE);
        self.made_active(state, before, Switched::ALL);
    }

    /// EXEC becomes that of a snapshot; `false` if it was not the last value before lanes were switched on by their numbers.
    pub(crate) fn narrow_again(&mut self, state: &mut State, snapshot: u32) -> bool {
        let exec_of = |snapshot: u32| self.snapshots[snapshot as usize].exec;
        let widened = state.widened.take();
        let widened = widened.filter(|widened| {
            widened.exec == state.exec && exec_of(widened.snapshot) == exec_of(snapshot)
        });
        let Some(widened) = widened else {
            return false;
        };
        let snapshot = widened.snapshot;
        let before = self.snapshots[snapshot as usize].clone();
        // Whoever was active then has done nothing of it, or all, or one of these.
        let (idle, others) = (before.idle, widened.lanes == Switched::Others);
        let (untouched, all_have) = (idle || others, widened.lanes == Switched::ALL);
        self.charge(self.vectors / 8 + state.scratch.len());
        let mut changes = Changes {
            facts: state.facts,
            inside: vec![self.inside],
            ..Changes::default()
        };
        let mut vectors = (*before.vectors).clone();
        let mut scratch = (*before.scratch).clone();
        // What was joined is in each lane what the lane had.
        let registers = widened.vectors.iter().zip(vectors.iter());
        let slots = widened.scratch.iter();
        let slots = slots.filter_map(|(slot, joined)| Some((joined, scratch.get(slot)?)));
        let places = registers.chain(slots);
        // A join that is none of its values has one place.
        let places = places.filter(|(joined, own)| joined != own && **own != BOTTOM);
        let own: Map<Id, Id> = places.map(|(joined, own)| (*joined, *own)).collect();
        let own = |now: Id| own.get(&now).copied().unwrap_or(now);
        for (register, value) in vectors.iter_mut().enumerate() {
            let now = state.vectors[register];
            if now != widened.vectors[register] {
                changes.vectors.insert(register, vec![now]);
                if all_have && !untouched {
                    *value = own(now);
                } else if !untouched {
                    *value = self.one_of(before.facts, state.wave, &[*value, own(now)]);
                }
            }
        }
        for (slot, &now) in state.scratch.iter() {
            if widened.scratch.get(slot) != Some(&now) {
                changes.scratch.insert(*slot, vec![now]);
                if all_have && !untouched {
                    scratch.insert(*slot, own(now));
                } else if others {
                    continue;
                } else if let Some(value) = scratch.get_mut(slot) {
                    *value = self.one_of(before.facts, state.wave, &[*value, own(now)]);
                }
            }
        }
        state.vectors = Rc::new(vectors);
        state.scratch = Rc::new(scratch);
        state.facts = before.facts;
        state.idle = before.idle;
        state.occupied = before.occupied;
        state.all_active = before.all_active;
        state.exec = before.exec;
        state.bound = Some(snapshot);
        state.epoch = self.epochs.unrelated(state.epoch, state.bound);
        self.changes.push(changes);
        let changes = self.changes.len() as u32 - 1;
        state.parked = self.park_changes(before.parked, changes);
        true
    }

    /// Lets a list say what may have become of the lanes in it.
    pub(crate) fn park_changes(&mut self, list: ParkedId, changes: u32) -> ParkedId {
        let Some((Parked::Changed(last), below)) = self.parked.last(list) else {
            return self.parked.push(list, Parked::Changed(changes));
        };
        if last == changes {
            return list;
        }
        let mut all = self.changes[last as usize].clone();
        let more = self.changes[changes as usize].clone();
        all.facts = self.common(all.facts, more.facts);
        all.inside.extend(more.inside);
        all.inside.sort_unstable();
        all.inside.dedup();
        for (register, values) in more.vectors {
            add(all.vectors.entry(register).or_default(), values);
        }
        for (slot, values) in more.scratch {
            add(all.scratch.entry(slot).or_default(), values);
        }
        self.charge(all.vectors.len() + all.scratch.len());
        self.changes.push(all);
        let all = self.changes.len() as u32 - 1;
        self.parked.push(below, Parked::Changed(all))
    }

    /// What may be in a place of lanes that were parked then; nothing if it was not changed.
    pub(crate) fn changed(&mut self, changes: u32, place: Place) -> Id {
        let changes = &self.changes[changes as usize];
        let facts = changes.facts;
        let values = match place {
            Place::Vector(register) => changes.vectors.get(&register),
            Place::Slot(slot) => changes.scratch.get(&slot),
            Place::Scalar(_) | Place::Spill(..) => None,
        };
        match values.map(Vec::as_slice) {
            None | Some([]) => BOTTOM,
            Some([only]) => *only,
            Some(values) if values.len() > MAX_CHANGES => self.arena.opaque(Lost::Scratch),
            Some(values) => {
                let values = values.to_vec();
                self.one_of(facts, NOTHING, &values)
            }
        }
    }
}

fn add(to: &mut Vec<Id>, values: Vec<Id>) {
    for value in values {
        if to.len() <= MAX_CHANGES && !to.contains(&value) {
            to.push(value);
        }
    }
}
