//! One run: a program, a device, an agent and a controller, in an order drawn from the seed.

use crate::agent::{Agent, Mutation};
use crate::device::Device;
use crate::program::Program;
use crate::random::Random;
use strobe_engine::{Config, EngineStatistics, Lane, Mode, SetAside, Validate};
use strobe_extent::Extent;

/// More steps than any run takes that does not hang.
const MOST_STEPS: u64 = 400_000;

/// Where room in the pool may start.
const POOL_ALIGN: u64 = 256;

/// What a run went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) frees: u64,
    pub(crate) reuses: u64,
    /// Checkpoints with a missed write.
    pub(crate) missed: u64,
    /// Of these, the ones for which a kernel was suspected that had done nothing.
    pub(crate) wronged: u64,
    pub(crate) statistics: EngineStatistics,
}

/// What is wrong in a run, and what is done about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) mutation: Option<Mutation>,
    /// Footprints of some kernels are wrong, and the CPU of some programs writes without a call.
    pub(crate) lies: bool,
    pub(crate) validate: Validate,
    /// In so many calls of a lane one fails; 0 is never.
    pub(crate) fails: u64,
}

impl Trial {
    /// All is well, and validated.
    pub(crate) const GOOD: Trial = Trial {
        mutation: None,
        lies: false,
        validate: Validate::Full,
        fails: 0,
    };
}

/// Where a checkpoint stands.
#[derive(Debug)]
enum Checkpoint {
    None,
    /// The program runs: the gate is about to be closed.
    Armed {
        chunk_bytes: u64,
    },
    /// The gate is closed; calls and kernels end.
    Closing {
        chunk_bytes: u64,
    },
    /// Being copied; with the content at the cut.
    Copying {
        cut: Vec<(Extent, Vec<u8>)>,
        mode: Mode,
        keep_gate: bool,
    },
    /// Given up; the agent's lanes run empty.
    Aborting,
}

struct World {
    random: Random,
    device: Device,
    program: Program,
    agent: Agent,
    checkpoint: Checkpoint,
    checkpoints_left: u64,
    /// Of the checkpoint under way, attempts that have failed, and what they missed.
    attempts: u64,
    residual: Vec<Extent>,
    abort_chance: u64,
    report: Report,
}

/// Runs one seed to its end. The error says how an image differs from its cut, or what hangs.
pub(crate) fn run(seed: u64, trial: Trial) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let streams = random.between(1, 4) as usize;
    let device = Device::new(streams);
    let program = Program::new(&mut random, trial.lies);
    let checkpoints_left = random.between(1, 3);
    let abort_chance = if random.chance(25) { 2 } else { 0 };
    // Some parties are much slower than others, differently in each run.
    let actors = program.threads() + streams + 6;
    let weights: Vec<u64> = (0..actors)
        .map(|_| [1, 4, 16, 64][random.below(4) as usize])
        .collect();
    let total: u64 = weights.iter().sum();
    let mut world = World {
        random,
        device,
        program,
        agent: Agent::new(trial.mutation, trial.validate, trial.fails, seed),
        checkpoint: Checkpoint::None,
        checkpoints_left,
        attempts: 0,
        residual: Vec::new(),
        abort_chance,
        report: Report::default(),
    };
    let mut idle = 0;
    for _ in 0..MOST_STEPS {
        let mut at = world.random.below(total);
        let actor = weights
            .iter()
            .position(|weight| {
                let hit = at < *weight;
                at = at.saturating_sub(*weight);
                hit
            })
            .expect("the weights cover the total");
        idle = if world.step(actor)? { 0 } else { idle + 1 };
        if idle > 50 {
            let mut moved = false;
            for actor in 0..actors {
                moved |= world.step(actor)?;
            }
            if !moved {
                return world.end();
            }
            idle = 0;
        }
    }
    Err("the run does not come to an end".to_owned())
}

