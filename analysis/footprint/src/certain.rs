//! Which lanes come to a point for certain.
//!
//! Facts say what holds for the lanes that are active at a point, and a footprint needs no more: that others
//! for which it holds never get there makes it wider than it is. Of a store that is to be known
//! by what it leaves behind, it must be known that it is done: that every lane of the launch for which the facts
//! hold comes there and is active. That is two things:
//!
//! - In a wave that comes there, all lanes are active for which the facts hold. So it is until lanes are
//!   switched off by a condition that is no fact, and again where all those of a snapshot are on again of
//!   which that held.
//! - The waves that have such lanes come there, by the [path](crate::paths) that they take. At a branch
//!   a lane goes with its wave; which way is known where the condition is the same for all of them, and
//!   where the branch only leaves out what has no active lane.
//!
//! In a loop nothing is certain, because a lane comes there more than once.

use strobe_isa::{Op, Operand};

use crate::broken::Rule;
use crate::expr::{FactId, Id, Node};
use crate::facts::NOTHING;
use crate::registers::VCC;
use crate::state::State;
use crate::walk::Walk;

impl Walk<'_> {
    /// Whether every lane of the launch for which the facts hold comes here, once, and is active.
    pub(crate) fn is_certain(&self, state: &State) -> bool {
        let taken_by = self.paths.taken_by(state.path);
        if Rule::StoresAreLeftOut.is_broken() {
            return true;
        }
        state.all_active && taken_by.is_some_and(|facts| self.common(facts, state.facts) == facts)
    }

    /// A branch makes two paths of one.
    pub(crate) fn part(&mut self, before: &State, op: Op, [next, taken]: [&mut State; 2]) {
        let is_certain = self.is_certain(before);
        let told_apart = is_certain && self.tells_waves_apart(before, op);
        let known = match op {
            Op::s_cbranch_execz => [is_certain, false],
            Op::s_cbranch_execnz => [false, is_certain],
            _ => [told_apart; 2],
        };
        let facts = [next.facts, taken.facts];
        let taken_by = [0, 1].map(|way| known[way].then_some(facts[way]));
        [next.path, taken.path] = self.paths.branch(before.path, taken_by);
    }

    /// Whether an active lane takes the way of a branch whose condition holds for it.
    fn tells_waves_apart(&mut self, state: &State, op: Op) -> bool {
        let truth = match op {
            Op::s_cbranch_scc0 | Op::s_cbranch_scc1 => state.scc,
            Op::s_cbranch_vccz | Op::s_cbranch_vccnz => {
                match self.mask(state, Operand::Scalar(VCC as u8)) {
                    Some(mask) => self.for_active(state, mask),
                    None => return false,
                }
            }
            _ => return false,
        };
        let is_comparison = matches!(self.arena.node(truth), Node::Compare(..));
        is_comparison && !self.arena.traits(truth).divergent
    }

    /// Whether what [`Walk::assume`] makes of a truth value is all that it says of a lane that is active
    /// now.
    pub(crate) fn is_all_said(&self, state: &State, truth: Id, holds: bool) -> bool {
        self.charge(1);
        if self.exhausted() {
            return false;
        }
        match self.arena.node(truth) {
            Node::True => holds,
            Node::False => !holds,
            Node::Compare(..) => true,
            Node::Not(inner) => self.is_all_said(state, inner, !holds),
            Node::Both(a, b) if holds => {
                self.is_all_said(state, a, true) && self.is_all_said(state, b, true)
            }
            Node::Either(a, b) if !holds => {
                self.is_all_said(state, a, false) && self.is_all_said(state, b, false)
            }
            Node::Lanes(inner, epoch) if self.epochs.within(state.epoch, epoch) => {
                self.is_all_said(state, inner, holds)
            }
            _ => false,
        }
    }

    /// Whether all lanes of a wave are active for which `facts` hold, which is what is left of what held on
    /// each way.
    pub(crate) fn are_active_where_meet(&self, states: &[State], facts: FactId) -> bool {
        let mut states = states.iter();
        states.all(|state| state.all_active && self.hold_for_wave(state, facts))
    }

    /// Whether the facts of a state beyond `facts` hold for the whole wave: lanes that they do not hold for
    /// are in none that has come here.
    fn hold_for_wave(&self, state: &State, facts: FactId) -> bool {
        let mut at = state.facts;
        let mut wave = state.wave;
        while at != facts {
            self.charge(1);
            if at == NOTHING {
                return false;
            }
            let fact = self.facts.get(at);
            while wave != NOTHING && self.facts.get(wave).condition != fact.condition {
                self.charge(1);
                wave = self.facts.get(wave).parent;
            }
            if wave == NOTHING {
                return false;
            }
            at = fact.parent;
        }
        true
    }

    /// Whether EXEC has just become the lanes of a mask, with all those of a snapshot among them for which
    /// its facts hold, and no others.
    pub(crate) fn are_active_again(&self, state: &State, mask: Id) -> bool {
        let Node::Exec(snapshot) = self.arena.node(mask) else {
            return false;
        };
        let then = &self.snapshots[snapshot as usize];
        then.all_active && then.exec == state.exec && then.facts == state.facts
    }
}
