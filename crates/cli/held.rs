//! `strobe checkpoint --kill`: the program stays frozen from its cut until it is ended.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use strobe_criu::run::{RunError, Running};
use strobe_program::agent::RemoteAgent;
use strobe_program::process::{self, Identity};
use strobe_proto::page::Verdict;

use crate::scratch::Scratch;
use crate::tree::{Tree, gone};

/// How long a killed program may take to end: the driver waits for its GPU work.
const END: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A program that CRIU has saved and holds. Dropped, it goes on, unless it has been ended.
#[derive(Debug)]
pub(crate) struct Held {
    root: Identity,
    agents: Vec<RemoteAgent>,
    criu: Option<Running>,
    /// Where CRIU works.
    work: Option<Scratch>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // The plugin sees either: that the checkpoint is off, or that nobody is there any more. CRIU is
        // left to its end, which says nothing about the checkpoint.
        for agent in &self.agents {
            if let Err(error) = agent.set_verdict(Verdict::Aborted) {
                tracing::debug!("{error}");
            }
        }
        if let Some(Err(error)) = self.criu.take().map(|criu| criu.finish(|| false)) {
            tracing::debug!("{error}");
        }
    }
}

impl Held {
    /// Waits for the plugin's verdict; the program stays frozen after it. Those that have ended before all was frozen
    /// hear none.
    pub(crate) fn saved(tree: &Tree, mut criu: Running) -> Result<Held, RunError> {
        let is_saved = |agent: &RemoteAgent| {
            let snapshot = agent.snapshot();
            snapshot.is_ok_and(|snapshot| snapshot.verdict == Some(Verdict::Dumped))
        };
        criu.until(|| {
            let (saved, others): (Vec<_>, Vec<_>) = tree.agents.iter().partition(|a| is_saved(a));
            !saved.is_empty() && others.into_iter().all(|agent| gone(agent).is_some())
        })?;
        Ok(Held {
            root: tree.root,
            agents: tree.agents.clone(),
            criu: Some(criu),
            work: None,
        })
    }

    /// Keeps the folder in which CRIU works.
    pub(crate) fn keep(&mut self, work: Scratch) {
        self.work = Some(work);
    }

    /// Ends the program.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        end(self.root)
    }
}

/// Ends a program and all processes below it; none of them is there any more when this returns, but for
/// those that nobody has waited for.
fn end(program: Identity) -> anyhow::Result<()> {
    let Ok(pids) = process::tree(program.pid) else {
        return Ok(());
    };
    if !program.is_alive() {
        return Ok(());
    }
    let all: Vec<Identity> = pids.into_iter().flat_map(Identity::of).collect();
    for one in &all {
        match kill(Pid::from_raw(one.pid.cast_signed()), Signal::SIGKILL) {
            Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
            Err(error) => return Err(error).context("the program cannot be ended"),
        }
    }
    let deadline = Instant::now() + END;
    while all.iter().any(|one| one.is_alive()) {
        if Instant::now() > deadline {
            bail!("the program was killed and does not end");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}
