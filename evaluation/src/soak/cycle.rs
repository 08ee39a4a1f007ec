//! One cycle, from the program's start to the last comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::comparison::difference;
use super::plan::{Step, Then};
use super::random::SplitMix64;
use super::{CycleVerdict, Figures, Plan, Reference, SoakProgram};
use crate::session::Session;
use crate::strobe::Strobe;
use crate::strobe::{CheckpointOutcome, ModeOption, succeed};

/// Longest time for anything a cycle waits for, on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);
/// Draws which of several checkpoints is restored, apart from what the plan draws.
const OLDER: u64 = 0x5eed;

/// What a command says of a program that is gone, or is about to go: its processes that use the GPU may have ended
/// before it.
const ENDED: [&str; 5] = [
    "has ended",
    "there is no process",
    "is exiting",
    "uses a GPU now",
    "has not used the GPU yet",
];
/// The agent holds an exit up for two seconds at most.
const EXIT_LIMIT: Duration = Duration::from_secs(10);

/// A cycle under way.
#[derive(Debug)]
pub struct Cycle<'a> {
    pub strobe: &'a Strobe,
    pub program: &'a SoakProgram,
    pub command: &'a [String],
    pub reference: &'a Reference,
    pub seed: u64,
    /// Its own; holds the output and the checkpoints.
    pub folder: &'a Path,
}

/// Why a cycle goes no further.
enum Stop {
    /// The program ended by itself before the checkpoint was taken; what was said to that.
    Ended(String),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// What has happened so far.
#[derive(Default)]
struct State {
    figures: Figures,
    refused: Option<String>,
    /// Checkpoints of the process that runs, oldest first.
    images: Vec<PathBuf>,
    restores: u32,
    /// Checkpoints asked for, refused ones too.
    attempts: u32,
    /// Why nothing more was tried.
    late: String,
}

impl Cycle<'_> {
    pub fn run(&self) -> (CycleVerdict, Figures) {
        let plan = Plan::draw(self.seed);
        let mut state = State::default();
        let verdict = match self.play(&plan, &mut state) {
            Ok(()) => match state.refused {
                Some(sentence) => CycleVerdict::Refused(sentence),
                None if state.figures.checkpoints == 0 => CycleVerdict::TooLate(state.late),
                None => CycleVerdict::Identical,
            },
            Err(error) => CycleVerdict::Failed(format!("{error:#}")),
        };
        (verdict, state.figures)
    }

