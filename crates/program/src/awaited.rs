//! A process that somebody waits for, and that may end or be stopped meanwhile.

use std::time::{Duration, Instant};

use crate::process::{Identity, stat};

/// A stop of so long is waited out: batch systems let jobs take turns on a machine.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Why nothing more is to be waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum Standstill {
    #[error("process {0} has ended")]
    Ended(u32),
    #[error(
        "process {0} is stopped, by a signal or by a debugger; let it go on (`kill -CONT {0}`) and \
         try again"
    )]
    Stopped(u32),
}

/// Looks at the process again and again, for who waits for an answer of it.
#[derive(Clone, Debug)]
pub struct Awaited {
    program: Identity,
    stopped_since: Option<Instant>,
}

impl Awaited {
    /// Nothing is known of it yet.
    pub fn new(program: Identity) -> Self {
        Self {
            program,
            stopped_since: None,
        }
    }

    /// Fails when the process has ended, or was found stopped at every look of the last
    /// five seconds.
    pub fn look(&mut self) -> Result<(), Standstill> {
        let pid = self.program.pid;
        if !self.program.is_alive() {
            return Err(Standstill::Ended(pid));
        }
        if !stat(pid).is_ok_and(|stat| stat.is_stopped()) {
            self.stopped_since = None;
            return Ok(());
        }
        let since = *self.stopped_since.get_or_insert_with(Instant::now);
        match since.elapsed() < STOP_LIMIT {
            true => Ok(()),
            false => Err(Standstill::Stopped(pid)),
        }
    }
}
