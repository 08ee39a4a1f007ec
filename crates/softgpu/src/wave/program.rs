//! Decoded code, shared between workers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use strobe_isa::{DecodeError, Encoding, Target};

use super::control;
use super::memory::Memory;
use super::source::Src;
use super::step::Step;
use super::stop::Stop;
use super::translate::{Context, translate};
use crate::target::WAVE;

/// Instructions of the longest basic block.
const MAX_BLOCK: u32 = 512;

/// Instructions that run to the end once the first one is reached.
#[derive(Debug)]
pub(super) struct Block {
    /// Address after the last instruction.
    pub end: u64,
    pub steps: Box<[Step]>,
    /// Instructions, those without a step included.
    pub instructions: u32,
    /// Whether it can be left between any two instructions, and be gone on with there: not where registers are indexed,
    /// which is known of the stretch as a whole.
    pub is_divisible: bool,
    /// What the last instruction says if it is not known.
    pub unknown: String,
    /// Then: whether no GPU of the target has it.
    pub is_illegal: bool,
}

/// The cache of decoded basic blocks.
#[derive(Debug)]
pub struct WaveProgram {
    target: &'static Target,
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
    /// Differs between programs and after each invalidation, in the whole process.
    stamp: AtomicU64,
}

fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl WaveProgram {
    /// Nothing is decoded yet.
    pub fn new(target: &'static Target) -> Self {
        Self {
            target,
            blocks: RwLock::default(),
            stamp: AtomicU64::new(next_stamp()),
        }
    }

    /// Forgets all decoded code: to be called when code was loaded or changed (the instruction
    /// cache invalidation of `ACQUIRE_MEM`).
    pub fn invalidate(&self) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        blocks.clear();
        self.stamp.store(next_stamp(), Ordering::Release);
    }

    pub(super) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// The block that starts at `key.pc()`.
    pub(super) fn block(
        &self,
        key: BlockKey,
        uses_avx512: bool,
        memory: &mut Memory<'_>,
    ) -> Result<Arc<Block>, Box<Stop>> {
        let known = self
            .blocks
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key.0)
            .cloned();
        if let Some(block) = known {
            return Ok(block);
        }
        let stamp = self.stamp();
        let block = Arc::new(build(key, self.target, uses_avx512, memory)?);
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        if self.stamp() == stamp {
            blocks.insert(key.0, Arc::clone(&block));
        }
        Ok(block)
    }
}

/// A block's address, and whether subnormals are flushed there (the low bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockKey(pub u64);

impl BlockKey {
    pub(super) fn new(pc: u64, mode: u32) -> Self {
        Self(pc & !3 | u64::from(mode >> 4 & 3 == 0))
    }

    fn pc(self) -> u64 {
        self.0 & !3
    }
}

fn build(
    key: BlockKey,
    target: &Target,
    uses_avx512: bool,
    memory: &mut Memory<'_>,
) -> Result<Block, Box<Stop>> {
    let mut context = Context {
        uses_avx512,
        flush: key.0 & 1 != 0,
        indexing: 0,
    };
    let mut block = Block {
        end: key.pc(),
        steps: Box::default(),
        instructions: 0,
        is_divisible: true,
        unknown: String::new(),
        is_illegal: false,
    };
    let mut steps = Vec::new();
    loop {
        let pc = block.end;
        let mut words = [0; 3];
        let mut fetched = 0;
        while fetched < 3 {
            let at = pc.wrapping_add(4 * fetched as u64);
            match memory.fetch(at, &mut words[fetched..=fetched]) {
                Ok(()) => fetched += 1,
                Err(fault) if fetched == 0 && steps.is_empty() => return Err(fault.at(pc)),
                Err(_) => break,
            }
        }
        if fetched == 0 {
            // Running off the end of a mapping faults when it is reached.
            break;
        }
        let refusal = match target.isa.decode(&words[..fetched], WAVE) {
            Ok(inst) => {
                block.instructions += 1;
                block.end = pc.wrapping_add(u64::from(inst.size));
                let known = translate(&inst, pc, &mut context, &mut steps);
                let ends = control::ends_block(inst.op);
                block.is_divisible &= context.indexing == 0;
                match known {
                    Some(()) if ends && context.indexing != 0 => {
                        format!("{inst} with register indexing on")
                    }
                    Some(()) if ends => break,
                    Some(()) if block.instructions < MAX_BLOCK || context.indexing != 0 => continue,
                    Some(()) => break,
                    None => inst.to_string(),
                }
            }
            Err(error) => {
                let words = &words[..fetched];
                block.is_illegal = is_illegal(error);
                if is_image(error) {
                    format!("this GPU has no images and textures ({error}, words {words:08x?})")
                } else {
                    format!("{error} (words {words:08x?})")
                }
            }
        };
        block.unknown = refusal;
        steps.push(Step::new(control::unknown, pc, [Src::None; 3], 0));
        break;
    }
    block.steps = steps.into();
    Ok(block)
}

fn is_image(error: DecodeError) -> bool {
    matches!(
        error,
        DecodeError::Graphics {
            encoding: Encoding::Mimg,
            ..
        }
    )
}

/// Whether that is no instruction of the target, or one that needs what this GPU has not and no runtime can be told
/// so: images. The rest is refused by our decoder alone, or by what a field says, where hardware may do anything.
fn is_illegal(error: DecodeError) -> bool {
    matches!(
        error,
        DecodeError::UnknownOpcode { .. } | DecodeError::UnknownEncoding { .. }
    ) || is_image(error)
}
