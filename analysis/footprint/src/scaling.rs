//! Loops whose counter doubles or halves: multiplied or shifted by a constant where the loop goes round.

use crate::evaluate::Evaluation;
use crate::expr::{BOTTOM, Binary, Compare, Id, Node};
use crate::induction::{Condition, Ways};
use crate::rounds::{rounds_growing, rounds_shrinking};

/// What a round does to a counter.
#[derive(Clone, Copy)]
enum Scale {
    /// Multiplies it.
    Up(i128),
    /// Shifts it right.
    Down(u32),
}

impl Evaluation<'_> {
    /// Rounds of a loop that goes on only while the condition holds of such a counter, or of its next
    /// value.
    pub(crate) fn scaled(
        &mut self,
        key: u64,
        ways: Ways<'_>,
        condition: Condition,
    ) -> Option<i128> {
        let Condition {
            after,
            plus: 0,
            op,
            left,
            other,
            facts,
        } = condition
        else {
            return None;
        };
        let scales = ways.all().filter(|way| way.back && way.input != BOTTOM);
        let scales = scales.map(|way| self.scale(key, way.input));
        let scales: Vec<Scale> = scales.collect::<Option<_>>()?;
        let bits = self.plan.arena.bits(other);
        let entries = ways.all().filter(|way| !way.back);
        let start = self.arrivals(entries, bits).numbers()?.signed(bits);
        if start.lo < 0 {
            return None;
        }
        let bound = self.value(other, facts).numbers()?;
        let (signed, strict) = match op {
            // It is above 0.
            Compare::Ne if bound.single() == Some(0) => (false, 1),
            Compare::Eq | Compare::Ne => return None,
            Compare::LtU => (false, 1),
            Compare::LeU => (false, 0),
            Compare::LtS => (true, 1),
            Compare::LeS => (true, 0),
        };
        let up = |scale: &Scale| match scale {
            Scale::Up(times) => Some(*times),
            Scale::Down(_) => None,
        };
        let down = |scale: &Scale| match scale {
            Scale::Down(by) => Some(*by),
            Scale::Up(_) => None,
        };
        let (start, bound) = start.both(bound, signed, bits);
        if let Some(times) = scales.iter().map(up).collect::<Option<Vec<i128>>>() {
            let most = 1_i128 << if signed { bits - 1 } else { bits };
            let last = bound.hi - strict;
            let next = last.max(start.hi).checked_mul(*times.iter().max()?)?;
            let counts = left && op != Compare::Ne && next < most;
            return counts
                .then(|| rounds_growing(start.lo, *times.iter().min()?, last, after))
                .flatten();
        }
        let by = scales.iter().map(down).collect::<Option<Vec<u32>>>()?;
        let least = bound.lo + strict;
        let counts = !left || op == Compare::Ne;
        counts
            .then(|| rounds_shrinking(start.hi, *by.iter().min()?, least, after))
            .flatten()
    }

    fn scale(&self, key: u64, input: Id) -> Option<Scale> {
        let is_phi = |id: Id| self.plan.is_phi(id, key);
        let count = |by: Id| {
            self.plan
                .arena
                .as_const(by)
                .filter(|by| (1..31).contains(by))
        };
        match self.plan.arena.node(input) {
            Node::Binary(Binary::Add, a, b) | Node::Add64(a, b) if is_phi(a) && is_phi(b) => {
                Some(Scale::Up(2))
            }
            Node::Binary(Binary::Shl, a, by) | Node::Shl64(a, by) if is_phi(a) => {
                count(by).map(|by| Scale::Up(1 << by))
            }
            Node::Binary(Binary::Mul, a, by) if is_phi(a) => {
                let times = self.plan.arena.as_const(by).filter(|times| *times > 1);
                times.map(|times| Scale::Up(times.into()))
            }
            Node::Binary(Binary::Shr | Binary::Sar, a, by)
            | Node::Shr64(a, by)
            | Node::Sar64(a, by)
                if is_phi(a) =>
            {
                count(by).map(Scale::Down)
            }
            _ => None,
        }
    }
}
