//! A walk through a loop: its head, its ends, and what it leaves parked.
//!
//! A loop that switches lanes off and on keeps them in masks, which are empty when it begins. That all lanes
//! at its head are among those that came to the loop is taken for granted there, and checked at each
//! of its ends, like other [premises](crate::premises).

use std::rc::Rc;

use crate::expr::{BOTTOM, FALSE, FactId, Id, Lost, Map, Node, ZERO};
use crate::facts::NOTHING;
use crate::flow::Loop;
use crate::merge::{Point, PointPhis, Way};
use crate::place::{Holder, Place};
use crate::premises::{Premise, Where, Which};
use crate::registers::{Defined, SCALARS};
use crate::state::{Parked, ParkedId, Slots, State};
use crate::walk::Walk;

/// One walk through a loop.
#[derive(Debug)]
pub(crate) struct LoopRun {
    pub(crate) parent: Option<u32>,
    pub(crate) defined: Defined,
    /// It may change slots of scratch.
    pub(crate) scratch: bool,
    /// [`crate::expr::Traits::loops`] bit.
    pub(crate) bit: u64,
    point: u32,
    ends: usize,
    phis: Vec<(Place, u32)>,
    /// The point whose ways are the snapshots taken in the loop, and its phis.
    pub(crate) parked_point: Option<u32>,
    pub(crate) parked_phis: Map<Place, u32>,
    facts: FactId,
    wave: FactId,
    untouched: bool,
    /// The lanes that came to the loop, if it is taken for granted that no others come to its head
    /// later.
    entered: Option<u32>,
    /// EXEC's value, if it is taken to be the same in every round.
    exec: Option<u32>,
    /// Some lane is taken to be active whenever the loop goes round.
    occupied: bool,
    /// Masks that are taken to be part of those lanes at the head, and whether they are taken to make them
    /// up with EXEC.
    masks: Vec<(Place, bool)>,
    /// Places that are taken to keep their value.
    kept: Map<Place, Id>,
    /// Those of which it is taken, too, that lanes that have left the loop have it there.
    kept_parked: Map<Place, Id>,
    /// What is at the head.
    pub(crate) vectors: Rc<Vec<Id>>,
    pub(crate) slots: Rc<Slots>,
    /// What was parked at the head, and what is still parked where the loop goes round.
    parked: ParkedId,
    pub(crate) carried: Vec<Parked>,
    /// The function's entry and the head's address.
    which: Which,
}

impl LoopRun {
    /// What held before the loop holds for every lane that it switched off; for those that it changed, which need not have
    /// come to it, what held for the wave.
    pub(crate) fn parked_facts(&self) -> FactId {
        match self.untouched {
            true => self.facts,
            false => self.wave,
        }
    }
}

/// Who is parked when a loop goes round.
struct Carried {
    snapshots: Vec<usize>,
    /// What may have become of them.
    changes: Vec<u32>,
    /// Lanes without a work-item are among them.
    vacant: bool,
}

/// A loop's head, while it is made.
struct Head<'a> {
    /// At the ways into the loop.
    states: &'a [State],
    shape: &'a Loop,
    /// What is known of its ends: nothing, for each.
    none: Vec<Id>,
    point: u32,
    bit: u64,
    which: Which,
    loose: bool,
    steady: bool,
    /// The lanes that came to the loop, if no others come to its head.
    entered: Option<u32>,
    /// What a parked lane holds.
    parked: Id,
    phis: Vec<(Place, u32)>,
    masks: Vec<(Place, bool)>,
    kept: Vec<(Place, Id)>,
}

