//! Conditions that hold where a lane is active: chains that grow along branches.
//!
//! A chain is a list from the newest condition to the oldest. Where paths meet, what holds is what
//! held where they parted: the common tail. So a condition on a loop's phi, which speaks of one
//! iteration, never reaches the loop's head again.

use crate::expr::{Arena, BOTTOM, FactId, Id, Node, part};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    pub(crate) parent: FactId,
    /// A comparison.
    pub(crate) condition: Id,
    /// Bits of the nodes that the condition compares.
    pub(crate) own: u64,
    /// Bits of the nodes that this and older conditions compare.
    pub(crate) parts: u64,
    depth: u32,
}

#[derive(Debug)]
pub(crate) struct Facts {
    facts: Vec<Fact>,
}

pub(crate) const NOTHING: FactId = FactId(0);

impl Facts {
    pub(crate) fn new() -> Self {
        let nothing = Fact {
            parent: NOTHING,
            condition: BOTTOM,
            own: 0,
            parts: 0,
            depth: 0,
        };
        Self {
            facts: vec![nothing],
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
        let under = *self.get(parent);
        if under.condition == condition {
            return parent;
        }
        let id = FactId(self.facts.len() as u32);
        self.facts.push(Fact {
            parent,
            condition,
            own: part(a) | part(b),
            parts: under.parts | part(a) | part(b),
            depth: under.depth + 1,
        });
        id
    }

    /// Conditions in a chain.
    pub(crate) fn depth(&self, id: FactId) -> usize {
        self.get(id).depth as usize
    }

    pub(crate) fn common(&self, mut a: FactId, mut b: FactId) -> FactId {
        while a != b {
            let (x, y) = (self.get(a), self.get(b));
            if x.depth >= y.depth {
                a = x.parent;
            } else {
                b = y.parent;
            }
        }
        a
    }
}
