//! The walk over a kernel's code: every block once, in reverse post-order, calls followed in place.
//!
//! At a loop's head every register that the loop may define becomes a phi at once; the inputs from
//! the loop's ends are filled in when the walk gets there. So one pass is enough, and what a loop
//! does to a register is for the evaluation to find out.

use std::collections::BTreeSet;
use std::rc::Rc;

use strobe_code_object::{CodeObject, Kernel};
use strobe_extent::Reason;
use strobe_isa::{Class, Op, Operand};

use crate::block::{FlowError, Located, target};
use crate::epoch::Epochs;
use crate::expr::{Arena, BOTTOM, FALSE, FactId, Id, Lost, Map, Node, TRUE, ZERO};
use crate::facts::{Facts, NOTHING};
use crate::flow::{Function, Loop};
use crate::limits::AnalysisLimits;
use crate::machine::Machine;
use crate::merge::{Merges, Point, Way};
use crate::registers::{Defined, SCALARS, VCC};
use crate::site::{Load, Site};
use crate::state::{Parked, ParkedId, ParkedLists, Snapshot, State};

/// A place whose value a loop's phi stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Scalar(usize),
    Vector(usize),
    Slot(i64),
    Spill(u8, u32),
}

/// One walk through a loop.
#[derive(Debug)]
pub(crate) struct LoopRun {
    pub(crate) parent: Option<u32>,
    pub(crate) defined: Defined,
    /// [`crate::expr::Traits::loops`] bit.
    pub(crate) bit: u64,
    point: u32,
    ends: usize,
    phis: Vec<(Place, u32)>,
    /// The point whose ways are the snapshots taken in the loop, and its phis.
    pub(crate) parked_point: Option<u32>,
    pub(crate) parked_phis: Vec<(Place, u32)>,
    facts: FactId,
    wave: FactId,
    /// The lanes that came to the loop, if it is taken for granted that no others come to its head
    /// later.
    entered: Option<u32>,
    /// Masks that are taken to be part of those lanes at the head.
    masks: Vec<usize>,
    /// What was parked at the head, and what is still parked where the loop goes round.
    parked: ParkedId,
    pub(crate) carried: Vec<Parked>,
    /// The function's entry and the loop in it.
    which: (u64, usize),
}

impl LoopRun {
    /// What held before the loop holds for every lane that it switched off.
    pub(crate) fn parked_facts(&self) -> FactId {
        self.facts
    }
}

pub(crate) struct Walk<'a> {
    pub(crate) object: &'a CodeObject,
    pub(crate) kernel: &'a Kernel,
    machine: Machine,
    limits: AnalysisLimits,
    pub(crate) arena: Arena,
    pub(crate) facts: Facts,
    pub(crate) merges: Merges,
    pub(crate) loads: Vec<Load>,
    pub(crate) sites: Vec<Site>,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) parked: ParkedLists,
    pub(crate) loops: Vec<LoopRun>,
    /// Vector registers that the kernel has.
    pub(crate) vectors: usize,
    /// Innermost loop being walked.
    pub(crate) inside: Option<u32>,
    /// Some instruction names the scratch aperture: flat addresses may be scratch.
    pub(crate) scratch_escapes: bool,
    functions: Map<u64, Rc<Function>>,
    instructions: usize,
    pub(crate) epochs: Epochs,
    /// Registers of which some instruction writes one lane, be it active or parked.
    pub(crate) lane_written: BTreeSet<usize>,
    /// Some were found when lanes had been parked already: it has to be done again.
    late: bool,
    /// Loops that more lanes come to the head of than came to the loop.
    loose: Vec<(u64, usize)>,
    /// One of them, found on this walk: it has to be done again.
    broken: Option<(u64, usize)>,
}

/// Functions that one call may lead to.
const MAX_TARGETS: usize = 8;

/// Walks are done again at most so often.
const MAX_WALKS: usize = 40;

