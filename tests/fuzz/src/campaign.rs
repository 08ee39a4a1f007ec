//! Draws kernels, runs them, judges them, and keeps what fails.

use std::panic;
use std::time::{Duration, Instant};

use serde::Serialize;
use strobe_code_object::Kernel;
use strobe_footprint::KernelFootprint;

use crate::compile::{Compiler, Language};
use crate::device::{Device, Module};
use crate::hip;
use crate::judge::{Judgement, footprint, judge};
use crate::machine;
use crate::program::{self, Program, name};
use crate::random::Random;
use crate::saved;
use crate::scene::Scene;
use crate::shrink::Failure;

/// Kernels of one file: the compiler's start costs as much as some ten of them.
const HIP_FILE: usize = 48;
/// The assembler is much faster.
const MACHINE_FILE: usize = 400;
/// Launches of each kernel.
const LAUNCHES: usize = 5;

/// A launch that takes longer and is not right did not end.
const LONG: Duration = Duration::from_secs(10);

/// Code without optimisation is large and slow to compile, and its calls make all of it unknown.
const LEVELS: [&str; 12] = [
    "-O0", "-O1", "-O1", "-O1", "-O2", "-O2", "-O2", "-O2", "-O3", "-O3", "-Os", "-Os",
];
const FLAGS: [&str; 4] = [
    "",
    "-fwrapv",
    "-mllvm -amdgpu-early-inline-all=true -mllvm -amdgpu-function-calls=false",
    "-fno-strict-aliasing -ffast-math",
];

/// What was done so far with kernels of one language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub rounds: u64,
    pub kernels: u64,
    /// Launches that were judged.
    pub launches: u64,
    /// Of those, whose writes and reads were known.
    pub writes_known: u64,
    pub reads_known: u64,
    /// After which pointers were known to be in memory.
    pub pointers_known: u64,
    /// Launches of programs that are not right.
    pub invalid: u64,
    /// Kernels that the compiler does not take.
    pub refused: u64,
    /// Kernels with a launch that touched what was not foreseen.
    pub missed: u64,
    /// Kernels judged before the first of those, with it.
    pub first_miss: Option<u64>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tallies {
    pub hip: Tally,
    pub machine: Tally,
}

impl Tallies {
    fn of(&mut self, language: Language) -> &mut Tally {
        match language {
            Language::Hip => &mut self.hip,
            Language::Assembly => &mut self.machine,
        }
    }

    /// Kernels with a launch that touched what was not foreseen.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.hip.missed + self.machine.missed
    }
}

/// What runs kernels.
#[derive(Debug)]
pub struct Bench {
    compiler: Compiler,
    device: Device,
    pub tallies: Tallies,
}

