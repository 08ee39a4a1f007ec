//! Truth values, and the sums and differences that they carry over.

use super::{Arena, BOTTOM, Binary, Compare, FALSE, Id, Node, TRUE, ZERO};

impl Arena {
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
