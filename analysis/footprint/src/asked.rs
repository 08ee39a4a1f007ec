//! Which registers are asked for later.
//!
//! Where ways meet, a register that nobody asks for any more needs no phi: it holds anything. So whatever the walk follows must be
//! asked for here: anything beside a pointer is an index, and the register that was left out may have been another pointer.
//!
//! A scalar is asked for until it is set. A vector register is set in the lanes that are active, and asked for by those
//! that are and by those that are parked: who is active now may be parked wherever EXEC is written, and come back.

use strobe_isa::scalar_register::{CODES, EXEC, FLAT_SCRATCH};
use strobe_isa::{Class, Encoding, Flags, Inst, Op, Operand};

use crate::block::{Block, Exit, Located};
use crate::operations;
use crate::registers::{M0, VCC, VECTORS, vector_number};

/// A set of registers of one kind, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set<const WORDS: usize>([u64; WORDS]);

type Scalars = Set<2>;
type Vectors = Set<{ VECTORS / 64 }>;

impl<const WORDS: usize> Set<WORDS> {
    const NONE: Self = Self([0; WORDS]);
    const ALL: Self = Self([u64::MAX; WORDS]);

    fn has(&self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 != 0
    }

    fn add(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn remove(&mut self, register: usize) {
        self.0[register / 64] &= !(1 << (register % 64));
    }

    fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

/// What is asked for from a point on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    scalars: Scalars,
    /// By lanes that are active at the point.
    active: Vectors,
    /// By others.
    parked: Vectors,
}

impl Asked {
    const NONE: Self = Self {
        scalars: Scalars::NONE,
        active: Vectors::NONE,
        parked: Vectors::NONE,
    };

    pub(crate) const ALL: Self = Self {
        scalars: Scalars::ALL,
        active: Vectors::ALL,
        parked: Vectors::ALL,
    };

    pub(crate) fn scalar(&self, register: usize) -> bool {
        self.scalars.has(register)
    }

    /// By lanes that are active.
    pub(crate) fn vector(&self, register: usize) -> bool {
        self.active.has(register)
    }

    /// By any lane.
    pub(crate) fn vector_of_any(&self, register: usize) -> bool {
        self.active.has(register) || self.parked.has(register)
    }

    fn or(&self, other: &Self) -> Self {
        Self {
            scalars: self.scalars.or(&other.scalars),
            active: self.active.or(&other.active),
            parked: self.parked.or(&other.parked),
        }
    }
}

/// What some instructions in a row make of what is asked for behind them.
#[derive(Clone, Copy, Debug)]
struct Effect {
    /// Asked for by them.
    own: Asked,
    /// Not set by them.
    scalars: Scalars,
    /// Not set by them before EXEC is written.
    active: Vectors,
    /// Asked for by who is parked behind them, and therefore by who is active before them.
    parks: Vectors,
    /// The other way round.
    wakes: Vectors,
}

impl Effect {
    const NONE: Self = Self {
        own: Asked::NONE,
        scalars: Scalars::ALL,
        active: Vectors::ALL,
        parks: Vectors::NONE,
        wakes: Vectors::NONE,
    };

    const ALL: Self = Self {
        own: Asked::ALL,
        ..Self::NONE
    };

    fn before(&self, behind: &Asked) -> Asked {
        let Asked {
            scalars,
            active,
            parked,
        } = behind;
        let own = &self.own;
        let stays = self.active.and(active);
        let parks = self.parks.and(parked);
        let wakes = self.wakes.and(active);
        Asked {
            scalars: own.scalars.or(&self.scalars.and(scalars)),
            active: own.active.or(&stays).or(&parks),
            parked: own.parked.or(&wakes).or(parked),
        }
    }

