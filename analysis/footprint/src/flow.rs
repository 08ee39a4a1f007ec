//! Control flow of one function: instructions, blocks, loops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use strobe_code_object::CodeObject;
use strobe_isa::scalar_register::EXEC;
use strobe_isa::{Class, Flags, Inst, Op, Operand, Space};

use crate::asked::AskedFor;
use crate::block::{Block, Exit, FlowError, Located, target};
use crate::broken::Rule;
use crate::expr::Map;
use crate::machine::Machine;
use crate::reducible::make_reducible;
use crate::registers::Defined;

/// Whether lanes that were switched off are on again: `s_or_b64 exec, exec, s[..]`.
fn switches_on(inst: &Inst) -> bool {
    inst.op == Op::s_or_b64
        && inst.dsts[0] == Operand::Scalar(EXEC)
        && inst.srcs[..2].contains(&Operand::Scalar(EXEC))
}

/// What happens somewhere in a loop.
#[derive(Debug, Default)]
pub(crate) struct Loop {
    pub(crate) defined: Defined,
    pub(crate) calls: bool,
    pub(crate) scratch: bool,
    /// Switches lanes on or off.
    pub(crate) masks: bool,
    /// Switches lanes off where it goes round.
    pub(crate) narrows: bool,
    /// Scalar registers that bitwise 64-bit logic defines.
    logic: Vec<bool>,
    pub(crate) blocks: Vec<usize>,
    /// The next loop around it in this function.
    pub(crate) parent: Option<usize>,
}

impl Loop {
    /// Whether the loop collects lanes in a pair of scalar registers.
    pub(crate) fn keeps_mask(&self, register: usize) -> bool {
        self.logic.get(register).copied().unwrap_or(false)
    }
}

/// Instructions looked at for loops, for each that a function may have.
const LOOP_WORK: usize = 4;

/// Where jumps by registers lead, by the address of the jump.
pub(crate) type Jumps = Map<u64, u64>;

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) instructions: Vec<Located>,
    pub(crate) blocks: Vec<Block>,
    /// Reverse post-order: every block after all that lead to it, but for the ends of loops.
    pub(crate) order: Vec<usize>,
    /// Position of each block in `order`.
    pub(crate) position: Vec<usize>,
    pub(crate) loops: Vec<Loop>,
    /// Innermost loop of each block.
    pub(crate) inner: Vec<Option<usize>>,
    pub(crate) asked: AskedFor,
}

impl Function {
    /// `jumps` are the targets that jumps by registers are known to have.
    pub(crate) fn read(
        object: &CodeObject,
        machine: Machine,
        entry: u64,
        jumps: &Jumps,
        limit: usize,
    ) -> Result<Self, FlowError> {
        let instructions = reach(object, machine, entry, jumps, limit)?;
        let mut function = split(instructions, entry, jumps);
        let first = function.at(entry).ok_or(FlowError::Code)?;
        function.sort(first);
        if !function.find_loops(limit)? {
            let instructions = &function.instructions;
            let restores = |at: usize| switches_on(&instructions[at].inst);
            make_reducible(&mut function.blocks, first, limit, restores)?;
            function.sort(first);
            if !function.find_loops(limit)? {
                return Err(FlowError::Irreducible);
            }
        }
        let Self {
            instructions,
            blocks,
            order,
            ..
        } = &function;
        function.asked = AskedFor::of(instructions, blocks, order);
        Ok(function)
    }

    /// The block that begins there.
    pub(crate) fn at(&self, pc: u64) -> Option<usize> {
        let after = self
            .blocks
            .partition_point(|block| self.instructions[block.instructions.start].pc <= pc);
        let index = after.checked_sub(1)?;
        (self.instructions[self.blocks[index].instructions.start].pc == pc).then_some(index)
    }

    pub(crate) fn successors(&self, block: usize) -> [Option<usize>; 2] {
        [self.blocks[block].next, self.blocks[block].taken]
    }

