//! The agent's gate and its promise.

use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use strobe_program::agent::{AgentError, RemoteAgent, Snapshot};
use strobe_program::awaited::{Awaited, Standstill};
use strobe_program::process;
use strobe_proto::HandOver;
use strobe_proto::page::{Goal, Phase, Verdict};

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
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}

/// All that a dump saves of agents, at one cut.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) agents: Vec<AtCut>,
    pub(crate) waited: Duration,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(crate) seen_ns: u64,
}

/// Brings the agents of a process and of those below it, which still run, to one cut: those that were told
/// to expect us. Where there is none, all content is copied by us.
///
/// # Errors
/// Those that had begun are told then that it is off.
pub(crate) fn take_cut(root: u32) -> Result<Cut, GateError> {
    let mut armed = Vec::new();
    for pid in process::tree(root).unwrap_or_default() {
        armed.extend(find_armed(pid)?);
    }
    let started = Instant::now();
    let agents = all_at_cut(&armed).inspect_err(|_| {
        for agent in &armed {
            // Who refuses it knows already, and who has ended need not know.
            let _ = agent.set_verdict(Verdict::Aborted);
        }
    })?;
    Ok(Cut {
        agents,
        waited: started.elapsed(),
        seen_ns: now_ns(),
    })
}

/// The agent of a process, if it waits for a dump.
fn find_armed(pid: u32) -> Result<Option<RemoteAgent>, GateError> {
    let Some(agent) = find(pid)? else {
        return Ok(None);
    };
    match agent.phase()? {
        Some(Phase::Armed) => Ok(Some(agent)),
        Some(Phase::Idle) | None => Ok(None),
        Some(Phase::Refused) => Err(refusal(&agent.snapshot()?)),
        Some(
            Phase::Preparing
            | Phase::Closing
            | Phase::Closed
            | Phase::Drained
            | Phase::Cut
            | Phase::Copying,
        ) => Err(GateError::Busy(pid)),
    }
}

/// One alone goes all the way. Of several none waits for its GPU work before the gates of all are closed,
/// and none fixes what it saves before all work is done. Where one does not come to rest, it may wait for
/// another that stands at its gate: then all are let go on, and it begins anew.
fn all_at_cut(agents: &[RemoteAgent]) -> Result<Vec<AtCut>, GateError> {
    let deadline = Instant::now() + GATE_LIMIT;
    let mut awaited: Vec<_> = agents.iter().map(|a| Awaited::new(a.identity())).collect();
    let steps: &[_] = match agents {
        [] => return Ok(Vec::new()),
        [_] => &[(Goal::Cut, Phase::Cut)],
        _ => &[
            (Goal::Closed, Phase::Closed),
            (Goal::Drained, Phase::Drained),
            (Goal::Cut, Phase::Cut),
        ],
    };
    loop {
        let attempts = |agent: &RemoteAgent| agent.snapshot().map(|now| now.attempts);
        let before: Vec<u32> = agents.iter().map(attempts).collect::<Result<_, _>>()?;
        // One alone tries again by itself.
        let has_failed = |number: usize, agent: &RemoteAgent, phase| {
            let is_armed = steps.len() > 1 && phase == Some(Phase::Armed);
            Ok::<_, GateError>(is_armed && attempts(agent)? > before[number])
        };
        let mut reached = true;
        for &(goal, phase) in steps {
            reached =
                reached && all_reach(agents, &mut awaited, goal, phase, has_failed, deadline)?;
        }
        if reached {
            break;
        }
        all_reach(
            agents,
            &mut awaited,
            Goal::Open,
            Phase::Armed,
            |_, _, _| Ok(false),
            deadline,
        )?;
    }
    let at_cut = |agent: &RemoteAgent| {
        Ok(AtCut {
            promise: agent.hand_over()?,
            agent: *agent,
        })
    };
    agents.iter().map(at_cut).collect()
}

/// Sends all to a goal and waits until they are there; `false` where one has failed.
fn all_reach(
    agents: &[RemoteAgent],
    awaited: &mut [Awaited],
    goal: Goal,
    there: Phase,
    has_failed: impl Fn(usize, &RemoteAgent, Option<Phase>) -> Result<bool, GateError>,
    deadline: Instant,
) -> Result<bool, GateError> {
    for agent in agents {
        agent.set_goal(goal)?;
    }
    for (number, agent) in agents.iter().enumerate() {
        loop {
            awaited[number].look()?;
            match agent.phase()? {
                Some(phase) if phase == there => break,
                Some(Phase::Refused) => return Err(refusal(&agent.snapshot()?)),
                phase if has_failed(number, agent, phase)? => return Ok(false),
                _ if Instant::now() > deadline => {
                    return Err(GateError::TimeOut(agent.identity().pid));
                }
                _ => thread::sleep(POLL),
            }
        }
    }
    Ok(true)
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
        assert!(matches!(find_armed(u32::MAX >> 1), Ok(None)));
        let mut child = Command::new("true").spawn().expect("true starts");
        let pid = child.id();
        // Alive, dying or a zombie: nothing of it is an error.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !process::stat(pid).expect("not waited for").is_dead() {
            assert!(matches!(find_armed(pid), Ok(None)));
            assert!(Instant::now() < deadline, "true does not end");
        }
        assert!(matches!(find_armed(pid), Ok(None)));
        child.wait().expect("it has ended");
        assert!(matches!(find_armed(pid), Ok(None)));
    }
}