impl Head<'_> {
    /// Whether the loop collects lanes that have left it in this register and the next: empty at first.
    fn begins_mask(&self, register: usize) -> bool {
        let Self { shape, states, .. } = self;
        let both = register..register + 2;
        both.end <= SCALARS
            && shape.masks
            && both.clone().all(|register| shape.defined.scalar(register))
            && states
                .iter()
                .all(|s| s.scalars[both.clone()] == [ZERO, ZERO])
            && shape.keeps_mask(register)
    }

    /// Likewise, in two lanes of a vector register.
    fn begins_kept_mask(&self, holder: Holder, lane: u32) -> bool {
        let is_empty = |s: &State, lane: u32| s.spills.get(&(holder, lane)) == Some(&ZERO);
        self.shape.masks
            && self
                .states
                .iter()
                .all(|s| is_empty(s, lane) && is_empty(s, lane + 1))
    }
}

/// What is in a place where a loop goes round. `None`: it has no lanes there. What is not known there is
/// nothing that was known before.
fn place_of(state: &State, place: Place, lost: Id) -> Option<Id> {
    match place {
        Place::Scalar(register) => Some(state.scalars[register]),
        Place::Vector(register) => Some(state.vectors[register]),
        Place::Slot(_) if state.idle => None,
        Place::Slot(offset) => Some(state.scratch.get(&offset).copied().unwrap_or(lost)),
        Place::Spill(holder, lane) => {
            Some(state.spills.get(&(holder, lane)).copied().unwrap_or(lost))
        }
    }
}

