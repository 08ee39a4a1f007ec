//! Sums whose terms belong together.
//!
//! `x - x / 64 * 64` is less than 64, and `ends[row] - begins[row]` no more than the longest row has, whatever `x` and the rows
//! are. Each term for itself knows nothing of that: its interval is all that it may be in the launch. So a sum is taken apart
//! into words with factors. A quotient and what was divided become a remainder, and two words that stand side by side in a
//! table become one difference, which is looked up for each place. Arithmetic is that of words, whatever wraps.

use crate::expr::{Arena, Binary, Id, Map, Node};
use crate::quotients::{Prepared, Quotient, added, prepared, quotient};
use crate::site::Load;

/// Terms of a sum; longer ones are left as they are.
const MAX_TERMS: usize = 12;
/// Operations between a sum and its terms.
pub(crate) const DEPTH: u32 = 12;

/// A part of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Word(Id),
    /// The high half of a product of which the top bit of a factor was added apart.
    High(Quotient),
    /// What a division leaves.
    Rest(Quotient),
    Prepared(Prepared),
    /// A word of a table, less the one that stands so many bytes before it.
    Difference {
        before: Id,
        apart: i64,
    },
}

/// A sum of terms with factors, in words that wrap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) terms: Vec<(Term, i128)>,
    pub(crate) constant: i128,
}

/// The sums of a plan of which some terms belong together.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) known: Map<Id, Sum>,
    /// The nodes that have something among their words.
    has: Map<Id, Has>,
}

/// What may be among the words of a sum.
#[derive(Clone, Copy, Debug, Default)]
struct Has {
    quotient: bool,
    load: bool,
}

impl Has {
    fn may_meet(self, other: Self) -> bool {
        self.quotient || other.quotient || (self.load && other.load)
    }
}

impl Sums {
    /// Of all that was met.
    pub(crate) fn new(arena: &Arena, loads: &[Load]) -> Self {
        let mut has: Vec<Has> = Vec::with_capacity(arena.len());
        let mut known = Map::default();
        for index in 0..arena.len() {
            let id = Id(index as u32);
            let of = |id: Id| has.get(id.0 as usize).copied().unwrap_or_default();
            let own = match arena.node(id) {
                Node::Binary(Binary::Add | Binary::Sub, a, b)
                | Node::Add64(a, b)
                | Node::Sub64(a, b) => {
                    let term = match arena.node(id) {
                        Node::Binary(Binary::Sub, ..) => prepared(arena, a, b).map(Term::Prepared),
                        node => added(arena, node).map(Term::High),
                    };
                    let (a, b) = (of(a), of(b));
                    if let Some(term) = term {
                        let terms = vec![(term, 1)];
                        let constant = 0;
                        known.insert(id, Sum { terms, constant });
                    } else if a.may_meet(b) {
                        let bits = arena.bits(id);
                        let sum = Sum::of(arena, loads, [(id, 1)], bits);
                        known.extend(sum.map(|sum| (id, sum)));
                    }
                    Has {
                        quotient: a.quotient || b.quotient,
                        load: a.load || b.load,
                    }
                }
                Node::Binary(Binary::Shl | Binary::Mul, a, by) if arena.as_const(by).is_some() => {
                    of(a)
                }
                Node::Shl64(a, by) if arena.as_const(by).is_some() => of(a),
                Node::Load { .. } | Node::Load64 { .. } => Has {
                    quotient: false,
                    load: true,
                },
                _ => Has {
                    quotient: quotient(arena, id).is_some(),
                    load: false,
                },
            };
            has.push(own);
        }
        let ids = (0..).map(Id);
        let has = ids.zip(has).filter(|(_, has)| has.quotient || has.load);
        let has = has.collect();
        Self { known, has }
    }

    /// Whether words of one may belong to words of the other, where one is taken from the other.
    pub(crate) fn may_meet(&self, a: Id, b: Id) -> bool {
        let of = |id: Id| self.has.get(&id).copied().unwrap_or_default();
        of(a).may_meet(of(b))
    }
}

/// A word of so many bits, as a signed integer.
pub(crate) fn signed(word: i128, bits: u32) -> i128 {
    let half = 1_i128 << (bits - 1);
    (word + half).rem_euclid(1 << bits) - half
}

impl Sum {
    /// The sum of some words with factors, if terms of it belong together.
    pub(crate) fn of(
        arena: &Arena,
        loads: &[Load],
        words: impl IntoIterator<Item = (Id, i128)>,
        bits: u32,
    ) -> Option<Self> {
        let mut sum = Self::default();
        for (id, factor) in words {
            sum.gather(arena, id, factor, bits, DEPTH)?;
        }
        let mut found = false;
        for _ in 0..MAX_TERMS {
            let Some(next) = sum.with_rest(arena, bits) else {
                break;
            };
            (sum, found) = (next, true);
        }
        while sum.pair_words(arena, loads) {
            found = true;
        }
        found.then_some(sum)
    }

