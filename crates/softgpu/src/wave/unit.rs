//! Runs workgroups: the waves of one take turns on the calling thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::access_log::AccessLog;
use super::dispatch::Dispatch;
use super::group::Group;
use super::host::Control;
use super::launch;
use super::lds::Lds;
use super::memory::{AddressSpace, Memory};
use super::program::{Block, BlockKey, WaveProgram};
use super::state::{Status, Wave};
use super::stats::Stats;
use super::stop::Stop;
use crate::target::WAVE;

/// Storage for one workgroup at a time: registers, LDS, private memory. One per worker thread.
#[derive(Debug)]
pub struct ComputeUnit {
    pub(super) waves: Vec<Wave>,
    pub(super) lds: Lds,
    cache: BlockCache,
    /// Whether the AVX-512 handlers may run on this processor.
    uses_avx512: bool,
}

impl Default for ComputeUnit {
    fn default() -> Self {
        Self::new()
    }
}

impl ComputeUnit {
    /// Empty; it grows to what work-groups need.
    pub fn new() -> Self {
        Self {
            waves: Vec::new(),
            lds: Lds::new(),
            cache: BlockCache::default(),
            uses_avx512: has_avx512(),
        }
    }

    /// Without AVX-512, whatever the processor has.
    pub fn portable() -> Self {
        Self {
            uses_avx512: false,
            ..Self::new()
        }
    }

    /// Runs workgroup `id` of `dispatch` to its end.
    ///
    /// All units that share a [`WaveProgram`] must be of the same kind, portable or not.
    pub fn run_workgroup(
        &mut self,
        dispatch: &Dispatch,
        program: &WaveProgram,
        space: &dyn AddressSpace,
        id: [u32; 3],
        control: &Control<'_>,
        log: Option<&mut AccessLog>,
    ) -> Result<Stats, Stop> {
        launch::check(dispatch)?;
        let count = self.start(dispatch, id);
        self.run(count, program, space, control, log)
    }

    /// Prepares the waves of a workgroup; their number.
    pub(super) fn start(&mut self, dispatch: &Dispatch, id: [u32; 3]) -> usize {
        let items: u32 = launch::extent(dispatch, id).iter().product();
        let count = items.div_ceil(WAVE.lanes());
        while self.waves.len() < count as usize {
            self.waves.push(Wave::new());
        }
        for (index, wave) in (0..count).zip(&mut self.waves) {
            launch::start(wave, dispatch, id, index);
        }
        self.lds.reset(dispatch.packet.group_segment_size);
        count as usize
    }

    /// Runs the first `count` waves to their end.
    pub(super) fn run(
        &mut self,
        count: usize,
        program: &WaveProgram,
        space: &dyn AddressSpace,
        control: &Control<'_>,
        log: Option<&mut AccessLog>,
    ) -> Result<Stats, Stop> {
        let mut group = Group {
            memory: Memory::new(space, log),
            lds: &mut self.lds,
            host: control.host,
            code_has_changed: false,
        };
        let mut runner = Runner {
            program,
            control,
            cache: &mut self.cache,
            uses_avx512: self.uses_avx512,
        };
        runner
            .run(&mut self.waves[..count], &mut group)
            .map_err(|stop| *stop)?;
        Ok(group.memory.stats)
    }
}

fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The features that `compiled_twice!` enables.
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The blocks that this unit ran last, by address: a direct-mapped cache in front of [`WaveProgram`].
#[derive(Debug, Default)]
struct BlockCache {
    stamp: u64,
    slots: Vec<Option<(BlockKey, Arc<Block>)>>,
}

const SLOTS: usize = 1024;

/// Instructions a wave runs before the others get their turn.
const SLICE: u64 = 1 << 14;

struct Runner<'a> {
    program: &'a WaveProgram,
    control: &'a Control<'a>,
    cache: &'a mut BlockCache,
    uses_avx512: bool,
}

impl Runner<'_> {
    /// Takes turns between the waves until all have ended.
    fn run(&mut self, waves: &mut [Wave], group: &mut Group<'_>) -> Result<(), Box<Stop>> {
        let mut idle_turns = 0_u32;
        loop {
            if std::mem::take(&mut group.code_has_changed) {
                self.program.invalidate();
            }
            if self.cache.stamp != self.program.stamp() {
                self.cache.stamp = self.program.stamp();
                self.cache.slots.clear();
                self.cache.slots.resize(SLOTS, None);
            }
            group.memory.refresh();
            let mut idle = true;
            for wave in waves.iter_mut() {
                if wave.status == Status::Yielded {
                    wave.status = Status::Running;
                }
                if wave.status == Status::Running {
                    self.slice(wave, group)?;
                    idle &= wave.status == Status::Yielded;
                }
            }
            if waves.iter().all(|w| w.status == Status::Ended) {
                return Ok(());
            }
            if waves
                .iter()
                .all(|w| matches!(w.status, Status::Ended | Status::AtBarrier))
            {
                for wave in waves.iter_mut().filter(|w| w.status == Status::AtBarrier) {
                    wave.status = Status::Running;
                }
                idle = false;
            }
            // Everyone sleeps, waiting for another workgroup or for the host.
            idle_turns = if idle { idle_turns + 1 } else { 0 };
            match idle_turns {
                0 => {}
                1..64 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// Runs one wave until it waits, ends or has had its share.
    fn slice(&mut self, wave: &mut Wave, group: &mut Group<'_>) -> Result<(), Box<Stop>> {
        let mut budget = SLICE;
        while wave.status == Status::Running && budget > 0 {
            if self.control.word.load(Ordering::Relaxed) != self.control.generation {
                self.control.wait_or_stop()?;
                // Mappings may have changed meanwhile.
                group.memory.refresh();
            }
            let key = BlockKey::new(wave.pc, wave.mode);
            let slot = &mut self.cache.slots[(key.0 >> 2) as usize % SLOTS];
            let block = match slot {
                Some((known, block)) if *known == key => &*block,
                _ => {
                    let block = self
                        .program
                        .block(key, self.uses_avx512, &mut group.memory)?;
                    &slot.insert((key, block)).1
                }
            };
            wave.pc = block.end;
            for step in &block.steps {
                // SAFETY: handlers compiled for AVX-512 are only put in blocks when `uses_avx512` was
                // set by `has_avx512`, which checks the features they are compiled with.
                if let Err(stop) = unsafe { (step.run)(wave, group, step) } {
                    return Err(with_text(stop, block));
                }
            }
            let instructions = u64::from(block.instructions);
            group.memory.stats.wave_instructions += instructions;
            budget = budget.saturating_sub(instructions.max(1));
        }
        Ok(())
    }
}

/// Names the instruction that was not known.
#[cold]
fn with_text(mut stop: Box<Stop>, block: &Block) -> Box<Stop> {
    if let Stop::Unknown { text, .. } = &mut *stop
        && text.is_empty()
    {
        text.clone_from(&block.unknown);
    }
    stop
}