impl Walk<'_> {
    /// The state at a loop's head: each register that the loop defines is a phi, of the ways into the loop and of
    /// its ends, which are not known yet.
    pub(crate) fn head(
        &mut self,
        states: Vec<State>,
        shape: &Loop,
        ends: usize,
        which: Which,
    ) -> (u32, State) {
        self.charge((states.len() + ends) * (SCALARS + self.vectors) / 8);
        let run = self.loops.len() as u32;
        let bit = 1 << (run % 64);
        let (mut facts, wave) = self.meet(&states);
        // Lanes will come to the head that never came to the loop: of them is known what holds for the
        // wave, and any register may be another one's.
        let loose = shape.masks && !self.premises.granted(which, Premise::Entered);
        if loose {
            facts = wave;
        }
        let ways = states.iter().map(|state| Way {
            facts: state.facts,
            wave: state.wave,
            back: false,
            taken: true,
            occupied: false,
        });
        let open = (0..ends).map(|_| Way {
            facts: NOTHING,
            wave: NOTHING,
            back: true,
            taken: false,
            occupied: false,
        });
        let point = self.merges.point(Point {
            ways: ways.chain(open).collect(),
            facts,
            wave,
            phis: PointPhis::default(),
            loops: bit,
        });
        let mut head = Head {
            states: &states,
            shape,
            none: vec![BOTTOM; ends],
            point,
            bit,
            which,
            loose,
            steady: false,
            entered: None,
            parked: self.arena.opaque(Lost::Arithmetic),
            phis: Vec::new(),
            masks: Vec::new(),
            kept: Vec::new(),
        };
        let before = self.epochs.before(&states);
        let mut state = states[0].clone();
        state.scalars = self.join_registers(&states, point, false, |s| &s.scalars, &head.none);
        state.vectors = self.join_registers(&states, point, true, |s| &s.vectors, &head.none);
        state.scratch = self.join_slots(&states, point, ends);
        self.join_rest(&mut state, &states, point, ends);
        state.idle = states.iter().all(|state| state.idle);
        (state.facts, state.wave) = (facts, wave);
        head.entered = (!loose).then(|| self.snapshot(&state));
        head.steady =
            shape.masks && !shape.narrows && self.premises.granted(which, Premise::Steady);
        if shape.masks && !head.steady {
            state.exec = self.exec_values.fresh();
        }
        self.head_scalars(&mut state, &mut head);
        // Where it leaves EXEC alone, nobody comes to a loop that nobody came to.
        state.idle &= !shape.masks;
        if !state.idle {
            self.head_vectors(&mut state, &mut head);
        }
        self.head_slots(&mut state, &mut head);
        state.scc = self.arena.unknown();
        state.widened = None;
        let entered = head.entered.filter(|_| shape.masks);
        state.bound = if shape.masks { entered } else { state.bound };
        state.epoch = self.epochs.unrelated(before, state.bound);
        state.occupied &= self.premises.granted(which, Premise::Occupied);
        state.all_active = false;
        state.path = self.paths.fresh();
        let occupied = shape.masks && state.occupied;
        let parked = state.parked;
        if shape.masks {
            state.parked = self.parked.push(state.parked, Parked::Loop(run));
        }
        let exec = head.steady.then_some(state.exec);
        let Head {
            phis, masks, kept, ..
        } = head;
        self.loops.push(LoopRun {
            parent: self.inside,
            defined: if loose { Defined::ALL } else { shape.defined },
            scratch: shape.scratch || loose,
            bit,
            point,
            ends: states.len(),
            phis,
            parked_point: None,
            parked_phis: Map::default(),
            facts,
            wave,
            untouched: self.premises.granted(which, Premise::Untouched),
            entered,
            exec,
            occupied,
            masks,
            kept: kept.into_iter().collect(),
            kept_parked: Map::default(),
            vectors: Rc::clone(&state.vectors),
            slots: Rc::clone(&state.scratch),
            parked,
            carried: Vec::new(),
            which,
        });
        (run, state)
    }

    /// A phi for a place at the head; `inputs` are those of the ways into the loop.
    fn head_phi(
        &mut self,
        head: &mut Head<'_>,
        place: Place,
        scalar: bool,
        mut inputs: Vec<Id>,
    ) -> Id {
        inputs.extend(&head.none);
        let id = self
            .merges
            .phi(&mut self.arena, head.point, &inputs, scalar, head.bit);
        let phi = self.merges.phis.len() as u32 - 1;
        head.phis.push((place, phi));
        let premise = Premise::Elsewhere(place, Where::Head);
        self.elsewhere.leave_open(phi, head.which, premise);
        id
    }

    fn head_scalars(&mut self, state: &mut State, head: &mut Head<'_>) {
        let scalars = Rc::make_mut(&mut state.scalars);
        let mut register = 0;
        while register < SCALARS {
            let place = Place::Scalar(register);
            if !self.asked.scalar(register) {
                if head.shape.defined.scalar(register) {
                    scalars[register] = self.arena.anything(head.bit);
                }
                register += 1;
                continue;
            }
            if let Some(entered) = head.entered
                && head.begins_mask(register)
                && self.premises.granted(head.which, Premise::Mask(place))
            {
                let both = self.head_mask(head, place, entered, state.exec);
                scalars[register..register + 2].copy_from_slice(&both);
                register += 2;
                continue;
            }
            let of = |s: &State| s.scalars.get(register).copied();
            if head.shape.calls
                && let Some(value) = self.is_kept(head, place, of)
            {
                scalars[register] = value;
                head.kept.push((place, value));
            } else if head.shape.defined.scalar(register) {
                let inputs = head.states.iter().map(|s| s.scalars[register]).collect();
                scalars[register] = self.head_phi(head, Place::Scalar(register), true, inputs);
            }
            register += 1;
        }
    }

    /// Both halves of a mask that the loop collects lanes in, those of a snapshot that came to the loop.
    fn head_mask(&mut self, head: &mut Head<'_>, place: Place, entered: u32, exec: u32) -> [Id; 2] {
        let unique = self.arena.unique();
        let mask = self.arena.intern(Node::PartOf(entered, unique));
        let premise = Premise::Collected(place);
        let collected = !head.steady && self.premises.granted(head.which, premise);
        if collected {
            self.take_apart(mask, entered, exec);
        }
        head.masks.push((place, collected));
        self.halves(mask)
    }

    /// The value of a place, if it is the same on all ways to a loop and not known to change there.
    fn is_kept(
        &self,
        head: &Head<'_>,
        place: Place,
        of: impl Fn(&State) -> Option<Id>,
    ) -> Option<Id> {
        let value = of(&head.states[0])?;
        let same = head.states.iter().all(|s| of(s) == Some(value));
        let kept = same && self.premises.granted(head.which, Premise::Kept(place));
        kept.then_some(value)
    }

    fn head_vectors(&mut self, state: &mut State, head: &mut Head<'_>) {
        let vectors = Rc::make_mut(&mut state.vectors);
        for register in 0..self.vectors {
            if !head.loose && !head.shape.defined.vector(register) {
                continue;
            }
            if !self.asked.vector(register) {
                vectors[register] = self.arena.anything(head.bit);
                continue;
            }
            let inputs = head.states.iter().map(|s| match s.vectors[register] {
                // With no lane active, lane 0 is read: it is parked, and holds something.
                BOTTOM if s.idle => head.parked,
                value => value,
            });
            let inputs = inputs.collect();
            vectors[register] = self.head_phi(head, Place::Vector(register), false, inputs);
        }
    }

    /// Scratch, and scalar registers that are kept in lanes of vector registers.
    fn head_slots(&mut self, state: &mut State, head: &mut Head<'_>) {
        if head.shape.scratch || head.loose {
            for (offset, value) in Rc::make_mut(&mut state.scratch).iter_mut() {
                let place = Place::Slot(*offset);
                let of = |s: &State| s.scratch.get(offset).copied();
                if let Some(known) = self.is_kept(head, place, of).filter(|_| !head.loose) {
                    *value = known;
                    head.kept.push((place, known));
                    continue;
                }
                let inputs = head.states.iter();
                let inputs = inputs.map(|s| s.scratch.get(offset).copied().unwrap_or(BOTTOM));
                let inputs = inputs.collect();
                *value = self.head_phi(head, Place::Slot(*offset), false, inputs);
            }
        }
        let mut high_half = None;
        for (spill, value) in Rc::make_mut(&mut state.spills).iter_mut() {
            let (holder, lane) = *spill;
            let defined = match holder {
                Holder::Vector(register) => head.shape.defined.vector(register.into()),
                Holder::Slot(_) => head.shape.scratch || head.loose,
            };
            let place = Place::Spill(holder, lane);
            if let Some((_, half)) = high_half.take_if(|(of, _)| *of == *spill) {
                *value = half;
                continue;
            }
            if let Some(entered) = head.entered
                && defined
                && head.begins_kept_mask(holder, lane)
                && self.premises.granted(head.which, Premise::Mask(place))
            {
                let [low, high] = self.head_mask(head, place, entered, state.exec);
                *value = low;
                high_half = Some(((holder, lane + 1), high));
                continue;
            }
            let of = |s: &State| s.spills.get(spill).copied();
            if defined && let Some(known) = self.is_kept(head, place, of) {
                *value = known;
                head.kept.push((place, known));
            } else if defined {
                let inputs = head.states.iter();
                let inputs = inputs.map(|s| s.spills.get(spill).copied().unwrap_or(BOTTOM));
                let inputs = inputs.collect();
                *value = self.head_phi(head, Place::Spill(holder, lane), true, inputs);
            }
        }
    }

    /// A way from a loop's end back to its head.
    pub(crate) fn close(&mut self, run: u32, state: &State) {
        let lost = self.arena.opaque(Lost::Scratch);
        self.charge(self.loops[run as usize].phis.len());
        self.check_lanes(run, state);
        for (&place, &value) in &self.loops[run as usize].kept {
            if place_of(state, place, lost).is_some_and(|now| now != value) {
                let which = self.loops[run as usize].which;
                self.premises.refute(which, Premise::Kept(place));
            }
        }
        let run = &mut self.loops[run as usize];
        for entry in self.parked.since(state.parked, run.parked) {
            if !run.carried.contains(&entry) {
                run.carried.push(entry);
            }
        }
        let way = run.ends;
        run.ends += 1;
        if let Some(way) = self.merges.points[run.point as usize].ways.get_mut(way) {
            *way = Way {
                facts: state.facts,
                wave: state.wave,
                back: true,
                taken: true,
                occupied: state.occupied,
            };
        }
        for &(place, phi) in &run.phis {
            let value = place_of(state, place, lost).unwrap_or(BOTTOM);
            self.merges.bring(phi, way, value);
        }
    }

    /// What was taken for granted at a loop's head must be true where the loop goes round.
    fn check_lanes(&mut self, run: u32, state: &State) {
        let run = &self.loops[run as usize];
        if run.exec.is_some_and(|exec| exec != state.exec) {
            self.premises.refute(run.which, Premise::Steady);
        }
        if run.occupied && !state.occupied {
            self.premises.refute(run.which, Premise::Occupied);
        }
        let Some(entered) = run.entered else { return };
        let (which, masks) = (run.which, run.masks.clone());
        let holds = state.idle
            || state
                .bound
                .is_some_and(|bound| self.inside_of(bound, entered));
        for (place, collected) in masks {
            let mask = self.mask_at(state, place);
            let is_part = match mask {
                None => false,
                Some(FALSE) => true,
                Some(mask) => self
                    .origin(mask)
                    .is_some_and(|origin| self.inside_of(origin, entered)),
            };
            if !is_part {
                self.premises.refute(which, Premise::Mask(place));
            } else if collected && !mask.is_some_and(|mask| self.make_up(state, mask, entered)) {
                self.premises.refute(which, Premise::Collected(place));
            }
        }
        if !holds {
            self.premises.refute(which, Premise::Entered);
        }
    }

    /// Whether the loop `run` is `inside` or around it.
    pub(crate) fn within(&self, mut inside: Option<u32>, run: u32) -> bool {
        while let Some(at) = inside {
            if at == run {
                return true;
            }
            inside = self.loops[at as usize].parent;
        }
        false
    }

    /// The value of a place in the lanes that were switched off in earlier iterations of a loop.
    pub(crate) fn parked_in_loop(&mut self, run: u32, place: Place) -> Id {
        let of = &self.loops[run as usize];
        // What the loop leaves as it is they have as it was at the head.
        match place {
            Place::Vector(register) if !of.defined.vector(register) => return of.vectors[register],
            Place::Slot(slot) if !of.scratch => {
                let value = of.slots.get(&slot).copied();
                return value.unwrap_or_else(|| self.arena.opaque(Lost::Scratch));
            }
            _ => {}
        }
        let LoopRun {
            kept, kept_parked, ..
        } = &mut self.loops[run as usize];
        if let Some(&value) = kept.get(&place) {
            kept_parked.insert(place, value);
            return value;
        }
        let (facts, wave) = (
            self.loops[run as usize].parked_facts(),
            self.loops[run as usize].wave,
        );
        let point = match self.loops[run as usize].parked_point {
            Some(point) => point,
            None => {
                let point = self.merges.point(Point {
                    ways: Vec::new(),
                    facts,
                    wave,
                    phis: PointPhis::default(),
                    loops: 0,
                });
                self.loops[run as usize].parked_point = Some(point);
                point
            }
        };
        if let Some(phi) = self.loops[run as usize].parked_phis.get(&place) {
            return self.arena.phi(*phi);
        }
        let bit = self.loops[run as usize].bit;
        let id = self.merges.phi(&mut self.arena, point, &[], false, bit);
        let phi = self.merges.phis.len() as u32 - 1;
        self.loops[run as usize].parked_phis.insert(place, phi);
        let which = self.loops[run as usize].which;
        let premise = Premise::Elsewhere(place, Where::Left);
        self.elsewhere.leave_open(phi, which, premise);
        id
    }

    /// What is still parked when the loop goes round.
    fn carried(&self, run: u32) -> Carried {
        let mut found: Vec<usize> = Vec::new();
        let mut changes: Vec<u32> = Vec::new();
        let mut vacant = false;
        let mut loops = vec![run];
        let mut at = 0;
        while let Some(&run) = loops.get(at) {
            at += 1;
            for entry in &self.loops[run as usize].carried {
                match *entry {
                    Parked::Snapshot(snapshot) if !found.contains(&(snapshot as usize)) => {
                        found.push(snapshot as usize);
                    }
                    Parked::Loop(inner) if !loops.contains(&inner) => loops.push(inner),
                    Parked::Changed(other) if !changes.contains(&other) => changes.push(other),
                    Parked::Vacant => vacant = true,
                    _ => {}
                }
            }
        }
        found.retain(|&snapshot| !self.snapshots[snapshot].idle);
        Carried {
            snapshots: found,
            changes,
            vacant,
        }
    }

    /// What was taken for granted of lanes that have left a loop must be true of them.
    pub(crate) fn check_parked(&mut self) {
        for run in 0..self.loops.len() {
            let of = &self.loops[run];
            if of.kept_parked.is_empty() && of.entered.is_none() {
                continue;
            }
            let carried = self.carried(run as u32);
            self.check_carried(run, &carried);
            let Carried {
                snapshots,
                changes,
                vacant,
            } = carried;
            let LoopRun {
                kept_parked, which, ..
            } = &self.loops[run];
            self.charge(kept_parked.len() * (snapshots.len() + changes.len()));
            for (&place, value) in kept_parked {
                let Place::Slot(slot) = place else { continue };
                let is_kept = !vacant
                    && snapshots
                        .iter()
                        .all(|&s| self.snapshots[s].scratch.get(&slot) == Some(value))
                    && !changes
                        .iter()
                        .any(|&changes| self.changes[changes as usize].scratch.contains_key(&slot));
                if !is_kept {
                    self.premises.refute(*which, Premise::Kept(place));
                }
            }
        }
    }

    /// Where no lane goes round, some that never came to the loop may have been on meanwhile, and are parked.
    fn check_carried(&mut self, run: usize, carried: &Carried) {
        let LoopRun {
            entered,
            which,
            facts,
            wave,
            untouched,
            ..
        } = self.loops[run];
        if !carried.changes.is_empty() && untouched && facts != wave {
            self.premises.refute(which, Premise::Untouched);
        }
        let Some(entered) = entered else { return };
        let Carried {
            snapshots, vacant, ..
        } = carried;
        self.charge(snapshots.len());
        let came = |&snapshot: &usize| {
            let bound = self.snapshots[snapshot].bound;
            bound.is_some_and(|bound| self.inside_of(bound, entered))
        };
        if *vacant || !snapshots.iter().all(came) {
            self.premises.refute(which, Premise::Entered);
        }
    }

    /// When the walk is over, all snapshots of each loop are known.
    pub(crate) fn fill_parked(&mut self) {
        let lost = self.arena.opaque(Lost::Scratch);
        for run in 0..self.loops.len() {
            let Some(point) = self.loops[run].parked_point else {
                continue;
            };
            let Carried {
                snapshots: taken,
                changes,
                vacant,
            } = self.carried(run as u32);
            let changed = changes.iter().map(|&c| self.changes[c as usize].facts);
            let facts = taken
                .iter()
                .map(|&s| self.snapshots[s].facts)
                .chain(changed);
            let ways = facts.chain(vacant.then_some(NOTHING)).map(|facts| Way {
                facts,
                wave: NOTHING,
                back: false,
                taken: true,
                occupied: false,
            });
            self.merges.points[point as usize].ways = ways.collect();
            for (place, phi) in self.loops[run].parked_phis.clone() {
                let changed: Vec<Id> = changes.iter().map(|&c| self.changed(c, place)).collect();
                let values = taken.iter().map(|&s| {
                    let snapshot = &self.snapshots[s];
                    match place {
                        Place::Vector(register) => snapshot.vectors[register],
                        Place::Slot(offset) => {
                            snapshot.scratch.get(&offset).copied().unwrap_or(lost)
                        }
                        Place::Scalar(_) | Place::Spill(..) => ZERO,
                    }
                });
                self.merges
                    .bring_all(phi, values.chain(changed).chain(vacant.then_some(lost)));
            }
        }
    }
}