    /// An instruction is put before them; `lanes`: it writes EXEC.
    fn put_before(&mut self, inst: &Inst, lanes: bool) {
        let info = inst.op.info();
        if info.class == Class::Call || inst.op == Op::s_set_gpr_idx_on {
            *self = Self::ALL;
            return;
        }
        if lanes {
            let both = self.own.active.or(&self.own.parked);
            (self.own.active, self.own.parked) = (both, both);
            let active = self.active.or(&self.wakes);
            (self.active, self.wakes) = (active, active);
            self.parks = Vectors::ALL;
        }
        for (index, dst) in inst.dsts.iter().enumerate() {
            match *dst {
                Operand::Scalar(first) => self.set_scalars(first, inst.dst_dwords(index).into()),
                dst => self.set_vectors(dst, inst.dst_dwords(index).into()),
            }
        }
        if inst.op == Op::v_swap_b32
            && let other @ Operand::Vector(_) = inst.srcs[0]
        {
            self.set_vectors(other, 1);
            self.ask_dst(inst);
        }
        if info.flags.contains(Flags::READS_DST) && inst.encoding != Encoding::Ds {
            self.ask_dst(inst);
        }
        if info.flags.contains(Flags::READS_VCC) {
            self.ask_scalars(VCC as u8, 2);
        }
        if info.flags.contains(Flags::READS_FLAT_SCRATCH) {
            self.ask_scalars(FLAT_SCRATCH, 2);
        }
        if info.flags.contains(Flags::READS_M0) {
            self.ask_scalars(M0 as u8, 1);
        }
        let follows = operations::reads_vectors(inst);
        for (index, src) in inst.srcs.iter().enumerate() {
            match *src {
                Operand::Scalar(first) => self.ask_scalars(first, inst.src_dwords(index).into()),
                src if follows => self.ask_vectors(src, inst.src_dwords(index).into()),
                _ => {}
            }
        }
        if matches!(inst.op, Op::v_readlane_b32 | Op::v_readfirstlane_b32)
            && let Operand::Vector(register) = inst.srcs[0]
        {
            // Of a lane that may be parked.
            self.own.parked.add(register.into());
        }
    }

    fn ask_dst(&mut self, inst: &Inst) {
        let count = inst.dst_dwords(0).into();
        match inst.dsts[0] {
            Operand::Scalar(first) => self.ask_scalars(first, count),
            dst => self.ask_vectors(dst, count),
        }
    }

    fn ask_vectors(&mut self, of: Operand, count: usize) {
        for register in vectors(of, count) {
            self.own.active.add(register);
        }
    }

    /// Whoever asks for half of a mask asks for the other half, too.
    fn ask_scalars(&mut self, first: u8, count: usize) {
        for register in (first.into()..CODES).take(count.max(2)) {
            self.own.scalars.add(register);
        }
    }

    fn set_vectors(&mut self, of: Operand, count: usize) {
        for register in vectors(of, count) {
            self.own.active.remove(register);
            self.active.remove(register);
            self.parks.remove(register);
        }
    }

    fn set_scalars(&mut self, first: u8, count: usize) {
        for register in (first.into()..CODES).take(count) {
            self.own.scalars.remove(register);
            self.scalars.remove(register);
        }
    }
}

/// The vector registers of an operand, if it names some.
fn vectors(of: Operand, count: usize) -> impl Iterator<Item = usize> {
    let first = vector_number(of).into_iter();
    first.flat_map(move |first| (first..VECTORS).take(count))
}

/// What is asked for at the points of a function where something may meet.
#[derive(Debug, Default)]
pub(crate) struct AskedFor {
    /// Where each block begins.
    blocks: Vec<Asked>,
    /// Behind each instruction that writes EXEC, for each block by ascending index of the instruction.
    behind: Vec<Vec<(usize, Asked)>>,
}

impl AskedFor {
    pub(crate) fn at(&self, block: usize) -> Asked {
        self.blocks[block]
    }

    pub(crate) fn behind(&self, block: usize) -> &[(usize, Asked)] {
        &self.behind[block]
    }

