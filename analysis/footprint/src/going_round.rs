//! Phis that change in no simple way, by going round until nothing new comes.
//!
//! A ring's index, the other buffer of two, a stride that doubles: such a phi is no start plus steps. A set
//! of values holds all that the phi may be if it holds what comes into the loop, and, whatever of it
//! the phi is, what the loop's ends bring. It is looked for from both sides. From below: what comes
//! into the loop, and what one more round makes of it, until a round brings nothing new; what still
//! grows after some rounds is let grow faster. From above: what a round makes of any value at all. A round from
//! a set that holds all is again such a set, and may be a smaller one.

use crate::evaluate::{Evaluation, Pending};
use crate::expr::{BOTTOM, Id};
use crate::induction::{Way, Ways};
use crate::plan::phi_key;
use crate::range::Range;
use crate::value::{Alternative, Value};
use crate::work;

/// Rounds from below. What still grows after the patient ones is let grow so many times as far in each of
/// the next, and faster in the last: it is all words in the end.
const PATIENT: u32 = 4;
const HURRIED: u32 = 8;
const ROUNDS: u32 = PATIENT + HURRIED + 4;
const TIMES: i128 = 8;
/// Rounds that make a set smaller that holds all.
const REFINED: u32 = 2;
/// Phis inside each other that are looked for so.
const MAX_NESTED: usize = 2;
/// Places inside each other where ways meet that are looked through for the phi itself.
const MAX_MERGES: u32 = 4;
/// Rounds of one launch.
const MAX_TURNS: u32 = 256;

impl<'a> Evaluation<'a> {
    /// What a phi goes through, if that is found. `any` holds all that it may be; `steps`: it only steps on,
    /// so that going round is of use only where a condition holds it back.
    pub(crate) fn go_round(
        &mut self,
        key: u64,
        ways: Ways<'_>,
        any: &Value,
        steps: bool,
        bits: u32,
    ) -> Option<Value> {
        let nested = self.pending.iter().filter(|one| one.assumed.is_some());
        if nested.count() >= MAX_NESTED || self.turns > MAX_TURNS || self.work.is_enough() {
            return None;
        }
        let mut back = ways.all().filter(|way| way.back);
        if steps && !back.any(|way| self.is_held_back(way, MAX_MERGES)) {
            return None;
        }
        let at_most = self.round(key, ways, any, bits);
        let hopeless = is_any(&at_most, bits);
        if hopeless && steps {
            return None;
        }
        let mut least = match self.by_growing(key, ways, bits) {
            Some(found) => found,
            None if hopeless => return None,
            None => at_most,
        };
        for _ in 0..REFINED {
            let next = self.round(key, ways, &least, bits);
            if next == least || !least.has_origins_of(&next) {
                break;
            }
            least = next;
        }
        Some(least)
    }

    /// Whether a condition may say something about what a way brings, or about what was brought to where it has met
    /// with others.
    fn is_held_back(&self, way: Way, depth: u32) -> bool {
        let parts = self.plan.arena.traits(way.input).parts;
        if self.plan.facts.get(way.facts).parts & parts != 0 {
            return true;
        }
        let met = depth.checked_sub(1).zip(self.merged(way.input));
        met.is_some_and(|(depth, ways)| ways.all().any(|way| self.is_held_back(way, depth)))
    }

    /// The ways that meet in a phi, if it is none of a loop.
    fn merged(&self, id: Id) -> Option<Ways<'a>> {
        let (point, ways) = self.ways(phi_key(self.plan.arena.node(id))?);
        (!self.plan.merges.points[point as usize].is_loop()).then_some(ways)
    }

    fn by_growing(&mut self, key: u64, ways: Ways<'_>, bits: u32) -> Option<Value> {
        let mut all = Value::Empty;
        for round in 0..ROUNDS {
            if self.work.is_enough() {
                return None;
            }
            let next = self.round(key, ways, &all, bits);
            if all.holds(&next) {
                return Some(all);
            }
            if is_any(&next, bits) {
                return None;
            }
            let mut wider = all.or(&next, bits);
            if round >= PATIENT {
                let times = TIMES.pow(if round < PATIENT + HURRIED { 1 } else { 4 });
                wider = hurry(&all, &wider, times, bits);
            }
            all = wider;
        }
        None
    }

    /// What all ways bring but the phi itself, if it is one of these values. What was not changed in a round was there
    /// before.
    fn round(&mut self, key: u64, ways: Ways<'_>, assumed: &Value, bits: u32) -> Value {
        self.turns += 1;
        self.pending.push(Pending::new(key, Some(assumed.clone())));
        let before = std::mem::replace(&mut self.touched, usize::MAX);
        let value = self.changed(key, ways.all(), bits, MAX_MERGES);
        self.settle(before);
        value
    }

    fn changed(
        &mut self,
        key: u64,
        ways: impl Iterator<Item = Way>,
        bits: u32,
        depth: u32,
    ) -> Value {
        let mut found: Vec<Alternative> = Vec::new();
        for Way { input, facts, .. } in ways {
            self.work.charge(work::WAY);
            if input == BOTTOM || self.plan.is_phi(input, key) || !self.possible(facts) {
                continue;
            }
            let met = phi_key(self.plan.arena.node(input)).filter(|_| self.merged(input).is_some());
            let value = match met.zip(depth.checked_sub(1)) {
                Some((met, depth)) => {
                    let all = || self.ways(met).1.all().collect();
                    let ways = self.left_ways(met, facts).unwrap_or_else(all);
                    let value = self.changed(key, ways.into_iter(), bits, depth);
                    self.narrow(input, facts, bits, value)
                }
                None => self.value(input, facts),
            };
            found.extend_from_slice(value.alternatives());
        }
        Value::any(found, bits)
    }
}

/// Whether every word is among the values.
fn is_any(value: &Value, bits: u32) -> bool {
    let mut alternatives = value.alternatives().iter();
    alternatives.any(|one| one.range.is_full(bits))
}

/// What has grown grows on: so many times as far.
fn hurry(before: &Value, after: &Value, times: i128, bits: u32) -> Value {
    after.map(bits, |one| {
        let known = before
            .alternatives()
            .iter()
            .find(|known| known.origin == one.origin);
        let Some(known) = known else { return one };
        let Range { lo, hi, step, .. } = one.range;
        let width = ((hi - lo) * times).min(1 << bits);
        // Not at once past 0 and the greatest signed word: a comparison may tell what lies behind.
        let most = (1_i128 << (bits - 1)) - 1;
        let least = if lo < 0 { -most - 1 } else { 0 };
        let range = match (lo < known.range.lo, hi > known.range.hi) {
            (true, true) => Range::full(bits),
            (true, false) => Range::back_from(hi, (lo - width).max(least), step),
            (false, true) => Range::from(lo, (hi + width).min(most.max(hi)), step),
            (false, false) => one.range,
        };
        Alternative {
            origin: one.origin,
            range: range.reduce(bits),
        }
    })
}
