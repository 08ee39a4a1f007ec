//! Values as expressions: a hash-consed graph.
//!
//! A node is a 32-bit word, a 64-bit word or a truth value. Registers hold 32-bit nodes; two of them
//! combine to the 64-bit node they are halves of ([`Arena::pair`]), so that an address computed by an
//! addition and an addition with carry is one 64-bit sum. Nodes are immutable: within one lane and
//! one iteration, equal ids are equal values. A [`Node::Phi`] stands for "one of these", its inputs
//! are in [`crate::merge`].

pub(crate) use crate::node::{Binary, Compare, FactId, Id, Lost, Map, Node, Symbolic, children};

/// What is known of every node without evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// Which loops' phis it is made of, one bit a loop, modulo 64.
    pub(crate) loops: u64,
    /// Which nodes it is made of, phis and loads not entered; one bit a node by hash.
    pub(crate) parts: u64,
    /// May differ between lanes.
    pub(crate) divergent: bool,
    depth: u16,
}

/// Expressions deeper than that are cut, so that recursion over them is bounded.
const MAX_DEPTH: u16 = 200;

#[derive(Debug)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    traits: Vec<Traits>,
    ids: Map<Node, Id>,
    /// Halves and pairs made of those of other nodes: what is shared is gone through once.
    lows: Map<Id, Id>,
    highs: Map<Id, Id>,
    pairs: Map<(Id, Id), Id>,
    /// The node of each phi.
    phis: Vec<Id>,
    unique: u32,
    /// Bits of the loops that the walk is in: what is made anew in each round depends on them.
    pub(crate) inside: u64,
}

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
            ids: Map::default(),
            lows: Map::default(),
            highs: Map::default(),
            pairs: Map::default(),
            phis: Vec::new(),
            unique: 0,
            inside: 0,
        };
        for node in [
            Node::Bottom,
            Node::True,
            Node::False,
            Node::Const(0),
            Node::Const(u32::MAX),
        ] {
            arena.intern(node);
        }
        arena
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

    pub(crate) fn unique(&mut self) -> u32 {
        self.unique += 1;
        self.unique
    }

    /// For leaves and for nodes that need no simplification.
    pub(crate) fn intern(&mut self, node: Node) -> Id {
        if let Some(id) = self.ids.get(&node) {
            return *id;
        }
        let mut traits = Traits {
            loops: 0,
            parts: 0,
            divergent: false,
            depth: 0,
        };
        for child in children(&node).into_iter().flatten() {
            let of = self.traits(child);
            traits.loops |= of.loops;
            traits.parts |= of.parts;
            traits.divergent |= of.divergent;
            traits.depth = traits.depth.max(of.depth + 1);
        }
        if matches!(node, Node::Item(_) | Node::Opaque(..) | Node::Unknown(_)) {
            traits.divergent = true;
        }
        if matches!(
            node,
            Node::Opaque(..)
                | Node::Unknown(_)
                | Node::Lane(..)
                | Node::Lane64(..)
                | Node::PartOf(..)
        ) {
            traits.loops |= self.inside;
        }
        // One lane's value, for the whole wave.
        if matches!(node, Node::Lane(..) | Node::Lane64(..)) {
            traits.divergent = false;
        }
        if traits.depth > MAX_DEPTH {
            let unique = self.unique();
            return match self.width(&node) {
                1 => self.intern(Node::Unknown(unique)),
                32 => self.intern(Node::Opaque(unique, Lost::Arithmetic)),
                _ => {
                    let (low, high) =
                        (self.opaque(Lost::Arithmetic), self.opaque(Lost::Arithmetic));
                    self.intern(Node::Pair(low, high))
                }
            };
        }
        self.push(node, traits)
    }

    fn push(&mut self, node: Node, traits: Traits) -> Id {
        let id = self.append(node, traits);
        self.ids.insert(node, id);
        id
    }

    fn append(&mut self, node: Node, mut traits: Traits) -> Id {
        let id = Id(self.nodes.len() as u32);
        traits.parts |= part(id);
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
        if let Some(id) = self.ids.get(&node) {
            return *id;
        }
        self.push(
            node,
            Traits {
                loops,
                parts: 0,
                divergent,
                depth: 0,
            },
        )
    }

    /// Bits of a node's value.
    pub(crate) fn bits(&self, id: Id) -> u32 {
        self.width(&self.node(id)).into()
    }

    fn width(&self, node: &Node) -> u8 {
        match node {
            Node::Pair(..)
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

    pub(crate) fn opaque(&mut self, lost: Lost) -> Id {
        let unique = self.unique();
        self.intern(Node::Opaque(unique, lost))
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
        self.intern(Node::Unknown(unique))
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
            Add, And, MaxS, MaxU, MinS, MinU, Mul, MulHighS, MulHighU, Or, Sar, Shl, Shr, Sub, Xor,
        };
        if a == BOTTOM && b == BOTTOM {
            return BOTTOM;
        }
        (a, b) = (self.some(a), self.some(b));
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let shift = y & 31;
            let value = match op {
                Add => x.wrapping_add(y),
                Sub => x.wrapping_sub(y),
                Mul => x.wrapping_mul(y),
                MulHighU => ((u64::from(x) * u64::from(y)) >> 32) as u32,
                MulHighS => ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32,
                Shl => x << shift,
                Shr => x >> shift,
                Sar => ((x as i32) >> shift) as u32,
                And => x & y,
                Or => x | y,
                Xor => x ^ y,
                MinU => x.min(y),
                MaxU => x.max(y),
                MinS => (x as i32).min(y as i32) as u32,
                MaxS => (x as i32).max(y as i32) as u32,
            };
            return self.constant(value);
        }
        // A constant stands right; otherwise the older node left.
        let commutes = !matches!(op, Sub | Shl | Shr | Sar);
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
        }
        if let Some(y) = self.as_const(b) {
            match (op, y) {
                (Add | Sub | Or | Xor | Shl | Shr | Sar | MaxU, 0) => return a,
                (Mul | And | MinU | MulHighU, 0) => return ZERO,
                (Mul, 1) | (And | MinU, u32::MAX) => return a,
                (Or, u32::MAX) => return ONES,
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
        self.intern(Node::Binary(op, a, b))
    }

    pub(crate) fn add(&mut self, a: Id, b: Id) -> Id {
        self.binary(Binary::Add, a, b)
    }

    pub(crate) fn shl(&mut self, a: Id, by: u32) -> Id {
        let by = self.constant(by);
        self.binary(Binary::Shl, a, by)
    }

    pub(crate) fn and(&mut self, a: Id, mask: u32) -> Id {
        let mask = self.constant(mask);
        self.binary(Binary::And, a, mask)
    }

    pub(crate) fn sign(&mut self, a: Id, bits: u8) -> Id {
        match self.as_const(a) {
            Some(value) => {
                let shift = 32 - u32::from(bits);
                self.constant((((value << shift) as i32) >> shift) as u32)
            }
            None if a == BOTTOM => BOTTOM,
            None => self.intern(Node::Sign(a, bits)),
        }
    }

    pub(crate) fn select(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        match condition {
            TRUE => yes,
            FALSE => no,
            _ if yes == no => yes,
            _ => self.intern(Node::Select(condition, yes, no)),
        }
    }

    /// The 64-bit word whose halves are `low` and `high`.
    pub(crate) fn pair(&mut self, low: Id, high: Id) -> Id {
        if low == BOTTOM && high == BOTTOM {
            return BOTTOM;
        }
        let (low, high) = (self.some(low), self.some(high));
        match (self.node(low), self.node(high)) {
            (Node::Const(l), Node::Const(h)) => {
                return self.constant64(u64::from(h) << 32 | u64::from(l));
            }
            (_, Node::Const(0)) => return self.zero64(low),
            (Node::Kernarg(l), Node::Kernarg(h)) if h == l.wrapping_add(4) => {
                return self.intern(Node::Kernarg64(l));
            }
            (Node::Load { load: l, dword: x }, Node::Load { load: h, dword: y })
                if l == h && y == x.wrapping_add(1) =>
            {
                let of = self.traits(low);
                return self.leaf(Node::Load64 { load: l, dword: x }, of.loops, of.divergent);
            }
            (Node::Phi(l), Node::Phi(h)) => {
                let (a, b) = (self.traits(low), self.traits(high));
                let parts = a.parts | b.parts;
                let node = Node::Phi64(l, h);
                let id = self.leaf(node, a.loops | b.loops, a.divergent || b.divergent);
                self.traits[id.0 as usize].parts |= parts;
                return id;
            }
            (Node::Lane(_, at, _), Node::Lane(_, of, _)) if at == of => {
                return self.pair_of_parts(low, high);
            }
            (Node::Select(c, ..), Node::Select(d, ..)) if c == d => {
                return self.pair_of_parts(low, high);
            }
            (Node::Binary(Binary::Mul, a, b), Node::Binary(Binary::MulHighU, x, y))
                if (a, b) == (x, y) =>
            {
                return self.intern(Node::MulU(a, b));
            }
            (Node::Binary(Binary::Mul, a, b), Node::Binary(Binary::MulHighS, x, y))
                if (a, b) == (x, y) =>
            {
                return self.intern(Node::MulS(a, b));
            }
            (_, Node::Binary(Binary::Sar, x, y)) if x == low && self.as_const(y) == Some(31) => {
                return self.sign64(low);
            }
            (_, Node::High(whole)) if self.is_low(low, whole) => return whole,
            _ => {}
        }
        self.intern(Node::Pair(low, high))
    }

    /// Two choices by one condition are a choice of pairs; two words of one lane are its pair.
    fn pair_of_parts(&mut self, low: Id, high: Id) -> Id {
        if let Some(&known) = self.pairs.get(&(low, high)) {
            return known;
        }
        let pair = match (self.node(low), self.node(high)) {
            (Node::Select(c, a, b), Node::Select(_, x, y)) => {
                let (yes, no) = (self.pair(a, x), self.pair(b, y));
                self.intern(Node::Select64(c, yes, no))
            }
            // Read while the same facts held: from the same lane.
            (Node::Lane(a, at, x), Node::Lane(b, _, y)) => {
                let whole = self.pair(a, b);
                self.intern(Node::Lane64(whole, at, x, y))
            }
            _ => self.intern(Node::Pair(low, high)),
        };
        self.pairs.insert((low, high), pair);
        pair
    }

    /// Whether a word is the low half. That of an image address comes as a sum, too, of another one's and
    /// a number.
    fn is_low(&mut self, word: Id, whole: Id) -> bool {
        if let Node::Image(address) = self.node(whole)
            && let Node::Binary(Binary::Add, base, offset) = self.node(word)
            && let (Node::Low(base), Some(offset)) = (self.node(base), self.as_const(offset))
            && let Node::Image(base) = self.node(base)
        {
            return (base as u32).wrapping_add(offset) == address as u32;
        }
        self.low(whole) == word
    }

    pub(crate) fn zero64(&mut self, low: Id) -> Id {
        let low = self.some(low);
        match self.as_const(low) {
            Some(value) => self.constant64(value.into()),
            None => self.intern(Node::Zero64(low)),
        }
    }

    pub(crate) fn sign64(&mut self, low: Id) -> Id {
        let low = self.some(low);
        match self.as_const(low) {
            Some(value) => self.constant64(i64::from(value as i32) as u64),
            None => self.intern(Node::Sign64(low)),
        }
    }

    /// The low half, in the form in which the machine computes it.
    pub(crate) fn low(&mut self, whole: Id) -> Id {
        match self.node(whole) {
            Node::Bottom => BOTTOM,
            Node::Const64(value) => self.constant(value as u32),
            Node::Pair(low, _) | Node::Zero64(low) | Node::Sign64(low) => low,
            Node::Kernarg64(offset) => self.intern(Node::Kernarg(offset)),
            Node::Load64 { load, dword } => self.load_part(whole, load, dword),
            Node::Phi64(low, _) => self.phi(low),
            Node::MulU(a, b) | Node::MulS(a, b) => self.binary(Binary::Mul, a, b),
            _ => match self.lows.get(&whole) {
                Some(&known) => known,
                None => {
                    let low = self.low_of_parts(whole);
                    self.lows.insert(whole, low);
                    low
                }
            },
        }
    }

    /// The low half of what is made of other pairs.
    fn low_of_parts(&mut self, whole: Id) -> Id {
        match self.node(whole) {
            Node::Lane64(inner, at, unique, _) => {
                let low = self.low(inner);
                self.intern(Node::Lane(low, at, unique))
            }
            Node::Add64(a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.add(a, b)
            }
            Node::Sub64(a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.binary(Binary::Sub, a, b)
            }
            Node::Shl64(a, by) if self.as_const(by).is_some_and(|by| by & 63 < 32) => {
                let a = self.low(a);
                self.binary(Binary::Shl, a, by)
            }
            Node::Select64(c, yes, no) => {
                let (yes, no) = (self.low(yes), self.low(no));
                self.select(c, yes, no)
            }
            _ => self.intern(Node::Low(whole)),
        }
    }

    pub(crate) fn high(&mut self, whole: Id) -> Id {
        match self.node(whole) {
            Node::Bottom => BOTTOM,
            Node::Const64(value) => self.constant((value >> 32) as u32),
            Node::Pair(_, high) => high,
            Node::Zero64(_) => ZERO,
            Node::Sign64(low) => {
                let by = self.constant(31);
                self.binary(Binary::Sar, low, by)
            }
            Node::Kernarg64(offset) => self.intern(Node::Kernarg(offset + 4)),
            Node::Load64 { load, dword } => self.load_part(whole, load, dword + 1),
            Node::Phi64(_, high) => self.phi(high),
            Node::MulU(a, b) => self.binary(Binary::MulHighU, a, b),
            Node::MulS(a, b) => self.binary(Binary::MulHighS, a, b),
            _ => match self.highs.get(&whole) {
                Some(&known) => known,
                None => {
                    let high = self.high_of_parts(whole);
                    self.highs.insert(whole, high);
                    high
                }
            },
        }
    }

    /// The high half of what is made of other pairs.
    fn high_of_parts(&mut self, whole: Id) -> Id {
        match self.node(whole) {
            Node::Lane64(inner, at, _, unique) => {
                let high = self.high(inner);
                self.intern(Node::Lane(high, at, unique))
            }
            Node::Select64(c, yes, no) => {
                let (yes, no) = (self.high(yes), self.high(no));
                self.select(c, yes, no)
            }
            _ => self.intern(Node::High(whole)),
        }
    }

    fn load_part(&mut self, whole: Id, load: u32, dword: u8) -> Id {
        let of = self.traits(whole);
        self.leaf(Node::Load { load, dword }, of.loops, of.divergent)
    }

    pub(crate) fn add64(&mut self, mut a: Id, mut b: Id) -> Id {
        if a == BOTTOM && b == BOTTOM {
            return BOTTOM;
        }
        (a, b) = (self.some64(a), self.some64(b));
        if self.as_const64(a).is_some() || (self.as_const64(b).is_none() && b < a) {
            (a, b) = (b, a);
        }
        let Some(y) = self.as_const64(b) else {
            return self.intern(Node::Add64(a, b));
        };
        match self.node(a) {
            _ if y == 0 => a,
            Node::Const64(x) => self.constant64(x.wrapping_add(y)),
            Node::Image(x) => self.intern(Node::Image(x.wrapping_add(y))),
            Node::Add64(x, z) => match self.as_const64(z) {
                Some(z) => {
                    let sum = self.constant64(y.wrapping_add(z));
                    self.add64(x, sum)
                }
                None => self.intern(Node::Add64(a, b)),
            },
            _ => self.intern(Node::Add64(a, b)),
        }
    }

    pub(crate) fn sub64(&mut self, a: Id, b: Id) -> Id {
        if let Some(y) = self.as_const64(b) {
            let negated = self.constant64(y.wrapping_neg());
            return self.add64(a, negated);
        }
        if a == BOTTOM && b == BOTTOM {
            return BOTTOM;
        }
        let (a, b) = (self.some64(a), self.some64(b));
        self.intern(Node::Sub64(a, b))
    }

    pub(crate) fn offset(&mut self, address: Id, bytes: i64) -> Id {
        let bytes = self.constant64(bytes as u64);
        self.add64(address, bytes)
    }

    pub(crate) fn shift64(&mut self, make: fn(Id, Id) -> Node, a: Id, by: Id) -> Id {
        let (a, by) = (self.some64(a), self.some(by));
        let node = make(a, by);
        if let Some(by) = self.as_const(by) {
            if by & 63 == 0 {
                return a;
            }
            if let Some(value) = self.as_const64(a) {
                return match node {
                    Node::Shl64(..) => self.constant64(value << (by & 63)),
                    Node::Shr64(..) => self.constant64(value >> (by & 63)),
                    _ => self.constant64(((value as i64) >> (by & 63)) as u64),
                };
            }
        }
        self.intern(node)
    }

    // Truth values.

    pub(crate) fn compare(&mut self, op: Compare, a: Id, b: Id) -> Id {
        if a == BOTTOM || b == BOTTOM {
            return self.unknown();
        }
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let holds = match op {
                Compare::Eq => x == y,
                Compare::Ne => x != y,
                Compare::LtU => x < y,
                Compare::LeU => x <= y,
                Compare::LtS => (x as i32) < y as i32,
                Compare::LeS => x as i32 <= y as i32,
            };
            return if holds { TRUE } else { FALSE };
        }
        self.intern(Node::Compare(op, a, b))
    }

    pub(crate) fn not(&mut self, a: Id) -> Id {
        match self.node(a) {
            Node::True => FALSE,
            Node::False => TRUE,
            Node::Not(inner) => inner,
            Node::Compare(op, x, y) => {
                let (op, x, y) = match op {
                    Compare::Eq => (Compare::Ne, x, y),
                    Compare::Ne => (Compare::Eq, x, y),
                    Compare::LtU => (Compare::LeU, y, x),
                    Compare::LeU => (Compare::LtU, y, x),
                    Compare::LtS => (Compare::LeS, y, x),
                    Compare::LeS => (Compare::LtS, y, x),
                };
                self.intern(Node::Compare(op, x, y))
            }
            _ => self.intern(Node::Not(a)),
        }
    }

    pub(crate) fn any(&mut self, mask: Id) -> Id {
        match mask {
            FALSE => FALSE,
            _ => self.intern(Node::Any(mask)),
        }
    }

    /// Carry of a sum of 32-bit words.
    pub(crate) fn carry(&mut self, a: Id, b: Id) -> Id {
        match (self.as_const(a), self.as_const(b)) {
            (Some(a), Some(b)) => {
                if a.checked_add(b).is_none() {
                    TRUE
                } else {
                    FALSE
                }
            }
            _ if a == BOTTOM || b == BOTTOM => self.unknown(),
            _ => self.intern(Node::Carry(a, b)),
        }
    }

    pub(crate) fn borrow(&mut self, a: Id, b: Id) -> Id {
        match (self.as_const(a), self.as_const(b)) {
            (Some(a), Some(b)) => {
                if a < b {
                    TRUE
                } else {
                    FALSE
                }
            }
            _ if a == BOTTOM || b == BOTTOM => self.unknown(),
            _ => self.intern(Node::Borrow(a, b)),
        }
    }

    /// Sum of high halves and the carry of the sum of low halves: with it, the high half of the sum.
    pub(crate) fn add_carry(&mut self, a: Id, b: Id, carry: Id) -> Id {
        if let Node::Carry(x, y) = self.node(carry) {
            let mut pairs = (self.pair(x, a), self.pair(y, b));
            // The sum is the same with the high halves exchanged; the pairs may make more sense.
            let loose = |arena: &Self, id| matches!(arena.node(id), Node::Pair(..));
            if loose(self, pairs.0) || loose(self, pairs.1) {
                let crossed = (self.pair(x, b), self.pair(y, a));
                if !loose(self, crossed.0) && !loose(self, crossed.1) {
                    pairs = crossed;
                }
            }
            let sum = self.add64(pairs.0, pairs.1);
            return self.high(sum);
        }
        let sum = self.add(a, b);
        let one = self.constant(1);
        let carry = self.select(carry, one, ZERO);
        self.add(sum, carry)
    }

    pub(crate) fn sub_borrow(&mut self, a: Id, b: Id, borrow: Id) -> Id {
        if let Node::Borrow(x, y) = self.node(borrow) {
            let (a, b) = (self.pair(x, a), self.pair(y, b));
            let difference = self.sub64(a, b);
            return self.high(difference);
        }
        let difference = self.binary(Binary::Sub, a, b);
        let one = self.constant(1);
        let borrow = self.select(borrow, one, ZERO);
        self.binary(Binary::Sub, difference, borrow)
    }

    pub(crate) fn both(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (TRUE, x) | (x, TRUE) => x,
            (FALSE, _) | (_, FALSE) => FALSE,
            _ if a == b => a,
            _ => self.intern(Node::Both(a, b)),
        }
    }

    pub(crate) fn either(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (FALSE, x) | (x, FALSE) => x,
            (TRUE, _) | (_, TRUE) => TRUE,
            _ if a == b => a,
            _ => self.intern(Node::Either(a, b)),
        }
    }
}

/// The bit of a node in [`Traits::parts`].
pub(crate) fn part(id: Id) -> u64 {
    1 << (u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each sum has the one before twice: gone through once for each way to it, it would take for ever.
    #[test]
    fn halves_of_what_is_shared_are_made_once() {
        let mut arena = Arena::new();
        let mut whole = arena.intern(Node::Kernarg64(0));
        for offset in 0..60 {
            let condition = arena.unknown();
            let other = arena.intern(Node::Kernarg64(8 * offset));
            let sum = arena.add64(whole, whole);
            whole = arena.intern(Node::Select64(condition, sum, other));
        }
        let (low, high) = (arena.low(whole), arena.high(whole));
        assert_eq!(arena.pair(low, high), whole);
    }
}
