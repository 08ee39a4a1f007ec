//! Words of 64 bits, made of halves and taken apart.

use super::{Arena, BOTTOM, Binary, Id, Node, Symbolic, ZERO};

impl Arena {
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
            (_, Node::High(whole)) if self.low(whole) == low => return whole,
            // A constant in bits that are 0: a sum that carries nothing.
            (Node::Binary(Binary::Or, word, bits), Node::High(whole))
                if self.is_disjoint(word, bits) && self.low(whole) == word =>
            {
                let bits = self.zero64(bits);
                return self.add64(whole, bits);
            }
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
            // As sums of one of them and numbers come.
            Node::Image(address) if address != 0 => {
                let image = self.intern(Node::Image(0));
                let (low, offset) = (self.low(image), self.constant(address as u32));
                self.add(low, offset)
            }
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
            Node::Shr64(a, by) => match self.as_const(by).map(|by| by & 63) {
                Some(by @ 32..) => {
                    let high = self.high(a);
                    let by = self.constant(by - 32);
                    self.binary(Binary::Shr, high, by)
                }
                _ => self.intern(Node::Low(whole)),
            },
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
            Node::Shr64(_, by) if self.as_const(by).is_some_and(|by| by & 63 >= 32) => ZERO,
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
        if let Some(sum) = self.add_index(a, b).or_else(|| self.add_index(b, a)) {
            return sum;
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

    /// An address of scratch or LDS and an index: it stays where it is, so its high half does.
    fn add_index(&mut self, address: Id, index: Id) -> Option<Id> {
        let Node::Pair(low, high) = self.node(address) else {
            return None;
        };
        if !self.is_aperture(high) || !self.is_index(index) {
            return None;
        }
        let index = self.low(index);
        let low = self.add(low, index);
        Some(self.pair(low, high))
    }

    /// Likewise of high halves, where the sum has no carries and is a disjunction.
    pub(crate) fn high_of_place(&self, aperture: Id, index: Id) -> Option<Id> {
        let Node::High(index) = self.node(index) else {
            return None;
        };
        (self.is_aperture(aperture) && self.is_index(index)).then_some(aperture)
    }

    /// Whether a word is the high half of all addresses of scratch or of LDS.
    pub(crate) fn is_aperture(&self, high: Id) -> bool {
        let Node::High(whole) = self.node(high) else {
            return false;
        };
        let symbol = self.node(whole);
        matches!(symbol, Node::Symbol(Symbolic::Scratch | Symbolic::Lds))
    }

    /// Whether a 64-bit word is no address: of 32 bits, a product, shifted.
    pub(crate) fn is_index(&self, word: Id) -> bool {
        matches!(
            self.node(word),
            Node::Const64(_)
                | Node::Zero64(_)
                | Node::Sign64(_)
                | Node::MulU(..)
                | Node::MulS(..)
                | Node::Shl64(..)
        )
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
