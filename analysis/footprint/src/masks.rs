//! Lane masks and EXEC.
//!
//! A mask in a pair of scalar registers is a truth value of the lane that the walk follows. Masks
//! made by comparisons hold lanes that were active then ([`Node::Lanes`]), so that "in the mask"
//! implies the condition always, and "not in the mask" implies its opposite only for lanes that were
//! active then ([`crate::epoch`]). A mask of all active lanes is such a mask too: only the constant
//! with all bits set holds every lane.

use std::rc::Rc;

use strobe_isa::scalar_register::EXEC;
use strobe_isa::{Inst, Op, Operand};

use crate::broken::Rule;
use crate::differing::Differing;
use crate::expr::{BOTTOM, FALSE, Id, Node, ONES, TRUE, ZERO};
use crate::place::{Holder, Place};
use crate::registers::VCC;
use crate::state::{NONE_PARKED, Parked, ParkedId, Snapshot, State, Switched};
use crate::walk::Walk;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskOp {
    And,
    AndNot,
    Or,
    Xor,
    /// Anything else.
    Other,
}

/// What EXEC becomes.
enum Change {
    /// A part of itself: those lanes that satisfy the mask.
    Narrow(Id),
    /// Itself and the lanes of the mask.
    Widen(Id),
    /// Just the lanes of the mask, whether they are active now or not.
    Replace(Id),
    /// The lanes that are in itself or the mask and not in both.
    Differ(Id),
    /// The lanes of the mask that are not active now.
    Swap(Id),
    /// Itself without the lanes of the mask, all of which are in it.
    Leave(Id),
}

/// Lanes by their numbers, a bit each.
fn lanes_of(operand: Operand) -> Option<u64> {
    match operand {
        Operand::Int(lanes @ 1..) => u64::try_from(lanes).ok(),
        // Whether the upper lanes are on too is not asked for.
        Operand::Literal(lanes) if lanes >> 31 == 0 && lanes != 0 => Some(lanes.into()),
        _ => None,
    }
}

