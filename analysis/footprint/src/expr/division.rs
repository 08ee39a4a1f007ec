//! Divisions by words that are no constants.
//!
//! No instruction divides. Compilers estimate the inverse of the divisor as a float, make it a word, refine that once,
//! and correct the quotient and the rest that they have by it twice:
//!
//! ```text
//! inverse = trunc(rcp(float(d)) * (2^32 - 512));     inverse += high(inverse * (-d * inverse));
//! q = high(n * inverse);     r = n - q * d;     twice: if r >= d { q += 1;  r -= d }
//! ```
//!
//! With floats that are rounded to nearest and an `rcp` that is off by less than its last bit, the inverse is never too
//! high, and the quotient that it gives at most 2 too low: what comes out is the quotient and the rest, of any words but
//! for a divisor of 0. An expression is a division only if it is all of that, word for word.

use super::{Arena, Binary, Compare, Id, Inverse, Node, ZERO};

/// `if rest >= by { more } else { less }`.
struct Correction {
    by: Id,
    rest: Id,
    more: Id,
    less: Id,
}

impl Arena {
    /// The quotient or the rest, if a choice is the second correction of one.
    pub(super) fn divided(&mut self, condition: Id, yes: Id, no: Id) -> Option<Id> {
        let Correction {
            by,
            rest,
            more,
            less,
        } = self.correction(condition, yes, no)?;
        let Node::Select(condition, yes, no) = self.node(rest) else {
            return None;
        };
        let first = self.correction(condition, yes, no)?;
        let is_rest = first.by == by && first.less == first.rest && self.is_less(&first);
        if !is_rest {
            return None;
        }
        let (of, quotient) = self.estimated(first.rest, by)?;
        if less == rest && self.node(more) == Node::Binary(Binary::Sub, less, by) {
            return Some(self.binary(Binary::RemU, of, by));
        }
        let Node::Select(condition, yes, no) = self.node(less) else {
            return None;
        };
        let once = self.correction(condition, yes, no)?;
        let is_quotient = (once.by, once.rest, once.less) == (by, first.rest, quotient)
            && self.is_one_more(once.more, quotient)
            && self.is_one_more(more, less);
        is_quotient.then(|| self.binary(Binary::DivU, of, by))
    }

    /// Of a difference: the rest, if a word less the quotient times the divisor is one.
    pub(super) fn rest_of(&mut self, word: Id, product: Id) -> Option<Id> {
        let Node::Binary(Binary::Mul, a, b) = self.node(product) else {
            return None;
        };
        let is_whole =
            |quotient: Id, by: Id| self.node(quotient) == Node::Binary(Binary::DivU, word, by);
        let by = match (is_whole(a, b), is_whole(b, a)) {
            (true, _) => b,
            (_, true) => a,
            _ => return None,
        };
        Some(self.binary(Binary::RemU, word, by))
    }

    fn correction(&self, condition: Id, yes: Id, no: Id) -> Option<Correction> {
        let (by, rest, more, less) = match self.node(condition) {
            Node::Compare(Compare::LeU, by, rest) => (by, rest, yes, no),
            Node::Compare(Compare::LtU, rest, by) => (by, rest, no, yes),
            _ => return None,
        };
        Some(Correction {
            by,
            rest,
            more,
            less,
        })
    }

    fn is_less(&self, of: &Correction) -> bool {
        self.node(of.more) == Node::Binary(Binary::Sub, of.rest, of.by)
    }

    fn is_one_more(&self, more: Id, word: Id) -> bool {
        match self.node(more) {
            Node::Binary(Binary::Add, a, one) => a == word && self.as_const(one) == Some(1),
            _ => false,
        }
    }

    /// What is divided, and the first quotient, of the rest that it leaves.
    fn estimated(&self, rest: Id, by: Id) -> Option<(Id, Id)> {
        let Node::Binary(Binary::Sub, of, product) = self.node(rest) else {
            return None;
        };
        let quotient = self.factor(Binary::Mul, product, by)?;
        let inverse = self.factor(Binary::MulHighU, quotient, of)?;
        self.is_inverse(inverse, by).then_some((of, quotient))
    }

    /// The other factor of a product.
    fn factor(&self, op: Binary, product: Id, one: Id) -> Option<Id> {
        match self.node(product) {
            Node::Binary(of, a, b) if of == op && a == one => Some(b),
            Node::Binary(of, a, b) if of == op && b == one => Some(a),
            _ => None,
        }
    }

    /// Whether it is the inverse of a divisor, refined.
    fn is_inverse(&self, word: Id, by: Id) -> bool {
        let Node::Binary(Binary::Add, a, b) = self.node(word) else {
            return false;
        };
        [(a, b), (b, a)].into_iter().any(|(inverse, more)| {
            let error = || self.factor(Binary::MulHighU, more, inverse);
            let negated = || self.factor(Binary::Mul, error()?, inverse);
            self.node(inverse) == Node::Inverse(by, Inverse::Word)
                && negated().is_some_and(|negated| {
                    self.node(negated) == Node::Binary(Binary::Sub, ZERO, by)
                })
        })
    }
}

#[cfg(test)]
mod tests {
    /// What the machine may take for the inverse of a divisor: whatever is off by less than its last bit.
    fn inverses(d: u32) -> impl Iterator<Item = f32> {
        let nearest = (1.0 / d as f32).to_bits();
        let floats = (nearest - 1..=nearest + 1).map(f32::from_bits);
        floats.filter(move |float| {
            let last = f64::from(float.next_up() - float);
            (f64::from(*float) - 1.0 / f64::from(d as f32)).abs() < last
        })
    }

    /// The quotient and the rest.
    fn divide(n: u32, d: u32, float: f32) -> (u32, u32) {
        let mut inverse = (float * f32::from_bits(0x4f7f_fffe)) as u32;
        let high = |a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32;
        let error = d.wrapping_neg().wrapping_mul(inverse);
        inverse = inverse.wrapping_add(high(inverse, error));
        let mut quotient = high(n, inverse);
        let mut rest = n.wrapping_sub(quotient.wrapping_mul(d));
        for _ in 0..2 {
            if rest >= d {
                (quotient, rest) = (quotient.wrapping_add(1), rest - d);
            }
        }
        (quotient, rest)
    }

    #[test]
    fn two_corrections_make_any_quotient_right() {
        let near =
            |word: u32| (0..4).flat_map(move |by| [word.wrapping_add(by), word.wrapping_sub(by)]);
        let mut words: Vec<u32> = (0..32).flat_map(|bit| near(1 << bit)).collect();
        words.extend((1..400).map(|word: u32| word.wrapping_mul(0x9e37_79b1)));
        for d in words.iter().copied().filter(|d| *d != 0) {
            for n in words.iter().copied().chain(near(u32::MAX / d * d)) {
                for float in inverses(d) {
                    assert_eq!(divide(n, d, float), (n / d, n % d), "{n} / {d}, {float}");
                }
            }
        }
    }
}