impl<'a> Walk<'a> {
    pub(crate) fn new(
        object: &'a CodeObject,
        kernel: &'a Kernel,
        machine: Machine,
        limits: &AnalysisLimits,
    ) -> Self {
        Self {
            object,
            kernel,
            machine,
            limits: *limits,
            arena: Arena::new(),
            facts: Facts::new(),
            merges: Merges::default(),
            loads: Vec::new(),
            sites: Vec::new(),
            snapshots: Vec::new(),
            parked: ParkedLists::new(),
            loops: Vec::new(),
            vectors: machine.vectors(kernel),
            inside: None,
            scratch_escapes: false,
            functions: Map::default(),
            instructions: 0,
            epochs: Epochs::new(),
            lane_written: BTreeSet::new(),
            late: false,
            loose: Vec::new(),
            broken: None,
        }
    }

    /// Walks the kernel from its entry point.
    pub(crate) fn run(&mut self) -> Result<(), Reason> {
        for _ in 0..MAX_WALKS {
            let state = self.initial();
            self.function(self.kernel.code.start, state, 0, None)?;
            if self.broken.is_none() && !self.late {
                self.fill_parked();
                self.merges.widen(&mut self.arena);
                return Ok(());
            }
            let mut again = Self::new(self.object, self.kernel, self.machine, &self.limits);
            again.functions = std::mem::take(&mut self.functions);
            again.instructions = self.instructions;
            again.loose = std::mem::take(&mut self.loose);
            again.loose.extend(self.broken);
            again.lane_written = std::mem::take(&mut self.lane_written);
            *self = again;
        }
        Err(Reason::Budget)
    }

    fn read(&mut self, entry: u64) -> Result<Rc<Function>, Reason> {
        if let Some(function) = self.functions.get(&entry) {
            return Ok(Rc::clone(function));
        }
        let function = Function::read(self.object, self.machine, entry, self.limits.instructions)
            .map_err(|error| match error {
            FlowError::Size => Reason::Budget,
            FlowError::Code => Reason::Other("code that cannot be decoded"),
            FlowError::Unsupported => Reason::Other("control flow that is not followed"),
        })?;
        for inst in function.instructions.iter().map(|located| &located.inst) {
            if inst.op == Op::v_writelane_b32
                && let Operand::Vector(register) = inst.dsts[0]
            {
                self.late |=
                    self.lane_written.insert(register.into()) && !self.snapshots.is_empty();
            }
        }
        let function = Rc::new(function);
        self.functions.insert(entry, Rc::clone(&function));
        Ok(function)
    }

    /// Walks one function; the states in which it returns to `back`.
    fn function(
        &mut self,
        entry: u64,
        state: State,
        depth: usize,
        back: Option<Id>,
    ) -> Result<Vec<State>, Reason> {
        let function = self.read(entry)?;
        let outside = self.inside;
        let mut waiting: Vec<Vec<State>> = vec![Vec::new(); function.blocks.len()];
        let mut runs: Vec<Option<u32>> = vec![None; function.loops.len()];
        let mut returns = Vec::new();
        waiting[function.order[0]].push(state);
        for &index in &function.order {
            let states = std::mem::take(&mut waiting[index]);
            if states.is_empty() {
                continue;
            }
            let block = &function.blocks[index];
            let inner = function.inner[index];
            let mut state = match block.heads {
                Some(which) => {
                    let shape = &function.loops[which];
                    self.enter(shape.parent.and_then(|parent| runs[parent]).or(outside));
                    let (run, state) = self.head(states, shape, block.back_ways, (entry, which));
                    runs[which] = Some(run);
                    state
                }
                None => self.join(states),
            };
            self.enter(inner.and_then(|inner| runs[inner]).or(outside));
            self.instructions += block.instructions.len();
            if self.instructions > self.limits.instructions
                || self.arena.len() > self.limits.expressions
            {
                return Err(Reason::Budget);
            }
            let (last, body) = match function.instructions[block.instructions.clone()].split_last()
            {
                Some(parts) => parts,
                None => continue,
            };
            for located in body {
                self.step(&mut state, located, depth)?;
            }
            let mut flow = |walk: &mut Self, to: Option<usize>, state: State| {
                let Some(to) = to else {
                    return Err(Reason::Other("code that cannot be decoded"));
                };
                if function.position[to] > function.position[index] {
                    waiting[to].push(state);
                } else if let Some(run) = function.blocks[to].heads.and_then(|which| runs[which]) {
                    walk.close(run, &state);
                }
                Ok(())
            };
            match last.inst.op.info().class {
                Class::End => {}
                Class::Branch => flow(self, block.taken, state)?,
                Class::ConditionalBranch => {
                    let mut taken = state.clone();
                    if self.branch(&mut state, last.inst.op, false) {
                        flow(self, block.next, state)?;
                    }
                    if self.branch(&mut taken, last.inst.op, true) {
                        flow(self, block.taken, taken)?;
                    }
                }
                Class::Jump => {
                    let to = self.scalar64(&state, last.inst.srcs[0]);
                    if back != Some(to) {
                        return Err(Reason::UnresolvedCall);
                    }
                    returns.push(state);
                }
                _ => {
                    self.step(&mut state, last, depth)?;
                    flow(self, block.next, state)?;
                }
            }
        }
        self.enter(outside);
        Ok(returns)
    }

