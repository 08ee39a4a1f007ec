//! The agent's gate and its promise.

use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use strobe_program::agent::{AgentError, RemoteAgent, Snapshot};
use strobe_program::awaited::{Awaited, Standstill};
use strobe_program::process;
use strobe_proto::HandOver;
use strobe_proto::page::{Phase, Verdict};

/// Longer than any drain the agent attempts; the command that started CRIU has its own, shorter.
const GATE_LIMIT: Duration = Duration::from_secs(600);
/// How long the command may take to commit.
const HOLD_LIMIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(1);
/// At a process that changes under our eyes.
const LOOKS: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum GateError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("{0}")]
    Refused(String),
    #[error("another checkpoint of process {0} is under way")]
    Busy(u32),
    #[error("the agent of process {0} did not close its gate in time")]
    TimeOut(u32),
    #[error(transparent)]
    Standstill(#[from] Standstill),
}

/// An agent at the cut.
#[derive(Debug)]
pub(crate) struct AtCut {
    pub(crate) agent: RemoteAgent,
    pub(crate) promise: HandOver,
    pub(crate) waited: Duration,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(crate) seen_ns: u64,
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}

/// Closes the gate of a process that still runs, if its agent was told to expect us. `None` where
/// there is no agent or nobody asked it: all content is then copied by us.
pub(crate) fn close_gate(pid: u32) -> Result<Option<AtCut>, GateError> {
    let Some(agent) = find(pid)? else {
        return Ok(None);
    };
    match agent.phase()? {
        Some(Phase::Armed) => {}
        Some(Phase::Idle) | None => return Ok(None),
        Some(Phase::Refused) => return Err(refusal(&agent.snapshot()?)),
        Some(Phase::Preparing | Phase::Closing | Phase::Cut | Phase::Copying) => {
            return Err(GateError::Busy(pid));
        }
    }
    let started = Instant::now();
    let mut awaited = Awaited::new(agent.identity());
    agent.close_gate()?;
    loop {
        awaited.look()?;
        match agent.phase()? {
            Some(Phase::Cut) => break,
            Some(Phase::Refused) => return Err(refusal(&agent.snapshot()?)),
            _ if started.elapsed() > GATE_LIMIT => return Err(GateError::TimeOut(pid)),
            _ => thread::sleep(POLL),
        }
    }
    Ok(Some(AtCut {
        promise: agent.hand_over()?,
        waited: started.elapsed(),
        seen_ns: now_ns(),
        agent,
    }))
}

/// Keeps a program frozen that is to do nothing after the cut, until the command has ended it. It goes
/// on when the command says so, is not there any more, or does not decide.
pub(crate) fn hold(at_cut: &AtCut) {
    let started = Instant::now();
    while at_cut.promise.kill && started.elapsed() < HOLD_LIMIT {
        // Of a program that has ended there is none.
        let Ok(now) = at_cut.agent.snapshot() else {
            return;
        };
        let is_held = now.controller.is_alive() && at_cut.agent.identity().is_alive();
        if now.verdict != Some(Verdict::Dumped) || !is_held {
            return;
        }
        thread::sleep(POLL);
    }
}

/// The agent of a process of the tree, which still runs: a child of the program may end while it is
/// looked at, and then it has nothing to save, or become another program, and is looked at again.
fn find(pid: u32) -> Result<Option<RemoteAgent>, AgentError> {
    let mut looks = 1;
    loop {
        match RemoteAgent::find(pid) {
            Ok(agent) => return Ok(Some(agent)),
            Err(
                AgentError::NoAgent(_)
                | AgentError::Unused(_)
                | AgentError::Forked(_)
                | AgentError::Gone(_),
            ) => return Ok(None),
            Err(_) if process::stat(pid).map_or(true, |stat| stat.is_dead()) => return Ok(None),
            Err(error) if looks == LOOKS => return Err(error),
            Err(_) => thread::sleep(POLL),
        }
        looks += 1;
    }
}

fn refusal(snapshot: &Snapshot) -> GateError {
    GateError::Refused(snapshot.reason.clone())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// CRIU lists the tree first and asks us afterwards.
    #[test]
    fn a_child_that_has_ended_meanwhile_has_no_gate() {
        assert!(matches!(close_gate(u32::MAX >> 1), Ok(None)));
        let mut child = Command::new("true").spawn().expect("true starts");
        let pid = child.id();
        // Alive, dying or a zombie: nothing of it is an error.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !process::stat(pid).expect("not waited for").is_dead() {
            assert!(matches!(close_gate(pid), Ok(None)));
            assert!(Instant::now() < deadline, "true does not end");
        }
        assert!(matches!(close_gate(pid), Ok(None)));
        child.wait().expect("it has ended");
        assert!(matches!(close_gate(pid), Ok(None)));
    }
}
