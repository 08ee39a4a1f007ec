//! A restored program that runs before all its memory is back, seen from outside.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::awaited::Awaited;
use strobe_proto::page::Phase;

use crate::output::notice;

const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The agents that wait for memory.
#[derive(Debug)]
pub(crate) struct Loading(pub(crate) Vec<RemoteAgent>);

/// How it went.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Loaded {
    /// All was there.
    After(Duration),
    /// The program did not wait for it.
    Ended,
    /// The program was ended.
    Failed(String),
}

impl Loading {
    /// Waits until all is there, since `started`, or nobody wants it any more.
    pub(crate) fn wait(self, started: Instant) -> Loaded {
        let mut has_ended = false;
        for agent in self.0 {
            loop {
                // In this order: one that has ended may have said why before.
                let is_alive = agent.identity().is_alive();
                match agent.snapshot() {
                    Ok(page) if page.phase == Some(Phase::Loading) => {}
                    Ok(page) if is_failure(page.phase, page.unloaded_bytes) => {
                        return Loaded::Failed(page.reason);
                    }
                    Ok(_) => break,
                    Err(_) => {
                        has_ended = true;
                        break;
                    }
                }
                if !is_alive {
                    has_ended = true;
                    break;
                }
                thread::sleep(LOOK_AGAIN);
            }
        }
        match has_ended {
            true => Loaded::Ended,
            false => Loaded::After(started.elapsed()),
        }
    }
}

/// An agent that refuses a checkpoint has all of its memory.
fn is_failure(phase: Option<Phase>, unloaded: u64) -> bool {
    phase == Some(Phase::Refused) && unloaded != 0
}

/// Waits for the memory of a program that was restored, if that is still being filled.
pub(crate) fn wait_for(agent: &RemoteAgent) -> anyhow::Result<()> {
    let is_loading = || -> Result<bool, AgentError> { Ok(agent.phase()? == Some(Phase::Loading)) };
    if !is_loading()? {
        return Ok(());
    }
    let pid = agent.identity().pid;
    notice(format_args!(
        "waiting until all memory of process {pid} is loaded, which was restored"
    ));
    let mut awaited = Awaited::new(agent.identity());
    while is_loading()? {
        awaited.look()?;
        thread::sleep(LOOK_AGAIN);
    }
    let page = agent.snapshot()?;
    if is_failure(page.phase, page.unloaded_bytes) {
        bail!("{}", page.reason);
    }
    Ok(())
}