    /// The walk goes on in this loop.
    fn enter(&mut self, inside: Option<u32>) {
        if self.inside == inside {
            return;
        }
        self.inside = inside;
        self.arena.inside = 0;
        let mut at = inside;
        while let Some(run) = at {
            self.arena.inside |= self.loops[run as usize].bit;
            at = self.loops[run as usize].parent;
        }
    }

    fn step(&mut self, state: &mut State, located: &Located, depth: usize) -> Result<(), Reason> {
        if located.inst.op.info().class == Class::Call {
            return self.call(state, located, depth);
        }
        self.instruction(state, located);
        Ok(())
    }

    fn call(&mut self, state: &mut State, located: &Located, depth: usize) -> Result<(), Reason> {
        if depth >= self.limits.calls {
            return Err(Reason::Budget);
        }
        let entries = if located.inst.op == Op::s_call_b64 {
            vec![target(located)]
        } else {
            let address = self.scalar64(state, located.inst.srcs[0]);
            let mut entries = Vec::new();
            if !self.targets(address, &mut entries) {
                return Err(Reason::UnresolvedCall);
            }
            entries
        };
        let back = located.pc + u64::from(located.inst.size);
        let back = self.arena.intern(Node::Image(back));
        if let Operand::Scalar(register) = located.inst.dsts[0] {
            self.set_scalar64(state, register, back);
        }
        let mut returns = Vec::new();
        for entry in entries {
            returns.extend(self.function(entry, state.clone(), depth + 1, Some(back))?);
        }
        if returns.is_empty() {
            // It ends the program; what follows is not reached.
            state.make_idle();
            return Ok(());
        }
        *state = self.join(returns);
        Ok(())
    }

    /// Every function that a pointer may point to; `false` if they are not all known.
    fn targets(&self, address: Id, found: &mut Vec<u64>) -> bool {
        match self.arena.node(address) {
            Node::Image(entry) => {
                if !found.contains(&entry) {
                    found.push(entry);
                }
                found.len() <= MAX_TARGETS
            }
            Node::Select64(_, a, b) => self.targets(a, found) && self.targets(b, found),
            Node::Lane64(inner, ..) => self.targets(inner, found),
            _ => false,
        }
    }

    /// What a branch tells on one of its ways; `false` if that way is never taken.
    fn branch(&mut self, state: &mut State, op: Op, taken: bool) -> bool {
        let (truth, holds) = match op {
            Op::s_cbranch_execz | Op::s_cbranch_execnz => {
                let empty = (op == Op::s_cbranch_execz) == taken;
                if state.idle && !empty {
                    return false;
                }
                if empty {
                    state.make_idle();
                } else {
                    state.occupied = true;
                }
                return true;
            }
            Op::s_cbranch_scc0 | Op::s_cbranch_scc1 => {
                (state.scc, (op == Op::s_cbranch_scc1) == taken)
            }
            Op::s_cbranch_vccz | Op::s_cbranch_vccnz => {
                let Some(mask) = self.mask(state, Operand::Scalar(VCC as u8)) else {
                    return true;
                };
                (self.arena.any(mask), (op == Op::s_cbranch_vccnz) == taken)
            }
            _ => return true,
        };
        match (truth, holds) {
            (TRUE, false) | (FALSE, true) => false,
            _ if !holds && self.holds_active(state, truth) => {
                // Every active lane is in the mask: there is none.
                state.make_idle();
                true
            }
            _ => {
                self.assume(state, truth, holds, true);
                true
            }
        }
    }

