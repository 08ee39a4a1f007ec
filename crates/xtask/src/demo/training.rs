//! One run of the training program.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use strobe_evaluation::{Session, Strobe, session};

use super::LIMIT;

pub(super) const STEPS: u64 = 32;
const STATE_MB: u64 = 32;
const LOG: &str = "log";
const WEIGHTS: &str = "weights";

/// Where a run writes, and how it is started.
#[derive(Debug)]
pub(super) struct Training {
    pub(super) folder: PathBuf,
    arguments: Vec<String>,
}

impl Training {
    pub(super) fn in_folder(program: &Path, folder: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir(&folder)?;
        let program = program
            .to_str()
            .context("the program's path is not UTF-8")?;
        let arguments = [
            program,
            "--state-mb",
            &STATE_MB.to_string(),
            "--steps",
            &STEPS.to_string(),
            "--log",
            LOG,
            "--out",
            WEIGHTS,
        ];
        Ok(Self {
            folder,
            arguments: arguments.map(str::to_owned).to_vec(),
        })
    }

    pub(super) fn command_line(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }

    /// On a software GPU, without strobe, to its end.
    pub(super) fn run_alone(&self, strobe: &Strobe) -> anyhow::Result<()> {
        let start = Instant::now();
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).args(&self.arguments);
        let mut child = session::spawn(command, &self.folder)?;
        let status = loop {
            if let Some(status) = session::wait(&mut child, std::time::Duration::from_millis(200))?
            {
                break status;
            }
            self.show_progress()?;
            if start.elapsed() > LIMIT {
                let _ = child.kill();
                bail!("training takes more than {LIMIT:?}");
            }
        };
        self.show_progress()?;
        if !status.success() {
            bail!(
                "training ended with {status}: {}",
                session::said(&self.folder)
            );
        }
        println!("  {STEPS} steps in {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Rewrites one line, only where somebody watches.
    fn show_progress(&self) -> anyhow::Result<()> {
        let mut screen = std::io::stdout();
        if screen.is_terminal() {
            write!(screen, "\r  step {} of {STEPS} \r", self.steps()?)?;
            screen.flush()?;
        }
        Ok(())
    }

    /// Steps that the log holds so far.
    pub(super) fn steps(&self) -> anyhow::Result<u64> {
        let log = fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        Ok(log.lines().filter(|line| line.starts_with("step ")).count() as u64)
    }

    pub(super) fn wait_for_step(&self, session: &mut Session, step: u64) -> anyhow::Result<()> {
        if step >= STEPS {
            bail!("training is too fast for the demo: it ends before its checkpoints");
        }
        session.wait_for(LOG, &format!("step {step} "), LIMIT)
    }

    /// Compares log (the loss of every step) and final weights, bit for bit; says what differs.
    pub(super) fn is_identical_to(&self, reference: &Self) -> anyhow::Result<bool> {
        let mut identical = true;
        for name in [LOG, WEIGHTS] {
            let read = |training: &Self| {
                let path = training.folder.join(name);
                fs::read(&path).with_context(|| format!("read {}", path.display()))
            };
            let (mine, other) = (read(self)?, read(reference)?);
            let same = mine == other && !mine.is_empty();
            println!(
                "  {name}: {} bytes, {}",
                mine.len(),
                if same { "equal" } else { "DIFFERENT" }
            );
            identical &= same;
        }
        if self.steps()? != STEPS {
            println!("  the log has {} steps instead of {STEPS}", self.steps()?);
            identical = false;
        }
        Ok(identical)
    }
}
