//! Truth values, and the sums and differences that they carry over.

use super::{Arena, BOTTOM, Binary, Compare, FALSE, Id, Node, TRUE, ZERO};

/// Sums inside each other whose low bits are looked at.
const MAX_ZEROS_DEPTH: u32 = 4;

impl Arena {
    pub(crate) fn compare(&mut self, op: Compare, a: Id, b: Id) -> Id {
        if a == BOTTOM || b == BOTTOM {
            return self.unknown();
        }
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            return if op.of(x, y) { TRUE } else { FALSE };
        }
        match (op, self.differ(a, b) || self.differ(b, a)) {
            (Compare::Eq, true) => FALSE,
            (Compare::Ne, true) => TRUE,
            _ => self.intern(Node::Compare(op, a, b)),
        }
    }

    /// Whether a constant has a bit where a word has only zeros: no multiple of 4 is the offset of a
    /// null pointer to scratch.
    fn differ(&self, word: Id, constant: Id) -> bool {
        self.as_const(constant)
            .is_some_and(|constant| constant & ((1 << self.zeros(word, MAX_ZEROS_DEPTH)) - 1) != 0)
    }

    /// Whether a constant has no bits but where a word has only zeros.
    pub(super) fn is_disjoint(&self, word: Id, constant: Id) -> bool {
        let zeros = self.zeros(word, MAX_ZEROS_DEPTH);
        self.as_const(constant)
            .is_some_and(|bits| bits >> zeros == 0)
    }

    /// Low bits of a 32-bit word that are 0, as far as that is seen.
    fn zeros(&self, word: Id, depth: u32) -> u32 {
        if let Some(value) = self.as_const(word) {
            return value.trailing_zeros().min(31);
        }
        let Node::Binary(op, a, b) = self.node(word) else {
            return 0;
        };
        if depth == 0 {
            return 0;
        }
        let of = |id: Id| self.zeros(id, depth - 1);
        match op {
            Binary::Add | Binary::Sub | Binary::Or | Binary::Xor => of(a).min(of(b)),
            Binary::And => of(a).max(of(b)),
            Binary::Mul => (of(a) + of(b)).min(31),
            Binary::Shl => {
                let by = self.as_const(b).map_or(0, |by| by & 31);
                (of(a) + by).min(31)
            }
            _ => 0,
        }
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
            let loose = |arena: &Self, (a, b): (Id, Id)| {
                let is_loose = |id: &&Id| match arena.node(**id) {
                    Node::Pair(..) => true,
                    // Registers that follow each other get phis that do.
                    Node::Phi64(low, high) => high != low + 1,
                    _ => false,
                };
                [a, b].iter().filter(is_loose).count()
            };
            if loose(self, pairs) > 0 {
                let crossed = (self.pair(x, b), self.pair(y, a));
                if loose(self, crossed) < loose(self, pairs) {
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
