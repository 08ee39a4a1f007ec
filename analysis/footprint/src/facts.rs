//! Conditions that hold where a lane is active: chains that grow along branches.
//!
//! A chain is a list from the newest condition to the oldest. Where paths meet, what holds is what
//! held where they parted: the common tail. So a condition on a loop's phi, which speaks of one
//! iteration, never reaches the loop's head again.

use serde::{Deserialize, Serialize};

use crate::expr::{Arena, BOTTOM, FactId, Id, Map, Node};
use crate::live::Live;
use crate::terms;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Fact {
    pub(crate) parent: FactId,
    /// A comparison, or a mask that a lane is in ([`crate::gathered`]).
    pub(crate) condition: Id,
    /// Bits of the nodes that the condition compares and of their terms, or of the phis that met with the mask.
    pub(crate) own: u64,
    /// The same of this and older conditions.
    pub(crate) parts: u64,
    #[serde(skip)]
    depth: u32,
    /// A chain further down: from each one the jumps lead to any depth in a logarithm of steps, and of two chains that
    /// are equally deep they are equally far.
    #[serde(skip)]
    jump: FactId,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    facts: Vec<Fact>,
    /// Each chain is there once: ways that went apart and hold the same again have the same one.
    #[serde(skip)]
    ids: Map<(FactId, Id), FactId>,
    /// What [`Facts::with_all`] has made of two chains, and its steps.
    #[serde(skip)]
    both: Map<(FactId, FactId), (FactId, usize)>,
}

/// Conditions of another chain that are taken over.
const MOST_HELD: usize = 32;

pub(crate) const NOTHING: FactId = FactId(0);

impl Facts {
    pub(crate) fn new() -> Self {
        let nothing = Fact {
            parent: NOTHING,
            condition: BOTTOM,
            own: 0,
            parts: 0,
            depth: 0,
            jump: NOTHING,
        };
        Self {
            facts: vec![nothing],
            ids: Map::default(),
            both: Map::default(),
        }
    }

    pub(crate) fn get(&self, id: FactId) -> &Fact {
        &self.facts[id.0 as usize]
    }

    /// The chain and one more comparison.
    pub(crate) fn push(&mut self, arena: &Arena, parent: FactId, condition: Id) -> FactId {
        let Node::Compare(_, a, b) = arena.node(condition) else {
            return parent;
        };
        if let Some(known) = self.known(parent, condition) {
            return known;
        }
        let own = arena.part(a) | arena.part(b) | terms::parts(arena, a) | terms::parts(arena, b);
        self.push_of(parent, condition, own)
    }

    fn known(&self, parent: FactId, condition: Id) -> Option<FactId> {
        if self.get(parent).condition == condition {
            return Some(parent);
        }
        self.ids.get(&(parent, condition)).copied()
    }

    /// The chain and one more condition, which says something of the nodes with these bits.
    pub(crate) fn push_of(&mut self, parent: FactId, condition: Id, own: u64) -> FactId {
        if let Some(known) = self.known(parent, condition) {
            return known;
        }
        let under = *self.get(parent);
        let id = FactId(self.facts.len() as u32);
        let [first, second] = [under.jump, self.get(under.jump).jump].map(|at| self.get(at).depth);
        let jump = match under.depth - first == first - second {
            true => self.get(under.jump).jump,
            false => parent,
        };
        self.ids.insert((parent, condition), id);
        self.facts.push(Fact {
            parent,
            condition,
            own,
            parts: under.parts | own,
            depth: under.depth + 1,
            jump,
        });
        id
    }

    /// The chain, and what another one says besides, the newest of it; and the steps that this takes, be it for the
    /// first time or not.
    pub(crate) fn with_all(&mut self, facts: FactId, held: FactId) -> (FactId, usize) {
        if let Some(known) = self.both.get(&(facts, held)) {
            return *known;
        }
        let common = self.common(facts, held);
        let mut more = Vec::new();
        let mut at = held;
        while at != common && more.len() < MOST_HELD {
            let fact = self.get(at);
            more.push((fact.condition, fact.own));
            at = fact.parent;
        }
        let steps = self.apart(facts, held, common) + more.len();
        let oldest_first = more.into_iter().rev();
        let both = oldest_first.fold(facts, |facts, (condition, own)| {
            self.push_of(facts, condition, own)
        });
        self.both.insert((facts, held), (both, steps));
        (both, steps)
    }

    /// Conditions of two chains that are not in what they have in common.
    pub(crate) fn apart(&self, a: FactId, b: FactId, common: FactId) -> usize {
        let [a, b, common] = [a, b, common].map(|id| self.get(id).depth as usize);
        a + b - 2 * common
    }

    pub(crate) fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether all refer to what there is, chains to older ones.
    pub(crate) fn are_sound(&self, arena: &Arena) -> bool {
        let older = |(fact, id): (&Fact, u32)| fact.parent.0 < id && arena.is_truth(fact.condition);
        let first = self.facts.first();
        first.is_some_and(|fact| fact.parent == NOTHING && fact.condition == BOTTOM)
            && self.facts.iter().zip(0..).skip(1).all(older)
    }

    pub(crate) fn has(&self, id: FactId) -> bool {
        (id.0 as usize) < self.facts.len()
    }

    /// What is kept of them; nothing is added any more.
    pub(crate) fn keep(&self, live: &Live) -> Self {
        let kept = live.facts.kept().map(FactId).map(|id| {
            let fact = self.get(id);
            Fact {
                parent: live.fact(fact.parent),
                condition: live.node(fact.condition),
                own: fact.own,
                parts: fact.parts,
                depth: 0,
                jump: NOTHING,
            }
        });
        Self {
            facts: kept.collect(),
            ids: Map::default(),
            both: Map::default(),
        }
    }

    /// What two chains have in common.
    pub(crate) fn common(&self, a: FactId, b: FactId) -> FactId {
        let depth = self.get(a).depth.min(self.get(b).depth);
        let [mut a, mut b] = [a, b].map(|chain| self.at_depth(chain, depth));
        while a != b {
            let (x, y) = (self.get(a), self.get(b));
            (a, b) = match x.jump == y.jump {
                true => (x.parent, y.parent),
                false => (x.jump, y.jump),
            };
        }
        a
    }

    fn at_depth(&self, mut chain: FactId, depth: u32) -> FactId {
        while self.get(chain).depth > depth {
            let fact = self.get(chain);
            chain = match self.get(fact.jump).depth >= depth {
                true => fact.jump,
                false => fact.parent,
            };
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chains_have_in_common_is_where_they_parted() {
        let mut facts = Facts::new();
        let mut chains = vec![NOTHING];
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for condition in 0..2000 {
            // Long chains, and some that part from them early.
            let from = match next(8) {
                0 => chains[next(chains.len())],
                _ => chains[chains.len() - 1],
            };
            chains.push(facts.push_of(from, Id(condition), 1));
        }
        let all_of = |mut at: FactId| {
            let mut found = vec![at];
            while at != NOTHING {
                at = facts.get(at).parent;
                found.push(at);
            }
            found
        };
        for _ in 0..200 {
            let [a, b] = [chains[next(chains.len())], chains[next(chains.len())]];
            let others = all_of(b);
            let common = all_of(a).into_iter().find(|chain| others.contains(chain));
            assert_eq!(Some(facts.common(a, b)), common);
        }
    }
}
