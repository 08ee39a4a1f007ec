//! New numbers for what of a walk is kept ([`crate::reachable`]), in the old order.

use crate::node::{FactId, Id, Node};

/// What there is of one kind, and what of it is kept.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// By old number: not kept, kept, or the new number.
    new: Vec<u32>,
}

/// Marks what is kept before it has a new number.
const KEPT: u32 = u32::MAX - 1;
const GONE: u32 = u32::MAX;

impl Numbers {
    fn none_of(count: usize) -> Self {
        Self {
            new: vec![GONE; count],
        }
    }

    /// Whether it is new that this is kept.
    pub(crate) fn keep(&mut self, old: u32) -> bool {
        std::mem::replace(&mut self.new[old as usize], KEPT) == GONE
    }

    /// Nothing more is kept.
    fn number(&mut self) {
        let kept = self.new.iter_mut().filter(|number| **number == KEPT);
        for (number, new) in kept.zip(0..) {
            *number = new;
        }
    }

    /// Old numbers of what is kept, in order.
    pub(crate) fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.new.iter().zip(0..);
        all.filter(|(new, _)| **new != GONE).map(|(_, old)| old)
    }

    /// The new number, if it is kept.
    pub(crate) fn get(&self, old: u32) -> Option<u32> {
        let new = self.new[old as usize];
        (new != GONE).then_some(new)
    }

    /// The new number of what something that is kept refers to.
    pub(crate) fn of(&self, old: u32) -> u32 {
        self.get(old).expect("is kept with what refers to it")
    }
}

/// How many there are of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) nodes: usize,
    pub(crate) facts: usize,
    pub(crate) loads: usize,
    pub(crate) phis: usize,
    pub(crate) points: usize,
    pub(crate) roots: usize,
}

/// What is kept.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) nodes: Numbers,
    pub(crate) facts: Numbers,
    pub(crate) loads: Numbers,
    pub(crate) phis: Numbers,
    pub(crate) points: Numbers,
    pub(crate) roots: Numbers,
}

impl Live {
    /// Nothing of these.
    pub(crate) fn none_of(counts: Counts) -> Self {
        Self {
            nodes: Numbers::none_of(counts.nodes),
            facts: Numbers::none_of(counts.facts),
            loads: Numbers::none_of(counts.loads),
            phis: Numbers::none_of(counts.phis),
            points: Numbers::none_of(counts.points),
            roots: Numbers::none_of(counts.roots),
        }
    }

    /// Nothing more is kept: all get their new numbers.
    pub(crate) fn number(&mut self) {
        for numbers in [
            &mut self.nodes,
            &mut self.facts,
            &mut self.loads,
            &mut self.phis,
            &mut self.points,
            &mut self.roots,
        ] {
            numbers.number();
        }
    }

    pub(crate) fn node(&self, id: Id) -> Id {
        Id(self.nodes.of(id.0))
    }

    pub(crate) fn fact(&self, facts: FactId) -> FactId {
        FactId(self.facts.of(facts.0))
    }

    /// A node with the new numbers of what it is made of.
    pub(crate) fn renumbered(&self, node: Node) -> Node {
        let of = |id| self.node(id);
        match node {
            Node::Load { load, dword } => Node::Load {
                load: self.loads.of(load),
                dword,
            },
            Node::Load64 { load, dword } => Node::Load64 {
                load: self.loads.of(load),
                dword,
            },
            Node::Phi(phi) => Node::Phi(self.phis.of(phi)),
            Node::Phi64(low, high) => Node::Phi64(self.phis.of(low), self.phis.of(high)),
            Node::Lane(a, facts, lane) => Node::Lane(of(a), self.fact(facts), lane),
            Node::Lane64(a, facts, low, high) => Node::Lane64(of(a), self.fact(facts), low, high),
            Node::Binary(op, a, b) => Node::Binary(op, of(a), of(b)),
            Node::Select(a, b, c) => Node::Select(of(a), of(b), of(c)),
            Node::Sign(a, bits) => Node::Sign(of(a), bits),
            Node::Inverse(a, made) => Node::Inverse(of(a), made),
            Node::Root(a, root) => Node::Root(of(a), self.roots.of(root)),
            Node::Low(a) => Node::Low(of(a)),
            Node::High(a) => Node::High(of(a)),
            Node::Mask(a, high) => Node::Mask(of(a), high),
            Node::Pair(a, b) => Node::Pair(of(a), of(b)),
            Node::Zero64(a) => Node::Zero64(of(a)),
            Node::Sign64(a) => Node::Sign64(of(a)),
            Node::Add64(a, b) => Node::Add64(of(a), of(b)),
            Node::Sub64(a, b) => Node::Sub64(of(a), of(b)),
            Node::Shl64(a, b) => Node::Shl64(of(a), of(b)),
            Node::Shr64(a, b) => Node::Shr64(of(a), of(b)),
            Node::Sar64(a, b) => Node::Sar64(of(a), of(b)),
            Node::MulU(a, b) => Node::MulU(of(a), of(b)),
            Node::MulS(a, b) => Node::MulS(of(a), of(b)),
            Node::Select64(a, b, c) => Node::Select64(of(a), of(b), of(c)),
            Node::Compare(compare, a, b) => Node::Compare(compare, of(a), of(b)),
            Node::Not(a) => Node::Not(of(a)),
            Node::Both(a, b) => Node::Both(of(a), of(b)),
            Node::Either(a, b) => Node::Either(of(a), of(b)),
            Node::Carry(a, b) => Node::Carry(of(a), of(b)),
            Node::Borrow(a, b) => Node::Borrow(of(a), of(b)),
            Node::Any(a) => Node::Any(of(a)),
            Node::Lanes(a, epoch) => Node::Lanes(of(a), epoch),
            Node::Bottom
            | Node::Const(_)
            | Node::Kernarg(_)
            | Node::Packet(_)
            | Node::ScratchBuffer(_)
            | Node::FlatScratch(_)
            | Node::ScratchWave
            | Node::Vacant
            | Node::Item(_)
            | Node::Items(_)
            | Node::Group(_)
            | Node::Opaque(..)
            | Node::Const64(_)
            | Node::Double(_)
            | Node::Image(_)
            | Node::Symbol(_)
            | Node::Kernarg64(_)
            | Node::True
            | Node::False
            | Node::Unknown(_)
            | Node::Exec(_)
            | Node::PartOf(..) => node,
        }
    }
}
