//! Values as expressions: a hash-consed graph.
//!
//! A node is a 32-bit word, a 64-bit word or a truth value. Registers hold 32-bit nodes; two of them
//! combine to the 64-bit node they are halves of ([`Arena::pair`]), so that an address computed by an
//! addition and an addition with carry is one 64-bit sum. Nodes are immutable: within one lane and
//! one iteration, equal ids are equal values. A [`Node::Phi`] stands for "one of these", its inputs
//! are in [`crate::merge`].

mod division;
mod packed;
mod sound;
mod truth;
mod wide;

use serde::{Deserialize, Serialize};

use crate::float::{Double, Root};
use crate::interner::{Interner, Vacant};
use crate::live::Live;
use crate::node::ID;
use crate::words;

pub(crate) use crate::node::{
    Binary, Compare, FactId, Id, Inverse, Lost, Map, Node, Symbolic, children,
};

/// What is known of every node without evaluation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Traits {
    /// Which loops' phis it is made of, one bit a loop, modulo 64.
    pub(crate) loops: u64,
    /// Which nodes it is made of, phis and loads not entered; one bit a node by hash.
    pub(crate) parts: u64,
    /// May differ between lanes.
    pub(crate) divergent: bool,
    /// The number of its own bit in `parts`, which stays when the node gets another number.
    bit: u8,
    #[serde(skip)]
    depth: u16,
}

/// Expressions deeper than that are cut, so that recursion over them is bounded.
const MAX_DEPTH: u16 = 200;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    traits: Vec<Traits>,
    #[serde(skip)]
    interner: Interner,
    /// Halves and pairs made of those of other nodes: what is shared is gone through once.
    lows: Map<Id, Id>,
    #[serde(skip)]
    highs: Map<Id, Id>,
    #[serde(skip)]
    pairs: Map<(Id, Id), Id>,
    /// The node of each phi.
    phis: Vec<Id>,
    #[serde(skip)]
    pub(crate) doubles: Vec<Double>,
    pub(crate) roots: Vec<Root>,
    #[serde(skip)]
    unique: u32,
    /// Bits of the loops that the walk is in: what is made anew in each round depends on them.
    #[serde(skip)]
    pub(crate) inside: u64,
}

/// What every arena begins with.
const ALWAYS: [Node; 5] = [
    Node::Bottom,
    Node::True,
    Node::False,
    Node::Const(0),
    Node::Const(u32::MAX),
];
pub(crate) const BOTTOM: Id = Id(0);
pub(crate) const TRUE: Id = Id(1);
pub(crate) const FALSE: Id = Id(2);
pub(crate) const ZERO: Id = Id(3);
pub(crate) const ONES: Id = Id(4);

impl Arena {
    pub(crate) fn new() -> Self {
        let mut arena = Self {
            nodes: Vec::with_capacity(512),
            traits: Vec::with_capacity(512),
            interner: Interner::new(),
            lows: Map::default(),
            highs: Map::default(),
            pairs: Map::default(),
            phis: Vec::new(),
            doubles: Vec::new(),
            roots: Vec::new(),
            unique: 0,
            inside: 0,
        };
        for node in ALWAYS {
            arena.intern(node);
        }
        arena
    }

