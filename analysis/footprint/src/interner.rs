//! Which nodes there are already.
//!
//! A table of numbers with open addressing: the nodes themselves stand in the arena, once.

use std::hash::{Hash, Hasher};

use crate::node::{Id, Mix, Node};

/// Slots of the smallest table; a power of two.
const SLOTS: usize = 1 << 10;
const EMPTY: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Interner {
    /// At most half of them are in use.
    slots: Vec<u32>,
    used: usize,
}

/// Where a node that is not there yet is to be put.
pub(crate) struct Vacant(usize);

impl Interner {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![EMPTY; SLOTS],
            used: 0,
        }
    }

    /// The place of a node among all that have been interned.
    #[inline]
    pub(crate) fn find(&self, nodes: &[Node], node: &Node) -> Result<Id, Vacant> {
        let mut at = self.first(node);
        loop {
            match self.slots[at] {
                EMPTY => return Err(Vacant(at)),
                id if nodes[id as usize] == *node => return Ok(Id(id)),
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// The node, not found at `vacant`, is the last one of these.
    pub(crate) fn insert(&mut self, nodes: &[Node], vacant: Vacant) {
        self.slots[vacant.0] = nodes.len() as u32 - 1;
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            self.grow(nodes);
        }
    }

    fn grow(&mut self, nodes: &[Node]) {
        let empty = vec![EMPTY; 2 * self.slots.len()];
        let mut ids = std::mem::replace(&mut self.slots, empty);
        // In the order in which the nodes stand.
        ids.retain(|id| *id != EMPTY);
        ids.sort_unstable();
        for id in ids {
            let mut at = self.first(&nodes[id as usize]);
            while self.slots[at] != EMPTY {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = id;
        }
    }

    #[inline]
    fn first(&self, node: &Node) -> usize {
        let mut hash = Mix::default();
        node.hash(&mut hash);
        hash.finish() as usize & (self.slots.len() - 1)
    }
}
