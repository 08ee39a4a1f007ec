//! What a bound on a whole says of the terms that it is made of.
//!
//! Arithmetic is that of words: of a sum, the word of one term is that of the whole less that of the
//! other, whatever wraps. Products are only taken apart where nothing can have wrapped.

use crate::comparison::clip;
use crate::evaluate::Evaluation;
use crate::expr::{Binary, Compare, FactId, Id, Node};
use crate::range::Range;
use crate::terms::{DEPTH, operands};
use crate::value::{Alternative, Value};

/// What a bound on a whole leaves of a term.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// These words.
    Words(Range),
    /// None: the place is not reached.
    Nothing,
}

impl Evaluation<'_> {
    /// What is left of the value of a term where its whole compares so with a bound, `comparison` says whether the
    /// whole stands left. Whole and bound are taken under `facts`.
    pub(crate) fn narrow_term(
        &mut self,
        term: Id,
        value: Value,
        comparison: (Compare, bool),
        [whole, bound]: [Id; 2],
        facts: FactId,
    ) -> Value {
        let arena = &self.plan.arena;
        let has_term = |of: Id| arena.traits(of).parts & arena.part(term) != 0;
        if !has_term(whole) && !arena.known_low(whole).is_some_and(has_term) {
            return value;
        }
        let (bits, bits_of_whole) = (arena.bits(term), arena.bits(whole));
        let Some(words) = self.value(whole, facts).numbers() else {
            return value;
        };
        let Some(bound) = self.value(bound, facts).numbers() else {
            return value;
        };
        let (op, is_left) = comparison;
        let Some(clipped) = clip(op, is_left, words, bound, bits_of_whole) else {
            return Value::Empty;
        };
        if clipped == words {
            return value;
        }
        match self.carried(term, whole, clipped, facts, DEPTH) {
            None => value,
            Some(Left::Nothing) => Value::Empty,
            Some(Left::Words(words)) => {
                let left = value.alternatives().iter().filter_map(|one| {
                    let range = match one.numbers() {
                        Some(range) => range.among(words, bits)?,
                        None => one.range,
                    };
                    let origin = one.origin;
                    Some(Alternative { origin, range })
                });
                Value::any(left.collect::<Vec<_>>(), bits)
            }
        }
    }

    /// What is left of `term` where `whole`, which it is or is part of, is one of these words; if that is known.
    fn carried(
        &mut self,
        term: Id,
        whole: Id,
        words: Range,
        facts: FactId,
        depth: u32,
    ) -> Option<Left> {
        let bits = self.plan.arena.bits(whole);
        if whole == term {
            return Some(Left::Words(words));
        }
        if depth == 0 || words.is_full(bits) {
            return None;
        }
        // Of a word that has nothing in its high half, the low one.
        let own = words.unsigned(64);
        if bits == 64
            && own.hi < 1 << 32
            && let Some(low) = self.plan.arena.known_low(whole)
            && self.plan.arena.traits(low).parts & self.plan.arena.part(term) != 0
        {
            let left = self.carried(term, low, own.reduce(32), facts, depth - 1);
            if left.is_some() {
                return left;
            }
        }
        let node = self.plan.arena.node(whole);
        let found = operands(&self.plan.arena, &node);
        let [first, second] = found;
        for operand in found.into_iter().flatten() {
            if self.plan.arena.traits(operand).parts & self.plan.arena.part(term) == 0 {
                continue;
            }
            let other = if Some(operand) == first {
                second
            } else {
                first
            };
            let left = match self.operand(&node, bits, words, operand, other, facts) {
                Some(Left::Words(left)) => self.carried(term, operand, left, facts, depth - 1),
                left => left,
            };
            if left.is_some() {
                return left;
            }
        }
        None
    }

    /// What is left of an operand of `node`.
    fn operand(
        &mut self,
        node: &Node,
        bits: u32,
        words: Range,
        operand: Id,
        other: Option<Id>,
        facts: FactId,
    ) -> Option<Left> {
        let numbers = |this: &mut Self, id: Option<Id>| this.value(id?, facts).numbers();
        match *node {
            Node::Binary(Binary::Add, ..) | Node::Add64(..) => {
                let other = numbers(self, other)?;
                Some(Left::Words(words.sub(other, bits)))
            }
            Node::Binary(Binary::Or, ..) => {
                let (own, other) = (numbers(self, Some(operand))?, numbers(self, other)?);
                own.is_disjoint(other, bits)
                    .then(|| Left::Words(words.sub(other, bits)))
            }
            Node::Binary(Binary::Sub, a, _) | Node::Sub64(a, _) => {
                let other = numbers(self, other)?;
                Some(Left::Words(if operand == a {
                    words.add(other, bits)
                } else {
                    other.sub(words, bits)
                }))
            }
            Node::Binary(Binary::Shl, _, by) | Node::Shl64(_, by) => {
                let by = numbers(self, Some(by))?.single()?;
                let factor = (0..i128::from(bits)).contains(&by).then(|| 1 << by)?;
                let own = numbers(self, Some(operand))?;
                own.quotient(words, factor, bits, None)
            }
            Node::Binary(Binary::Mul, ..) => {
                let factor = numbers(self, other)?.single()?;
                let own = numbers(self, Some(operand))?;
                own.quotient(words, factor, bits, None)
            }
            Node::MulU(..) | Node::MulS(..) => {
                let is_signed = matches!(node, Node::MulS(..));
                let factor = numbers(self, other)?;
                let factor = match is_signed {
                    true => factor.signed(32),
                    false => factor.unsigned(32),
                };
                let own = numbers(self, Some(operand))?;
                own.quotient(words, factor.single()?, bits, Some(is_signed))
            }
            Node::Zero64(_) => own_words(words.unsigned(64), 0, (1 << 32) - 1),
            Node::Sign64(_) => own_words(words.signed(64), -(1 << 31), (1 << 31) - 1),
            Node::Low(_) => {
                let own = numbers(self, Some(operand))?;
                let fits = own.lo >= 0 && own.hi < 1 << 32;
                fits.then(|| Left::Words(words.unsigned(32)))
            }
            Node::Phi64(..) => {
                let own = words.unsigned(64);
                (own.hi < 1 << 32).then(|| Left::Words(own.reduce(32)))
            }
            Node::Binary(Binary::Shr, _, by) => {
                let by = numbers(self, Some(by))?.single()?;
                let by = (0..i128::from(bits)).contains(&by).then_some(by)?;
                let words = words.unsigned(bits);
                let (lo, hi) = (words.lo << by, ((words.hi + 1) << by) - 1);
                (hi < 1 << bits).then(|| Left::Words(Range::span(lo, hi).reduce(bits)))
            }
            _ => None,
        }
    }
}

