//! Phis, and how far those of loops get.
//!
//! A loop's phi is `start` at first and then whatever the loop's end brings. If that is "itself plus
//! a step", the phi is `start + k * step` for k up to the number of times that the loop goes round.
//! The number of rounds is bounded by a condition under which it goes round again and that compares a
//! phi of constant step, or its next value, with a bound: the farthest value that the bound takes in
//! any round, or, where the loop ends when they are equal, one value that does not change.
//!
//! A lane's phi goes round only with its lane, so what a lane satisfies bounds it. A scalar phi goes
//! round with the wave, be there a lane or not: it is bounded by scalar conditions, and by those of
//! lanes only on scalar phis and where some lane is active whenever the loop goes round.

use crate::broken::Rule;
use crate::evaluate::Evaluation;
use crate::expr::{BOTTOM, Compare, FactId, Id, Node};
use crate::facts::NOTHING;
use crate::plan::WIDE;
use crate::range::Range;
use crate::rounds::{Rounds, rounds_until};
use crate::value::{Alternative, Origin, Value, add};

/// What a phi of a loop goes through.
struct Course {
    /// Values that do not depend on the phi itself.
    start: Value,
    step: Option<Step>,
    /// The phi depends on itself only where the loop goes round.
    entered: bool,
    /// It may start anew where the loop goes round.
    reset: bool,
}

/// What a loop does to a phi in one round.
enum Step {
    /// Adds something of this interval.
    Add(Range),
    /// Something else.
    Other,
}

