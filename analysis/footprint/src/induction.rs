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
use crate::evaluate::{Evaluation, Pending};
use crate::expr::{BOTTOM, Binary, Compare, FactId, Id, Node};
use crate::facts::NOTHING;
use crate::merge;
use crate::plan::{Counter, WIDE};
use crate::range::Range;
use crate::rounds::{Rounds, rounds_until};
use crate::value::{Alternative, Origin, Value, add};
use crate::work;

/// Phis beside the heads of their loops, one looked for in the other.
const MAX_BESIDE: usize = 2;

/// What a phi of a loop goes through.
struct Course {
    /// Values that do not depend on the phi itself.
    start: Value,
    step: Option<Step>,
    /// The phi depends on itself only where the loop goes round.
    entered: bool,
    /// It may start anew where the loop goes round.
    reset: bool,
    /// What it starts anew with is made of it.
    remade: bool,
}

/// A comparison that holds wherever a loop goes round.
#[derive(Clone, Copy)]
pub(crate) struct Condition {
    /// It is the counter's next value that is compared.
    pub(crate) after: bool,
    /// Or the counter and this.
    pub(crate) plus: i64,
    pub(crate) op: Compare,
    /// The counter stands left.
    pub(crate) left: bool,
    pub(crate) other: Id,
    /// What holds besides.
    pub(crate) facts: FactId,
}

/// How often a loop goes round at most by one of its counters.
#[derive(Clone, Copy)]
struct Counted {
    key: u64,
    rounds: i128,
    /// It counts for the whole wave.
    of_wave: bool,
}

impl Counted {
    /// By either of two ends.
    fn or(&self, other: &Self) -> Option<Self> {
        (self.key == other.key).then_some(Self {
            key: self.key,
            rounds: self.rounds.max(other.rounds),
            of_wave: self.of_wave && other.of_wave,
        })
    }
}

/// What a loop does to a phi in one round.
enum Step {
    /// Adds something of this interval.
    Add(Range),
    /// Something else.
    Other,
}

impl<'a> Evaluation<'a> {
    /// The value of a phi; `key` is its number, or both numbers of a 64-bit phi.
    pub(crate) fn phi(&mut self, key: u64, facts: FactId, bits: u32) -> Value {
        if let Some(ways) = self.left_ways(key, facts) {
            return self.by(&ways, facts, bits);
        }
        if let Some(level) = self.pending.iter().position(|pending| pending.key == key) {
            self.touched = self.touched.min(level);
            self.pending[level].used = true;
            if let Some(assumed) = &self.pending[level].assumed {
                return assumed.clone();
            }
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
            remade,
            ..
        } = self.course(key, ways, bits);
        let step = match step {
            None if remade => {
                let found = self.go_round(key, ways, &start, false, bits);
                return narrower(start, found);
            }
            None => return start,
            Some(Step::Add(step)) if step == Range::exactly(0) => return start,
            Some(Step::Add(step)) if entered => step,
            // In no simple way, or beside the head of its loop.
            Some(step) => {
                let any = start.map(bits, |one| unbounded(one, bits));
                let beside = matches!(step, Step::Add(_)) && self.beside < MAX_BESIDE;
                let found = if beside {
                    self.beside += 1;
                    let found = self.arrivals(ways.all(), bits);
                    self.beside -= 1;
                    Some(found)
                } else {
                    self.go_round(key, ways, &any, false, bits)
                };
                return narrower(any, found);
            }
        };
        let mut back = ways.all().filter(|way| way.back && way.input != BOTTOM);
        let only = back.next().filter(|_| back.next().is_none());
        let stepped = self.rounds(point, self.is_scalar(key)).and_then(|rounds| {
            // Whatever goes further than all words wraps.
            let reach = |step: i128| rounds.checked_mul(step).filter(|way| way.abs() < 1 << 66);
            let (lo, hi) = (reach(step.lo)?.min(0), reach(step.hi)?.max(0));
            let reach = Range::from(lo, hi, step.divisor());
            Some(start.map(bits, |one| add(one, Alternative::number(reach), bits)))
        });
        let compared = only.and_then(|way| self.reached(key, way, &start, step, bits));
        match (stepped, compared) {
            (Some(a), Some(b)) => a.and(&b, bits),
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => {
                let any = start.map(bits, |one| unbounded(one, bits));
                let found = self.go_round(key, ways, &any, true, bits);
                narrower(any, found)
            }
        }
    }

