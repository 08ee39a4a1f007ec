//! Whether an arena that somebody has written down is one that a walk may have left: then evaluation of it ends, and is
//! within bounds.

use crate::expr::{ALWAYS, Arena, BOTTOM, Id, MAX_DEPTH, Node, children};
use crate::facts::Facts;
use crate::merge::Merges;
use crate::site::Load;

impl Arena {
    /// Finds the depth of each node, which is not written down; `false` where it is made of no older ones.
    pub(crate) fn derive_depths(&mut self) -> bool {
        if self.nodes.len() != self.traits.len() {
            return false;
        }
        for index in 0..self.nodes.len() {
            let mut depth = 0;
            for child in children(&self.nodes[index]).into_iter().flatten() {
                let Some(of) = self.traits[..index].get(child.0 as usize) else {
                    return false;
                };
                depth = depth.max(of.depth.saturating_add(1));
            }
            self.traits[index].depth = depth;
        }
        true
    }

    /// Whether the nodes are made of older ones of the right kind, and refer to what there is.
    pub(crate) fn is_sound(&self, facts: &Facts, merges: &Merges, loads: &[Load]) -> bool {
        self.nodes.starts_with(&ALWAYS)
            && self.phis.len() == merges.phis.len()
            && (0..self.nodes.len()).all(|id| self.is_sound_at(Id(id as u32), facts, loads))
            && self
                .phis
                .iter()
                .zip(0..)
                .all(|(id, number)| self.has(*id) && self.node(*id) == Node::Phi(number))
            && self.lows.iter().all(|(whole, low)| {
                self.is_of(*low, 32) && (self.is_of(*whole, 64) || self.is_of(*whole, 32))
            })
            && self.roots.iter().all(|root| {
                let mut terms = root.terms.iter();
                self.has(root.of)
                    && terms.all(|(whole, low, _)| self.is_of(*whole, 64) && self.is_of(*low, 32))
            })
    }

    fn has(&self, id: Id) -> bool {
        (id.0 as usize) < self.nodes.len()
    }

    /// Whether there is the node, and its value has so many bits.
    pub(crate) fn is_of(&self, id: Id, bits: u8) -> bool {
        self.has(id) && self.width(&self.node(id)) == bits
    }

    pub(crate) fn is_truth(&self, id: Id) -> bool {
        self.is_of(id, 1)
    }

    fn is_sound_at(&self, id: Id, facts: &Facts, loads: &[Load]) -> bool {
        let node = self.node(id);
        let children = children(&node).into_iter().flatten();
        let are_sound = children
            .zip(self.widths(&node))
            .all(|(child, bits)| child == BOTTOM || self.is_of(child, bits));
        let has_phi = |phi: u32| (phi as usize) < self.phis.len();
        let refers = match node {
            Node::Load { load, .. } | Node::Load64 { load, .. } => {
                let load = loads.get(load as usize);
                load.is_some_and(|load| load.address < id)
            }
            Node::Phi(phi) => has_phi(phi),
            Node::Phi64(low, high) => has_phi(low) && has_phi(high),
            Node::Lane(_, chain, _) | Node::Lane64(_, chain, ..) => facts.has(chain),
            Node::Root(_, root) => (root as usize) < self.roots.len(),
            Node::Sign(_, bits) => (1..=32).contains(&bits),
            Node::Items(count) => count <= 3,
            _ => true,
        };
        let of = self.traits(id);
        are_sound && refers && of.depth <= MAX_DEPTH && of.bit < 64
    }

    /// Bits of what a node is made of, as [`children`] names it.
    fn widths(&self, node: &Node) -> [u8; 3] {
        match *node {
            Node::Select(..) => [1, 32, 32],
            Node::Select64(..) => [1, 64, 64],
            Node::Shl64(..) | Node::Shr64(..) | Node::Sar64(..) => [64, 32, 0],
            Node::Add64(..) | Node::Sub64(..) | Node::Low(_) | Node::High(_) | Node::Lane64(..) => {
                [64, 64, 0]
            }
            Node::Compare(_, a, _) | Node::Root(a, _) => {
                let compared = self.nodes.get(a.0 as usize);
                [compared.map_or(0, |node| self.width(node)); 3]
            }
            Node::Mask(..)
            | Node::Not(_)
            | Node::Both(..)
            | Node::Either(..)
            | Node::Any(_)
            | Node::Lanes(..) => [1, 1, 0],
            _ => [32, 32, 0],
        }
    }
}
