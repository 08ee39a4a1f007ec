//! Which nodes there are already.
//!
//! A table of numbers with open addressing: the nodes themselves stand in the arena, once. Beside each number is the
//! hash of its node, so that no other node is looked at than the one that is looked for.

use std::hash::{Hash, Hasher};

use crate::node::{Id, Mix, Node};

/// Slots of the smallest table; a power of two.
const SLOTS: usize = 1 << 10;
const EMPTY: Slot = Slot {
    hash: 0,
    id: u32::MAX,
};

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    id: u32,
}

/// (The default is for an arena to which nothing is added.)
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// At most half of them are in use.
    slots: Vec<Slot>,
    used: usize,
}

/// Where a node that is not there yet is to be put.
pub(crate) struct Vacant {
    at: usize,
    hash: u32,
}

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
        let hash = hash(node);
        let mut at = self.first(hash);
        loop {
            let slot = self.slots[at];
            if slot.id == EMPTY.id {
                return Err(Vacant { at, hash });
            }
            if slot.hash == hash && nodes[slot.id as usize] == *node {
                return Ok(Id(slot.id));
            }
            at = self.next(at);
        }
    }

    /// The node, not found at `vacant`, has this number.
    pub(crate) fn insert(&mut self, vacant: Vacant, id: Id) {
        let Vacant { at, hash } = vacant;
        self.slots[at] = Slot { hash, id: id.0 };
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            self.grow(2 * self.slots.len());
        }
    }

    /// So many nodes will come up.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        let slots = (2 * (self.used + nodes)).next_power_of_two();
        if slots > self.slots.len() {
            self.grow(slots);
        }
    }

    fn grow(&mut self, slots: usize) {
        let empty = vec![EMPTY; slots];
        let slots = std::mem::replace(&mut self.slots, empty);
        for slot in slots.into_iter().filter(|slot| slot.id != EMPTY.id) {
            let mut at = self.first(slot.hash);
            while self.slots[at].id != EMPTY.id {
                at = self.next(at);
            }
            self.slots[at] = slot;
        }
    }

    fn first(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

#[inline]
fn hash(node: &Node) -> u32 {
    let mut hash = Mix::default();
    node.hash(&mut hash);
    hash.finish() as u32
}
