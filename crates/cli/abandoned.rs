//! A dump whose command is killed: its guard sees CRIU to its end, and the program goes on.
//!
//! CRIU is left to its end, for it has the program in its hands, as long as it would have had. What it leaves if
//! it has to be killed then is put in order as the command would have done.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use strobe_criu::guard::Guard;
use strobe_program::lease::Lease;
use strobe_program::process;

use crate::guard_link::{receive, send};
use crate::release;
use crate::tree::Tree;

/// How long a killed CRIU may be in the kernel's hands.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What there is to put in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// Of the checkpoint; CRIU's command line names it.
    pub(crate) staging: PathBuf,
    /// The program's processes, the root of all first.
    pub(crate) pids: Vec<u32>,
    /// Seconds.
    pub(crate) criu_limit: u64,
}

/// The guard of a command that takes a checkpoint.
#[derive(Debug)]
pub(crate) struct Watched(Guard);

impl Watched {
    /// Call before any thread exists.
    pub(crate) fn begin() -> io::Result<Self> {
        Guard::start(|link| {
            let mut last = None;
            let mut messages = io::BufReader::new(&link);
            while let Ok(Some(attempt)) = receive::<Option<Attempt>>(&mut messages) {
                last = attempt;
            }
            if let Some(attempt) = last {
                attempt.clear_up();
            }
        })
        .map(Self)
    }

    /// From now on there is this to put in order, or nothing.
    pub(crate) fn note(&self, attempt: Option<Attempt>) {
        // Without a guard it is as it was without one.
        if let Err(error) = send(self.0.link(), &attempt) {
            tracing::debug!("the command's guard: {error}");
        }
    }
}

impl Attempt {
    /// Of a checkpoint whose CRIU may work for so long.
    pub(crate) fn new(staging: PathBuf, tree: &Tree, limit: Duration) -> Self {
        let root = tree.root.pid;
        let agents = tree.agents.iter().map(|agent| agent.identity().pid);
        let others = agents.filter(|pid| *pid != root);
        Self {
            staging,
            pids: [root].into_iter().chain(others).collect(),
            criu_limit: limit.as_secs(),
        }
    }

    fn clear_up(&self) {
        let deadline = Instant::now() + Duration::from_secs(self.criu_limit);
        loop {
            let criu = self.criu();
            let now = Instant::now();
            if criu.is_empty() || now > deadline + PATIENCE {
                break;
            }
            if now > deadline {
                for pid in criu {
                    // It may have ended meanwhile.
                    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
                }
            }
            thread::sleep(LOOK_AGAIN);
        }
        // The table of a dead run is nobody's, whoever has the program now, and whichever of it lives.
        if let Some(folder) = self.staging.parent() {
            release::unlock_all(folder);
        }
        // Who has the program now has done the rest, or knows of nothing to do.
        let alive = self.pids.iter().filter(|pid| process::exists(**pid));
        let leases = alive.map(|pid| Lease::take(*pid).ok().flatten());
        if let Some(_leases) = leases.collect::<Option<Vec<_>>>()
            && let Some(root) = self.pids.first().filter(|pid| process::exists(**pid))
            && let Err(error) = release::put_in_order(*root, Some(&self.staging))
        {
            tracing::debug!("{error:#}");
        }
        let folder = self.staging.parent();
        if let Some(Err(error)) = folder.map(strobe_store::remove_dead) {
            tracing::debug!("{error}");
        }
    }

    fn criu(&self) -> Vec<u32> {
        let is_ours = |pid: &u32| {
            let words = process::command_line(*pid).unwrap_or_default();
            let mut pairs = words.windows(2);
            pairs.any(|pair| {
                pair[0] == "--images-dir" && Path::new(&pair[1]).starts_with(&self.staging)
            })
        };
        let all = process::all().unwrap_or_default().into_iter();
        all.filter(is_ours).collect()
    }
}
