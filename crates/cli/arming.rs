//! Agents are told to expect a dump, and that it is off.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use strobe_graph::Window;
use strobe_program::agent::RemoteAgent;
use strobe_program::awaited::{Awaited, Standstill};
use strobe_program::process::Identity;
use strobe_proto::page::{NO_DUMP, Phase, Verdict};
use strobe_proto::{Begin, CopyFacts, from_agent, to_agent};

use crate::delivery::Known;
use crate::ended::Passing;
use crate::launches;
use crate::link::{Link, Listener};
use crate::outcome::Refused;

/// For the agent to connect, and to get ready.
pub(crate) const CONNECT: Duration = Duration::from_secs(20);
const ARM: Duration = Duration::from_secs(10);

/// An agent that is prepared.
pub(crate) struct Called {
    pub(crate) link: Link,
    /// What the program has launched.
    pub(crate) launches: Window,
    /// By what a mode is chosen, where it was asked for that.
    pub(crate) facts: Option<CopyFacts>,
}

/// Calls the agent and tells it what to expect.
pub(crate) fn call(
    agent: &RemoteAgent,
    listener: &Listener,
    known: &Known,
    begin: Begin,
) -> anyhow::Result<Called> {
    let _phase = tracing::debug_span!("call").entered();
    let me = Identity::of(std::process::id())?;
    agent.request(me, listener.name())?;
    let mut link = listener.accept(CONNECT)?;
    for piece in known.pieces() {
        link.send(to_agent::Body::Known(piece))?;
    }
    link.send(to_agent::Body::Begin(begin))?;
    let facts = match link.receive()? {
        from_agent::Body::Prepared(prepared) => {
            tracing::debug!(bytes = prepared.tracked_bytes, "the agent is prepared");
            prepared.facts
        }
        from_agent::Body::Refused(reason) => return Err(Refused(reason.reason).into()),
        from_agent::Body::Aborted(reason) => bail!("{}", reason.reason),
        _ => bail!("the agent says something unexpected"),
    };
    let launches = launches::receive(&mut link)?;
    Ok(Called {
        link,
        launches,
        facts,
    })
}

/// Waits for an agent that was called, and to which nobody is connected any more, to expect the dump.
pub(crate) fn wait_until_armed(agent: &RemoteAgent) -> anyhow::Result<()> {
    let _phase = tracing::debug_span!("arm").entered();
    let deadline = Instant::now() + ARM;
    let mut awaited = Awaited::new(agent.identity());
    while agent.phase()? != Some(Phase::Armed) {
        awaited.look()?;
        if Instant::now() > deadline {
            bail!("the agent does not get ready");
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Tells an armed agent that there will be no dump, and waits until it has given everything back.
pub(crate) fn give_up(agent: &RemoteAgent) -> anyhow::Result<()> {
    agent.set_verdict(Verdict::Aborted)?;
    wait_until_over(agent)
}

/// Waits for the end of an attempt in an agent, or for the agent's own.
pub(crate) fn wait_until_over(agent: &RemoteAgent) -> anyhow::Result<()> {
    let deadline = Instant::now() + ARM;
    let mut awaited = Awaited::new(agent.identity());
    let is_over = |phase| matches!(phase, Ok(Some(Phase::Idle | Phase::Refused)));
    while agent.identity().is_alive() && !is_over(agent.phase()) {
        awaited.look()?;
        if Instant::now() > deadline {
            bail!("the agent does not end its part of the checkpoint");
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// After a failure before or in the dump: no agent must wait for a verdict that never comes.
pub(crate) fn disarm(agents: &[RemoteAgent], error: anyhow::Error) -> anyhow::Error {
    // What an agent says may be of an earlier checkpoint, if it is stopped.
    let error = match error.downcast::<Standstill>() {
        Ok(standstill) => Refused(standstill.to_string()).into(),
        Err(error) => error,
    };
    let mut reasons = Vec::new();
    for agent in agents {
        let Ok(snapshot) = agent.snapshot() else {
            continue;
        };
        if snapshot.phase == Some(Phase::Refused) {
            reasons.push(snapshot.reason);
        }
        if snapshot.verdict == Some(Verdict::Pending)
            && let Err(failed) = agent.set_verdict(Verdict::Aborted)
        {
            tracing::debug!("{failed}");
        }
    }
    cause(error, reasons)
}

/// Why there was no dump: what an agent says, unless it is told so itself. Where several refuse, they do because of one,
/// which the error speaks of.
fn cause(error: anyhow::Error, mut reasons: Vec<String>) -> anyhow::Error {
    reasons.retain(|reason| reason != NO_DUMP);
    if reasons.is_empty() || error.is::<Refused>() || error.is::<Passing>() {
        return error;
    }
    let text = format!("{error:#}");
    let first = reasons.iter().position(|reason| text.contains(reason));
    Refused(reasons.swap_remove(first.unwrap_or(0))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_refuses_for_is_the_cause_unless_it_was_told() {
        let criu = || anyhow::anyhow!("CRIU ended with exit status: 1");
        let told = cause(criu(), vec![NO_DUMP.into()]);
        assert_eq!(told.to_string(), criu().to_string());
        assert!(!told.is::<Refused>());
        let refused = cause(
            criu(),
            vec![NO_DUMP.into(), "a capture does not end".into()],
        );
        assert_eq!(refused.to_string(), "a capture does not end");
        assert!(refused.is::<Refused>());
        let named = anyhow::anyhow!("plugin: b");
        assert_eq!(cause(named, vec!["a".into(), "b".into()]).to_string(), "b");
    }
}
