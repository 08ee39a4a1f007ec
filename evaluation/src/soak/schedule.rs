//! Cycles side by side, each in a process namespace of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::plan::MOST_LATE;
use super::random::SplitMix64;
use super::{CycleOutcome, CycleVerdict, Figures, Plan, Reference, SoakProgram};
use crate::session::{said, spawn, wait};
use crate::strobe::Strobe;

/// A cycle that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// What is to be done.
#[derive(Debug)]
pub struct Schedule {
    /// The executable that plays one cycle: `strobe-soak cycle`.
    pub player: PathBuf,
    pub strobe: Strobe,
    pub programs: Vec<&'static SoakProgram>,
    /// Compiled programs.
    pub compiled: PathBuf,
    /// For everything else; what failed stays.
    pub folder: PathBuf,
    pub seed: u64,
    /// No cycle starts later.
    pub time: Duration,
    /// No more cycles than this.
    pub cycles: u64,
    pub workers: usize,
}

impl Schedule {
    /// Runs each program alone and then the cycles, and prints each as it ends. Programs take turns.
    pub fn run(&self) -> anyhow::Result<Vec<CycleOutcome>> {
        let start = Instant::now();
        let next = Mutex::new(0_u64);
        let outcomes = Mutex::new(Vec::new());
        let references = self.references()?;
        thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| {
                    loop {
                        let index = {
                            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                            // Every program has its turn, however short the time.
                            let first = *next < self.programs.len() as u64;
                            if *next >= self.cycles || (!first && start.elapsed() >= self.time) {
                                return;
                            }
                            *next += 1;
                            *next - 1
                        };
                        let outcome = self.cycle(index, &references);
                        print(&outcome);
                        let mut all = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                        all.push(outcome);
                    }
                });
            }
        });
        Ok(outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner))
    }

    /// Compiles the programs and runs each alone, several at a time.
    fn references(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.folder.join("references");
        let next = Mutex::new(self.programs.iter());
        let failed = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| {
                    loop {
                        let program = {
                            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                            next.next()
                        };
                        let Some(program) = program else { return };
                        if let Err(error) = self.reference(program, &folder) {
                            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                            failed.get_or_insert(error.context(program.name));
                            return;
                        }
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self
                .programs
                .iter()
                .map(|program| folder.join(format!("{}.json", program.name)))
                .collect()),
        }
    }

    fn reference(&self, program: &SoakProgram, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(format!("{}.json", program.name));
        let reference = self.run_alone(program, 1, &folder.join(program.name), &path)?;
        let (lines, time) = (reference.lines(), reference.milliseconds);
        println!("{:16} {lines} lines in {time} ms by itself", program.name);
        Ok(())
    }

    /// What the program writes in so many times its rounds, written down at `path`.
    fn run_alone(
        &self,
        program: &SoakProgram,
        times: u32,
        folder: &Path,
        path: &Path,
    ) -> anyhow::Result<Reference> {
        let command = program.command(&self.compiled, times)?;
        let device = program.device(&mut SplitMix64::new(self.seed));
        let reference = Reference::make(&self.strobe, &device, &command, folder)?;
        fs::write(path, serde_json::to_vec(&reference)?)?;
        Ok(reference)
    }

    /// A cycle. While its program is over before the first checkpoint, which happens on a busy machine,
    /// it begins again with one that lasts longer.
    fn cycle(&self, index: u64, references: &[PathBuf]) -> CycleOutcome {
        let at = index as usize % self.programs.len();
        let drawn = match self.cycles {
            1 => self.seed,
            _ => SplitMix64::new(self.seed.wrapping_add(index)).number() >> 32,
        };
        let mut seed = drawn;
        loop {
            let outcome = self.attempt(self.programs[at], seed, &references[at]);
            let late = matches!(outcome.verdict, CycleVerdict::TooLate(_));
            if !late || seed >> 32 >= MOST_LATE {
                return outcome;
            }
            seed += 1 << 32;
        }
    }

    /// The seed is all there is to know of it, beside the program.
    fn attempt(&self, program: &SoakProgram, seed: u64, reference: &Path) -> CycleOutcome {
        let start = Instant::now();
        let folder = self.folder.join(format!("{}-{seed}", program.name));
        let played = self.play(program, seed, reference, &folder);
        let (verdict, figures) = played.unwrap_or_else(|error| {
            (
                CycleVerdict::Failed(format!("{error:#}")),
                Figures::default(),
            )
        });
        if !matches!(verdict, CycleVerdict::Failed(_)) {
            let _ = fs::remove_dir_all(&folder);
        }
        CycleOutcome {
            program: program.name.to_owned(),
            seed,
            plan: Plan::draw(seed).to_string(),
            seconds: start.elapsed().as_secs_f64(),
            verdict,
            figures,
        }
    }

    fn play(
        &self,
        program: &SoakProgram,
        seed: u64,
        reference: &Path,
        folder: &Path,
    ) -> anyhow::Result<(CycleVerdict, Figures)> {
        let log = folder.join("cycle");
        fs::create_dir_all(&log)?;
        let longer = folder.join("reference.json");
        let reference = match Plan::times(seed) {
            1 => reference,
            times => {
                self.run_alone(program, times, &folder.join("alone"), &longer)?;
                &longer
            }
        };
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        // The shell is the namespace's first process: it waits for those whose parents are gone.
        command.args(["sh", "-c", "\"$0\" \"$@\"; exit $?"]);
        command.arg(&self.player).arg("cycle").arg(program.name);
        command.arg(seed.to_string()).arg(reference).arg(folder);
        // What one cycle learns of a kernel is not known to the next, nor to the user's own programs.
        command.env("XDG_CACHE_HOME", folder.join("cache"));
        let mut child = spawn(command, &log)?;
        let Some(status) = wait(&mut child, LIMIT)? else {
            let _ = child.kill();
            let _ = child.wait();
            anyhow::bail!("hang: the cycle did not end within {LIMIT:?}");
        };
        let text = fs::read_to_string(log.join("stdout"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("the cycle ended with {status}: {}", said(&log)))
    }
}

fn print(outcome: &CycleOutcome) {
    let verdict = match &outcome.verdict {
        CycleVerdict::Identical => "identical".to_owned(),
        CycleVerdict::Refused(sentence) => format!("refused: {sentence}"),
        CycleVerdict::TooLate(sentence) => format!("too late: {sentence}"),
        CycleVerdict::Failed(reason) => format!("FAILED: {reason}"),
    };
    let mut screen = std::io::stdout().lock();
    // Nobody is there to be told that nobody reads.
    let _ = writeln!(
        screen,
        "{:16} --repeat {} ({}) {:.1} s: {verdict}",
        outcome.program, outcome.seed, outcome.plan, outcome.seconds
    );
}
