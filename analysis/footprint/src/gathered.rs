//! Masks that are empty on some ways to where they meet.
//!
//! `mask = 0`, then on some of the ways `mask = exec`, and where they have met, the lanes of the mask do what they all have in common.
//! Where a lane of it is active, the wave has come by one of the ways that bring lanes, and so have all the values that met
//! there. And a lane that was active before others came back has brought what it had then, not what they had.

use crate::evaluate::Evaluation;
use crate::expr::{BOTTOM, FALSE, FactId, Id, Node, TRUE};
use crate::facts::NOTHING;
use crate::induction::Way;
use crate::merge::Gathered;
use crate::state::State;
use crate::value::Value;
use crate::walk::Walk;

use strobe_isa::Operand;

/// Masks in masks that are looked at.
const DEPTH: u32 = 16;

/// How a lane has come where it is, as far as that is known.
struct Coming {
    /// Epochs that its wave has come to.
    epochs: Vec<u32>,
    /// Those in which it was active, and masks that it met in, which have been looked at.
    active: Vec<u32>,
    met: Vec<Id>,
}

impl Coming {
    fn to(epoch: u32) -> Self {
        Self {
            epochs: vec![epoch],
            active: Vec::new(),
            met: Vec::new(),
        }
    }
}

impl Walk<'_> {
    /// Notes on which of some ways the mask in a register is empty, where they meet as `joined`.
    pub(crate) fn gather(&mut self, states: &[State], point: u32, register: u8, joined: Id) {
        let mut says = false;
        let mut ways = Vec::with_capacity(states.len());
        let (mut only, mut open) = (None, 0);
        for state in states {
            let before = [state.facts, state.wave];
            let mask = self.mask(state, Operand::Scalar(register));
            if mask != Some(FALSE) {
                only = mask.map(|mask| (mask, state.epoch));
                open += 1;
            }
            let way = match mask {
                Some(FALSE) => None,
                Some(mask) => Some([
                    self.came_with(state.facts, mask, true, state.epoch),
                    self.came_with(state.wave, mask, false, state.epoch),
                ]),
                None => Some(before),
            };
            says |= way != Some(before);
            ways.push(way);
        }
        if says {
            let only = only.filter(|_| open == 1);
            let gathered = Gathered { point, ways, only };
            self.merges.gathered.insert(joined, gathered);
        }
    }

    /// Lanes have come back to those active in the epoch `before`, which are the first way to a point.
    pub(crate) fn come_together(&mut self, state: &State, before: u32, point: u32) {
        let mask = self.returned_to(before, state.epoch);
        self.epochs.returned_to(before, state.epoch);
        let others = self.arena.not(mask);
        let ways = &self.merges.points[point as usize].ways;
        let mut left = vec![None; ways.len()];
        left[0] = Some([state.facts, state.wave]);
        let mut back: Vec<_> = ways.iter().map(|way| Some([way.facts, way.wave])).collect();
        back[0] = None;
        for (mask, ways) in [(mask, left), (others, back)] {
            let gathered = Gathered {
                point,
                ways,
                only: None,
            };
            self.merges.gathered.insert(mask, gathered);
        }
    }

    /// The lanes that were active in an epoch when others came back to them.
    fn returned_to(&mut self, epoch: u32, after: u32) -> Id {
        let before = self.arena.intern(Node::Lanes(TRUE, epoch));
        self.arena.intern(Node::Lanes(before, after))
    }

    /// The facts of a lane that is active in the epoch `now` and was not in `epoch`, at whose end lanes came back: it is one
    /// of those.
    pub(crate) fn came_back(&mut self, facts: FactId, epoch: u32, now: u32) -> FactId {
        let mut facts = facts;
        let mut coming = Coming::to(now);
        for after in self.epochs.returns(epoch, &coming.epochs) {
            if self.epochs.follows(after, epoch) && self.epochs.within(now, after) {
                let mask = self.returned_to(epoch, after);
                let others = self.arena.not(mask);
                facts = self.met_with(facts, others, true, &mut coming, 0);
            }
        }
        facts
    }

    /// The facts of a lane that was active in an epoch, and is in the epoch `now`.
    pub(crate) fn active_in(&mut self, facts: FactId, epoch: u32, now: u32) -> FactId {
        self.was_active(facts, epoch, &mut Coming::to(now))
    }

    fn was_active(&mut self, facts: FactId, epoch: u32, coming: &mut Coming) -> FactId {
        if coming.active.contains(&epoch) {
            return facts;
        }
        coming.active.push(epoch);
        let mut facts = facts;
        for around in self.epochs.around(epoch, &coming.epochs) {
            for after in self.epochs.returns(around, &coming.epochs) {
                let mask = self.returned_to(around, after);
                facts = self.met_with(facts, mask, true, coming, 0);
            }
        }
        facts
    }

    /// The facts where a lane of a mask is active: whence it came; `lane`: they are those of that lane.
    pub(crate) fn came_with(&mut self, facts: FactId, mask: Id, lane: bool, now: u32) -> FactId {
        self.came(facts, mask, lane, &mut Coming::to(now), DEPTH)
    }

    fn came(
        &mut self,
        facts: FactId,
        mask: Id,
        lane: bool,
        coming: &mut Coming,
        depth: u32,
    ) -> FactId {
        self.charge(1);
        if self.exhausted() {
            return facts;
        }
        match self.arena.node(mask) {
            Node::Lanes(inner, epoch) => {
                let facts = match lane {
                    true => self.was_active(facts, epoch, coming),
                    false => facts,
                };
                self.came(facts, inner, lane, coming, depth)
            }
            Node::Both(a, b) => {
                let facts = self.came(facts, a, lane, coming, depth);
                self.came(facts, b, lane, coming, depth)
            }
            Node::PartOf(..) => self.met_with(facts, mask, lane, coming, depth),
            Node::Exec(snapshot) if lane => match self.snapshots[snapshot as usize].epoch {
                Some(epoch) => self.was_active(facts, epoch, coming),
                None => facts,
            },
            _ => facts,
        }
    }

    /// The chain, and what is known of where the lanes of a mask have met with others.
    fn met_with(
        &mut self,
        facts: FactId,
        mask: Id,
        lane: bool,
        coming: &mut Coming,
        depth: u32,
    ) -> FactId {
        if coming.met.contains(&mask) {
            return facts;
        }
        let Some(gathered) = self.merges.gathered.get(&mask) else {
            return facts;
        };
        coming.met.push(mask);
        let only = gathered.only;
        let mut open = gathered.ways.iter().flatten();
        let held = match (open.next(), open.next()) {
            (Some([of_lane, of_wave]), None) => Some(if lane { *of_lane } else { *of_wave }),
            _ => None,
        };
        let phis = self.merges.points[gathered.point as usize].phis;
        self.charge(phis.count as usize / 8);
        let facts = match phis.parts {
            0 => facts,
            own => self.facts.push_of(facts, mask, own),
        };
        let facts = match held {
            Some(held) => {
                let (facts, steps) = self.facts.with_all(facts, held);
                self.charge(steps);
                facts
            }
            None => facts,
        };
        match (only, depth.checked_sub(1)) {
            (Some((only, way)), Some(depth)) => {
                // The wave has come by that way.
                coming.epochs.push(way);
                self.came(facts, only, lane, coming, depth)
            }
            _ => facts,
        }
    }
}

