//! The agent's fingerprints of memory, as `crates/fingerprint` defines them.

use std::cell::RefCell;

use strobe_fingerprint::{BLOCK_BYTES, BlockEntry, BlockSum, SUM_BYTES};

use super::traffic::Traffic;
use crate::wave::memory::{Fault, Memory};

thread_local! {
    /// A block: others may write the memory meanwhile, so it is looked at once.
    static CONTENT: RefCell<Box<[u8; BLOCK_BYTES]>> = RefCell::new(Box::new([0; BLOCK_BYTES]));
}

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
        let sum = CONTENT.with_borrow_mut(|content| {
            let content = &mut content[..block.bytes as usize];
            memory.get(block.address, content)?;
            Ok(BlockSum::of(content, block.number).to_bytes())
        })?;
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
