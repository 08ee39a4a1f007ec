//! The agent's gate and its promise.

use std::thread;
use std::time::{Duration, Instant};

use strobe_program::agent::{AgentError, RemoteAgent, Snapshot};
use strobe_program::awaited::{Awaited, Standstill};
use strobe_program::clock::now_ns;
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
    #[error("process {0} was restored and has not all of its memory yet")]
    Loading(u32),
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

/// Whether a process or one of those below it, which still run, was told to expect us.
pub(crate) fn is_awaited(root: u32) -> Result<bool, GateError> {
    for pid in process::tree(root).unwrap_or_default() {
        if find_armed(pid)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
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
        Some(Phase::Preparing | Phase::Closing | Phase::Drained | Phase::Cut | Phase::Copying) => {
            Err(GateError::Busy(pid))
        }
        Some(Phase::Loading) => Err(GateError::Loading(pid)),
    }
}

/// One alone goes all the way. Of several none takes its cut before the work of all has ended.
fn all_at_cut(agents: &[RemoteAgent]) -> Result<Vec<AtCut>, GateError> {
    let mut all = Together::new(agents);
    if agents.len() > 1 {
        all.set_goal(Goal::Drained)?;
        let mut turns = Turns::begin();
        while !all.are_at(Phase::Drained)? {
            if turns.is_due() {
                all.give_way()?;
            }
            thread::sleep(POLL);
        }
    }
    all.set_goal(Goal::Cut)?;
    while !all.are_at(Phase::Cut)? {
        thread::sleep(POLL);
    }
    let at_cut = |agent: &RemoteAgent| {
        Ok(AtCut {
            promise: agent.hand_over()?,
            agent: *agent,
        })
    };
    agents.iter().map(at_cut).collect()
}

/// Agents on their way to one cut.
struct Together<'a> {
    agents: &'a [RemoteAgent],
    awaited: Vec<Awaited>,
    deadline: Instant,
}

impl<'a> Together<'a> {
    fn new(agents: &'a [RemoteAgent]) -> Self {
        Self {
            agents,
            awaited: agents.iter().map(|a| Awaited::new(a.identity())).collect(),
            deadline: Instant::now() + GATE_LIMIT,
        }
    }

    fn set_goal(&self, goal: Goal) -> Result<(), GateError> {
        Ok(self
            .agents
            .iter()
            .try_for_each(|agent| agent.set_goal(goal))?)
    }

    fn are_at(&mut self, there: Phase) -> Result<bool, GateError> {
        let mut all = true;
        for (agent, awaited) in self.agents.iter().zip(&mut self.awaited) {
            awaited.look()?;
            match agent.phase()? {
                Some(Phase::Refused) => return Err(refusal(&agent.snapshot()?)),
                phase => all &= phase == Some(there),
            }
            if Instant::now() > self.deadline {
                return Err(GateError::TimeOut(agent.identity().pid));
            }
        }
        Ok(all)
    }

    /// The work of one may wait for what another would do that stands at its gate: those whose work has ended make
    /// one call in each thread. Not more, for what they begin may wait for the first in its turn.
    fn give_way(&mut self) -> Result<(), GateError> {
        for agent in self.agents {
            if agent.phase()? == Some(Phase::Drained) {
                agent.set_goal(Goal::Pass)?;
            }
        }
        // One that refuses, or ends, is found with all the others.
        for agent in self.agents {
            while agent.phase()? == Some(Phase::Drained)
                && agent.goal()? == Goal::Pass
                && Instant::now() < self.deadline
            {
                thread::sleep(POLL);
            }
        }
        Ok(())
    }
}

/// When processes that wait for one another are helped. By many small steps, since each may be one too many; with
/// pauses, in which work ends that is only long. Both are longer each time: how long work is, and how fast the
/// machine, nobody knows.
struct Turns {
    pause: Duration,
    left: u32,
    next: Instant,
}

impl Turns {
    /// Between two pauses.
    const IN_A_ROW: u32 = 32;
    /// Of these and the pause before them.
    const PAUSE: Duration = Duration::from_millis(200);

    fn begin() -> Self {
        Self {
            pause: Self::PAUSE,
            left: Self::IN_A_ROW,
            next: Instant::now() + Self::PAUSE,
        }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.left -= 1;
        let wait = match self.left {
            0 => {
                (self.pause, self.left) = (2 * self.pause, Self::IN_A_ROW);
                self.pause
            }
            _ => self.pause / (2 * Self::IN_A_ROW),
        };
        self.next = now + wait;
        true
    }
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
