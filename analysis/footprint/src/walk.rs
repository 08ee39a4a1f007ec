//! The walk over a kernel's code: every block once, in reverse post-order, calls followed in place.
//!
//! At a loop's head every register that the loop may define becomes a phi at once; the inputs from
//! the loop's ends are filled in when the walk gets there. So one pass is enough, and what a loop
//! does to a register is for the evaluation to find out.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use strobe_code_object::{CodeObject, Kernel};
use strobe_extent::Reason;
use strobe_isa::{Class, Op, Operand};

use crate::asked::Asked;
use crate::block::{Exit, FlowError, Located, target};
use crate::epoch::Epochs;
use crate::exec_values::ExecValues;
use crate::expr::{Arena, BOTTOM, FALSE, FactId, Id, Map, Node, TRUE};
use crate::facts::Facts;
use crate::flow::{Function, Jumps};
use crate::indexed::{Indexed, Reaches};
use crate::limits::AnalysisLimits;
use crate::loop_run::LoopRun;
use crate::machine::Machine;
use crate::merge::Merges;
use crate::paths::Paths;
use crate::preload;
use crate::premises::{Elsewhere, Premises};
use crate::registers::{VCC, vector_number};
use crate::rounding::Rounding;
use crate::site::{Load, Visit};
use crate::state::{ParkedLists, Snapshot, State};
use crate::whole::Changes;

pub(crate) struct Walk<'a> {
    pub(crate) object: &'a CodeObject,
    pub(crate) kernel: &'a Kernel,
    pub(crate) machine: Machine,
    limits: AnalysisLimits,
    pub(crate) arena: Arena,
    pub(crate) facts: Facts,
    pub(crate) merges: Merges,
    pub(crate) loads: Vec<Load>,
    pub(crate) visits: Vec<Visit>,
    /// The instruction that the walk is at.
    pub(crate) pc: u64,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) parked: ParkedLists,
    pub(crate) changes: Vec<Changes>,
    pub(crate) loops: Vec<LoopRun>,
    /// Vector registers that the kernel has.
    pub(crate) vectors: usize,
    /// Innermost loop being walked.
    pub(crate) inside: Option<u32>,
    /// Some instruction names the scratch aperture: flat addresses may be scratch.
    pub(crate) scratch_escapes: bool,
    /// Of what may meet at the point that the walk is at, what somebody asks for.
    pub(crate) asked: Asked,
    functions: Map<u64, Rc<Function>>,
    instructions: usize,
    /// What [`Walk::spent`] does not see in what there is, and what earlier walks have spent.
    steps: Cell<usize>,
    pub(crate) epochs: Epochs,
    pub(crate) exec_values: ExecValues,
    pub(crate) paths: Paths,
    /// Registers of which some instruction writes one lane, be it active or parked.
    pub(crate) lane_written: BTreeSet<usize>,
    /// Some were found when lanes had been parked already: it has to be done again.
    late: bool,
    pub(crate) premises: Premises,
    pub(crate) elsewhere: Elsewhere,
    /// Accesses of scratch at offsets that are no constants, and how far they are known to get.
    pub(crate) indexed: Vec<Indexed>,
    pub(crate) reaches: Reaches,
    /// Jumps by registers to one address of the image: branches.
    jumps: Jumps,
    /// Some were found on this walk: they are not in the graph yet, and it has to be done again.
    new_jumps: bool,
    pub(crate) rounding: Rounding,
}

/// States at a block's end, by where they go on.
#[derive(Default)]
struct Left {
    next: Vec<State>,
    taken: Vec<State>,
    returns: Vec<State>,
}

/// Functions that one call may lead to.
const MAX_TARGETS: usize = 16;

const NO_CODE: Reason = Reason::Other("code that cannot be decoded");
const ROUNDED_OTHERWISE: Reason = Reason::Other("floats that are rounded otherwise");
const NOT_FOLLOWED: Reason = Reason::Other("control flow that is not followed");

/// What the parts of a walk cost, in [`AnalysisLimits::steps`]: measured, on the kernels of whole
/// libraries.
const STEPS_PER_WORD: usize = 10;
const STEPS_PER_INSTRUCTION: usize = 25;
const STEPS_PER_EXPRESSION: usize = 10;
const STEPS_PER_INPUT: usize = 1;
const STEPS_PER_SNAPSHOT: usize = 50;