    /// "Some lane is in the mask", of a mask that every active lane is in.
    fn holds_active(&self, state: &State, truth: Id) -> bool {
        match self.arena.node(truth) {
            Node::Any(mask) => self.for_active(state, mask) == TRUE,
            _ => false,
        }
    }

    /// The state at a loop's head.
    fn head(
        &mut self,
        states: Vec<State>,
        shape: &Loop,
        ends: usize,
        which: (u64, usize),
    ) -> (u32, State) {
        let run = self.loops.len() as u32;
        let bit = 1 << (run % 64);
        let (mut facts, wave) = self.meet(&states);
        // Lanes will come to the head that never came to the loop: of them is known what holds for the
        // wave, and any register may be another one's.
        let loose = shape.masks && self.loose.contains(&which);
        if loose {
            facts = wave;
        }
        let mut ways: Vec<Way> = states
            .iter()
            .map(|s| Way {
                facts: s.facts,
                wave: s.wave,
                back: false,
                taken: true,
                occupied: false,
            })
            .collect();
        ways.extend((0..ends).map(|_| Way {
            facts: NOTHING,
            wave: NOTHING,
            back: true,
            taken: false,
            occupied: false,
        }));
        let point = self.merges.point(Point {
            ways,
            facts,
            wave,
            loops: bit,
        });
        let none = vec![BOTTOM; ends];
        let parked = self.arena.opaque(Lost::Arithmetic);
        let mut state = states[0].clone();
        state.scalars = self.join_registers(&states, point, false, SCALARS, |s| &s.scalars, &none);
        state.vectors =
            self.join_registers(&states, point, true, self.vectors, |s| &s.vectors, &none);
        state.scratch = Rc::new(self.join_slots(&states, point, ends));
        self.join_rest(&mut state, &states, point, ends);
        state.idle = states.iter().all(|state| state.idle);
        (state.facts, state.wave) = (facts, wave);
        let entered = (!loose).then(|| self.snapshot(&state));
        let mut phis = Vec::new();
        let mut phi = |walk: &mut Self, place: Place, scalar: bool, inputs: Vec<Id>| {
            let mut inputs = inputs;
            inputs.extend(&none);
            let id = walk.merges.phi(&mut walk.arena, point, inputs, scalar, bit);
            phis.push((place, walk.merges.phis.len() as u32 - 1));
            id
        };
        let mut masks = Vec::new();
        let scalars = Rc::make_mut(&mut state.scalars);
        let mut register = 0;
        while register < SCALARS {
            let defined = |register: usize| shape.defined.scalar(register);
            // Masks of lanes that have left the loop are empty at first.
            if let Some(entered) = entered
                && register + 1 < SCALARS
                && shape.masks
                && defined(register)
                && defined(register + 1)
                && states
                    .iter()
                    .all(|s| s.scalars[register..register + 2] == [ZERO, ZERO])
                && shape.keeps_mask(register)
            {
                let unique = self.arena.unique();
                let mask = self.arena.intern(Node::PartOf(entered, unique));
                scalars[register] = self.arena.intern(Node::Mask(mask, false));
                scalars[register + 1] = self.arena.intern(Node::Mask(mask, true));
                masks.push(register);
                register += 2;
                continue;
            }
            if defined(register) {
                let inputs = states.iter().map(|s| s.scalars[register]).collect();
                scalars[register] = phi(self, Place::Scalar(register), true, inputs);
            }
            register += 1;
        }
        let vectors = Rc::make_mut(&mut state.vectors);
        for register in (0..self.vectors).filter(|&v| loose || shape.defined.vector(v)) {
            let inputs = states.iter().map(|s| match s.vectors[register] {
                // With no lane active, lane 0 is read: it is parked, and holds something.
                BOTTOM if s.idle => parked,
                value => value,
            });
            vectors[register] = phi(self, Place::Vector(register), false, inputs.collect());
        }
        if shape.scratch || loose {
            let slots = Rc::make_mut(&mut state.scratch);
            for (offset, value) in slots {
                let inputs = states
                    .iter()
                    .map(|s| s.scratch.get(offset).copied().unwrap_or(BOTTOM));
                *value = phi(self, Place::Slot(*offset), false, inputs.collect());
            }
        }
        for ((register, lane), value) in Rc::make_mut(&mut state.spills) {
            if shape.defined.vector((*register).into()) {
                let inputs = states
                    .iter()
                    .map(|s| s.spills.get(&(*register, *lane)).copied());
                let inputs = inputs.map(|value| value.unwrap_or(BOTTOM)).collect();
                *value = phi(self, Place::Spill(*register, *lane), true, inputs);
            }
        }
        state.scc = self.arena.unknown();
        state.bound = if shape.masks { entered } else { state.bound };
        state.epoch = self.epochs.unrelated(state.bound);
        state.idle = false;
        // Whether some are at the loop's end is not known yet.
        state.occupied &= !shape.masks;
        let parked = state.parked;
        if shape.masks {
            state.parked = self.parked.push(state.parked, Parked::Loop(run));
        }
        self.loops.push(LoopRun {
            parent: self.inside,
            defined: if loose { Defined::ALL } else { shape.defined },
            bit,
            point,
            ends: states.len(),
            phis,
            parked_point: None,
            parked_phis: Vec::new(),
            facts,
            wave,
            entered: if shape.masks { entered } else { None },
            masks,
            parked,
            carried: Vec::new(),
            which,
        });
        (run, state)
    }

