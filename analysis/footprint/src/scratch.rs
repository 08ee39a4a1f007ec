//! Per-lane memory: which slots an instruction reaches, and what is in them then.
//!
//! Slots are known by constant offsets. Where an offset is no constant, it is an element of some array;
//! how far it gets follows from the expression, but only when the walk is over, and the expression is made of what
//! stands in scratch. So each such access is noted, and it is taken for granted that nobody comes there, and when
//! the walk is over that all get as far as was found, until no more is found than was taken for granted. That
//! is so, then: the first access of a launch to get further would have been found, for all before
//! it did what the walk has seen. In a walk, a store changes any of the slots in reach or none, a load brings
//! any of them, and those out of reach are what they were.

use std::rc::Rc;

use strobe_isa::scalar_register::FLAT_SCRATCH;
use strobe_isa::{Class, Inst, Operand};

use crate::block::Located;
use crate::expr::{FactId, Id, Lost, Node, ZERO};
use crate::indexed::{Indexed, Reach};
use crate::merge::{Point, PointPhis, Way};
use crate::place::Holder;
use crate::range::Range;
use crate::registers::vector_number;
use crate::state::{State, is_in};
use crate::walk::Walk;

/// Slots that are moved in a step.
const SLOTS_PER_STEP: usize = 16;

