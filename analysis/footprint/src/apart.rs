//! Ways that are kept apart up to the next branch.
//!
//! Compilers lead ways together and tell them apart again by a flag: a register that ways have set to
//! constants. Where they meet, the flag would be any of its values and the branch behind would lead everyone
//! to both sides. So a short block that reads such a flag and ends in a branch is walked once for each
//! value of the flag.

use strobe_isa::Operand;

use crate::block::Exit;
use crate::flow::Function;
use crate::registers::SCALARS;
use crate::state::State;
use crate::walk::Walk;

/// Instructions of a block that is walked more than once.
const MAX_INSTRUCTIONS: usize = 8;
/// Walks of it.
const MAX_WAYS: usize = 4;

impl Walk<'_> {
    /// The states in which a block is walked.
    pub(crate) fn apart(
        &mut self,
        function: &Function,
        block: usize,
        states: Vec<State>,
    ) -> Vec<State> {
        if states.len() == 1 {
            return states;
        }
        let flags = self.flags(function, block, &states);
        let mut groups: Vec<(Vec<Option<u32>>, Vec<State>)> = Vec::new();
        for state in states {
            let values = flags
                .iter()
                .map(|&flag| self.arena.as_const(state.scalars[flag]));
            let values = values.collect();
            match groups.iter_mut().find(|(known, _)| *known == values) {
                Some((_, group)) => group.push(state),
                None => groups.push((values, vec![state])),
            }
        }
        if groups.len() > MAX_WAYS {
            let all = groups.into_iter().flat_map(|(_, group)| group).collect();
            return vec![self.join(all)];
        }
        groups
            .into_iter()
            .map(|(_, group)| self.join(group))
            .collect()
    }

    /// The scalar registers that a block reads to branch and that are not the same constant on all ways.
    fn flags(&self, function: &Function, block: usize, states: &[State]) -> Vec<usize> {
        let instructions = &function.instructions[function.blocks[block].instructions.clone()];
        let Some((last, body)) = instructions.split_last() else {
            return Vec::new();
        };
        let branches = Exit::of(&last.inst) == Exit::ConditionalBranch;
        if !branches || instructions.len() > MAX_INSTRUCTIONS {
            return Vec::new();
        }
        let sources = body.iter().flat_map(|located| located.inst.srcs);
        let registers = sources.filter_map(|source| match source {
            Operand::Scalar(register) if usize::from(register) < SCALARS => Some(register.into()),
            _ => None,
        });
        let mut flags: Vec<usize> = registers.collect();
        flags.sort_unstable();
        flags.dedup();
        flags.retain(|&flag| {
            let mut values = states
                .iter()
                .map(|state| self.arena.as_const(state.scalars[flag]));
            let first = values.next().flatten();
            values.any(|value| value != first)
        });
        flags
    }
}
