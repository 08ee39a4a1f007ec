//! Cycles side by side, each in a process namespace of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::plan::LATEST_PERMILLE;
use super::random::SplitMix64;
use super::{CycleOutcome, CycleVerdict, Figures, Plan, Reference, SoakProgram};
use crate::session::{said, spawn, wait};
use crate::strobe::Strobe;

/// A cycle that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// At cycles whose program ends before its first checkpoint.
const ATTEMPTS: u64 = 4;

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
        let command = program.command(&self.compiled)?;
        let device = program.device(&mut SplitMix64::new(self.seed));
        let folder_of_run = folder.join(program.name);
        let reference = Reference::make(&self.strobe, &device, &command, &folder_of_run)?;
        let (lines, time) = (reference.lines(), reference.milliseconds);
        let path = folder.join(format!("{}.json", program.name));
        fs::write(path, serde_json::to_vec(&reference)?)?;
        println!("{:16} {lines} lines in {time} ms by itself", program.name);
        Ok(())
    }

    /// A cycle, and others in its place while the program is not caught at work.
    fn cycle(&self, index: u64, references: &[PathBuf]) -> CycleOutcome {
        let mut attempt = 0;
        loop {
            let outcome = self.attempt(index, attempt, references);
            attempt += 1;
            let late = matches!(outcome.verdict, CycleVerdict::TooLate(_));
            if !late || attempt == ATTEMPTS || self.cycles == 1 {
                return outcome;
            }
        }
    }

    /// The seed of a cycle is all there is to know of it, beside the program.
    fn attempt(&self, index: u64, attempt: u64, references: &[PathBuf]) -> CycleOutcome {
        let seed = match self.cycles {
            1 => self.seed,
            _ => early_enough(self.seed, index, attempt),
        };
        let at = index as usize % self.programs.len();
        let program = self.programs[at];
        let start = Instant::now();
        let folder = self.folder.join(format!("{}-{seed}", program.name));
        let played = self.play(program, seed, &references[at], &folder);
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

/// The seed of a cycle's attempt. After one that came too late, the first checkpoint comes earlier: on a busy machine
/// a short program may be over before its checkpoint begins, whenever in its second half that was asked for.
fn early_enough(seed: u64, index: u64, attempt: u64) -> u64 {
    (0..)
        .map(|draw: u64| {
            let which = index.wrapping_add(attempt << 32).wrapping_add(draw << 40);
            SplitMix64::new(seed.wrapping_add(which)).number() >> 32
        })
        .find(|&seed| Plan::draw(seed).steps[0].permille <= LATEST_PERMILLE >> attempt)
        .unwrap_or(seed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_too_late_is_tried_earlier() {
        for attempt in 0..ATTEMPTS {
            let seeds = (0..50).map(|index| early_enough(7, index, attempt));
            let latest = seeds.map(|seed| Plan::draw(seed).steps[0].permille).max();
            assert!(
                latest <= Some(LATEST_PERMILLE >> attempt),
                "{attempt}: {latest:?}"
            );
        }
    }
}