    /// What these ways bring.
    pub(crate) fn arrivals(&mut self, ways: impl Iterator<Item = Way>, bits: u32) -> Value {
        let mut found: Vec<Alternative> = Vec::new();
        for way in ways {
            self.work.charge(work::WAY);
            if way.input != BOTTOM && self.possible(way.facts) {
                let value = self.value(way.input, way.facts);
                found.extend_from_slice(value.alternatives());
            }
        }
        Value::any(found, bits)
    }

    /// Whether a phi, or a half of it, is the value of the whole wave.
    pub(crate) fn is_scalar(&self, key: u64) -> bool {
        let phis = &self.plan.merges.phis;
        if key & WIDE == 0 {
            return phis[key as usize].scalar;
        }
        let (low, high) = (((key & !WIDE) >> 32) as usize, key as u32 as usize);
        phis[low].scalar || phis[high].scalar
    }

    pub(crate) fn ways(&self, key: u64) -> (u32, Ways<'a>) {
        let merges = &self.plan.merges;
        let (low, high) = (((key & !WIDE) >> 32) as u32, key as u32);
        let (phi, inputs) = if key & WIDE == 0 {
            let phi = &merges.phis[key as usize];
            (phi, Some(merges.inputs(key as u32)))
        } else {
            let phi = merges.later(low, high);
            let inputs = merges.wide.get(&(low, high)).map(Vec::as_slice);
            (&merges.phis[phi as usize], inputs)
        };
        let point = &merges.points[phi.point as usize];
        let ways = Ways {
            inputs: inputs.unwrap_or_default(),
            ways: &point.ways,
            scalar: phi.scalar,
        };
        (phi.point, ways)
    }