impl Evaluation<'_> {
    /// What some of the ways of a phi bring. If there is just one, the facts hold of what it has brought.
    pub(crate) fn by(&mut self, ways: &[Way], facts: FactId, bits: u32) -> Value {
        let brought = self.arrivals(ways.iter().copied(), bits);
        let mut inputs = ways.iter().filter(|way| way.input != BOTTOM);
        match (inputs.next(), inputs.next()) {
            (Some(way), None) if brought != Value::Empty => {
                let now = self.value(way.input, facts);
                if brought.has_origins_of(&now) {
                    now.and(&brought, bits)
                } else {
                    brought
                }
            }
            _ => brought,
        }
    }

    /// The ways of a phi that the facts leave, if they say something of them.
    pub(crate) fn left_ways(&self, key: u64, facts: FactId) -> Option<Vec<Way>> {
        let merges = &self.plan.merges;
        if merges.gathered.is_empty() {
            return None;
        }
        let mut at = facts;
        let (point, ways) = self.ways(key);
        let mut ways: Vec<Way> = ways.all().collect();
        let mut says = false;
        while at != NOTHING {
            let fact = self.plan.facts.get(at);
            at = fact.parent;
            let Some(gathered) = merges.gathered.get(&fact.condition) else {
                continue;
            };
            if gathered.point != point {
                continue;
            }
            says = true;
            let scalar = self.is_scalar(key);
            for (way, left) in ways.iter_mut().zip(&gathered.ways) {
                match left {
                    Some([lane, wave]) => way.facts = if scalar { *wave } else { *lane },
                    None => way.input = BOTTOM,
                }
            }
        }
        says.then_some(ways)
    }
}