impl Walk<'_> {
    /// The truth value of a 64-bit operand, if it is a mask and not data.
    pub(crate) fn mask(&mut self, state: &State, operand: Operand) -> Option<Id> {
        match operand {
            Operand::Int(0) => Some(FALSE),
            Operand::Int(-1) => Some(TRUE),
            Operand::Scalar(EXEC) => {
                let epoch = state.epoch;
                Some(self.arena.intern(Node::Lanes(TRUE, epoch)))
            }
            Operand::Scalar(first) => {
                let low = self.scalar(state, first.into());
                let high = self.scalar(state, usize::from(first) + 1);
                self.mask_of(low, high)
            }
            _ => None,
        }
    }

    /// Likewise, of a place and the one behind it.
    pub(crate) fn mask_at(&mut self, state: &State, place: Place) -> Option<Id> {
        match place {
            Place::Scalar(first) => self.mask(state, Operand::Scalar(first as u8)),
            Place::Spill(holder, lane) => {
                let half = |lane: u32| state.spills.get(&(holder, lane)).copied();
                self.mask_of(half(lane)?, half(lane + 1)?)
            }
            Place::Vector(_) | Place::Slot(_) => None,
        }
    }

    fn mask_of(&mut self, low: Id, high: Id) -> Option<Id> {
        match (self.arena.node(low), self.arena.node(high)) {
            (Node::Mask(a, false), Node::Mask(b, true)) if a == b => Some(a),
            (Node::Const(0), Node::Const(0)) => Some(FALSE),
            (Node::Const(u32::MAX), Node::Const(u32::MAX)) => Some(TRUE),
            (Node::Select(c, ONES, ZERO), Node::Select(d, ONES, ZERO)) if c == d => Some(c),
            (Node::Select(c, ZERO, ONES), Node::Select(d, ZERO, ONES)) if c == d => {
                Some(self.arena.not(c))
            }
            _ => None,
        }
    }

    fn is_mask(&mut self, state: &State, operand: Operand) -> bool {
        match operand {
            Operand::Scalar(EXEC) => true,
            Operand::Scalar(first) => {
                let low = self.scalar(state, first.into());
                matches!(self.arena.node(low), Node::Mask(..))
            }
            _ => false,
        }
    }

    pub(crate) fn set_mask(&mut self, state: &mut State, register: u8, mask: Id) {
        let [low, high] = self.halves(mask);
        self.set_scalar(state, register.into(), low);
        self.set_scalar(state, usize::from(register) + 1, high);
    }

    pub(crate) fn halves(&mut self, mask: Id) -> [Id; 2] {
        match mask {
            TRUE => [ONES; 2],
            FALSE => [ZERO; 2],
            _ => self.arena.halves(mask),
        }
    }

    /// The lanes active now that satisfy a condition.
    pub(crate) fn active(&mut self, state: &State, condition: Id) -> Id {
        match self.arena.node(condition) {
            Node::Lanes(_, epoch) if epoch == state.epoch => condition,
            Node::False => condition,
            _ => {
                let condition = self.for_active(state, condition);
                self.arena.intern(Node::Lanes(condition, state.epoch))
            }
        }
    }

    /// What a mask says of a lane that is active now.
    pub(crate) fn for_active(&self, state: &State, mask: Id) -> Id {
        match self.arena.node(mask) {
            Node::Lanes(inner, of) if self.epochs.within(state.epoch, of) => {
                self.for_active(state, inner)
            }
            _ => mask,
        }
    }

    /// What holds for a lane active in the epoch that is not in the mask.
    fn outside(&mut self, mask: Id, epoch: u32) -> Id {
        self.charge(1);
        if self.exhausted() {
            return self.arena.unknown();
        }
        match self.arena.node(mask) {
            Node::Lanes(inner, of) if self.epochs.within(epoch, of) => self.outside(inner, epoch),
            Node::True | Node::False | Node::Compare(..) | Node::Not(_) => self.arena.not(mask),
            Node::Both(a, b) => {
                let (a, b) = (self.outside(a, epoch), self.outside(b, epoch));
                self.arena.either(a, b)
            }
            Node::Either(a, b) => {
                let (a, b) = (self.outside(a, epoch), self.outside(b, epoch));
                self.arena.both(a, b)
            }
            _ => self.arena.unknown(),
        }
    }

    /// A snapshot whose lanes contain those of the mask.
    pub(crate) fn origin(&self, mask: Id) -> Option<u32> {
        self.charge(1);
        if self.exhausted() {
            return None;
        }
        match self.arena.node(mask) {
            Node::Exec(snapshot) | Node::PartOf(snapshot, _) => Some(snapshot),
            Node::Lanes(inner, epoch) => self.origin(inner).or(self.epochs.bound(epoch)),
            Node::Both(a, b) => self.origin(a).or_else(|| self.origin(b)),
            Node::Either(a, b) => {
                let (a, b) = (self.origin(a)?, self.origin(b)?);
                self.around(Some(a), Some(b))
            }
            _ => None,
        }
    }

    /// Masks that differ where paths meet stay masks of the lanes that contain them all.
    pub(crate) fn join_masks(&mut self, joined: &mut State, states: &[State], point: u32) {
        for register in (0..VCC + 2).step_by(2) {
            if !matches!(self.arena.node(joined.scalars[register]), Node::Phi(_)) {
                continue;
            }
            if let Some(mask) = self.joined_mask(states, point, Place::Scalar(register)) {
                if matches!(self.arena.node(mask), Node::PartOf(..)) {
                    self.gather(states, point, register as u8, mask);
                }
                self.set_mask(joined, register as u8, mask);
            }
        }
    }

    /// Likewise, of masks in lanes.
    pub(crate) fn join_kept_masks(&mut self, joined: &mut State, states: &[State], point: u32) {
        let kept = joined.spills.iter();
        let kept = kept.filter(|(_, value)| matches!(self.arena.node(**value), Node::Phi(_)));
        let kept: Vec<(Holder, u32)> = kept.map(|(place, _)| *place).collect();
        for (holder, lane) in kept {
            let place = Place::Spill(holder, lane);
            if joined.spills.contains_key(&(holder, lane + 1))
                && let Some(mask) = self.joined_mask(states, point, place)
            {
                let halves = self.halves(mask);
                let spills = Rc::make_mut(&mut joined.spills);
                spills.extend((lane..).map(|lane| (holder, lane)).zip(halves));
            }
        }
    }

    /// The mask at a place where paths meet, if it is one on all that have something there.
    fn joined_mask(&mut self, states: &[State], point: u32, place: Place) -> Option<Id> {
        let mut masks: Vec<Id> = Vec::with_capacity(states.len());
        for state in states {
            match self.mask_at(state, place) {
                Some(mask) if mask == FALSE || self.origin(mask).is_some() => masks.push(mask),
                None if place.scalar(state) == BOTTOM => {}
                _ => return None,
            }
        }
        let saved = masks
            .iter()
            .filter_map(|mask| match self.arena.node(*mask) {
                Node::Exec(snapshot) => Some(snapshot),
                _ => None,
            });
        let saved: Vec<u32> = saved.collect();
        if !saved.is_empty() && saved.len() == states.len() {
            let snapshot = self.join_snapshots(&saved, point);
            return Some(self.arena.intern(Node::Exec(snapshot)));
        }
        let lanes = masks.iter().filter(|mask| **mask != FALSE);
        let origins = lanes.map(|mask| self.origin(*mask));
        let origin = origins.reduce(|a, b| self.around(a, b))??;
        let unique = self.arena.unique();
        Some(self.arena.intern(Node::PartOf(origin, unique)))
    }

    /// EXEC was saved on each of several ways, into the same register: one snapshot for all.
    fn join_snapshots(&mut self, saved: &[u32], point: u32) -> u32 {
        let of: Vec<Snapshot> = saved
            .iter()
            .map(|&snapshot| self.snapshots[snapshot as usize].clone())
            .collect();
        self.charge(of.len() * self.vectors / 8);
        let mut joined = of[0].clone();
        joined.epoch = None;
        let mut bound = joined.bound;
        for other in &of[1..] {
            joined.facts = self.common(joined.facts, other.facts);
            joined.parked = self.parked.union(joined.parked, other.parked);
            bound = self.around(bound, other.bound);
            joined.idle &= other.idle;
            joined.occupied &= other.occupied;
            joined.all_active = false;
        }
        let slots = of.iter().map(|s| (!s.idle).then_some(&s.scratch));
        joined.scratch = self.join_slots_of(slots, point, 0);
        if of[1..].iter().any(|other| other.exec != joined.exec) {
            joined.exec = self.exec_values.fresh();
        }
        joined.bound = bound;
        let others = of[1..]
            .iter()
            .filter(|other| !Rc::ptr_eq(&other.vectors, &joined.vectors));
        let others = others.map(|other| other.vectors.as_slice());
        let differing = Differing::between(&joined.vectors, others);
        let mut values: Vec<Id> = Vec::with_capacity(of.len());
        for register in differing.iter() {
            let value = if self.asked.vector_of_any(register) {
                values.clear();
                values.extend(of.iter().map(|snapshot| snapshot.vectors[register]));
                self.merges.join(&mut self.arena, point, &values, false)
            } else {
                self.arena.anything(0)
            };
            Rc::make_mut(&mut joined.vectors)[register] = value;
        }
        self.snapshots.push(joined);
        self.snapshots.len() as u32 - 1
    }

    /// 64-bit scalar logic on masks. `false` if the operands are data.
    pub(crate) fn mask_logic(&mut self, state: &mut State, inst: &Inst, op: MaskOp) -> bool {
        let [a, b] = [inst.srcs[0], inst.srcs[1]];
        let to_exec = inst.dsts[0] == Operand::Scalar(EXEC);
        if !to_exec && !self.is_mask(state, a) && !self.is_mask(state, b) {
            return false;
        }
        let exec = Operand::Scalar(EXEC);
        let [x, y] = [a, b].map(|operand| self.mask(state, operand));
        let x = x.unwrap_or_else(|| self.arena.unknown());
        let y = y.unwrap_or_else(|| self.arena.unknown());
        let [x, y] = [x, y].map(|mask| if self.is_empty(mask) { FALSE } else { mask });
        let epoch = state.epoch;
        let result = match op {
            MaskOp::And if x == FALSE || y == FALSE => FALSE,
            MaskOp::And if a == exec => self.active(state, y),
            MaskOp::And if b == exec => self.active(state, x),
            MaskOp::And => self.arena.both(x, y),
            MaskOp::AndNot if a == exec => {
                let outside = self.outside(y, epoch);
                self.active(state, outside)
            }
            MaskOp::AndNot if x == FALSE => FALSE,
            MaskOp::AndNot => match self.arena.node(x) {
                Node::Lanes(_, of) => {
                    let outside = self.outside(y, of);
                    self.arena.both(x, outside)
                }
                _ => {
                    let unknown = self.arena.unknown();
                    self.arena.both(x, unknown)
                }
            },
            MaskOp::Or => self.arena.either(x, y),
            MaskOp::Xor if x == FALSE => y,
            MaskOp::Xor if y == FALSE => x,
            MaskOp::Xor if x == TRUE => self.arena.not(y),
            MaskOp::Xor if y == TRUE => self.arena.not(x),
            MaskOp::Xor => self.difference(state, [(a == exec, x), (b == exec, y)]),
            MaskOp::Other => self.arena.unknown(),
        };
        if to_exec {
            let other = if a == exec { y } else { x };
            let change = match op {
                MaskOp::And if a == exec || b == exec => Change::Narrow(result),
                MaskOp::AndNot if a == exec => Change::Narrow(result),
                MaskOp::Or if a == exec || b == exec => Change::Widen(other),
                MaskOp::Xor if a == exec || b == exec => Change::Differ(other),
                _ => Change::Replace(result),
            };
            let collected = match op {
                MaskOp::AndNot if a == exec => self.collected(state, y),
                _ => None,
            };
            self.change(state, change);
            if let Some(whole) = collected {
                self.take_apart(y, whole, state.exec);
            }
        } else if let Operand::Scalar(register) = inst.dsts[0] {
            self.set_mask(state, register, result);
        }
        state.scc = self.arena.any(result);
        true
    }

    /// Whether no lane is in a mask.
    fn is_empty(&self, mask: Id) -> bool {
        match self.arena.node(mask) {
            Node::Exec(snapshot) => self.snapshots[snapshot as usize].idle,
            _ => mask == FALSE,
        }
    }

    /// The lanes that are in one of two masks, each of which may be EXEC.
    fn difference(&mut self, state: &State, masks: [(bool, Id); 2]) -> Id {
        let [of, other] = masks.map(|(is_exec, mask)| match is_exec {
            true => state.bound,
            false => self.origin(mask),
        });
        let Some(of) = other.and_then(|other| self.around(of, Some(other))) else {
            return self.arena.unknown();
        };
        let unique = self.arena.unique();
        let difference = self.arena.intern(Node::PartOf(of, unique));
        for [(is_exec, _), (_, mask)] in [masks, [masks[1], masks[0]]] {
            if is_exec
                && let Node::Exec(saved) = self.arena.node(mask)
                && self.is_among(state, saved)
            {
                self.take_apart(difference, saved, state.exec);
            }
        }
        difference
    }

    /// `s_mov_b64` and `s_not_b64` where EXEC or a mask takes part. `false` if it is data.
    pub(crate) fn mask_move(&mut self, state: &mut State, inst: &Inst, inverted: bool) -> bool {
        let (src, dst) = (inst.srcs[0], inst.dsts[0]);
        let to_exec = dst == Operand::Scalar(EXEC);
        if src == Operand::Scalar(EXEC) && !to_exec && !inverted {
            let snapshot = self.snapshot(state);
            let mask = self.arena.intern(Node::Exec(snapshot));
            if let Operand::Scalar(register) = dst {
                self.set_mask(state, register, mask);
            }
            return true;
        }
        if !to_exec && !self.is_mask(state, src) {
            return false;
        }
        let mut mask = self
            .mask(state, src)
            .unwrap_or_else(|| self.arena.unknown());
        if inverted {
            mask = self.arena.not(mask);
            state.scc = self.arena.any(mask);
        }
        if to_exec
            && let Node::Exec(snapshot) = self.arena.node(mask)
            && self.narrow_again(state, snapshot)
        {
            return true;
        }
        if let Some(lanes) = lanes_of(src).filter(|_| to_exec && !inverted) {
            let before = self.snapshot(state);
            self.change(state, Change::Replace(mask));
            self.made_active(state, before, Switched::Numbered(lanes));
        } else if to_exec && inverted && src == Operand::Scalar(EXEC) {
            let before = self.snapshot(state);
            self.change(state, Change::Replace(mask));
            self.made_active(state, before, Switched::Others);
        } else if to_exec && mask == TRUE {
            self.make_all_active(state);
        } else if to_exec {
            self.change(state, Change::Replace(mask));
        } else if let Operand::Scalar(register) = dst {
            self.set_mask(state, register, mask);
        }
        true
    }

    /// The `s_*_saveexec_b64` and `s_*_wrexec_b64` operations.
    pub(crate) fn save_exec(&mut self, state: &mut State, inst: &Inst) {
        let mask = self
            .mask(state, inst.srcs[0])
            .unwrap_or_else(|| self.arena.unknown());
        let snapshot = self.snapshot(state);
        let change = match inst.op {
            Op::s_and_saveexec_b64 => {
                let active = self.active(state, mask);
                Change::Narrow(active)
            }
            Op::s_andn1_saveexec_b64 | Op::s_andn1_wrexec_b64 => {
                let outside = self.outside(mask, state.epoch);
                let active = self.active(state, outside);
                Change::Narrow(active)
            }
            Op::s_or_saveexec_b64 => Change::Widen(mask),
            Op::s_andn2_saveexec_b64 | Op::s_andn2_wrexec_b64 => Change::Swap(mask),
            Op::s_xor_saveexec_b64 => Change::Differ(mask),
            _ => {
                let unknown = self.arena.unknown();
                Change::Differ(unknown)
            }
        };
        let written = matches!(inst.op, Op::s_andn1_wrexec_b64 | Op::s_andn2_wrexec_b64);
        let saved = if written {
            self.arena.unknown()
        } else {
            self.arena.intern(Node::Exec(snapshot))
        };
        if matches!(change, Change::Narrow(_)) {
            state.bound = Some(snapshot);
        }
        self.change(state, change);
        if inst.op == Op::s_or_saveexec_b64 && inst.srcs[0] == Operand::Int(-1) {
            self.made_active(state, snapshot, Switched::ALL);
        }
        if inst.op == Op::s_xor_saveexec_b64 && inst.srcs[0] == Operand::Int(-1) {
            self.made_active(state, snapshot, Switched::Others);
        }
        if let Operand::Scalar(register) = inst.dsts[0] {
            self.set_mask(state, register, saved);
        }
        state.scc = self.arena.unknown();
    }

    /// EXEC becomes the lanes that satisfy a comparison (`v_cmpx`).
    pub(crate) fn narrow(&mut self, state: &mut State, mask: Id) {
        self.change(state, Change::Narrow(mask));
    }

    /// EXEC becomes something else.
    pub(crate) fn replace_exec(&mut self, state: &mut State, mask: Id) {
        self.change(state, Change::Replace(mask));
    }

    /// Whether the active lanes are among those of a snapshot.
    fn is_among(&self, state: &State, snapshot: u32) -> bool {
        state
            .bound
            .is_some_and(|bound| self.inside_of(bound, snapshot))
    }

    /// A mask holds the lanes of a snapshot that a value of EXEC, part of it, has not.
    pub(crate) fn take_apart(&mut self, mask: Id, snapshot: u32, part: u32) {
        let whole = self.snapshots[snapshot as usize].exec;
        self.exec_values.take_apart(mask, snapshot, whole, part);
    }

    /// A snapshot of what EXEC has now with the lanes of a mask that collects some of those active now, if
    /// that is known.
    fn collected(&self, state: &State, mask: Id) -> Option<u32> {
        let Node::Either(a, b) = self.arena.node(mask) else {
            return None;
        };
        let of = |more: Id, before: Id| match self.arena.node(more) {
            Node::Lanes(_, epoch) if epoch == state.epoch => {
                self.exec_values.whole(state.exec, self.value_of(before)?)
            }
            _ => None,
        };
        of(a, b).or_else(|| of(b, a))
    }

    /// Whether EXEC and a mask have the lanes of a snapshot between them.
    pub(crate) fn make_up(&self, state: &State, mask: Id, snapshot: u32) -> bool {
        let of = |snapshot: u32| self.snapshots[snapshot as usize].exec;
        let mask = self.value_of(mask);
        let whole = mask.and_then(|mask| self.exec_values.whole(state.exec, mask));
        whole.is_some_and(|whole| of(whole) == of(snapshot))
    }

    /// The number of a mask's value.
    fn value_of(&self, mask: Id) -> Option<u32> {
        match self.arena.node(mask) {
            Node::Exec(snapshot) => Some(self.snapshots[snapshot as usize].exec),
            _ => self.exec_values.of_mask(mask),
        }
    }

    /// What EXEC has with the lanes of a mask: those of a snapshot, if that is known.
    fn made_whole(&self, state: &State, mask: Id) -> Option<u32> {
        if let Node::Exec(snapshot) = self.arena.node(mask)
            && self.is_among(state, snapshot)
        {
            return Some(snapshot);
        }
        self.exec_values.whole(state.exec, self.value_of(mask)?)
    }

    fn change(&mut self, state: &mut State, change: Change) {
        let (change, value) = self.known_change(state, change);
        let back = match change {
            Change::Narrow(_) | Change::Widen(FALSE) | Change::Leave(_) => None,
            Change::Widen(mask) | Change::Replace(mask) => Some(mask),
            Change::Differ(_) | Change::Swap(_) => Some(FALSE),
        };
        match change {
            Change::Narrow(mask) => self.park(state, mask, None),
            Change::Leave(mask) => {
                let (rest, epoch) = (self.arena.unknown(), state.epoch);
                self.park(state, rest, Some(mask));
                if let Node::Exec(own) = self.arena.node(mask)
                    && let Some(own) = self.snapshots[own as usize].epoch
                {
                    state.facts = self.came_back(state.facts, own, epoch);
                }
            }
            Change::Widen(FALSE) | Change::Differ(FALSE) => {}
            Change::Replace(FALSE) => self.park(state, FALSE, None),
            Change::Widen(mask) => {
                let since = self.origin(mask);
                let bound = self.around(state.bound, since);
                let before = state.epoch;
                self.unpark(state, since, bound);
                self.epochs.widened(before, state.epoch);
                if !self.restore(state, mask) {
                    // Some may still be off. What they hold is in what has just been joined.
                    let joined = self.snapshot(state);
                    let before = self.still_parked(state, since);
                    state.parked = self.parked.push(before, Parked::Snapshot(joined));
                }
            }
            Change::Replace(mask) => {
                let since = self.origin(mask);
                self.unpark(state, since, since);
                state.occupied = false;
                if !self.restore(state, mask) {
                    // Whoever was parked since has come back, and a list of then is no tail of what is parked now.
                    state.parked = self.still_parked(state, since);
                    self.park(state, mask, None);
                }
                if let Node::Exec(snapshot) = self.arena.node(mask) {
                    state.occupied |= self.snapshots[snapshot as usize].occupied;
                }
            }
            Change::Swap(mask) if let Some(whole) = self.made_whole(state, mask) => {
                let own = self.snapshot(state);
                let [whole, own] = [whole, own].map(|one| self.arena.intern(Node::Exec(one)));
                // Whoever is on afterwards is not now, and has nothing of what is in the registers of those that are.
                let mut others = state.clone();
                others.make_idle();
                self.change(&mut others, Change::Widen(whole));
                self.change(state, Change::Widen(whole));
                self.change(state, Change::Leave(own));
                if !others.idle {
                    state.vectors = others.vectors;
                    state.scratch = others.scratch;
                }
            }
            Change::Differ(mask) | Change::Swap(mask) => {
                let since = self.origin(mask);
                let bound = self.around(state.bound, since);
                self.unpark(state, since, bound);
                // Those that stay off are joined with those that are switched off now.
                state.parked = self.still_parked(state, since);
                let unknown = self.arena.unknown();
                self.park(state, unknown, None);
            }
        }
        state.exec = value.unwrap_or_else(|| self.exec_values.fresh());
        if let Some(mask) = back {
            state.all_active = self.are_active_again(state, mask);
        }
    }

    /// A change with what is known of EXEC's value then, and that value.
    fn known_change(&mut self, state: &State, change: Change) -> (Change, Option<u32>) {
        let of_snapshot = |walk: &Self, snapshot: u32| walk.snapshots[snapshot as usize].exec;
        let value = match change {
            Change::Narrow(_) | Change::Leave(_) => None,
            Change::Widen(FALSE) | Change::Differ(FALSE) => Some(state.exec),
            Change::Widen(mask) => {
                let Some(whole) = self.made_whole(state, mask) else {
                    return (change, None);
                };
                let mask = self.arena.intern(Node::Exec(whole));
                return (Change::Widen(mask), Some(of_snapshot(self, whole)));
            }
            Change::Replace(mask) => self.value_of(mask),
            Change::Differ(mask) => {
                let part = self.value_of(mask);
                let rest = part.and_then(|part| self.exec_values.rest(state.exec, part));
                return match rest {
                    Some(_) => (Change::Leave(mask), rest),
                    None => (change, None),
                };
            }
            Change::Swap(mask) => self
                .value_of(mask)
                .filter(|mask| self.exec_values.whole(state.exec, *mask).is_some()),
        };
        (change, value)
    }

    /// Whether what was parked at a snapshot has stayed so: no lane of it was switched on since.
    fn keeps_parked(&self, state: &State, since: u32) -> bool {
        let then = self.snapshots[since as usize].parked;
        self.parked.is_tail(then, state.parked)
    }

    /// What stays parked when all that were parked since have come back: since a snapshot, or ever. Where other lanes were on
    /// in between, the list of that time says too little, and only what both lists have stays.
    fn still_parked(&mut self, state: &State, since: Option<u32>) -> ParkedId {
        let then = since.map_or(NONE_PARKED, |since| self.snapshots[since as usize].parked);
        let mut parked = self.parked.common(state.parked, then);
        if parked == NONE_PARKED {
            return parked;
        }
        for entry in self.parked.since(state.parked, then).into_iter().rev() {
            if let Parked::Changed(changes) = entry {
                parked = self.park_changes(parked, changes);
            }
        }
        parked
    }

    /// Restores what held at a snapshot whose lanes are all active again. `false` if lanes may still be parked since then.
    fn restore(&mut self, state: &mut State, mask: Id) -> bool {
        match self.arena.node(mask) {
            Node::Exec(snapshot) => {
                let Snapshot {
                    bound, occupied, ..
                } = self.snapshots[snapshot as usize];
                state.occupied |= occupied;
                if state.bound == Some(snapshot) {
                    state.bound = bound;
                }
                let kept = self.keeps_parked(state, snapshot);
                if kept {
                    state.parked = self.still_parked(state, Some(snapshot));
                }
                kept
            }
            Node::True => {
                state.parked = NONE_PARKED;
                true
            }
            _ => false,
        }
    }

    /// Switches off what is not in a mask. `others` is the mask of those that are switched off, where it is known: it tells
    /// whence they came.
    fn park(&mut self, state: &mut State, mask: Id, others: Option<Id>) {
        let mask = self.for_active(state, mask);
        if state.idle || mask == TRUE {
            return;
        }
        let active = state.facts;
        if let Some(others) = others {
            state.facts = self.came_with(active, others, true, state.epoch);
        }
        let snapshot = self.snapshot(state);
        state.facts = active;
        state.parked = self.parked.push(state.parked, Parked::Snapshot(snapshot));
        if !Rule::SwitchingOffMakesAnEpoch.is_broken() {
            state.epoch = self.epochs.narrower(state);
        }
        state.occupied = false;
        state.all_active &= self.is_all_said(state, mask, true);
        if mask == FALSE {
            return state.make_idle();
        }
        self.assume(state, mask, true, false);
    }

    /// Adds what follows from a truth value. `scalar`: it holds for the wave.
    pub(crate) fn assume(&mut self, state: &mut State, truth: Id, holds: bool, scalar: bool) {
        self.charge(1);
        if self.exhausted() {
            return;
        }
        match self.arena.node(truth) {
            Node::Compare(..) => {
                let condition = if holds { truth } else { self.arena.not(truth) };
                state.facts = self.facts.push(&self.arena, state.facts, condition);
                if scalar {
                    state.wave = self.facts.push(&self.arena, state.wave, condition);
                }
            }
            Node::Not(inner) => self.assume(state, inner, !holds, scalar),
            Node::Both(a, b) if holds => {
                self.assume(state, a, true, scalar);
                self.assume(state, b, true, scalar);
            }
            Node::Either(a, b) if !holds => {
                self.assume(state, a, false, scalar);
                self.assume(state, b, false, scalar);
            }
            Node::Lanes(inner, epoch) if holds || self.epochs.within(state.epoch, epoch) => {
                if holds {
                    state.facts = self.active_in(state.facts, epoch, state.epoch);
                }
                self.assume(state, inner, holds, false);
            }
            Node::PartOf(..) | Node::Exec(_) if holds => {
                state.facts = self.came_with(state.facts, truth, true, state.epoch);
                if scalar {
                    state.wave = self.came_with(state.wave, truth, false, state.epoch);
                }
            }
            Node::Any(mask) if holds => self.assume_some(state, mask),
            // No active lane is in the mask.
            Node::Any(mask) => self.assume(state, mask, false, false),
            _ => {}
        }
    }

    /// Some lane is in the mask; what is the same for all lanes holds for all.
    fn assume_some(&mut self, state: &mut State, mask: Id) {
        self.charge(1);
        if self.exhausted() {
            return;
        }
        match self.arena.node(mask) {
            // One lane's comparison is not another's.
            Node::Compare(..) if self.arena.traits(mask).divergent => {}
            Node::Compare(..) | Node::PartOf(..) => self.assume(state, mask, true, true),
            Node::Lanes(inner, _) if !self.arena.traits(inner).divergent => {
                self.assume(state, inner, true, true);
            }
            Node::Lanes(inner, _) => {
                if let Node::Both(a, b) = self.arena.node(inner) {
                    self.assume_some(state, a);
                    self.assume_some(state, b);
                }
            }
            Node::Both(a, b) => {
                self.assume_some(state, a);
                self.assume_some(state, b);
            }
            _ => {}
        }
    }
}