impl Bench {
    /// # Errors
    /// If there is no room for the compiler's files.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            compiler: Compiler::new()?,
            device: Device::new(),
            tallies: Tallies::default(),
        })
    }

    /// Compiles a source and puts it on the device.
    ///
    /// # Errors
    /// If the compiler does not take it.
    pub fn load(
        &mut self,
        language: Language,
        source: &str,
        flags: &str,
    ) -> anyhow::Result<Module> {
        let elf = self.compiler.compile(language, source, flags)?;
        self.device.load(&elf)
    }

    /// Judges one launch of the kernel called `name`.
    pub fn launch(&mut self, module: &Module, name: &str, scene: &Scene) -> Judgement {
        match kernel(module, name) {
            Ok((kernel, footprint)) => judge(&mut self.device, module, kernel, &footprint, scene),
            Err(verdict) => verdict,
        }
    }

    /// The first of `programs` that touches what was not foreseen, and what that is.
    pub(crate) fn trial<P: Program>(
        &mut self,
        programs: &[P],
        flags: &str,
        scene: &Scene,
    ) -> anyhow::Result<Option<(usize, String)>> {
        let Ok(module) = self.load(P::LANGUAGE, &program::file(programs), flags) else {
            // One of them is not taken: each on its own.
            let (first, second) = programs.split_at(programs.len() / 2);
            if first.is_empty() {
                return Ok(None);
            }
            if let Some(found) = self.trial(first, flags, scene)? {
                return Ok(Some(found));
            }
            let found = self.trial(second, flags, scene)?;
            return Ok(found.map(|(at, missed)| (at + first.len(), missed)));
        };
        for at in 0..programs.len() {
            if let Judgement::Missed(missed) = self.launch(&module, &name(at), scene) {
                return Ok(Some((at, missed)));
            }
        }
        Ok(None)
    }

    /// Whether the kernel of a source fails in a scene.
    pub(crate) fn failing<'a>(
        &'a mut self,
        language: Language,
        source: &str,
        flags: &str,
    ) -> anyhow::Result<impl FnMut(&Scene) -> bool + 'a> {
        let module = self.load(language, source, flags)?;
        let footprint = kernel(&module, &name(0)).map(|(_, footprint)| footprint);
        Ok(move |scene: &Scene| {
            let verdict = match (&footprint, module.object.kernels.first()) {
                (Ok(footprint), Some(kernel)) => {
                    judge(&mut self.device, &module, kernel, footprint, scene)
                }
                (Err(verdict), _) => verdict.clone(),
                (_, None) => return false,
            };
            matches!(verdict, Judgement::Missed(_))
        })
    }

    /// Draws, runs and judges a file of kernels: language and `seed` decide everything. Gives the
    /// failures, at most `most` of them shrunk and as the text of a saved case.
    ///
    /// # Errors
    /// If the compiler cannot be run.
    pub fn round(
        &mut self,
        language: Language,
        seed: u64,
        most: usize,
    ) -> anyhow::Result<Vec<String>> {
        let mut random = Random::new(seed);
        self.tallies.of(language).rounds += 1;
        if language == Language::Assembly {
            let programs: Vec<_> = (0..MACHINE_FILE)
                .map(|_| machine::kernel(&mut random))
                .collect();
            return self.run(&programs, "", &mut random, machine::scene, most);
        }
        let flags = flags(&mut random);
        let programs: Vec<_> = (0..HIP_FILE).map(|_| hip::kernel(&mut random)).collect();
        self.run(&programs, &flags, &mut random, hip::scene, most)
    }

    fn run<P: Program>(
        &mut self,
        programs: &[P],
        flags: &str,
        random: &mut Random,
        scene: fn(&mut Random) -> Scene,
        most: usize,
    ) -> anyhow::Result<Vec<String>> {
        let module = match self.load(P::LANGUAGE, &program::file(programs), flags) {
            Ok(module) => module,
            Err(_) if programs.len() > 1 => {
                let (first, second) = programs.split_at(programs.len() / 2);
                let mut found = self.run(first, flags, random, scene, most)?;
                let most = most.saturating_sub(found.len());
                found.extend(self.run(second, flags, random, scene, most)?);
                return Ok(found);
            }
            Err(_) => {
                self.tallies.of(P::LANGUAGE).refused += 1;
                return Ok(Vec::new());
            }
        };
        let mut failures = Vec::new();
        for (number, program) in programs.iter().enumerate() {
            let failure = self.judge_kernel(P::LANGUAGE, &module, &name(number), random, scene);
            let tally = self.tallies.of(P::LANGUAGE);
            tally.kernels += 1;
            if let Some((scene, missed)) = failure {
                tally.missed += 1;
                tally.first_miss = tally.first_miss.or(Some(tally.kernels));
                failures.push(Failure {
                    program: program.clone(),
                    scene,
                    flags: flags.to_owned(),
                    missed,
                });
            }
        }
        failures.truncate(most);
        let shrunk = failures.into_iter().map(|failure| {
            // As it was found is better than not at all.
            let small = failure.clone().shrunk(self);
            saved::text(&small.unwrap_or(failure))
        });
        Ok(shrunk.collect())
    }

    /// The first launch of a kernel that fails.
    fn judge_kernel(
        &mut self,
        language: Language,
        module: &Module,
        name: &str,
        random: &mut Random,
        scene: fn(&mut Random) -> Scene,
    ) -> Option<(Scene, String)> {
        let kernel = module.object.kernels.iter().find(|k| k.name == name)?;
        let mut failure = None;
        // One launch that does not end is enough.
        let mut endless = false;
        let footprint = footprint(&module.object, kernel);
        for _ in 0..LAUNCHES {
            // Drawn also behind a failure: what follows must not depend on the analysis.
            let scene = scene(random);
            if failure.is_some() || endless {
                continue;
            }
            let start = Instant::now();
            let verdict = match &footprint {
                Ok(footprint) => judge(&mut self.device, module, kernel, footprint, &scene),
                Err(panic) => Judgement::Missed(panic.to_string()),
            };
            let tally = self.tallies.of(language);
            match verdict {
                Judgement::Holds {
                    reads,
                    writes,
                    pointers,
                } => {
                    tally.launches += 1;
                    tally.pointers_known += u64::from(pointers);
                    tally.reads_known += u64::from(reads);
                    tally.writes_known += u64::from(writes);
                }
                Judgement::Invalid(_) => {
                    tally.invalid += 1;
                    endless = start.elapsed() > LONG;
                }
                Judgement::Missed(missed) => {
                    tally.launches += 1;
                    failure = Some((scene, missed));
                }
            }
        }
        failure
    }
}

/// How a file of HIP source is compiled.
#[must_use]
pub fn flags(random: &mut Random) -> String {
    format!("{} {}", random.pick(&LEVELS), random.pick(&FLAGS))
}

/// A kernel and its footprint, or what is to be said of it without a launch.
fn kernel<'a>(module: &'a Module, name: &str) -> Result<(&'a Kernel, KernelFootprint), Judgement> {
    let kernel = module.object.kernels.iter().find(|k| k.name == name);
    let kernel = kernel.ok_or_else(|| Judgement::Invalid(format!("there is no kernel {name}")))?;
    let footprint =
        footprint(&module.object, kernel).map_err(|panic| Judgement::Missed(panic.to_string()))?;
    Ok((kernel, footprint))
}

/// Rounds until the time is over, of the languages in turn; tells what it found after each.
///
/// # Errors
/// If the compiler cannot be run.
pub fn run(
    languages: &[Language],
    seed: u64,
    time: Duration,
    most: usize,
    mut tell: impl FnMut(u64, &Tallies, &[String]),
) -> anyhow::Result<Tallies> {
    let quiet = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let mut bench = Bench::new()?;
    let mut kept = 0;
    let rounds = languages.iter().cycle().zip(0..);
    for (&language, round) in rounds.take_while(|_| start.elapsed() < time) {
        let seed = seed.wrapping_add(round);
        let found = bench.round(language, seed, most - kept)?;
        kept += found.len();
        tell(seed, &bench.tallies, &found);
    }
    panic::set_hook(quiet);
    Ok(bench.tallies)
}