    /// A way from a loop's end back to its head.
    fn close(&mut self, run: u32, state: &State) {
        let lost = self.arena.opaque(Lost::Scratch);
        self.check_lanes(run, state);
        let run = &mut self.loops[run as usize];
        for entry in self.parked.since(state.parked, run.parked) {
            if !run.carried.contains(&entry) {
                run.carried.push(entry);
            }
        }
        let way = run.ends;
        run.ends += 1;
        if let Some(way) = self.merges.points[run.point as usize].ways.get_mut(way) {
            *way = Way {
                facts: state.facts,
                wave: state.wave,
                back: true,
                taken: true,
                occupied: state.occupied,
            };
        }
        for &(place, phi) in &run.phis {
            let value = match place {
                Place::Scalar(register) => state.scalars[register],
                Place::Vector(register) => state.vectors[register],
                Place::Slot(_) if state.idle => BOTTOM,
                Place::Slot(offset) => state.scratch.get(&offset).copied().unwrap_or(lost),
                Place::Spill(register, lane) => {
                    state.spills.get(&(register, lane)).copied().unwrap_or(lost)
                }
            };
            if let Some(input) = self.merges.phis[phi as usize].inputs.get_mut(way) {
                *input = value;
            }
        }
    }

    /// What was taken for granted at a loop's head must be true where the loop goes round.
    fn check_lanes(&mut self, run: u32, state: &State) {
        let run = &self.loops[run as usize];
        let Some(entered) = run.entered else { return };
        let (which, masks) = (run.which, run.masks.clone());
        let mut holds = state.idle
            || state
                .bound
                .is_some_and(|bound| self.inside_of(bound, entered));
        for register in masks {
            holds &= match self.mask(state, Operand::Scalar(register as u8)) {
                None => false,
                Some(FALSE) => true,
                Some(mask) => self
                    .origin(mask)
                    .is_some_and(|origin| self.inside_of(origin, entered)),
            };
        }
        if !holds {
            self.broken = Some(which);
        }
    }