    /// `order` is that of [`crate::flow::Function::order`].
    pub(crate) fn of(instructions: &[Located], blocks: &[Block], order: &[usize]) -> Self {
        let mut effects = vec![Effect::NONE; blocks.len()];
        let mut writes: Vec<Vec<(usize, Effect)>> = vec![Vec::new(); blocks.len()];
        for &block in order {
            let effect = &mut effects[block];
            for index in blocks[block].instructions.clone().rev() {
                let inst = &instructions[index].inst;
                let lanes = changes_lanes(inst);
                if lanes {
                    writes[block].push((index, *effect));
                }
                effect.put_before(inst, lanes);
            }
        }
        let mut found = vec![Asked::NONE; blocks.len()];
        let behind_block = |found: &[Asked], block: usize| {
            let ways = [blocks[block].next, blocks[block].taken];
            let left = match leaves(instructions, &blocks[block]) {
                true => Asked::ALL,
                false => Asked::NONE,
            };
            let ways = ways.into_iter().flatten();
            ways.fold(left, |asked, way| asked.or(&found[way]))
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev() {
                let before = effects[block].before(&behind_block(&found, block));
                changed |= before != found[block];
                found[block] = before;
            }
        }
        let behind = writes.into_iter().enumerate();
        let behind = behind.map(|(block, writes)| {
            let asked = behind_block(&found, block);
            let writes = writes.into_iter().rev();
            writes
                .map(|(index, effect)| (index, effect.before(&asked)))
                .collect()
        });
        Self {
            behind: behind.collect(),
            blocks: found,
        }
    }
}

/// Whether a block leads to somebody who may ask for anything.
fn leaves(instructions: &[Located], block: &Block) -> bool {
    let last = block.instructions.clone().next_back();
    last.is_some_and(|last| {
        matches!(
            Exit::of(&instructions[last].inst),
            Exit::Jump | Exit::Unsupported
        )
    })
}

fn changes_lanes(inst: &Inst) -> bool {
    let to_exec = |dst: &Operand| matches!(dst, Operand::Scalar(to) if *to >= EXEC);
    inst.op.info().flags.contains(Flags::WRITES_EXEC) || inst.dsts.iter().any(to_exec)
}

#[cfg(test)]
mod tests {
    use strobe_isa::{Target, WaveSize};

    use super::*;

    const V1_IS_V0: u32 = 0x7e02_0300;
    const V2_IS_V1: u32 = 0x7e04_0301;
    /// `v_add_f32_e32 v2, v1, v0`: nothing is known of the sum.
    const V2_IS_SUM: u32 = 0x0204_0101;
    /// `v_readfirstlane_b32 s0, v2`.
    const READ_V2: u32 = 0x7e00_0502;
    const ALL_ON: u32 = 0xbefe_01c1;
    const END: u32 = 0xbf81_0000;

    /// What is asked for where these begin.
    fn asked(words: &[u32]) -> Asked {
        let decode = |word: &u32| Target::GFX906.isa.decode(&[*word], WaveSize::Lanes64);
        let insts = words.iter().map(|word| decode(word).unwrap());
        let located = |(index, inst)| Located {
            pc: 4 * index as u64,
            inst,
        };
        let instructions: Vec<Located> = insts.enumerate().map(located).collect();
        let block = Block {
            instructions: 0..instructions.len(),
            ..Block::default()
        };
        AskedFor::of(&instructions, &[block], &[0]).at(0)
    }

    #[test]
    fn a_register_is_asked_for_until_it_is_set() {
        let asked_for = asked(&[V1_IS_V0, V2_IS_V1, READ_V2, END]);
        let active = [0, 1, 2].map(|register| asked_for.vector(register));
        assert_eq!(active, [true, false, false]);
        assert!(asked_for.vector_of_any(2) && !asked_for.vector_of_any(1));
        assert!(!asked_for.scalar(0));
    }

    #[test]
    fn lanes_that_come_back_ask_for_what_others_have_set() {
        let behind = [V2_IS_V1, READ_V2, END];
        let switched = [&[ALL_ON][..], &behind].concat();
        assert!(asked(&switched).vector(1));
        let set_before = [&[V1_IS_V0, ALL_ON][..], &behind].concat();
        let asked_for = asked(&set_before);
        assert!(!asked_for.vector(1) && asked_for.vector_of_any(1));
    }

    #[test]
    fn sources_of_which_nothing_is_made_are_not_asked_for() {
        assert!(!asked(&[V2_IS_SUM, READ_V2, END]).vector(1));
        assert!(asked(&[V2_IS_V1, READ_V2, END]).vector(1));
    }
}
