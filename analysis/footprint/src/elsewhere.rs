//! Which flat addresses are none of scratch.
//!
//! A store through a flat address that may be one of scratch may change any slot, and what a load through it
//! brings may be what some slot holds. An address is none of scratch if it comes from an argument, from memory
//! or from the image: pointers to scratch are kept in registers and scratch alone. At the head of a loop it is taken
//! for granted of one that is none where the loop is entered, and checked when the walk is over, like other
//! [premises](crate::premises).

use strobe_code_object::ArgKind;

use crate::expr::{BOTTOM, Id, Node, Symbolic, children};
use crate::walk::Walk;

/// Sums, choices and merges inside each other that are looked through.
const MAX_PARTS: u32 = 8;

impl Walk<'_> {
    /// Only if the aperture was named, a flat address may lead to scratch.
    pub(crate) fn may_be_scratch(&mut self, address: Id) -> bool {
        self.scratch_escapes && !self.is_elsewhere(address, MAX_PARTS)
    }

    /// A kernel that is told where scratch is can get there without the aperture: with a descriptor that it makes itself,
    pub(crate) fn may_be_in_given_scratch(&mut self, base: Id) -> bool {
        let descriptor = &self.kernel.descriptor;
        (descriptor.private_segment_buffer() || descriptor.flat_scratch_init())
            && !self.is_elsewhere(base, MAX_PARTS)
    }

    /// or with an address that it makes of that.
    pub(crate) fn is_of_given_scratch(&self, address: Id, depth: u32) -> bool {
        let node = self.arena.node(address);
        if matches!(node, Node::ScratchBuffer(_) | Node::FlatScratch(_)) {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        self.charge(1);
        let phis = match node {
            Node::Phi(phi) => self.merges.inputs(phi),
            _ => &[],
        };
        let mut parts = children(&node)
            .into_iter()
            .flatten()
            .chain(phis.iter().copied());
        parts.any(|part| self.is_of_given_scratch(part, depth))
    }

    fn is_elsewhere(&mut self, pointer: Id, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        match self.arena.node(pointer) {
            Node::Image(_) => true,
            Node::Add64(a, b) => {
                let [known, other] = if self.is_pointer(a) { [a, b] } else { [b, a] };
                self.is_pointer(known)
                    || (self.is_elsewhere(known, depth) || self.arena.is_index(known))
                        && (self.is_elsewhere(other, depth) || self.arena.is_index(other))
                        && !(self.arena.is_index(known) && self.arena.is_index(other))
            }
            Node::Sub64(a, _) => self.is_elsewhere(a, depth),
            _ => {
                let high = self.arena.high(pointer);
                // That of a number.
                self.arena.as_const(high).is_none() && self.is_high_elsewhere(high, depth)
            }
        }
    }

    /// Whether a word is a pointer for certain, so that what is added is an index.
    fn is_pointer(&self, word: Id) -> bool {
        match self.arena.node(word) {
            Node::Image(_) | Node::Symbol(Symbolic::HostCalls(_)) => true,
            Node::Kernarg64(offset) => self
                .kernel
                .arg_at(offset)
                .is_some_and(|(_, arg)| arg.kind == ArgKind::GlobalBuffer),
            Node::Add64(a, b) => {
                let is_one = |word| !matches!(self.arena.node(word), Node::Add64(..));
                [a, b].iter().any(|&w| is_one(w) && self.is_pointer(w))
            }
            Node::Pair(_, high) => self.arena.is_aperture(high),
            _ => false,
        }
    }

    /// Whether the high half of an address is none of scratch. A constant is none, for only the hardware
    /// knows where scratch is.
    fn is_high_elsewhere(&mut self, high: Id, depth: u32) -> bool {
        match self.arena.node(high) {
            Node::Kernarg(_) | Node::Load { .. } | Node::Const(_) => true,
            Node::High(whole) => match self.arena.node(whole) {
                Node::Kernarg64(_)
                | Node::Load64 { .. }
                | Node::Image(_)
                | Node::Symbol(Symbolic::HostCalls(_) | Symbolic::Lds) => true,
                Node::Add64(..) | Node::Sub64(..) => self.is_elsewhere(whole, depth),
                _ => false,
            },
            _ if depth == 0 => false,
            Node::Select(_, yes, no) => {
                self.is_high_elsewhere(yes, depth - 1) && self.is_high_elsewhere(no, depth - 1)
            }
            Node::Phi(phi) => self.is_phi_elsewhere(phi, depth - 1),
            _ => false,
        }
    }

    fn is_phi_elsewhere(&mut self, phi: u32, depth: u32) -> bool {
        if self.elsewhere.relied_on.contains(&phi) {
            return true;
        }
        let Some(&(which, premise)) = self.elsewhere.open.get(&phi) else {
            return self.are_inputs_elsewhere(phi, depth, false);
        };
        let granted =
            self.premises.granted(which, premise) && self.are_inputs_elsewhere(phi, depth, true);
        if granted {
            self.elsewhere.relied_on.push(phi);
        }
        granted
    }

    /// `entering`: of the ways that do not come from a loop's end.
    fn are_inputs_elsewhere(&mut self, phi: u32, depth: u32, entering: bool) -> bool {
        let of = &self.merges.phis[phi as usize];
        let ways = &self.merges.points[of.point as usize].ways;
        let inputs = self.merges.inputs(phi).iter().zip(ways);
        let inputs = inputs.filter(|(input, way)| **input != BOTTOM && !(entering && way.back));
        let inputs: Vec<Id> = inputs.map(|(input, _)| *input).collect();
        self.charge(inputs.len());
        (entering || !inputs.is_empty())
            && inputs
                .into_iter()
                .all(|input| self.is_high_elsewhere(input, depth))
    }

    /// What was taken for granted must be true of all inputs, which are known now.
    pub(crate) fn check_elsewhere(&mut self) {
        let mut checked = 0;
        while let Some(&phi) = self.elsewhere.relied_on.get(checked) {
            checked += 1;
            if !self.are_inputs_elsewhere(phi, MAX_PARTS, false)
                && let Some(&(which, premise)) = self.elsewhere.open.get(&phi)
            {
                self.premises.refute(which, premise);
            }
        }
    }
}