impl World {
    fn step(&mut self, actor: usize) -> Result<bool, String> {
        let threads = self.program.threads();
        let streams = self.device.streams.len();
        if actor < threads {
            let open = self.gate_open();
            let World {
                random,
                device,
                program,
                agent,
                ..
            } = self;
            return Ok(program.step(actor, open, random, device, agent));
        }
        let actor = actor - threads;
        if actor < streams {
            return Ok(self.device.step_stream(actor));
        }
        Ok(match actor - streams {
            0 => self.device.step_lane(Lane::Aside),
            1 => self.device.step_lane(Lane::Out),
            2 => self.agent.order_copies(&mut self.device),
            3 => self.agent.notice_arrivals(&mut self.device),
            4 => self.agent.store_one(&mut self.random, &mut self.device),
            _ => return self.step_checkpoint(),
        })
    }

    fn gate_open(&self) -> bool {
        match &self.checkpoint {
            Checkpoint::None | Checkpoint::Armed { .. } | Checkpoint::Aborting => true,
            Checkpoint::Closing { .. } => false,
            Checkpoint::Copying {
                mode, keep_gate, ..
            } => !*keep_gate || self.agent.may_run(*mode),
        }
    }

    fn step_checkpoint(&mut self) -> Result<bool, String> {
        match &self.checkpoint {
            Checkpoint::None => {
                let due = self.program.is_done() || self.random.chance(20);
                if self.checkpoints_left == 0 || !due {
                    return Ok(false);
                }
                self.checkpoints_left -= 1;
                let chunk_bytes = 16 << self.random.below(4);
                if self.agent.mutation == Some(Mutation::EarlyFingerprints) && self.attempts == 0 {
                    let tracked = self.program.live();
                    self.agent.fingerprint(tracked, chunk_bytes, &self.device);
                }
                self.checkpoint = Checkpoint::Armed { chunk_bytes };
                Ok(true)
            }
            &Checkpoint::Armed { chunk_bytes } => {
                if !self.program.is_done() && !self.random.chance(30) {
                    return Ok(false);
                }
                self.checkpoint = Checkpoint::Closing { chunk_bytes };
                Ok(true)
            }
            &Checkpoint::Closing { chunk_bytes } => {
                let drained =
                    self.device.is_idle() || self.agent.mutation == Some(Mutation::SkipDrain);
                if !self.program.is_outside() || !drained {
                    return Ok(false);
                }
                self.cut(chunk_bytes);
                Ok(true)
            }
            Checkpoint::Copying { cut, .. } => {
                if self.agent.finished() {
                    if self.agent.missed.is_empty() {
                        compare(cut, &mut self.agent.image)?;
                        self.report.committed += 1;
                        self.attempts = 0;
                        self.residual.clear();
                    } else {
                        self.take_again();
                    }
                    self.end_checkpoint();
                    return Ok(true);
                }
                if self.random.chance(self.abort_chance) {
                    self.agent.give_up(&mut self.device);
                }
                if self.agent.failed().is_some() {
                    self.checkpoint = Checkpoint::Aborting;
                    return Ok(true);
                }
                Ok(false)
            }
            Checkpoint::Aborting => {
                if !self.device.lanes_idle() {
                    return Ok(false);
                }
                self.report.aborted += 1;
                self.end_checkpoint();
                Ok(true)
            }
        }
    }

    /// A write was missed: the suspects are not believed any more, and what they may have written
    /// is saved while everything stands still.
    fn take_again(&mut self) {
        let missed = std::mem::take(&mut self.agent.missed);
        let suspects = self.agent.driver().evidence().suspects(&missed);
        let deserved = self.program.distrust(&suspects);
        self.report.missed += 1;
        self.report.wronged +=
            u64::from(!suspects.is_empty() && !deserved && !self.program.has_silent_cpu());
        self.residual.extend(missed);
        self.attempts += 1;
        self.checkpoints_left += 1;
    }