    /// Whether the lanes of a snapshot are among those of another.
    pub(crate) fn inside_of(&self, snapshot: u32, other: u32) -> bool {
        let mut at = Some(snapshot);
        while let Some(here) = at {
            if here == other {
                return true;
            }
            at = self.snapshots[here as usize].bound;
        }
        false
    }

    /// A snapshot whose lanes contain those of both.
    pub(crate) fn around(&self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        let (mut a, b) = (a, b?);
        while let Some(here) = a {
            if self.inside_of(b, here) {
                return a;
            }
            a = self.snapshots[here as usize].bound;
        }
        None
    }

    pub(crate) fn snapshot(&mut self, state: &State) -> u32 {
        self.snapshots.push(Snapshot {
            vectors: Rc::clone(&state.vectors),
            scratch: Rc::clone(&state.scratch),
            facts: state.facts,
            inside: self.inside,
            parked: state.parked,
            bound: state.bound,
            idle: state.idle,
            occupied: state.occupied,
        });
        self.snapshots.len() as u32 - 1
    }

    /// Whether the loop `run` is `inside` or around it.
    pub(crate) fn within(&self, mut inside: Option<u32>, run: u32) -> bool {
        while let Some(at) = inside {
            if at == run {
                return true;
            }
            inside = self.loops[at as usize].parent;
        }
        false
    }

    /// The value of a place in the lanes that were switched off in earlier iterations of a loop.
    pub(crate) fn parked_in_loop(&mut self, run: u32, place: Place) -> Id {
        let (facts, wave) = (
            self.loops[run as usize].facts,
            self.loops[run as usize].wave,
        );
        let point = match self.loops[run as usize].parked_point {
            Some(point) => point,
            None => {
                let point = self.merges.point(Point {
                    ways: Vec::new(),
                    facts,
                    wave,
                    loops: 0,
                });
                self.loops[run as usize].parked_point = Some(point);
                point
            }
        };
        let known = &self.loops[run as usize].parked_phis;
        if let Some((_, phi)) = known.iter().find(|(known, _)| *known == place) {
            return self.arena.phi(*phi);
        }
        let bit = self.loops[run as usize].bit;
        let id = self
            .merges
            .phi(&mut self.arena, point, Vec::new(), false, bit);
        let phi = self.merges.phis.len() as u32 - 1;
        self.loops[run as usize].parked_phis.push((place, phi));
        id
    }

    /// Snapshots still parked when the loop goes round.
    fn carried(&self, run: u32) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut loops = vec![run];
        let mut at = 0;
        while let Some(&run) = loops.get(at) {
            at += 1;
            for entry in &self.loops[run as usize].carried {
                match *entry {
                    Parked::Snapshot(snapshot) if !found.contains(&(snapshot as usize)) => {
                        found.push(snapshot as usize);
                    }
                    Parked::Loop(inner) if !loops.contains(&inner) => loops.push(inner),
                    _ => {}
                }
            }
        }
        found.retain(|&snapshot| !self.snapshots[snapshot].idle);
        found
    }

    /// When the walk is over, all snapshots of each loop are known.
    fn fill_parked(&mut self) {
        let lost = self.arena.opaque(Lost::Scratch);
        for run in 0..self.loops.len() {
            let Some(point) = self.loops[run].parked_point else {
                continue;
            };
            let taken = self.carried(run as u32);
            let ways = taken.iter().map(|&s| {
                let facts = self.snapshots[s].facts;
                Way {
                    facts,
                    wave: NOTHING,
                    back: false,
                    taken: true,
                    occupied: false,
                }
            });
            self.merges.points[point as usize].ways = ways.collect();
            for &(place, phi) in &self.loops[run].parked_phis {
                let values = taken.iter().map(|&s| {
                    let snapshot = &self.snapshots[s];
                    match place {
                        Place::Vector(register) => snapshot.vectors[register],
                        Place::Slot(offset) => {
                            snapshot.scratch.get(&offset).copied().unwrap_or(lost)
                        }
                        Place::Scalar(_) | Place::Spill(..) => ZERO,
                    }
                });
                self.merges.phis[phi as usize].inputs = values.collect();
            }
        }
    }
}
