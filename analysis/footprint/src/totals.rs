//! What a sum is at a launch, by the terms of it that belong together.

use strobe_extent::Extent;

use crate::evaluate::Evaluation;
use crate::expr::{FactId, Id, Node};
use crate::quotients::{Prepared, Quotient};
use crate::range::Range;
use crate::sums::{Sum, Term, signed};
use crate::value::{Alternative, Origin, Value};
use crate::work;

impl Evaluation<'_> {
    /// What a sum is, by the terms of it that belong together, too.
    pub(crate) fn summed(&mut self, id: Id, facts: FactId, bits: u32, value: Value) -> Value {
        let plan = self.plan;
        if let Some(triangle) = plan.triangles.get(&id)
            && let Some(side) = self.side(triangle, facts)
        {
            return value.and(&Value::One(Alternative::number(side)), bits);
        }
        let Some(sum) = plan.sums.known.get(&id) else {
            return value;
        };
        let Value::One(Alternative {
            origin: Origin::Number | Origin::Base(_),
            ..
        }) = value
        else {
            return value;
        };
        match self.total(sum, facts, bits) {
            Some(total) => value.and(&Value::One(total), bits),
            None => value,
        }
    }

    /// How far a word is from another one, where they have terms that belong together.
    pub(crate) fn way_from(&mut self, from: Id, to: Id, facts: FactId) -> Option<Range> {
        let plan = self.plan;
        if !plan.sums.may_meet(from, to) {
            return None;
        }
        let bits = plan.arena.bits(to);
        self.work.charge(work::PHI);
        let sum = Sum::of(&plan.arena, &plan.loads, [(to, 1), (from, -1)], bits)?;
        self.total(&sum, facts, bits)?.numbers()
    }

    pub(crate) fn total(&mut self, sum: &Sum, facts: FactId, bits: u32) -> Option<Alternative> {
        let mut total = Alternative::number(Range::exactly(sum.constant));
        for &(term, factor) in &sum.terms {
            self.work.charge(work::VALUE);
            let words = match term {
                Term::Word(id) => {
                    let Value::One(one) = self.value(id, facts) else {
                        return None;
                    };
                    match one.origin {
                        Origin::Number => {}
                        // A pointer may be added to numbers.
                        Origin::Base(_) if factor == 1 && total.origin == Origin::Number => {
                            total.origin = one.origin;
                        }
                        _ => return None,
                    }
                    one.range
                }
                Term::High(product) => self.high(product, facts)?,
                Term::Rest(quotient) => self.rest(quotient, facts)?,
                Term::Prepared(division) => self.prepared(division, facts)?,
                Term::Difference { before, apart } => self.difference(before, apart, bits)?,
            };
            let product = words.mul(Range::exactly(factor), bits);
            total.range = total.range.add(product, bits);
        }
        Some(total)
    }

    /// The word that is divided, if the product does not wrap.
    fn divided(&mut self, quotient: Quotient, facts: FactId) -> Option<Range> {
        let Quotient {
            of, times, signed, ..
        } = quotient;
        let bits = self.plan.arena.bits(of);
        let words = self.value(of, facts).numbers()?;
        let words = match signed {
            true => words.signed(bits),
            false => words.unsigned(bits),
        };
        // Of a product, the high half, and that with the word added, must be positive however it is taken.
        let most = (1_i128 << (bits - 1)) - 1;
        let fits = words.lo >= 0 && words.hi <= most && (words.hi * times) >> bits <= most;
        (times == 1 || fits).then_some(words)
    }

    fn high(&mut self, product: Quotient, facts: FactId) -> Option<Range> {
        let words = self.divided(product, facts)?;
        let of = |word: i128| (word * product.times) >> product.shift;
        Some(Range::span(of(words.lo), of(words.hi)))
    }

    /// What a division leaves.
    fn rest(&mut self, quotient: Quotient, facts: FactId) -> Option<Range> {
        let words = self.divided(quotient, facts)?;
        let (times, by) = (quotient.times, quotient.by());
        let least = 0..by;
        if times == 1 && least.contains(&words.lo) && least.contains(&words.hi) {
            return Some(words);
        }
        if times == 1 {
            return Some(Range::span(0, by - 1));
        }
        left(words, times, quotient.shift, by)
    }

    fn prepared(&mut self, division: Prepared, facts: FactId) -> Option<Range> {
        let words = self.value(division.of, facts).numbers()?.unsigned(32);
        let mut number = |id: Id| self.value(id, facts).numbers()?.unsigned(32).single();
        let [times, shift, by] = [division.times, division.shift, division.by].map(&mut number);
        let (times, shift, by) = (times? + (1 << 32), u32::try_from(shift?).ok()?, by?);
        // The sum of the word and the product's high half must be one, too.
        let fits = shift < 32 && by > 0 && (words.hi * times) >> 32 < 1 << 32;
        fits.then(|| left(words, times, 32 + shift, by))?
    }

    /// How much the words of a table that are loaded grow from one to the one so far behind it.
    fn difference(&mut self, before: Id, apart: i64, bits: u32) -> Option<Range> {
        let (load, dword) = match self.plan.arena.node(before) {
            Node::Load { load, dword } | Node::Load64 { load, dword } => (load, dword),
            _ => return None,
        };
        let load = self.plan.loads[load as usize];
        let address = self.value(load.address, load.facts);
        let Value::One(Alternative {
            origin: Origin::Number | Origin::Base(_),
            range,
        }) = address
        else {
            return None;
        };
        if load.scalar && !range.is_of_words() {
            return None;
        }
        let range = range.shifted(i128::from(dword) * 4);
        let bytes = bits as usize / 8;
        let length = range.hi - range.lo + i128::from(apart) + bytes as i128;
        if range.lo < 4096 || length > i128::from(self.plan.longest_table()) {
            return None;
        }
        let (start, length) = (range.lo as u64, length as usize);
        let extent = Extent::with_len(start, length as u64).ok()?;
        let content = self.memory.known_bytes(start, length)?;
        if content.len() != length {
            return None;
        }
        self.consulted.push(extent);
        let word = |at: usize| {
            let bytes = content[at..at + bytes].iter().rev();
            bytes.fold(0_i128, |word, byte| word << 8 | i128::from(*byte))
        };
        let count = (range.hi - range.lo) as usize;
        let places = (0..=count).step_by(range.step.max(1) as usize);
        self.work
            .charge(work::ALTERNATIVE * (1 + count / range.step.max(1) as usize));
        let all = places.map(|at| signed(word(at + apart as usize) - word(at), bits));
        let (lo, hi) = all.fold((i128::MAX, i128::MIN), |(lo, hi), one| {
            (lo.min(one), hi.max(one))
        });
        Some(Range::span(lo, hi))
    }
}

/// What is left of words from 0 on: `x - by * (x * times >> shift)`. Of the quotient less than 1 is cut off.
fn left(words: Range, times: i128, shift: u32, by: i128) -> Option<Range> {
    let whole = 1_i128 << shift;
    let off = words.hi.checked_mul(whole - by.checked_mul(times)?)?;
    let lo = -((-off.min(0)) >> shift);
    let hi = off.max(0).checked_add(by.checked_mul(whole - 1)?)? >> shift;
    Some(Range::span(lo, hi.min(words.hi)))
}