impl Walk<'_> {
    /// Whether what a buffer descriptor says is all that the wave's scratch has: in its own part of it, slots are known.
    pub(crate) fn is_wave_buffer(&mut self, descriptor: [Id; 4]) -> bool {
        let [low, high, rest @ ..] = descriptor;
        let given = [2, 3].map(|word| self.arena.intern(Node::ScratchBuffer(word)));
        let base = self.arena.pair(low, high);
        rest == given && self.is_wave_scratch(base, Node::ScratchBuffer)
    }

    /// Whether flat addresses of scratch lead to what that descriptor leads to.
    pub(crate) fn is_wave_flat(&mut self, state: &State) -> bool {
        if self.machine.has_architected_scratch() {
            return true;
        }
        let base = self.scalar64(state, Operand::Scalar(FLAT_SCRATCH));
        self.is_wave_scratch(base, Node::FlatScratch)
    }

    /// Whether an address is the one that the kernel was given, and as far from it as its wave is.
    fn is_wave_scratch(&mut self, base: Id, given: fn(u8) -> Node) -> bool {
        let [low, high] = [0, 1].map(|half| self.arena.intern(given(half)));
        let given = self.arena.pair(low, high);
        let wave = self.arena.intern(Node::ScratchWave);
        let wave = self.arena.zero64(wave);
        base == self.arena.add64(given, wave)
    }

    /// The slots of an instruction for scratch: offsets by registers of either kind, or none.
    pub(crate) fn scratch_target(&mut self, state: &State, located: &Located) -> Reach {
        if !self.is_wave_flat(state) {
            return Reach::Anywhere;
        }
        let inst = &located.inst;
        let mut offset = ZERO;
        for part in [inst.srcs[0], inst.srcs[2]] {
            if part != Operand::None {
                let part = self.word(state, part);
                offset = self.arena.add(offset, part);
            }
        }
        self.reach(state, located.pc, offset, inst.imm.into())
    }

    /// The slots at an offset plus a constant.
    pub(crate) fn reach(&mut self, state: &State, pc: u64, offset: Id, constant: i64) -> Reach {
        if let Some(offset) = self.arena.as_const(offset) {
            return Reach::At(i64::from(offset) + constant);
        }
        if !state.idle {
            self.indexed.push(Indexed {
                pc,
                offset,
                constant,
                facts: state.facts,
            });
        }
        self.reaches.of(pc)
    }

    pub(crate) fn scratch_access(
        &mut self,
        state: &mut State,
        inst: &Inst,
        reach: Reach,
        data: Operand,
        bytes: u8,
    ) {
        let class = inst.op.info().class;
        if state.idle {
            return;
        }
        let words = bytes.is_multiple_of(4) && !inst.lds;
        let lanes = state.lanes();
        let first = match reach {
            Reach::At(offset) if offset % 4 == 0 && words => Some(Range::exactly(offset.into())),
            Reach::Within(reach) if words && reach.is_of_words() => Some(reach),
            _ => None,
        };
        match (class, first) {
            (Class::Load, Some(first)) => {
                for register in 0..usize::from(bytes / 4) {
                    let value = self.slot(state, first, register);
                    let (Some(to), Some(lanes)) = (vector_number(inst.dsts[0]), lanes) else {
                        self.set_result(state, inst.dsts[0], register, value);
                        continue;
                    };
                    let to = Holder::Vector((to + register) as u16);
                    let mut kept = state.kept_in(to, !lanes);
                    if let Some(slot) = slot_of(first, register) {
                        kept.extend(state.kept_in(Holder::Slot(slot), lanes));
                    }
                    self.set_result(state, inst.dsts[0], register, value);
                    state.keep(to, kept);
                }
            }
            (Class::Store, Some(first)) => {
                for register in 0..usize::from(bytes / 4) {
                    let value = self.vector_word(state, data, register);
                    self.set_slot(state, first, register, value);
                    let written = lanes.unwrap_or(u64::MAX);
                    state.forget_lanes(|holder, lane| {
                        let mut reached = offsets(first, register);
                        is_in(written, lane)
                            && matches!(holder, Holder::Slot(slot) if reached.any(|other| other == slot))
                    });
                    if let (Some(from), Some(slot), Some(lanes)) =
                        (vector_number(data), slot_of(first, register), lanes)
                    {
                        let from = Holder::Vector((from + register) as u16);
                        let stored = state.kept_in(from, lanes);
                        state.keep(Holder::Slot(slot), stored);
                    }
                }
            }
            (Class::Load, _) => self.lose_results(state, inst, Lost::Scratch),
            _ => {
                lose_slots(state, reach, bytes);
                self.lose_results(state, inst, Lost::Scratch);
            }
        }
    }

    /// What is in a slot, or in any of several.
    fn slot(&mut self, state: &State, first: Range, register: usize) -> Id {
        let values = offsets(first, register).map(|slot| state.scratch.get(&slot).copied());
        let Some(values) = values.collect::<Option<Vec<Id>>>() else {
            return self.arena.opaque(Lost::Scratch);
        };
        self.one_of(state.facts, state.wave, &values)
    }

    fn set_slot(&mut self, state: &mut State, first: Range, register: usize, value: Id) {
        if first.single().is_some() {
            let slots = Rc::make_mut(&mut state.scratch);
            let moved: usize = offsets(first, register)
                .map(|slot| slots.insert(slot, value))
                .sum();
            self.charge(moved / SLOTS_PER_STEP);
            return;
        }
        for slot in offsets(first, register) {
            // What was never known is not known now.
            if let Some(&before) = state.scratch.get(&slot) {
                let after = self.one_of(state.facts, state.wave, &[before, value]);
                Rc::make_mut(&mut state.scratch).insert(slot, after);
            }
        }
    }

    /// A value that is one of these, another one in each round of a loop.
    pub(crate) fn one_of(&mut self, facts: FactId, wave: FactId, values: &[Id]) -> Id {
        if values.iter().all(|value| *value == values[0]) {
            return values[0];
        }
        let way = Way {
            facts,
            wave,
            back: false,
            taken: true,
            occupied: false,
        };
        let point = self.merges.point(Point {
            ways: vec![way; values.len()],
            facts,
            wave,
            phis: PointPhis::default(),
            loops: 0,
        });
        let inside = self.arena.inside;
        self.merges
            .phi(&mut self.arena, point, values, false, inside)
    }
}

/// The slot of the `register`th dword, if it is one.
fn slot_of(first: Range, register: usize) -> Option<i64> {
    first.single().and_then(|_| offsets(first, register).next())
}

/// The slots of the `register`th dword of an access.
fn offsets(first: Range, register: usize) -> impl Iterator<Item = i64> {
    let Range { lo, hi, step, .. } = first;
    let offsets = (lo..=hi).step_by(step.max(1) as usize);
    offsets.map(move |offset| offset as i64 + 4 * register as i64)
}

fn lose_slots(state: &mut State, reach: Reach, bytes: u8) {
    let (from, to) = match reach {
        Reach::Nowhere => return,
        Reach::At(offset) => (offset, offset),
        Reach::Within(reach) => (reach.lo as i64, reach.hi as i64),
        Reach::Anywhere => {
            return state.lose_scratch();
        }
    };
    let reached = |slot: i64| slot + 4 > from && slot < to + i64::from(bytes);
    Rc::make_mut(&mut state.scratch).retain(|slot| !reached(*slot));
    state.widened = None;
    state.forget_lanes(|holder, _| matches!(holder, Holder::Slot(slot) if reached(slot)));
}