    fn sort(&mut self, entry: usize) {
        let count = self.blocks.len();
        let mut seen = vec![false; count];
        let mut stack = vec![(entry, 0)];
        seen[entry] = true;
        let mut order = Vec::with_capacity(count);
        while let Some((block, way)) = stack.last_mut() {
            let block = *block;
            match self.successors(block).get(*way) {
                Some(next) => {
                    *way += 1;
                    if let Some(next) = *next
                        && !seen[next]
                    {
                        seen[next] = true;
                        stack.push((next, 0));
                    }
                }
                None => {
                    order.push(block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        let mut position = vec![usize::MAX; count];
        for (at, block) in order.iter().enumerate() {
            position[*block] = at;
        }
        (self.order, self.position) = (order, position);
    }

    /// A way to a block that stands earlier in the order closes a loop; its body is all that leads to
    /// the end without passing the head. `false` if a body is entered beside its head: then the head
    /// says nothing of what is in the loop.
    fn find_loops(&mut self, limit: usize) -> Result<bool, FlowError> {
        let mut work = 0;
        self.loops.clear();
        for block in &mut self.blocks {
            (block.back_ways, block.heads) = (0, None);
        }
        let mut ends: Map<usize, Vec<usize>> = Map::default();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for &block in &self.order {
            let [next, taken] = self.successors(block);
            // A branch that leads to the next block is two ways there: one may have lanes, the other none.
            for to in [next, taken].into_iter().flatten() {
                before[to].push(block);
                if self.position[to] <= self.position[block] {
                    ends.entry(to).or_default().push(block);
                }
            }
        }
        let mut heads: Vec<usize> = ends.keys().copied().collect();
        heads.sort_unstable();
        for head in heads {
            let mut body = vec![false; self.blocks.len()];
            body[head] = true;
            let mut stack = ends[&head].clone();
            let mut found = Loop {
                blocks: vec![head],
                logic: vec![false; 256],
                ..Loop::default()
            };
            while let Some(block) = stack.pop() {
                if !body[block] {
                    if self.position[block] < self.position[head]
                        && !Rule::LoopsHaveManyEntries.is_broken()
                    {
                        return Ok(false);
                    }
                    body[block] = true;
                    found.blocks.push(block);
                    stack.extend(&before[block]);
                }
            }
            // A loop is gone through with each loop around it.
            work += self.blocks.len() / 8;
            for &block in &found.blocks {
                work += self.blocks[block].instructions.len();
                if work > LOOP_WORK * limit {
                    return Err(FlowError::Size);
                }
                for located in &self.instructions[self.blocks[block].instructions.clone()] {
                    let info = located.inst.op.info();
                    found.defined.add(&located.inst);
                    found.calls |= info.class == Class::Call;
                    found.masks |= info.flags.contains(Flags::WRITES_EXEC)
                        || matches!(located.inst.dsts[0], Operand::Scalar(to) if to >= EXEC);
                    if matches!(located.inst.op, Op::s_or_b64)
                        && let Operand::Scalar(register) = located.inst.dsts[0]
                    {
                        found.logic[usize::from(register)] = true;
                    }
                    found.scratch |= matches!(info.class, Class::Store | Class::Atomic)
                        && !matches!(info.space, Space::Ds | Space::Smem | Space::Global);
                }
            }
            let last = ends[&head].iter();
            found.narrows = last
                .flat_map(|&end| &self.instructions[self.blocks[end].instructions.clone()])
                .any(|located| {
                    matches!(located.inst.op, Op::s_andn2_b64 | Op::s_and_b64)
                        && located.inst.dsts[0] == Operand::Scalar(EXEC)
                });
            if found.calls {
                found.defined = Defined::ALL;
                found.scratch = true;
                found.masks = true;
            }
            self.blocks[head].back_ways = ends[&head].len();
            self.blocks[head].heads = Some(self.loops.len());
            self.loops.push(found);
        }
        // Smaller bodies first: they are the inner ones.
        let mut by_size: Vec<usize> = (0..self.loops.len()).collect();
        by_size.sort_by_key(|&index| self.loops[index].blocks.len());
        self.inner = vec![None; self.blocks.len()];
        let mut around: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for &index in &by_size {
            for &block in &self.loops[index].blocks {
                self.inner[block].get_or_insert(index);
                around[block].push(index);
            }
        }
        for index in 0..self.loops.len() {
            let list = &around[self.loops[index].blocks[0]];
            let own = list.iter().position(|&other| other == index);
            self.loops[index].parent = own.and_then(|own| list.get(own + 1).copied());
        }
        Ok(true)
    }
}

/// A set of instruction addresses, most of them not far behind a first one.
struct Addresses {
    base: u64,
    near: Vec<u64>,
    far: Map<u64, ()>,
}

impl Addresses {
    /// Instructions in the bitmap at most: 1 MiB of code.
    const NEAR: u64 = 1 << 18;

    fn around(base: u64) -> Self {
        Self {
            base,
            near: Vec::new(),
            far: Map::default(),
        }
    }

    /// Word and bit, if the address is near.
    fn place(&self, pc: u64) -> Option<(usize, u64)> {
        let index = pc.checked_sub(self.base)? / 4;
        (index < Self::NEAR).then_some(((index / 64) as usize, 1 << (index % 64)))
    }

    /// `false` if it is in the set already.
    fn insert(&mut self, pc: u64) -> bool {
        let Some((word, bit)) = self.place(pc) else {
            return self.far.insert(pc, ()).is_none();
        };
        if word >= self.near.len() {
            self.near.resize(word + 1, 0);
        }
        let new = self.near[word] & bit == 0;
        self.near[word] |= bit;
        new
    }

    fn contains(&self, pc: u64) -> bool {
        match self.place(pc) {
            Some((word, bit)) => self.near.get(word).is_some_and(|near| near & bit != 0),
            None => self.far.contains_key(&pc),
        }
    }
}

/// Every instruction that can be reached from the entry without leaving the function. A way ends where
/// nothing can be decoded: behind a call that does not return there may be anything.
fn reach(
    object: &CodeObject,
    machine: Machine,
    entry: u64,
    jumps: &Jumps,
    limit: usize,
) -> Result<Vec<Located>, FlowError> {
    let mut seen = Addresses::around(entry);
    // Most instructions are of eight bytes or of four.
    let size = object.symbol_at(entry).map_or(0, |symbol| symbol.size / 6);
    let size = executable(object, entry).len().min(size as usize);
    let mut found = Vec::with_capacity(limit.min(size));
    // From the lowest address on, they come in order.
    let mut todo = BinaryHeap::from([Reverse(entry)]);
    while let Some(Reverse(start)) = todo.pop() {
        let code = executable(object, start);
        let mut pc = start;
        while seen.insert(pc) {
            if found.len() >= limit {
                return Err(FlowError::Size);
            }
            let bytes = code.get((pc - start) as usize..).unwrap_or_default();
            let mut words = [0_u32; 3];
            let mut count = 0;
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                count += 1;
            }
            let Ok(inst) = machine.target.isa.decode(&words[..count], machine.wave) else {
                break;
            };
            let located = Located { pc, inst };
            pc += u64::from(inst.size);
            let exit = Exit::of(&inst);
            match exit {
                Exit::Branch | Exit::ConditionalBranch => todo.push(Reverse(target(&located))),
                Exit::Jump => todo.extend(jumps.get(&located.pc).copied().map(Reverse)),
                Exit::Next | Exit::End | Exit::Unsupported => {}
            }
            found.push(located);
            if !matches!(exit, Exit::Next | Exit::ConditionalBranch) {
                break;
            }
        }
    }
    // In runs: each way that was followed.
    found.sort_by_key(|located| located.pc);
    Ok(found)
}

/// What can be executed from an address on; nothing where no instruction can stand.
fn executable(object: &CodeObject, address: u64) -> &[u8] {
    let segment = object.segment_at(address);
    if !address.is_multiple_of(4) || !segment.is_some_and(|segment| segment.executable) {
        return &[];
    }
    object.content_from(address).unwrap_or_default()
}

/// Cuts the instructions into blocks.
fn split(instructions: Vec<Located>, entry: u64, jumps: &Jumps) -> Function {
    let mut leads = Addresses::around(instructions.first().map_or(0, |first| first.pc));
    leads.insert(entry);
    let mut expected = u64::MAX;
    for located in &instructions {
        if located.pc != expected {
            leads.insert(located.pc);
        }
        expected = located.pc + u64::from(located.inst.size);
        match Exit::of(&located.inst) {
            Exit::Next => continue,
            Exit::Branch | Exit::ConditionalBranch => {
                leads.insert(target(located));
            }
            Exit::Jump => {
                if let Some(target) = jumps.get(&located.pc) {
                    leads.insert(*target);
                }
            }
            Exit::End | Exit::Unsupported => {}
        }
        leads.insert(expected);
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (index, located) in instructions.iter().enumerate() {
        if leads.contains(located.pc) {
            blocks.push(Block {
                instructions: index..index,
                ..Block::default()
            });
        }
        if let Some(block) = blocks.last_mut() {
            block.instructions.end = index + 1;
        }
    }
    let starts: Vec<u64> = blocks
        .iter()
        .map(|b| instructions[b.instructions.start].pc)
        .collect();
    let at = |pc: u64| starts.binary_search(&pc).ok();
    for block in &mut blocks {
        let last = &instructions[block.instructions.end - 1];
        let next = at(last.pc + u64::from(last.inst.size));
        match Exit::of(&last.inst) {
            Exit::Branch => block.taken = at(target(last)),
            Exit::ConditionalBranch => {
                block.taken = at(target(last));
                block.next = next;
            }
            Exit::Jump => block.taken = jumps.get(&last.pc).and_then(|to| at(*to)),
            Exit::End | Exit::Unsupported => {}
            Exit::Next => block.next = next,
        }
    }
    Function {
        instructions,
        blocks,
        order: Vec::new(),
        position: Vec::new(),
        loops: Vec::new(),
        inner: Vec::new(),
        asked: AskedFor::default(),
    }
}
