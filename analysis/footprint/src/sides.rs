//! Rows and columns of [triangles](crate::triangles), at a launch.

use crate::evaluate::Evaluation;
use crate::expr::{FactId, Id};
use crate::float::Root;
use crate::range::Range;
use crate::sums::{Term, signed};
use crate::triangles::Triangle;
use crate::value::{Alternative, Value};

/// Integers above that are no floats.
const EXACT: i128 = 1 << 52;
/// Rows whose triangle is a positive word.
const MOST_ROWS: i128 = 46_340;
/// What the bounds of a root are off by at most, of them.
const OFF: f64 = 4.0 * f64::EPSILON;

impl Evaluation<'_> {
    /// The row.
    pub(crate) fn root(&mut self, integer: Id, index: u32, facts: FactId) -> Value {
        let rows = self.rows(integer, index, facts);
        Value::One(Alternative::number(rows.unwrap_or(Range::full(32))))
    }

    fn rows(&mut self, integer: Id, index: u32, facts: FactId) -> Option<Range> {
        let plan = self.plan;
        let Root {
            number, floored, ..
        } = plan.arena.roots.get(index as usize)?;
        let words = self.value(integer, facts).numbers()?.unsigned(64);
        if words.hi >= EXACT {
            return None;
        }
        let row = |word: i128, number: f64| ((number * (word as f64).sqrt() - 1.0) / 2.0).floor();
        let lo = row(words.lo, number.lo * (1.0 - OFF)) as i128;
        let hi = row(words.hi, number.hi * (1.0 + OFF)) as i128;
        let least = if *floored { -1 } else { 0 };
        Some(Range::span(lo.max(least), hi.max(least)))
    }

    /// What is left of a number and the rows before it.
    pub(crate) fn side(&mut self, triangle: &Triangle, facts: FactId) -> Option<Range> {
        let plan = self.plan;
        let (root, integer, index) = triangle.root;
        let Root {
            number, constant, ..
        } = plan.arena.roots.get(index as usize)?;
        let mut fixed = *constant;
        for &(word, times) in &triangle.fixed {
            let word = self.value(word, facts).numbers()?.single()?;
            fixed = signed(fixed + word * times, 64);
        }
        if fixed.rem_euclid(8) != 1 {
            return None;
        }
        let mut added = [0; 2];
        for (added, factor) in added.iter_mut().zip(&triangle.factors) {
            let sum = self.total(factor, facts, 32)?.numbers()?;
            *added = signed(sum.single()?, 32);
        }
        if (added[0] - added[1]).abs() != 1 {
            return None;
        }
        let least = added[0].min(added[1]);
        // Of the row and this, or less the row: both are the triangle of as many rows.
        let more = if triangle.minus { -least - 1 } else { least };
        let words = self.value(integer, facts).numbers()?.unsigned(64);
        let rows = self.value(root, facts).numbers()?.signed(32);
        let is_far = |rows: i128| (rows + more).abs() >= MOST_ROWS;
        if words.hi >= EXACT || is_far(rows.lo) || is_far(rows.hi) {
            return None;
        }
        // The triangle of the rows is an eighth of the integer less 1, less so much.
        let off = |number: f64| (number * number - 1.0).abs() * (1.0 + OFF) + OFF;
        let eighth = words.hi as f64 / 8.0;
        let before = (off(number.hi) * eighth).floor() as i128;
        let behind = (off(number.lo) * eighth).ceil() as i128;
        let left = Range::span(-before, rows.hi.max(0) + behind.max(1));
        let mut sum = triangle.others.clone();
        let factor = triangle.factor;
        sum.add(Term::Word(root), factor * more, 32)?;
        sum.constant += factor * (more * (more + 1) / 2 + (fixed - 1) / 8);
        let others = self.total(&sum, facts, 32)?.numbers()?;
        let left = left.mul(Range::exactly(factor), 32);
        Some(others.sub(left, 32))
    }
}
