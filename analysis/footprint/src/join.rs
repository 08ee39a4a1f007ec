//! States where several ways meet.

use std::rc::Rc;

use crate::differing::Differing;
use crate::expr::{BOTTOM, FactId, Id};
use crate::facts::NOTHING;
use crate::merge::{Point, PointPhis, Way};
use crate::place::Holder;
use crate::registers::SCALARS;
use crate::state::{Slots, State};
use crate::walk::Walk;

impl Walk<'_> {
    /// The state where several ways meet.
    pub(crate) fn join(&mut self, mut states: Vec<State>) -> State {
        if states.len() == 1 {
            return states.remove(0);
        }
        let ways = states
            .iter()
            .map(|s| Way {
                facts: s.facts,
                wave: s.wave,
                back: false,
                taken: true,
                occupied: false,
            })
            .collect();
        self.charge(states.len() * (SCALARS + self.vectors) / 8);
        let (facts, wave) = self.meet(&states);
        let point = self.merges.point(Point {
            ways,
            facts,
            wave,
            phis: PointPhis::default(),
            loops: 0,
        });
        let mut joined = states[0].clone();
        joined.facts = facts;
        joined.wave = wave;
        joined.scalars = self.join_registers(&states, point, false, |s| &s.scalars, &[]);
        self.join_masks(&mut joined, &states, point);
        joined.vectors = self.join_registers(&states, point, true, |s| &s.vectors, &[]);
        joined.scratch = self.join_slots(&states, point, 0);
        self.join_rest(&mut joined, &states, point, 0);
        self.join_kept_masks(&mut joined, &states, point);
        joined.epoch = self.epochs.joined(&states, joined.bound);
        self.epochs.met(&states, joined.epoch);
        joined.idle = states.iter().all(|state| state.idle);
        joined.all_active = self.are_active_where_meet(&states, facts);
        joined.path = self.paths.join(states.iter().map(|state| state.path));
        joined
    }

    pub(crate) fn meet(&self, states: &[State]) -> (FactId, FactId) {
        let common = |ids: &mut dyn Iterator<Item = FactId>| {
            ids.reduce(|a, b| self.common(a, b)).unwrap_or(NOTHING)
        };
        let wave = common(&mut states.iter().map(|s| s.wave));
        let facts = if states.iter().all(|s| s.idle) {
            wave
        } else {
            common(&mut states.iter().filter(|s| !s.idle).map(|s| s.facts))
        };
        (facts, wave)
    }

    pub(crate) fn join_registers(
        &mut self,
        states: &[State],
        point: u32,
        vector: bool,
        of: fn(&State) -> &Rc<Vec<Id>>,
        more: &[Id],
    ) -> Rc<Vec<Id>> {
        // The first way that has values; idle ones have no vectors.
        let first = states.iter().position(|s| !(vector && s.idle)).unwrap_or(0);
        let mut joined = Rc::clone(of(&states[first]));
        let others = states
            .iter()
            .filter(|s| !(Rc::ptr_eq(of(s), &joined) || (vector && s.idle)));
        let differing = Differing::between(&joined, others.map(|s| of(s).as_slice()));
        if differing.is_empty() {
            return joined;
        }
        let registers = Rc::make_mut(&mut joined);
        let mut values: Vec<Id> = Vec::with_capacity(states.len() + more.len());
        for register in differing.iter() {
            let is_asked = match vector {
                true => self.asked.vector(register),
                false => self.asked.scalar(register),
            };
            if !is_asked {
                registers[register] = self.arena.anything(0);
                continue;
            }
            values.clear();
            values.extend(states.iter().map(|s| of(s)[register]));
            values.extend(more);
            registers[register] = self.merges.join(&mut self.arena, point, &values, !vector);
        }
        joined
    }

    pub(crate) fn join_slots(&mut self, states: &[State], point: u32, ends: usize) -> Rc<Slots> {
        let live = states.iter().map(|s| (!s.idle).then_some(&s.scratch));
        self.join_slots_of(live, point, ends)
    }

    /// The slots that all ways with lanes know.
    pub(crate) fn join_slots_of<'a>(
        &mut self,
        ways: impl Iterator<Item = Option<&'a Rc<Slots>>> + Clone,
        point: u32,
        ends: usize,
    ) -> Rc<Slots> {
        let mut live = ways.clone().flatten();
        let Some(first) = live.next() else {
            return Rc::default();
        };
        if live.all(|other| Rc::ptr_eq(other, first)) {
            return Rc::clone(first);
        }
        let mut values: Vec<Id> = Vec::new();
        let mut joined = Slots::new();
        for (at, offset) in first.keys().enumerate() {
            values.clear();
            let mut all = ways.clone();
            let is_known = all.all(|way| {
                let value = way.map_or(Some(&BOTTOM), |slots| slots.get_near(offset, at));
                values.extend(value);
                value.is_some()
            });
            if !is_known {
                continue;
            }
            values.extend(std::iter::repeat_n(BOTTOM, ends));
            joined.insert(
                *offset,
                self.merges.join(&mut self.arena, point, &values, false),
            );
        }
        Rc::new(joined)
    }

    pub(crate) fn join_rest(
        &mut self,
        joined: &mut State,
        states: &[State],
        point: u32,
        ends: usize,
    ) {
        if states[1..].iter().any(|s| s.exec != joined.exec) {
            joined.exec = self.exec_values.fresh();
        }
        for other in &states[1..] {
            joined.parked = self.parked.union(joined.parked, other.parked);
            joined.indexed |= other.indexed;
            joined.widened = None;
            joined.whole = joined.whole.filter(|whole| other.whole == Some(*whole));
            joined.occupied &= other.occupied;
            joined.bound = self.around(joined.bound, other.bound);
            if joined.scc != other.scc {
                joined.scc = self.arena.unknown();
            }
        }
        if states[1..]
            .iter()
            .any(|s| !Rc::ptr_eq(&s.spills, &joined.spills))
        {
            let keys: Vec<(Holder, u32)> = joined.spills.keys().copied().collect();
            for key in keys {
                let values: Option<Vec<Id>> =
                    states.iter().map(|s| s.spills.get(&key).copied()).collect();
                let spills = Rc::make_mut(&mut joined.spills);
                match values {
                    Some(mut values) => {
                        values.extend(std::iter::repeat_n(BOTTOM, ends));
                        let value = self.merges.join(&mut self.arena, point, &values, true);
                        spills.insert(key, value);
                    }
                    None => {
                        spills.remove(&key);
                    }
                }
            }
        }
    }
}
