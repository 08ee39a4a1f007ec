//! Runs workgroups: the waves of one take turns on the calling thread.

use std::sync::Arc;
use std::time::Duration;

use super::access_log::AccessLog;
use super::dispatch::Dispatch;
use super::grid_barrier;
use super::group::Group;
use super::host::Control;
use super::launch;
use super::lds::Lds;
use super::memory::{AddressSpace, Memory};
use super::program::{Block, BlockKey, WaveProgram};
use super::state::{Status, Wave};
use super::stats::Stats;
use super::step::Step;
use super::stop::Stop;

/// Storage for one workgroup at a time: registers, LDS, private memory. One per worker thread.
#[derive(Debug)]
pub struct ComputeUnit {
    pub(super) waves: Vec<Wave>,
    pub(super) lds: Lds,
    /// The wave whose turn it is.
    pub(super) turn: usize,
    cache: BlockCache,
    /// Instructions until it lets go unasked.
    quota: u64,
    /// Instructions of a turn.
    turn_length: Option<u64>,
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
            turn: 0,
            cache: BlockCache::default(),
            quota: u64::MAX,
            turn_length: None,
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

    /// Makes it let go of its workgroup after as many instructions of waves, as if it had been told to: between any
    /// two of a basic block, where a control word counts at its end. So it goes on from one workgroup to the next.
    pub fn let_go_after(&mut self, instructions: u64) {
        self.quota = instructions;
    }

    /// Makes it let go of a workgroup after about so many instructions, with [`Stop::TurnOver`], and as soon as all of
    /// its waves wait for somebody else; none: it takes no turns.
    pub fn take_turns(&mut self, instructions: Option<u64>) {
        self.turn_length = instructions;
    }

    /// Whether it has let go unasked.
    pub fn is_spent(&self) -> bool {
        self.quota == 0
    }

    /// Runs workgroup `id` of `dispatch` to its end.
    ///
    /// All units that share a [`WaveProgram`] must be of the same kind, portable or not.
    ///
    /// # Errors
    /// Why it stopped before. After [`Stop::Evicted`] and [`Stop::TurnOver`] it can be saved, or gone on with.
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
        self.start(dispatch, id);
        self.go_on(dispatch, program, space, id, control, log)
    }

    /// Takes in workgroup `id` of `dispatch` as it was saved, in place of what this unit has.
    ///
    /// # Errors
    /// If `saved` is not that.
    pub fn restore(&mut self, dispatch: &Dispatch, id: [u32; 3], saved: &[u8]) -> Result<(), Stop> {
        launch::check(dispatch)?;
        self.load(dispatch, id, saved).ok_or(Stop::Damaged {
            entry: dispatch.entry(),
            id,
        })
    }

    /// Prepares the waves of a workgroup; their number.
    pub(super) fn start(&mut self, dispatch: &Dispatch, id: [u32; 3]) -> usize {
        let count = launch::waves(dispatch, id);
        while self.waves.len() < count {
            self.waves.push(Wave::new());
        }
        for (index, wave) in (0..).zip(&mut self.waves[..count]) {
            launch::start(wave, dispatch, id, index);
        }
        self.lds.reset(dispatch.packet.group_segment_size);
        self.turn = 0;
        count
    }

    /// Runs the workgroup that it has, which is `id` of `dispatch`, from where it stands.
    ///
    /// # Errors
    /// As for [`Self::run_workgroup`].
    pub fn go_on(
        &mut self,
        dispatch: &Dispatch,
        program: &WaveProgram,
        space: &dyn AddressSpace,
        id: [u32; 3],
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
            turn: &mut self.turn,
            cache: &mut self.cache,
            quota: &mut self.quota,
            turn_length: self.turn_length,
            uses_avx512: self.uses_avx512,
        };
        let count = launch::waves(dispatch, id);
        let result = runner.run(&mut self.waves[..count], &mut group);
        if group.code_has_changed {
            program.invalidate();
        }
        result.map_err(|stop| *stop)?;
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

/// How often all waves of a workgroup have to be asleep until others get its turn.
const IDLE_TURNS: u32 = 2;

/// Instructions a wave runs before the others get their turn.
const SLICE: u64 = 1 << 14;

struct Runner<'a> {
    program: &'a WaveProgram,
    control: &'a Control<'a>,
    turn: &'a mut usize,
    cache: &'a mut BlockCache,
    quota: &'a mut u64,
    turn_length: Option<u64>,
    uses_avx512: bool,
}

impl Runner<'_> {
    /// Takes turns between the waves until all have ended.
    fn run(&mut self, waves: &mut [Wave], group: &mut Group<'_>) -> Result<(), Box<Stop>> {
        let mut idle_turns = 0_u32;
        let began = group.memory.stats.wave_instructions;
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
            let first = std::mem::take(self.turn);
            for (index, wave) in waves.iter_mut().enumerate().skip(first) {
                match wave.status {
                    Status::Yielded => wave.status = Status::Running,
                    Status::AtGridBarrier { until_odd }
                        if grid_barrier::is_open(group.host.grid_barrier(), until_odd) =>
                    {
                        wave.status = Status::Running;
                    }
                    _ => {}
                }
                if wave.status == Status::Running {
                    let before = group.memory.stats.wave_instructions;
                    if let Err(stop) = self.slice(wave, group) {
                        // However often it is evicted, all have their turns.
                        let has_run = group.memory.stats.wave_instructions > before;
                        *self.turn = index + usize::from(has_run);
                        return Err(stop);
                    }
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
            if let Some(length) = self.turn_length {
                let idle = idle_turns >= IDLE_TURNS;
                if idle || group.memory.stats.wave_instructions - began >= length {
                    return Err(Box::new(Stop::TurnOver { idle }));
                }
            }
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
            if self.control.evicts() || *self.quota == 0 {
                return Err(Box::new(Stop::Evicted));
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
            let instructions = u64::from(block.instructions);
            wave.pc = block.end;
            let steps = if instructions > *self.quota && block.is_divisible {
                let (steps, next) = beginning(block, *self.quota);
                wave.pc = next;
                steps
            } else {
                &block.steps
            };
            for step in steps {
                // SAFETY: handlers compiled for AVX-512 are only put in blocks when `uses_avx512` was
                // set by `has_avx512`, which checks the features they are compiled with.
                if let Err(stop) = unsafe { (step.run)(wave, group, step) } {
                    return Err(with_text(stop, block));
                }
            }
            group.memory.stats.wave_instructions += instructions;
            budget = budget.saturating_sub(instructions.max(1));
            *self.quota = self.quota.saturating_sub(instructions);
        }
        Ok(())
    }
}

/// The steps of the first `instructions` that have any, and the address of the instruction after them.
#[cold]
fn beginning(block: &Block, instructions: u64) -> (&[Step], u64) {
    let mut left = instructions;
    let mut last = None;
    for (index, step) in block.steps.iter().enumerate() {
        if last != Some(step.pc) {
            if left == 0 {
                return (&block.steps[..index], step.pc);
            }
            left -= 1;
            last = Some(step.pc);
        }
    }
    (&block.steps, block.end)
}

/// Names the instruction that was not known.
#[cold]
fn with_text(mut stop: Box<Stop>, block: &Block) -> Box<Stop> {
    if let Stop::Unknown { pc, text } = &mut *stop
        && text.is_empty()
    {
        let (pc, text) = (*pc, block.unknown.clone());
        *stop = if block.is_illegal {
            Stop::Illegal { pc, text }
        } else {
            Stop::Unknown { pc, text }
        };
    }
    stop
}