impl Evaluation<'_> {
    /// The value of a phi; `key` is its number, or both numbers of a 64-bit phi.
    pub(crate) fn phi(&mut self, key: u64, bits: u32) -> Value {
        if let Some(level) = self.pending.iter().position(|(pending, _)| *pending == key) {
            self.touched = self.touched.min(level);
            let origin = Origin::Anchor(key);
            return Value::One(Alternative {
                origin,
                range: Range::exactly(0),
            });
        }
        let (point, ways) = self.ways(key);
        let Course {
            start,
            step,
            entered,
            ..
        } = self.course(key, &ways, bits);
        let step = match step {
            None => return start,
            Some(Step::Add(step)) if step == Range::exactly(0) => return start,
            Some(Step::Add(step)) if entered => step,
            // It does not only change where the loop goes round, or in no simple way.
            Some(_) => return start.map(bits, |one| unbounded(one, bits)),
        };
        let back: Vec<Way> = ways
            .into_iter()
            .filter(|way| way.back && way.input != BOTTOM)
            .collect();
        let stepped = self.rounds(point, self.is_scalar(key)).and_then(|rounds| {
            // Whatever goes further than all words wraps.
            let reach = |step: i128| rounds.checked_mul(step).filter(|way| way.abs() < 1 << 66);
            let (lo, hi) = (reach(step.lo)?.min(0), reach(step.hi)?.max(0));
            let reach = Range::from(lo, hi, step.divisor());
            Some(start.map(bits, |one| add(one, Alternative::number(reach), bits)))
        });
        let compared = match &back[..] {
            [way] => self.reached(key, way, &start, step, bits),
            _ => None,
        };
        match (stepped, compared) {
            // Both hold: the narrower one, if one lies in the other.
            (Some(Value::One(a)), Some(Value::One(b))) if a.origin == b.origin => {
                let range = a.range.within(b.range.lo, b.range.hi).unwrap_or(a.range);
                Value::One(Alternative {
                    origin: a.origin,
                    range,
                })
            }
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => start.map(bits, |one| unbounded(one, bits)),
        }
    }

    /// Whether a phi, or a half of it, is the value of the whole wave.
    fn is_scalar(&self, key: u64) -> bool {
        let phis = &self.plan.merges.phis;
        if key & WIDE == 0 {
            return phis[key as usize].scalar;
        }
        let (low, high) = (((key & !WIDE) >> 32) as usize, key as u32 as usize);
        phis[low].scalar || phis[high].scalar
    }

    fn ways(&self, key: u64) -> (u32, Vec<Way>) {
        let merges = &self.plan.merges;
        let (low, high) = (((key & !WIDE) >> 32) as u32, key as u32);
        let (phi, inputs) = if key & WIDE == 0 {
            let phi = &merges.phis[key as usize];
            (phi, Some(&phi.inputs))
        } else {
            let phi = merges.later(low, high);
            (&merges.phis[phi as usize], merges.wide.get(&(low, high)))
        };
        let point = &merges.points[phi.point as usize];
        let inputs = inputs.map_or(&[][..], |inputs| &inputs[..]);
        let ways = inputs.iter().zip(&point.ways).map(|(&input, way)| Way {
            input,
            facts: if phi.scalar { way.wave } else { way.facts },
            back: way.back,
        });
        (phi.point, ways.collect())
    }

    /// What a phi starts with and what a round does to it.
    fn course(&mut self, key: u64, ways: &[Way], bits: u32) -> Course {
        self.pending.push((key, Default::default()));
        let level = self.pending.len() - 1;
        let before = std::mem::replace(&mut self.touched, usize::MAX);
        let mut starts: Vec<Alternative> = Vec::new();
        let mut course = Course {
            start: Value::Empty,
            step: None,
            entered: true,
            reset: false,
        };
        for way in ways {
            if way.input == BOTTOM || !self.possible(way.facts) {
                continue;
            }
            let value = self.value(way.input, way.facts);
            for &alternative in value.alternatives() {
                if alternative.origin == Origin::Anchor(key) {
                    course.step = Some(match course.step {
                        None => Step::Add(alternative.range),
                        Some(Step::Add(known)) => Step::Add(known.hull(alternative.range)),
                        Some(Step::Other) => Step::Other,
                    });
                    course.entered &= way.back;
                } else {
                    course.reset |= way.back;
                    if way.back && alternative.range.is_full(bits) {
                        course.step = Some(Step::Other);
                    }
                    starts.push(alternative);
                }
            }
        }
        course.start = Value::any(starts, bits);
        // What depended on this phi only does no longer.
        let touched = if self.touched >= level {
            usize::MAX
        } else {
            self.touched
        };
        self.touched = before.min(touched);
        self.pending.pop();
        course
    }

    /// How often a loop goes round at most, for a phi of lanes or of the wave.
    fn rounds(&mut self, point: u32, scalar: bool) -> Option<i128> {
        let of = |rounds: Rounds| if scalar { rounds.wave } else { rounds.lane };
        if let Some(known) = self.trips.get(&point) {
            return of(*known);
        }
        // While it is looked for it is not known.
        self.trips.insert(point, Rounds::default());
        let before = std::mem::replace(&mut self.touched, usize::MAX);
        let rounds = self.count_rounds(point);
        if self.touched == usize::MAX {
            self.trips.insert(point, rounds);
        } else {
            self.trips.remove(&point);
        }
        self.touched = self.touched.min(before);
        of(rounds)
    }

    fn count_rounds(&mut self, point: u32) -> Rounds {
        let mut least = Rounds::default();
        let head = &self.plan.merges.points[point as usize];
        let mut back = head.ways.iter().filter(|way| way.back && way.taken);
        let (Some(&end), None) = (back.next(), back.next()) else {
            return least;
        };
        let (facts, wave, loops) = (head.facts, head.wave, head.loops);
        for (from, to, of_lanes) in [(end.facts, facts, true), (end.wave, wave, false)] {
            let mut at = from;
            while at != to && at != NOTHING {
                let fact = *self.plan.facts.get(at);
                at = fact.parent;
                let Node::Compare(op, a, b) = self.plan.arena.node(fact.condition) else {
                    continue;
                };
                for (counter, other, left) in [(a, b, true), (b, a, false)] {
                    let Some((key, after)) = self.plan.counter(point, counter) else {
                        continue;
                    };
                    // Passing by a bound that moves is not meeting it.
                    let moves = self.plan.arena.traits(other).loops & loops != 0;
                    if op == Compare::Ne && moves && !Rule::BoundsMove.is_broken() {
                        continue;
                    }
                    let Some(rounds) = self.bounded(key, after, op, left, other, fact.parent)
                    else {
                        continue;
                    };
                    let fewer =
                        |known: Option<i128>| Some(known.map_or(rounds, |known| known.min(rounds)));
                    least.lane = fewer(least.lane);
                    // Lanes may have gone round less often than the wave, or none be left.
                    if !of_lanes
                        || (end.occupied && self.is_scalar(key))
                        || Rule::WavesOutliveLanes.is_broken()
                    {
                        least.wave = fewer(least.wave);
                    }
                }
            }
        }
        least
    }

    /// Rounds of a loop that goes on only while its counter compares so with `other`. `after`: it is
    /// the counter's next value that is compared.
    fn bounded(
        &mut self,
        key: u64,
        after: bool,
        op: Compare,
        left: bool,
        other: Id,
        facts: FactId,
    ) -> Option<i128> {
        if self.pending.iter().any(|(pending, _)| *pending == key) {
            return None;
        }
        let bits = self.plan.arena.bits(other);
        let (_, ways) = self.ways(key);
        let Course {
            start,
            step,
            entered,
            reset,
        } = self.course(key, &ways, bits);
        let (Some(Step::Add(step)), true, false) = (step, entered, reset) else {
            return None;
        };
        let start = start.numbers()?;
        let step = step.single().filter(|step| *step != 0)?;
        let bound = self.value(other, facts).numbers()?;
        let (signed, strict) = match op {
            Compare::Eq => return None,
            Compare::Ne => return rounds_until(start, step, bound, after, bits),
            Compare::LtU => (false, 1),
            Compare::LeU => (false, 0),
            Compare::LtS => (true, 1),
            Compare::LeS => (true, 0),
        };
        let (start, bound) = start.both(bound, signed, bits);
        let (least, most) = if signed {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        // The last value that the condition lets pass, counted from the start in steps.
        let way = match (left, step > 0) {
            (true, true) => {
                let last = bound.hi - strict;
                if last.max(start.hi) + step > most {
                    return None;
                }
                last - start.lo
            }
            (false, false) => {
                let last = bound.lo + strict;
                if last.min(start.lo) + step < least {
                    return None;
                }
                start.hi - last
            }
            _ => return None,
        };
        let steps = if way < 0 { -1 } else { way / step.abs() };
        Some(if after { steps.max(0) } else { steps + 1 })
    }

    /// A phi that is compared itself, or its next value, before the loop goes round again: it gets
    /// as far as the comparison lets it.
    fn reached(
        &mut self,
        key: u64,
        way: &Way,
        start: &Value,
        step: Range,
        bits: u32,
    ) -> Option<Value> {
        let (point, _) = self.ways(key);
        let from = start.numbers()?;
        let to = self.plan.merges.points[point as usize].facts;
        let mut at = way.facts;
        while at != to && at != NOTHING {
            let fact = *self.plan.facts.get(at);
            if let Node::Compare(op, a, b) = self.plan.arena.node(fact.condition) {
                for (counter, other, left) in [(a, b, true), (b, a, false)] {
                    let Some((of, after)) = self.plan.counter(point, counter) else {
                        continue;
                    };
                    if of != key {
                        continue;
                    }
                    let (signed, strict) = match op {
                        Compare::Eq | Compare::Ne => continue,
                        Compare::LtU => (false, 1),
                        Compare::LeU => (false, 0),
                        Compare::LtS => (true, 1),
                        Compare::LeS => (true, 0),
                    };
                    let Some(bound) = self.value(other, fact.parent).numbers() else {
                        continue;
                    };
                    let (from, bound) = from.both(bound, signed, bits);
                    let every = step.divisor_with(from.step);
                    let most = (1_i128 << (bits - 1)) - 1;
                    if left && step.lo >= 0 && from.lo >= 0 {
                        let last = bound.hi - strict + if after { 0 } else { step.hi };
                        if last.max(from.hi) + step.hi > most {
                            continue;
                        }
                        let range = Range::from(from.lo, last.max(from.hi), every);
                        return Some(start.map(bits, |one| Alternative {
                            origin: one.origin,
                            range,
                        }));
                    }
                    if !left && step.hi <= 0 {
                        let last = bound.lo + strict + if after { 0 } else { step.lo };
                        let least = if signed { -most } else { 0 };
                        if last.min(from.lo) + step.lo < least {
                            continue;
                        }
                        let range = Range::back_from(from.hi, last.min(from.lo), every);
                        return Some(start.map(bits, |one| Alternative {
                            origin: one.origin,
                            range,
                        }));
                    }
                }
            }
            at = fact.parent;
        }
        None
    }
}

/// A way into a phi's point, with this phi's input.
#[derive(Clone, Copy, Debug)]
struct Way {
    input: Id,
    facts: FactId,
    back: bool,
}

/// Anything that is reached from there by some number of unknown steps.
fn unbounded(one: Alternative, bits: u32) -> Alternative {
    match one.origin {
        Origin::Anchor(_) => Alternative::lost(strobe_extent::Reason::UntrackedAddress, bits),
        _ => Alternative {
            origin: one.origin,
            range: Range::full(bits),
        },
    }
}
