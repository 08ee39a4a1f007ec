//! The agent's fingerprints of memory, as `crates/fingerprint` defines them.

use strobe_fingerprint::{BLOCK_BYTES, BlockEntry, BlockSum, SUM_BYTES};

use super::traffic::Traffic;
use crate::wave::memory::{Fault, Memory};

/// A launch of the kernel: a block for each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprints {
    pub blocks: Vec<BlockEntry>,
    pub sums: u64,
}

impl Fingerprints {
    pub(super) fn pieces(&self) -> u64 {
        self.blocks.len() as u64
    }

    pub(super) fn run(&self, piece: u64, memory: &mut Memory<'_>) -> Result<(), Fault> {
        let block = &self.blocks[piece as usize];
        // Others may write the memory meanwhile, so it is looked at once.
        let mut content = [0; BLOCK_BYTES];
        let content = &mut content[..block.bytes as usize];
        memory.get(block.address, content)?;
        let sum = BlockSum::of(content, block.number).to_bytes();
        memory.put(self.sums.wrapping_add(piece * SUM_BYTES as u64), &sum)
    }

    pub(super) fn traffic(&self) -> Option<Traffic> {
        let bytes = self.blocks.iter().map(|block| u64::from(block.bytes)).sum();
        self.blocks.first().map(|first| Traffic {
            bytes,
            from: Some(first.address),
            // The sums are next to nothing.
            to: first.address,
        })
    }
}