/// What comes up on the walk through a function: of most kernels.
const NODES_PER_INSTRUCTION: usize = 2;

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
            visits: Vec::new(),
            pc: kernel.code.start,
            snapshots: Vec::new(),
            parked: ParkedLists::new(),
            changes: Vec::new(),
            loops: Vec::new(),
            vectors: machine.vectors(kernel),
            inside: None,
            scratch_escapes: false,
            asked: Asked::ALL,
            functions: Map::default(),
            instructions: 0,
            steps: Cell::new(0),
            epochs: Epochs::new(),
            exec_values: ExecValues::default(),
            paths: Paths::new(),
            lane_written: BTreeSet::new(),
            late: false,
            premises: Premises::default(),
            elsewhere: Elsewhere::default(),
            indexed: Vec::new(),
            reaches: Reaches::anywhere(),
            jumps: Jumps::default(),
            new_jumps: false,
            rounding: Rounding::default(),
        }
    }

    /// Walks the kernel from its entry point.
    pub(crate) fn run(&mut self) -> Result<(), Reason> {
        for _ in 0..MAX_WALKS {
            let entries = preload::entries(self.object, self.kernel, self.machine);
            let state = self.initial(entries.is_preloaded);
            let other = entries.other.map(|other| {
                let mut state = state.clone();
                self.preload(&mut state);
                (other, state)
            });
            self.function(entries.first, state, other, 0, None)?;
            if self.premises.held() && !self.late && !self.new_jumps {
                self.fill_parked();
                self.check_parked();
                self.check_elsewhere();
            }
            if self.premises.held() && !self.late && !self.new_jumps {
                self.merges.widen(&mut self.arena);
                return if self.exhausted() {
                    Err(Reason::Budget)
                } else if self.rounding.is_broken() {
                    Err(ROUNDED_OTHERWISE)
                } else {
                    Ok(())
                };
            }
            let mut again = Self::new(self.object, self.kernel, self.machine, &self.limits);
            if !self.new_jumps {
                again.functions = std::mem::take(&mut self.functions);
            }
            again.jumps = std::mem::take(&mut self.jumps);
            again.reaches = std::mem::replace(&mut self.reaches, Reaches::anywhere());
            again.arena.reserve(self.arena.len());
            again.merges.reserve(self.merges.phis.len());
            again.instructions = self.instructions;
            again.pc = self.pc;
            again.steps.set(self.spent());
            again.premises = std::mem::take(&mut self.premises).left();
            again.lane_written = std::mem::take(&mut self.lane_written);
            *self = again;
        }
        Err(Reason::Budget)
    }

    fn read(&mut self, entry: u64) -> Result<Rc<Function>, Reason> {
        if let Some(function) = self.functions.get(&entry) {
            return Ok(Rc::clone(function));
        }
        let limit = self.limits.instructions;
        let function = Function::read(self.object, self.machine, entry, &self.jumps, limit);
        let function = function.map_err(|error| {
            self.pc = entry;
            match error {
                FlowError::Size => Reason::Budget,
                FlowError::Code => NO_CODE,
                FlowError::Irreducible => NOT_FOLLOWED,
            }
        })?;
        self.charge(STEPS_PER_WORD * function.instructions.len());
        self.arena
            .reserve(NODES_PER_INSTRUCTION * function.instructions.len());
        for inst in function.instructions.iter().map(|located| &located.inst) {
            // Matrices are multiplied in all lanes, be they active or not.
            if (inst.op == Op::v_writelane_b32 || inst.op.info().class == Class::Matrix)
                && let Some(register) = vector_number(inst.dsts[0])
            {
                let count = usize::from(inst.dst_dwords(0));
                self.note_lanes_written(register..register + count);
            }
        }
        let function = Rc::new(function);
        self.functions.insert(entry, Rc::clone(&function));
        Ok(function)
    }

    /// Some instruction writes one lane of such registers.
    pub(crate) fn note_lanes_written(&mut self, registers: Range<usize>) {
        // The first is of the entry.
        let parked = self.snapshots.len() > 1;
        for register in registers {
            self.late |= self.lane_written.insert(register) && parked;
        }
    }

    /// Walks one function, be it with another entry in it; the states in which it returns to `back`.
    fn function(
        &mut self,
        entry: u64,
        state: State,
        other: Option<(u64, State)>,
        depth: usize,
        back: Option<Id>,
    ) -> Result<Vec<State>, Reason> {
        let function = self.read(entry)?;
        let outside = self.inside;
        let mut waiting: Vec<Vec<State>> = vec![Vec::new(); function.blocks.len()];
        let mut runs: Vec<Option<u32>> = vec![None; function.loops.len()];
        let mut returns = Vec::new();
        waiting[function.order[0]].push(state);
        if let Some((entry, state)) = other {
            let block = function.at(entry).filter(|&block| {
                let place = function.position.get(block);
                place.is_some_and(|&place| place < function.order.len())
            });
            waiting[block.ok_or(NOT_FOLLOWED)?].push(state);
        }
        for &index in &function.order {
            let states = std::mem::take(&mut waiting[index]);
            if states.is_empty() {
                continue;
            }
            let block = &function.blocks[index];
            let inner = function.inner[index];
            self.asked = function.asked.at(index);
            let apart = match block.heads {
                Some(which) => {
                    let shape = &function.loops[which];
                    let head = function.instructions[block.instructions.start].pc;
                    self.enter(shape.parent.and_then(|parent| runs[parent]).or(outside));
                    let (run, state) = self.head(states, shape, block.back_ways, (entry, head));
                    runs[which] = Some(run);
                    vec![state]
                }
                None => {
                    self.enter(inner.and_then(|inner| runs[inner]).or(outside));
                    self.apart(&function, index, states)
                }
            };
            self.enter(inner.and_then(|inner| runs[inner]).or(outside));
            self.asked = Asked::ALL;
            let mut left = Left::default();
            for state in apart {
                self.block(&function, index, state, depth, back, &mut left)?;
            }
            returns.append(&mut left.returns);
            for (to, states) in [(block.next, left.next), (block.taken, left.taken)] {
                if states.is_empty() {
                    continue;
                }
                let Some(to) = to else {
                    return Err(NO_CODE);
                };
                if function.position[to] > function.position[index] {
                    waiting[to].extend(states);
                } else if let Some(run) = function.blocks[to].heads.and_then(|which| runs[which]) {
                    self.asked = function.asked.at(to);
                    let state = self.join(states);
                    self.close(run, &state);
                }
            }
        }
        self.enter(outside);
        Ok(returns)
    }

    /// Walks one block.
    fn block(
        &mut self,
        function: &Function,
        index: usize,
        mut state: State,
        depth: usize,
        back: Option<Id>,
        left: &mut Left,
    ) -> Result<(), Reason> {
        let block = &function.blocks[index];
        self.instructions += block.instructions.len();
        self.charge(STEPS_PER_INSTRUCTION * block.instructions.len());
        if self.instructions > self.limits.instructions {
            return Err(Reason::Budget);
        }
        let instructions = &function.instructions[block.instructions.clone()];
        let Some((last, body)) = instructions.split_last() else {
            return Ok(());
        };
        let mut behind = function.asked.behind(index).iter().peekable();
        for (at, located) in (block.instructions.start..).zip(body) {
            if let Some((_, asked)) = behind.next_if(|(write, _)| *write == at) {
                self.asked = *asked;
            }
            if !self.step(&mut state, located, depth)? {
                return Ok(());
            }
        }
        self.asked = behind.next().map_or(Asked::ALL, |(_, asked)| *asked);
        self.pc = last.pc;
        match Exit::of(&last.inst) {
            Exit::End => {}
            Exit::Unsupported => return Err(NOT_FOLLOWED),
            Exit::Branch => left.taken.push(state),
            Exit::ConditionalBranch => {
                let before = state.clone();
                let mut taken = state.clone();
                let both = [
                    self.branch(&mut state, last.inst.op, false),
                    self.branch(&mut taken, last.inst.op, true),
                ];
                if both == [true; 2] {
                    self.part(&before, last.inst.op, [&mut state, &mut taken]);
                }
                left.next.extend(both[0].then_some(state));
                left.taken.extend(both[1].then_some(taken));
            }
            Exit::Jump => {
                let to = self.scalar64(&state, last.inst.srcs[0]);
                if back == Some(to) {
                    left.returns.push(state);
                } else if self.jump(last.pc, to)? {
                    left.taken.push(state);
                }
            }
            Exit::Next => {
                if self.step(&mut state, last, depth)? {
                    left.next.push(state);
                }
            }
        }
        Ok(())
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

    /// A jump that is no return: whether the graph has it as the branch that it is.
    fn jump(&mut self, pc: u64, to: Id) -> Result<bool, Reason> {
        let Node::Image(target) = self.arena.node(to) else {
            return Err(Reason::UnresolvedCall);
        };
        match self.jumps.get(&pc) {
            Some(known) if *known == target => Ok(true),
            // With the first target in the graph, another one has turned up.
            Some(_) => Err(Reason::UnresolvedCall),
            None => {
                self.jumps.insert(pc, target);
                self.new_jumps = true;
                Ok(false)
            }
        }
    }

    /// Whether the next instruction is reached.
    fn step(&mut self, state: &mut State, located: &Located, depth: usize) -> Result<bool, Reason> {
        self.pc = located.pc;
        if self.exhausted() {
            return Err(Reason::Budget);
        }
        if located.inst.op.info().class == Class::Call {
            return self.call(state, located, depth);
        }
        self.instruction(state, located);
        Ok(true)
    }

    fn call(&mut self, state: &mut State, located: &Located, depth: usize) -> Result<bool, Reason> {
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
            returns.extend(self.function(entry, state.clone(), None, depth + 1, Some(back))?);
        }
        if returns.is_empty() {
            // It ends the program.
            return Ok(false);
        }
        self.asked = Asked::ALL;
        *state = self.join(returns);
        Ok(true)
    }

    /// Every function that a pointer may point to; `false` if they are not all known.
    fn targets(&mut self, address: Id, found: &mut Vec<u64>) -> bool {
        match self.arena.node(address) {
            Node::Phi64(low, high) => {
                let pairs = self.merges.whole_inputs(low, high);
                let pairs = pairs
                    .into_iter()
                    .map(|(low, high)| self.arena.pair(low, high));
                let mut wholes: Vec<Id> = pairs.collect();
                wholes.retain(|whole| *whole != BOTTOM);
                !wholes.is_empty() && wholes.into_iter().all(|whole| self.targets(whole, found))
            }
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
                if (state.idle && !empty) || (state.occupied && empty) {
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
                let possible = !state.occupied;
                state.make_idle();
                possible
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

    pub(crate) fn charge(&self, steps: usize) {
        self.steps.update(|spent| spent.saturating_add(steps));
    }

    /// Steps of [`AnalysisLimits::steps`] so far.
    pub(crate) fn spent(&self) -> usize {
        let made = STEPS_PER_EXPRESSION * self.arena.len()
            + STEPS_PER_INPUT * self.merges.brought
            + STEPS_PER_SNAPSHOT * self.snapshots.len();
        let followed = self.parked.steps.get() + self.epochs.steps.get();
        self.steps.get().saturating_add(made + followed)
    }

    /// Whether a limit is reached: what is found from there on does not count.
    pub(crate) fn exhausted(&self) -> bool {
        self.arena.len() > self.limits.expressions || self.spent() > self.limits.steps
    }

    /// What two chains of facts have in common.
    pub(crate) fn common(&self, a: FactId, b: FactId) -> FactId {
        let common = self.facts.common(a, b);
        self.charge(self.facts.apart(a, b, common));
        common
    }

    /// Whether the lanes of a snapshot are among those of another: it, one around it, or one of the same value
    /// of EXEC.
    pub(crate) fn inside_of(&self, snapshot: u32, other: u32) -> bool {
        let exec = self.snapshots[other as usize].exec;
        let mut at = Some(snapshot);
        while let Some(here) = at {
            self.charge(1);
            let Snapshot {
                exec: lanes, bound, ..
            } = self.snapshots[here as usize];
            if here == other || lanes == exec {
                return true;
            }
            at = bound;
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
            exec: state.exec,
            epoch: Some(state.epoch),
            inside: self.inside,
            parked: state.parked,
            bound: state.bound,
            idle: state.idle,
            occupied: state.occupied,
            all_active: state.all_active,
        });
        self.snapshots.len() as u32 - 1
    }
}