    pub(crate) fn gather(
        &mut self,
        arena: &Arena,
        id: Id,
        factor: i128,
        bits: u32,
        depth: u32,
    ) -> Option<()> {
        let factor = signed(factor, bits);
        let Some(depth) = depth.checked_sub(1) else {
            return self.add(Term::Word(id), factor, bits);
        };
        match arena.node(id) {
            Node::Const(word) => self.constant += factor * i128::from(word.cast_signed()),
            Node::Const64(word) => self.constant += factor * i128::from(word.cast_signed()),
            Node::Binary(Binary::Add, a, b) | Node::Add64(a, b) => {
                self.gather(arena, a, factor, bits, depth)?;
                self.gather(arena, b, factor, bits, depth)?;
            }
            Node::Binary(Binary::Sub, a, b) | Node::Sub64(a, b) => {
                self.gather(arena, a, factor, bits, depth)?;
                self.gather(arena, b, -factor, bits, depth)?;
            }
            node @ (Node::Binary(Binary::Shl | Binary::Mul, a, by) | Node::Shl64(a, by)) => {
                let Some(by) = arena.as_const(by) else {
                    return self.add(Term::Word(id), factor, bits);
                };
                let own = match node {
                    Node::Binary(Binary::Mul, ..) => i128::from(by.cast_signed()),
                    _ => 1 << (by & (bits - 1)),
                };
                self.gather(arena, a, factor * own, bits, depth)?;
            }
            _ => self.add(Term::Word(id), factor, bits)?,
        }
        self.constant = signed(self.constant, bits);
        Some(())
    }

    pub(crate) fn add(&mut self, term: Term, factor: i128, bits: u32) -> Option<()> {
        match self.terms.iter().position(|(known, _)| *known == term) {
            Some(at) => {
                let sum = &mut self.terms[at].1;
                *sum = signed(*sum + factor, bits);
                if *sum == 0 {
                    self.terms.swap_remove(at);
                }
            }
            None if factor == 0 => {}
            None => self.terms.push((term, factor)),
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// The same sum where a quotient is what was divided less the remainder, if more terms vanish by that than come.
    fn with_rest(&self, arena: &Arena, bits: u32) -> Option<Self> {
        self.terms
            .iter()
            .enumerate()
            .find_map(|(at, &(term, own))| {
                let Term::Word(id) = term else { return None };
                let (quotient, factor) = quotient(arena, id)?;
                let own = own * factor;
                if own % quotient.by() != 0 {
                    return None;
                }
                let times = -own / quotient.by();
                let mut divided = Self::default();
                divided.gather(arena, quotient.of, -times, bits, DEPTH)?;
                let mut next = self.clone();
                next.terms.swap_remove(at);
                let without = next.terms.len() + divided.terms.len();
                for (term, factor) in divided.terms {
                    next.add(term, factor, bits)?;
                }
                // At least one has met its opposite.
                if next.terms.len() + 2 > without {
                    return None;
                }
                next.constant = signed(next.constant + divided.constant, bits);
                next.add(Term::Rest(quotient), times, bits)?;
                Some(next)
            })
    }

    /// Makes a difference of two words of a table that stand side by side.
    fn pair_words(&mut self, arena: &Arena, loads: &[Load]) -> bool {
        for after in 0..self.terms.len() {
            for before in 0..self.terms.len() {
                let ((a, plus), (b, minus)) = (self.terms[after], self.terms[before]);
                let (Term::Word(a), Term::Word(b)) = (a, b) else {
                    continue;
                };
                let Some(apart) = apart(arena, loads, a, b).filter(|apart| *apart > 0) else {
                    continue;
                };
                if plus.signum() != -minus.signum() {
                    continue;
                }
                let both = plus.abs().min(minus.abs()) * plus.signum();
                let difference = Term::Difference { before: b, apart };
                self.terms[after].1 -= both;
                self.terms[before].1 += both;
                self.terms.push((difference, both));
                self.terms.retain(|(_, factor)| *factor != 0);
                return true;
            }
        }
        false
    }
}

/// By how many bytes the first of two loaded words stands behind the other.
fn apart(arena: &Arena, loads: &[Load], after: Id, before: Id) -> Option<i64> {
    let place = |id: Id| {
        let (load, dword, bytes) = match arena.node(id) {
            Node::Load { load, dword } => (load, dword, 4),
            Node::Load64 { load, dword } => (load, dword, 8),
            _ => return None,
        };
        let load = loads[load as usize];
        let (base, offset) = arena.base_and_offset(load.address);
        (load.bytes == 4).then_some((base, offset + 4 * i64::from(dword), bytes))
    };
    let ((a, at, bytes), (b, from, others)) = (place(after)?, place(before)?);
    (a == b && bytes == others).then(|| at.checked_sub(from))?
}