    /// About so many nodes will come up; about half of them are one of a kind.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
        self.traits.reserve(nodes);
        self.interner.reserve(nodes / 2);
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id.0 as usize]
    }

    pub(crate) fn traits(&self, id: Id) -> Traits {
        self.traits[id.0 as usize]
    }

    /// The bit of a node in [`Traits::parts`].
    pub(crate) fn part(&self, id: Id) -> u64 {
        1 << self.traits(id).bit
    }

    pub(crate) fn unique(&mut self) -> u32 {
        self.unique += 1;
        self.unique
    }

    /// For leaves and for nodes that need no simplification.
    pub(crate) fn intern(&mut self, node: Node) -> Id {
        let vacant = match self.interner.find(&self.nodes, &node) {
            Ok(id) => return id,
            Err(vacant) => vacant,
        };
        let mut traits = Traits {
            loops: 0,
            parts: 0,
            divergent: false,
            bit: 0,
            depth: 0,
        };
        for child in children(&node).into_iter().flatten() {
            let of = self.traits(child);
            traits.loops |= of.loops;
            traits.parts |= of.parts;
            traits.divergent |= of.divergent;
            traits.depth = traits.depth.max(of.depth + 1);
        }
        if matches!(node, Node::Item(_) | Node::Items(_)) {
            traits.divergent = true;
        }
        if matches!(node, Node::Lane(..) | Node::Lane64(..) | Node::PartOf(..)) {
            traits.loops |= self.inside;
        }
        // One lane's value, for the whole wave.
        if matches!(node, Node::Lane(..) | Node::Lane64(..)) {
            traits.divergent = false;
        }
        if traits.depth > MAX_DEPTH {
            let unique = self.unique();
            return match self.width(&node) {
                1 => self.one_of_a_kind(Node::Unknown(unique)),
                32 => self.one_of_a_kind(Node::Opaque(unique, Lost::Arithmetic)),
                _ => {
                    let (low, high) =
                        (self.opaque(Lost::Arithmetic), self.opaque(Lost::Arithmetic));
                    self.intern(Node::Pair(low, high))
                }
            };
        }
        self.push(node, traits, vacant)
    }

    /// The low half of a word of 64 bits that is made of the halves of others, if somebody has taken it. Of words that are
    /// compared it stays known.
    pub(crate) fn known_low(&self, whole: Id) -> Option<Id> {
        self.lows.get(&whole).copied()
    }

    /// What is anything, made anew in each round of the loops that the walk is in: nobody looks for it.
    fn one_of_a_kind(&mut self, node: Node) -> Id {
        let traits = Traits {
            loops: self.inside,
            parts: 0,
            divergent: true,
            bit: 0,
            depth: 0,
        };
        self.append(node, traits)
    }

    fn push(&mut self, node: Node, traits: Traits, vacant: Vacant) -> Id {
        let id = self.append(node, traits);
        self.interner.insert(vacant, id);
        id
    }

    /// Those that there always are.
    pub(crate) fn always(&self) -> impl Iterator<Item = Id> + use<> {
        (0..ALWAYS.len() as u32).map(Id)
    }

    /// What is kept of it; nothing is added any more.
    pub(crate) fn keep(&self, live: &Live) -> Self {
        let kept = || live.nodes.kept().map(Id);
        let compared = kept().filter_map(|id| match self.node(id) {
            Node::Compare(_, a, b) => Some([a, b]),
            _ => None,
        });
        let lows = compared.flatten();
        let lows = lows.filter_map(|whole| {
            let low = self.known_low(whole)?;
            Some((live.node(whole), live.node(low)))
        });
        let roots = live.roots.kept();
        let roots = roots.map(|root| self.roots[root as usize].keep(live));
        Self {
            nodes: kept().map(|id| live.renumbered(self.node(id))).collect(),
            traits: kept().map(|id| self.traits(id)).collect(),
            interner: Interner::default(),
            lows: lows.collect(),
            highs: Map::default(),
            pairs: Map::default(),
            phis: live
                .phis
                .kept()
                .map(|phi| live.node(self.phi(phi)))
                .collect(),
            doubles: Vec::new(),
            roots: roots.collect(),
            unique: self.unique,
            inside: self.inside,
        }
    }

    fn append(&mut self, node: Node, mut traits: Traits) -> Id {
        let id = Id(self.nodes.len() as u32);
        traits.bit = bit(id);
        traits.parts |= 1 << traits.bit;
        self.nodes.push(node);
        self.traits.push(traits);
        id
    }

    /// The node of the next phi; the caller numbers them from 0.
    pub(crate) fn new_phi(&mut self, loops: u64, divergent: bool) -> Id {
        let traits = Traits {
            loops,
            parts: 0,
            divergent,
            bit: 0,
            depth: 0,
        };
        let id = self.append(Node::Phi(self.phis.len() as u32), traits);
        self.phis.push(id);
        id
    }

    pub(crate) fn phi(&self, phi: u32) -> Id {
        self.phis[phi as usize]
    }

    /// A load or 64-bit phi: what it is made of is not entered.
    pub(crate) fn leaf(&mut self, node: Node, loops: u64, divergent: bool) -> Id {
        let traits = Traits {
            loops,
            parts: 0,
            divergent,
            bit: 0,
            depth: 0,
        };
        match self.interner.find(&self.nodes, &node) {
            Ok(id) => id,
            Err(vacant) => self.push(node, traits, vacant),
        }
    }

    /// A float that is made of a word.
    pub(crate) fn double(&mut self, double: Double) -> Id {
        let of = self.traits(double.word());
        self.doubles.push(double);
        let traits = Traits {
            loops: of.loops | self.inside,
            depth: 0,
            ..of
        };
        self.append(Node::Double(self.doubles.len() as u32 - 1), traits)
    }

    /// Bits of a node's value.
    pub(crate) fn bits(&self, id: Id) -> u32 {
        self.width(&self.node(id)).into()
    }

    fn width(&self, node: &Node) -> u8 {
        match node {
            Node::Pair(..)
            | Node::Double(_)
            | Node::Zero64(_)
            | Node::Sign64(_)
            | Node::Const64(_)
            | Node::Image(_)
            | Node::Symbol(_)
            | Node::Kernarg64(_)
            | Node::Load64 { .. }
            | Node::Phi64(..)
            | Node::Add64(..)
            | Node::Sub64(..)
            | Node::Shl64(..)
            | Node::Shr64(..)
            | Node::Sar64(..)
            | Node::MulU(..)
            | Node::MulS(..)
            | Node::Select64(..)
            | Node::Lane64(..) => 64,
            Node::True
            | Node::False
            | Node::Unknown(_)
            | Node::Compare(..)
            | Node::Not(_)
            | Node::Both(..)
            | Node::Either(..)
            | Node::Lanes(..)
            | Node::Carry(..)
            | Node::Borrow(..)
            | Node::Any(_)
            | Node::Exec(_)
            | Node::PartOf(..) => 1,
            _ => 32,
        }
    }

    /// Both halves of a lane mask. They follow each other, so that only one is looked for.
    pub(crate) fn halves(&mut self, mask: Id) -> [Id; 2] {
        let new = Id(self.nodes.len() as u32);
        let low = self.intern(Node::Mask(mask, false));
        let high = Node::Mask(mask, true);
        if !matches!(self.node(low), Node::Mask(..)) {
            // It was too deep.
            return [low, self.intern(high)];
        }
        if low == new {
            let traits = self.traits(low);
            self.append(
                high,
                Traits {
                    parts: traits.parts & !self.part(low),
                    ..traits
                },
            );
        }
        [low, Id(low.0 + 1)]
    }

    pub(crate) fn opaque(&mut self, lost: Lost) -> Id {
        let unique = self.unique();
        self.one_of_a_kind(Node::Opaque(unique, lost))
    }

    /// What is in a register that nobody asks for; `loops` are the bits of the loops that it is another one in each round
    /// of, beside those that the walk is in.
    pub(crate) fn anything(&mut self, loops: u64) -> Id {
        let inside = self.inside;
        self.inside |= loops;
        let anything = self.opaque(Lost::Arithmetic);
        self.inside = inside;
        anything
    }

    /// A register that nobody has set holds something when it is used together with others.
    fn some(&mut self, word: Id) -> Id {
        if word == BOTTOM {
            self.opaque(Lost::Arithmetic)
        } else {
            word
        }
    }

    fn some64(&mut self, word: Id) -> Id {
        if word != BOTTOM {
            return word;
        }
        let (low, high) = (self.opaque(Lost::Arithmetic), self.opaque(Lost::Arithmetic));
        self.intern(Node::Pair(low, high))
    }

    pub(crate) fn unknown(&mut self) -> Id {
        let unique = self.unique();
        self.one_of_a_kind(Node::Unknown(unique))
    }

    pub(crate) fn constant(&mut self, value: u32) -> Id {
        self.intern(Node::Const(value))
    }

    pub(crate) fn constant64(&mut self, value: u64) -> Id {
        self.intern(Node::Const64(value))
    }

    pub(crate) fn as_const(&self, id: Id) -> Option<u32> {
        match self.node(id) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn as_const64(&self, id: Id) -> Option<u64> {
        match self.node(id) {
            Node::Const64(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn binary(&mut self, op: Binary, mut a: Id, mut b: Id) -> Id {
        use Binary::{
            Add, And, DivU, MaxS, MaxU, MinS, MinU, Mul, MulHighU, Or, RemU, Sar, Shl, Shr, Sub,
            Xor,
        };
        if a == BOTTOM && b == BOTTOM {
            return BOTTOM;
        }
        (a, b) = (self.some(a), self.some(b));
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            return self.constant(op.of(x, y));
        }
        // A constant stands right; otherwise the older node left.
        let commutes = !matches!(op, Sub | Shl | Shr | Sar | DivU | RemU);
        if commutes && (self.as_const(a).is_some() || (self.as_const(b).is_none() && b < a)) {
            (a, b) = (b, a);
        }
        if op == Sub {
            if a == b {
                return ZERO;
            }
            if let Some(y) = self.as_const(b) {
                let negated = self.constant(y.wrapping_neg());
                return self.binary(Add, a, negated);
            }
            if let Some(rest) = self.rest_of(a, b) {
                return rest;
            }
        }
        if let Some(y) = self.as_const(b) {
            match (op, y) {
                (Add | Sub | Or | Xor | Shl | Shr | Sar | MaxU, 0) => return a,
                (Mul | And | MinU | MulHighU, 0) => return ZERO,
                (Mul, 1) | (And | MinU, u32::MAX) => return a,
                (Or, u32::MAX) => return ONES,
                (And, _) if y & ID == ID && matches!(self.node(a), Node::Item(_)) => return a,
                (And | Shr, _) => {
                    if let Some(part) = self.part_of_items(op, a, y) {
                        return part;
                    }
                }
                (Add, _) => {
                    if let Node::Binary(Add, x, z) = self.node(a)
                        && let Some(z) = self.as_const(z)
                    {
                        let sum = self.constant(y.wrapping_add(z));
                        return self.binary(Add, x, sum);
                    }
                }
                (Shl, _) => {
                    if let Node::Binary(Shl, x, z) = self.node(a)
                        && let Some(z) = self.as_const(z)
                        && (z & 31) + (y & 31) < 32
                    {
                        let sum = self.constant((z & 31) + (y & 31));
                        return self.binary(Shl, x, sum);
                    }
                }
                _ => {}
            }
        }
        if a == b && matches!(op, And | Or | MinU | MaxU | MinS | MaxS) {
            return a;
        }
        if op == Or
            && let Some(high) = self.high_of_place(a, b).or(self.high_of_place(b, a))
        {
            return high;
        }
        self.intern(Node::Binary(op, a, b))
    }

    pub(crate) fn add(&mut self, a: Id, b: Id) -> Id {
        self.binary(Binary::Add, a, b)
    }

    pub(crate) fn shl(&mut self, a: Id, by: u32) -> Id {
        let by = self.constant(by);
        self.binary(Binary::Shl, a, by)
    }

    /// An address without its constant part, and that.
    pub(crate) fn base_and_offset(&self, address: Id) -> (Id, i64) {
        if let Node::Add64(base, offset) = self.node(address)
            && let Some(offset) = self.as_const64(offset)
        {
            return (base, offset as i64);
        }
        (address, 0)
    }

    pub(crate) fn and(&mut self, a: Id, mask: u32) -> Id {
        let mask = self.constant(mask);
        self.binary(Binary::And, a, mask)
    }

    pub(crate) fn sign(&mut self, a: Id, bits: u8) -> Id {
        match self.as_const(a) {
            Some(value) => self.constant(words::sign(value, bits)),
            None if a == BOTTOM => BOTTOM,
            None => self.intern(Node::Sign(a, bits)),
        }
    }

    pub(crate) fn select(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        match condition {
            TRUE => yes,
            FALSE => no,
            _ if yes == no => yes,
            _ => match self.divided(condition, yes, no) {
                Some(divided) => divided,
                None => self.intern(Node::Select(condition, yes, no)),
            },
        }
    }
}

/// The number of a new node's bit in [`Traits::parts`].
fn bit(id: Id) -> u8 {
    (u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8
}