    fn play(&self, plan: &Plan, state: &mut State) -> anyhow::Result<()> {
        let rates = plan.device.options();
        let device = self.device(&rates, 0);
        let words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let mut session = Session::start(self.strobe, &device, &words, self.folder)?;
        for step in &plan.steps {
            match self.step(step, session, &rates, state) {
                Ok(next) => session = next,
                Err(Stop::Ended(sentence)) => {
                    state.late = sentence;
                    return self.compare();
                }
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        self.end(session)
    }

    /// Options of the device that the program begins on, or is restored on for the so manyth time.
    fn device(&self, options: &[String], restores: u32) -> Vec<String> {
        let mut random = SplitMix64::new(self.seed ^ u64::from(restores) << 32);
        [options, &self.program.device(&mut random)].concat()
    }

    /// Until the next step's session runs. `device` are the options that all devices of the cycle have.
    fn step(
        &self,
        step: &Step,
        mut session: Session,
        device: &[String],
        state: &mut State,
    ) -> Result<Session, Stop> {
        let line = self.reference.line_at(step.permille);
        if !session.wait_for_lines(&self.folder.join("stdout"), line, LIMIT)? {
            let status = session.wait(LIMIT)?;
            return match status.success() {
                true => Err(Stop::Ended("before the moment".into())),
                false => Err(Stop::Failed(self.ended_badly(&status))),
            };
        }
        thread::sleep(step.delay);
        let images = format!("checkpoint-{}", state.attempts);
        let images = self.folder.join(images);
        state.attempts += 1;
        let kill = step.then == Then::KilledByCommand;
        let taken = self
            .strobe
            .try_checkpoint(session.pid(), &images, step.mode, kill, LIMIT)?;
        let report = match taken {
            CheckpointOutcome::Done(report) => report,
            CheckpointOutcome::Refused(sentence) if self.program.expects(&sentence) => {
                absent(&images)?;
                state.refused = Some(sentence);
                return Ok(session);
            }
            // It may be over before the command has found it, or in the middle; any other reason
            // is a failure, also where the program ended well in the meantime.
            CheckpointOutcome::Refused(sentence) | CheckpointOutcome::Failed(sentence)
                if ENDED.iter().any(|words| sentence.contains(words)) =>
            {
                absent(&images)?;
                let status = session.wait(EXIT_LIMIT)?;
                return match status.success() {
                    true => Err(Stop::Ended(sentence)),
                    false => Err(Stop::Failed(self.ended_badly(&status))),
                };
            }
            CheckpointOutcome::Refused(sentence) | CheckpointOutcome::Failed(sentence) => {
                return Err(anyhow::anyhow!("checkpoint: {sentence}").into());
            }
        };
        // With --kill the program stands still for all of it.
        state
            .figures
            .add(&report, step.mode == ModeOption::Cow && !kill);
        if let Some(accusation) = self.program.wrongly_accused(&report.missed_writes) {
            return Err(anyhow::anyhow!("checkpoint: {accusation}").into());
        }
        let mut verify = self.strobe.command();
        succeed(verify.arg("verify").arg(&images)).context("what was just written")?;
        state.images.push(images);
        match step.then {
            Then::RunOn => return Ok(session),
            Then::KilledByCommand => {
                session.wait(LIMIT).context("after --kill")?;
            }
            Then::Killed(after) => {
                thread::sleep(after);
                // It may end by itself at any moment, and then as it should.
                if session.is_alive() && session.kill_group().is_ok() {
                    session.gone()?;
                } else {
                    self.end(session)?;
                }
            }
            Then::Ends => self.end(session)?,
        }
        Ok(self.restore(device, state)?)
    }

    /// Restores the newest checkpoint, or one before it.
    fn restore(&self, device: &[String], state: &mut State) -> anyhow::Result<Session> {
        let mut random = SplitMix64::new(self.seed ^ OLDER);
        let newest = state.images.len() - 1;
        let chosen = match random.one_in(3) {
            true => random.below(state.images.len() as u64) as usize,
            false => newest,
        };
        let images = state.images[chosen].clone();
        let folder = self.folder.join(format!("restore-{}", state.restores));
        fs::create_dir(&folder)?;
        let device = self.device(device, state.restores + 1);
        let session = Session::restore(self.strobe, &device, &images, &folder, LIMIT)
            .with_context(|| format!("restore of {}", images.display()))?;
        state.restores += 1;
        state.figures.restores += 1;
        state.images.clear();
        Ok(session)
    }

    /// The program ends by itself, well, and has written what it should.
    fn end(&self, session: Session) -> anyhow::Result<()> {
        let pid = session.pid();
        let started = Instant::now();
        let status = session.wait(LIMIT).map_err(|error| {
            let waited = started.elapsed().as_secs();
            error.context(format!("hang: {} after {waited} s", tasks(pid)))
        })?;
        if !status.success() {
            return Err(self.ended_badly(&status));
        }
        self.compare()
    }

    fn compare(&self) -> anyhow::Result<()> {
        if let Some(difference) = difference(self.folder, self.reference) {
            bail!("not identical: {difference}");
        }
        Ok(())
    }

    fn ended_badly(&self, status: &std::process::ExitStatus) -> anyhow::Error {
        let what = difference(self.folder, self.reference).unwrap_or_default();
        anyhow::anyhow!("the program ended with {status}: {what}")
    }
}

/// A refused checkpoint leaves nothing.
fn absent(images: &Path) -> anyhow::Result<()> {
    ensure!(!images.exists(), "{} was left behind", images.display());
    Ok(())
}

/// What the threads of a process wait for.
fn tasks(pid: u32) -> String {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return "the program is gone".into();
    };
    let read = |path: &Path, name: &str| {
        let text = fs::read_to_string(path.join(name)).unwrap_or_default();
        text.trim().to_owned()
    };
    let tasks: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| {
            let path = entry.path();
            format!("{} in {}", read(&path, "comm"), read(&path, "wchan"))
        })
        .collect();
    tasks.join(", ")
}