    fn cut(&mut self, chunk_bytes: u64) {
        let random = &mut self.random;
        let mut tracked = self.program.live().to_vec();
        let cut: Vec<(Extent, Vec<u8>)> = tracked
            .iter()
            .map(|e| (*e, self.device.bytes(*e).to_vec()))
            .collect();
        let saved_frozen = |extent: &Extent| {
            self.attempts >= 2 || self.residual.iter().any(|missed| missed.overlaps(*extent))
        };
        let frozen: Vec<_> = cut
            .iter()
            .filter(|(e, _)| saved_frozen(e))
            .cloned()
            .collect();
        tracked.retain(|extent| !saved_frozen(extent));
        let mut copy_order = Vec::new();
        for _ in 0..random.below(4) {
            copy_order.extend(random.pick(&tracked).copied());
        }
        let mut config = Config {
            mode: if random.chance(85) {
                Mode::Cow
            } else {
                Mode::Stop
            },
            chunk_bytes,
            ring_slots: random.between(1, 4) as u32,
            aside_bytes: [0, 256, 512, 2048, 16384][random.below(5) as usize],
            copy_order,
            tracked,
            set_aside: Vec::new(),
        };
        if config.mode == Mode::Cow && random.chance(50) {
            set_some_aside(&mut config, random);
        }
        // The engine holds writers back in stop mode even where the gate does not.
        let keep_gate = config.mode == Mode::Stop && random.chance(50);
        self.checkpoint = Checkpoint::Copying {
            cut,
            mode: config.mode,
            keep_gate,
        };
        self.agent.begin(config, &mut self.device);
        self.agent.image.extend(frozen);
    }

    fn end_checkpoint(&mut self) {
        let driver = self.agent.end();
        let (sum, one) = (&mut self.report.statistics, driver.statistics());
        sum.bytes_out += one.bytes_out;
        sum.bytes_aside += one.bytes_aside;
        sum.writes += one.writes;
        sum.conservative_writes += one.conservative_writes;
        sum.waits += one.waits;
        sum.blocked += one.blocked;
        self.checkpoint = Checkpoint::None;
    }

    fn end(mut self) -> Result<Report, String> {
        let checkpoint_over = matches!(self.checkpoint, Checkpoint::None);
        if !checkpoint_over || !self.program.is_done() || !self.device.is_idle() {
            return Err(format!(
                "nothing can go on: checkpoint {:?}, program {:?}, {:?}",
                self.checkpoint, self.program, self.agent
            ));
        }
        self.report.frees = self.program.frees;
        self.report.reuses = self.program.reuses;
        Ok(self.report)
    }
}

/// Moves some allocations of one chunk from what is tracked to what lies in the pool already.
fn set_some_aside(config: &mut Config, random: &mut Random) {
    let mut end = 0;
    let Config {
        tracked, set_aside, ..
    } = config;
    tracked.retain(|extent| {
        let fits = extent.len() <= config.chunk_bytes && end + POOL_ALIGN <= config.aside_bytes;
        if !fits || random.chance(50) {
            return true;
        }
        set_aside.push(SetAside {
            extent: *extent,
            pool_offset: end,
        });
        end += extent.len().next_multiple_of(POOL_ALIGN);
        false
    });
}

/// The image holds every byte of the cut exactly once, as it was.
fn compare(cut: &[(Extent, Vec<u8>)], image: &mut [(Extent, Vec<u8>)]) -> Result<(), String> {
    image.sort_by_key(|(extent, _)| *extent);
    if let Some(pair) = image.windows(2).find(|pair| pair[0].0.overlaps(pair[1].0)) {
        return Err(format!(
            "{} and {} are both in the image",
            pair[0].0, pair[1].0
        ));
    }
    for (allocation, want) in cut {
        let mut at = allocation.start();
        for (extent, got) in image.iter().filter(|(e, _)| e.overlaps(*allocation)) {
            if extent.start() != at || !allocation.contains(*extent) {
                return Err(format!(
                    "{at:#x} of {allocation} is missing before {extent}"
                ));
            }
            let from = (extent.start() - allocation.start()) as usize;
            if let Some(byte) = (0..got.len()).find(|b| got[*b] != want[from + *b]) {
                let address = extent.start() + byte as u64;
                return Err(format!(
                    "byte {address:#x} of {allocation} is not as it was at the cut"
                ));
            }
            at = extent.end();
        }
        if at != allocation.end() {
            return Err(format!("{at:#x} to the end of {allocation} is missing"));
        }
    }
    Ok(())
}