/// Of an extended word, the word.
fn own_words(words: Range, lo: i128, hi: i128) -> Option<Left> {
    Some(match words.within(lo, hi) {
        Some(own) => Left::Words(own.reduce(32)),
        None => Left::Nothing,
    })
}

impl Range {
    /// Those of its words whose product with a factor is one of `products`, words of `bits`; if it is known that
    /// no product wraps. `signed`: how its words, of 32 bits, are taken; else they are as long as products, and taken
    /// either way.
    fn quotient(
        self,
        products: Self,
        factor: i128,
        bits: u32,
        signed: Option<bool>,
    ) -> Option<Left> {
        if factor <= 0 {
            return None;
        }
        let own = if signed.is_some() { 32 } else { bits };
        let views = match signed {
            Some(signed) => [Some(signed), None],
            None => [Some(false), Some(true)],
        };
        for signed in views.into_iter().flatten() {
            let (words, products) = match signed {
                true => (self.signed(own), products.signed(bits)),
                false => (self.unsigned(own), products.unsigned(bits)),
            };
            let (least, most) = match signed {
                true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                false => (0, (1_i128 << bits) - 1),
            };
            let holds = |word: i128| {
                word.checked_mul(factor)
                    .is_some_and(|product| (least..=most).contains(&product))
            };
            if !holds(words.lo) || !holds(words.hi) || products.is_full(bits) {
                continue;
            }
            let lo = -(-products.lo).div_euclid(factor);
            let hi = products.hi.div_euclid(factor);
            return Some(match words.within(lo, hi) {
                Some(left) => Left::Words(left.reduce(own)),
                None => Left::Nothing,
            });
        }
        None
    }
}