    /// What a phi starts with and what a round does to it.
    fn course(&mut self, key: u64, ways: Ways<'_>, bits: u32) -> Course {
        self.work.charge(work::PHI);
        self.pending.push(Pending::new(key, None));
        let before = std::mem::replace(&mut self.touched, usize::MAX);
        let mut starts: Vec<Alternative> = Vec::new();
        let mut course = Course {
            start: Value::Empty,
            step: None,
            entered: true,
            reset: false,
            remade: false,
        };
        let level = self.pending.len() - 1;
        for way in ways.all() {
            self.work.charge(work::WAY);
            if way.input == BOTTOM || !self.possible(way.facts) {
                continue;
            }
            self.pending[level].used = false;
            let next = self.next(key, way, bits);
            let is_next = next.is_some();
            let value = next.unwrap_or_else(|| self.value(way.input, way.facts));
            let used = is_next || self.pending[level].used;
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
                    course.remade |= way.back && used;
                    if way.back && alternative.range.is_full(bits) {
                        course.step = Some(Step::Other);
                    }
                    starts.push(alternative);
                }
            }
        }
        course.start = Value::any(starts, bits);
        self.settle(before);
        course
    }

    /// The phi and a number. What is known of that sum from before does not say how it is made of the phi.
    fn next(&mut self, key: u64, way: Way, bits: u32) -> Option<Value> {
        let is_phi = |id: Id| self.plan.is_phi(id, key);
        let by = match self.plan.arena.node(way.input) {
            Node::Binary(Binary::Add, a, by) | Node::Add64(a, by) if is_phi(a) => by,
            Node::Binary(Binary::Add, by, a) | Node::Add64(by, a) if is_phi(a) => by,
            _ => return None,
        };
        let by = self.value(by, way.facts).numbers()?;
        let origin = Origin::Anchor(key);
        let phi = Alternative {
            origin,
            range: Range::exactly(0),
        };
        Some(Value::One(add(phi, Alternative::number(by), bits)))
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
        let head = &self.plan.merges.points[point as usize];
        let ends = head.ways.iter().filter(|way| way.back && way.taken);
        let ends: Vec<merge::Way> = ends.copied().collect();
        let (facts, wave) = (head.facts, head.wave);
        let mut least = Rounds::default();
        for of_lanes in [true, false] {
            // By each counter that all ends compare: the rounds by whichever end it gets farthest.
            let mut counted: Option<Vec<Counted>> = None;
            for end in &ends {
                let (from, to) = match of_lanes {
                    true => (end.facts, facts),
                    false => (end.wave, wave),
                };
                let mut here = self.compared(point, from, to, ends.len() == 1);
                for counted in &mut here {
                    // Lanes may have gone round less often than the wave, or none be left.
                    counted.of_wave = !of_lanes
                        || (end.occupied && self.is_scalar(counted.key))
                        || Rule::WavesOutliveLanes.is_broken();
                }
                counted = Some(match counted {
                    None => here,
                    Some(known) => known
                        .iter()
                        .filter_map(|one| one.or(here.iter().find(|other| other.key == one.key)?))
                        .collect(),
                });
            }
            for one in counted.into_iter().flatten() {
                let fewer = |known: Option<i128>| {
                    Some(known.map_or(one.rounds, |known| known.min(one.rounds)))
                };
                least.lane = fewer(least.lane);
                if one.of_wave {
                    least.wave = fewer(least.wave);
                }
            }
        }
        least
    }

    /// The counters that the conditions of one end of a loop compare, each once, and the rounds by
    /// them. `only`: the loop has no other end.
    fn compared(&mut self, point: u32, from: FactId, to: FactId, only: bool) -> Vec<Counted> {
        let loops = self.plan.merges.points[point as usize].loops;
        let mut found: Vec<Counted> = Vec::new();
        let mut at = from;
        while at != to && at != NOTHING {
            self.work.charge(work::CONDITION);
            let fact = *self.plan.facts.get(at);
            at = fact.parent;
            let Node::Compare(op, a, b) = self.plan.arena.node(fact.condition) else {
                continue;
            };
            for (counter, other, left) in [(a, b, true), (b, a, false)] {
                // Passing by a bound that moves, or by another end, is not meeting it.
                let moves = self.plan.arena.traits(other).loops & loops != 0;
                if op == Compare::Ne && (moves || !only) && !Rule::BoundsMove.is_broken() {
                    continue;
                }
                let plan = self.plan;
                for Counter { key, after, plus } in plan.counters(point, counter) {
                    let condition = Condition {
                        after,
                        plus,
                        op,
                        left,
                        other,
                        facts: fact.parent,
                    };
                    let Some(rounds) = self.bounded(key, condition) else {
                        continue;
                    };
                    match found.iter_mut().find(|known| known.key == key) {
                        Some(known) => known.rounds = known.rounds.min(rounds),
                        None => found.push(Counted {
                            key,
                            rounds,
                            of_wave: false,
                        }),
                    }
                }
            }
        }
        found
    }

    /// Rounds of a loop that goes on only while the condition holds of its counter.
    fn bounded(&mut self, key: u64, condition: Condition) -> Option<i128> {
        if self.pending.iter().any(|pending| pending.key == key) {
            return None;
        }
        let Condition {
            after,
            plus,
            op,
            left,
            other,
            facts,
        } = condition;
        let bits = self.plan.arena.bits(other);
        let (_, ways) = self.ways(key);
        let Course {
            start,
            step,
            entered,
            reset,
            ..
        } = self.course(key, ways, bits);
        let (Some(Step::Add(step)), true, false) = (step, entered, reset) else {
            return self.scaled(key, ways, condition);
        };
        // What is compared starts there, and goes the same way.
        let plus = Alternative::number(Range::exactly(plus.into()));
        let start = start.map(bits, |one| add(one, plus, bits)).numbers()?;
        // In one direction.
        let (least, most) = match step {
            Range { lo, hi, .. } if lo > 0 => (lo, hi),
            Range { lo, hi, .. } if hi < 0 => (hi, lo),
            _ => return None,
        };
        let bound = self.value(other, facts).numbers()?;
        let (signed, strict) = match op {
            Compare::Eq => return None,
            Compare::Ne => return rounds_until(start, step.single()?, bound, after, bits),
            Compare::LtU => (false, 1),
            Compare::LeU => (false, 0),
            Compare::LtS => (true, 1),
            Compare::LeS => (true, 0),
        };
        let (start, bound) = start.both(bound, signed, bits);
        let words = if signed {
            -(1_i128 << (bits - 1))..1_i128 << (bits - 1)
        } else {
            0..1_i128 << bits
        };
        // The last value that the condition lets pass, counted from the start in steps.
        let mut way = match (left, least > 0) {
            (true, true) => {
                let last = bound.hi - strict;
                if !words.contains(&(last.max(start.hi) + most)) {
                    return None;
                }
                last - start.lo
            }
            (false, false) => {
                let last = bound.lo + strict;
                if !words.contains(&(last.min(start.lo) + most)) {
                    return None;
                }
                start.hi - last
            }
            _ => return None,
        };
        let apart = Range::span(bound.lo - start.hi, bound.hi - start.lo);
        if let Some(apart) = self.apart_from_start(ways, &condition, apart, bits) {
            let most = if least > 0 { apart.hi } else { -apart.lo };
            way = way.min(most - strict);
        }
        let steps = if way < 0 { -1 } else { way / least.abs() };
        Some(if after { steps.max(0) } else { steps + 1 })
    }

    /// How far a bound is from what a counter starts with, of which so much is known: both may be made of the same.
    fn apart_from_start(
        &mut self,
        ways: Ways<'_>,
        condition: &Condition,
        apart: Range,
        bits: u32,
    ) -> Option<Range> {
        let Condition {
            plus, other, facts, ..
        } = *condition;
        let mut entries = ways.all().filter(|way| !way.back && way.input != BOTTOM);
        let entry = entries.next().filter(|_| entries.next().is_none())?;
        let half = 1_i128 << (bits - 1);
        if -half > apart.lo || apart.hi >= half {
            return None;
        }
        let found = self.way_from(entry.input, other, facts)?;
        let found = found.shifted(-i128::from(plus)).reduce(bits);
        apart.among(found, bits)
    }

    /// A phi that is compared itself, or its next value, before the loop goes round again: it gets
    /// as far as the comparison lets it.
    fn reached(
        &mut self,
        key: u64,
        way: Way,
        start: &Value,
        step: Range,
        bits: u32,
    ) -> Option<Value> {
        let (point, _) = self.ways(key);
        let from = start.numbers()?;
        let to = self.plan.merges.points[point as usize].facts;
        let mut at = way.facts;
        while at != to && at != NOTHING {
            self.work.charge(work::CONDITION);
            let fact = *self.plan.facts.get(at);
            if let Node::Compare(op, a, b) = self.plan.arena.node(fact.condition) {
                for (counter, other, left) in [(a, b, true), (b, a, false)] {
                    let mut counters = self.plan.counters(point, counter);
                    let Some(Counter { after, .. }) =
                        counters.find(|counter| counter.key == key && counter.plus == 0)
                    else {
                        continue;
                    };
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

/// All ways into a phi's point.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'a> {
    inputs: &'a [Id],
    ways: &'a [merge::Way],
    scalar: bool,
}

impl<'a> Ways<'a> {
    pub(crate) fn all(self) -> impl Iterator<Item = Way> + 'a {
        let ways = self.inputs.iter().zip(self.ways);
        ways.map(move |(&input, way)| Way {
            input,
            facts: if self.scalar { way.wave } else { way.facts },
            back: way.back,
        })
    }
}

/// A way into a phi's point, with this phi's input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) input: Id,
    pub(crate) facts: FactId,
    pub(crate) back: bool,
}

/// Of two values that hold all that a phi may be. Bounds are worth nothing to a pointer that is no longer
/// known as one.
fn narrower(any: Value, found: Option<Value>) -> Value {
    found
        .filter(|found| any.has_origins_of(found))
        .unwrap_or(any)
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
