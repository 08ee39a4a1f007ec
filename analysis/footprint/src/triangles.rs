//! Elements of a triangle that are numbered row by row: `row * (row + 1) / 2 + column`.
//!
//! The row of element `t` is half of the root of `8 * t + 1`, less 1, and the column what is left. Each for itself, the
//! number and what the rows before have are anything up to all elements; together they are no more than a row has. The
//! root is a float ([`crate::floats`]), so that the row may be the one before or behind where it is near a whole number; what is
//! left is as much more or less.

use crate::expr::{Arena, Binary, Id, Map, Node};
use crate::float::{Power, Root};
use crate::sums::{DEPTH, Sum, Term};

impl Arena {
    /// The row of the element of a triangle of which the integer is made, if it is of one: half of the root in this float.
    pub(crate) fn root(&mut self, float: Id, power: Power, floored: bool) -> Id {
        let (integer, number) = (power.of, power.number);
        let mut sum = Sum::default();
        if sum.gather(self, integer, 1, 64, DEPTH).is_none() {
            sum = Sum::default();
            sum.terms.push((Term::Word(integer), 1));
        }
        let words = sum.terms.iter().filter_map(|&(term, factor)| match term {
            Term::Word(word) => Some((word, factor)),
            _ => None,
        });
        let words: Vec<(Id, i128)> = words.collect();
        let halves = words.into_iter();
        let root = Root {
            of: float,
            number,
            floored,
            terms: halves
                .map(|(word, factor)| (word, self.low(word), factor))
                .collect(),
            constant: sum.constant,
        };
        let known = self.roots.iter().position(|known| *known == root);
        let index = known.unwrap_or_else(|| {
            self.roots.push(root);
            self.roots.len() - 1
        });
        self.intern(Node::Root(integer, index as u32))
    }
}

/// A sum that takes a triangle of rows from the number of an element, or adds it.
#[derive(Clone, Debug)]
pub(crate) struct Triangle {
    /// The node, what it is of, and which it is.
    pub(crate) root: (Id, Id, u32),
    /// How often the triangle is taken.
    pub(crate) factor: i128,
    /// The other words, with the elements of the triangle.
    pub(crate) others: Sum,
    /// Both factors of the product: a row, or less one, and what is added.
    pub(crate) minus: bool,
    pub(crate) factors: [Sum; 2],
    /// Of what the root is of, what is no number of elements.
    pub(crate) fixed: Vec<(Id, i128)>,
}

/// Those of all that was met, by node.
pub(crate) fn find(arena: &Arena) -> Map<Id, Triangle> {
    // Few kernels take roots.
    if arena.roots.is_empty() {
        return Map::default();
    }
    let ids = (0..arena.len()).map(|index| Id(index as u32));
    let sums = ids.filter(|&id| match arena.node(id) {
        Node::Binary(Binary::Add | Binary::Sub, a, b) => [a, b]
            .iter()
            .any(|side| has_triangle(arena, *side).is_some()),
        _ => false,
    });
    sums.filter_map(|id| Some((id, Triangle::of(arena, id)?)))
        .collect()
}

/// The product of which a word is half, if it may be a triangle of rows.
fn has_triangle(arena: &Arena, word: Id) -> Option<Id> {
    let Node::Binary(Binary::Sar | Binary::Shr, sum, by) = arena.node(word) else {
        return None;
    };
    if arena.as_const(by) != Some(1) {
        return None;
    }
    // As signed words are halved.
    let Node::Binary(Binary::Add, a, b) = arena.node(sum) else {
        return Some(sum);
    };
    let is_sign = |product: Id, sign: Id| match arena.node(sign) {
        Node::Binary(Binary::Shr, of, by) => of == product && arena.as_const(by) == Some(31),
        _ => false,
    };
    Some(match (is_sign(a, b), is_sign(b, a)) {
        (true, _) => a,
        (_, true) => b,
        _ => sum,
    })
}

/// What is multiplied with what.
fn factors(arena: &Arena, product: Id) -> Option<[Sum; 2]> {
    let sum = |word: Id| {
        let mut sum = Sum::default();
        sum.gather(arena, word, 1, 32, DEPTH).map(|()| sum)
    };
    match arena.node(product) {
        Node::Binary(Binary::Mul, a, b) => Some([sum(a)?, sum(b)?]),
        // Its square and itself.
        Node::Binary(Binary::Add, a, b) => {
            let is_square =
                |square: Id, word: Id| arena.node(square) == Node::Binary(Binary::Mul, word, word);
            let word = match (is_square(a, b), is_square(b, a)) {
                (true, _) => b,
                (_, true) => a,
                _ => return None,
            };
            let (less, mut more) = (sum(word)?, sum(word)?);
            more.constant += 1;
            Some([less, more])
        }
        _ => None,
    }
}

impl Triangle {
    fn of(arena: &Arena, id: Id) -> Option<Self> {
        let mut others = Sum::default();
        others.gather(arena, id, 1, 32, DEPTH)?;
        let (at, mut factors) = others
            .terms
            .iter()
            .enumerate()
            .find_map(|(at, (term, _))| {
                let Term::Word(word) = *term else { return None };
                Some((at, factors(arena, has_triangle(arena, word)?)?))
            })?;
        let (_, factor) = others.terms.swap_remove(at);
        let rows: Vec<(Id, i128)> = factors
            .iter_mut()
            .map(|sum| {
                let at = sum.terms.iter().position(|(term, _)| {
                    matches!(term, Term::Word(word) if matches!(arena.node(*word), Node::Root(..)))
                })?;
                match sum.terms.swap_remove(at) {
                    (Term::Word(word), times @ (1 | -1)) => Some((word, times)),
                    _ => None,
                }
            })
            .collect::<Option<_>>()?;
        let [row, other] = rows[..] else { return None };
        let Node::Root(integer, index) = arena.node(row.0) else {
            return None;
        };
        if row != other {
            return None;
        }
        let root = arena.roots.get(index as usize)?;
        let mut fixed = Vec::new();
        for &(word, low, times) in &root.terms {
            if times % 8 == 0 {
                others.gather(arena, low, factor * times / 8, 32, DEPTH)?;
            } else {
                fixed.push((word, times));
            }
        }
        Some(Self {
            root: (row.0, integer, index),
            factor,
            others,
            minus: row.1 < 0,
            factors,
            fixed,
        })
    }
}
