//! What one checkpoint holds: a process, all below it, and the agents among them.
//!
//! What was started by one `strobe run` is saved as one, whichever of its processes is named: a shell that
//! waits for its program and a program that waits for its workers come back with them or not at all.

use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::journal;
use strobe_program::process::{self, Identity};
use strobe_proto::environment::TREE;

/// The processes that are saved together, as they were when they were looked at.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) root: Identity,
    /// Never empty; the first is the one nearest to the root.
    pub(crate) agents: Vec<RemoteAgent>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(
        "none of the {processes} processes of the tree of {root} uses a GPU now: try again when one does"
    )]
    Idle { root: u32, processes: usize },
    #[error(
        "none of the processes of the tree of {0} uses a GPU now, and one has: try again when one does"
    )]
    Between(u32),
}

impl Tree {
    /// The tree that a process belongs to.
    pub(crate) fn of(pid: u32) -> Result<Self, TreeError> {
        let named = RemoteAgent::find(pid);
        if let Err(error @ (AgentError::Gone(_) | AgentError::Thread { .. })) = named {
            return Err(error.into());
        }
        let root = root_of(pid);
        let pids = process::tree(root).map_err(|_| AgentError::Gone(root))?;
        let processes = pids.len();
        let mut agents = Vec::new();
        for pid in pids {
            match RemoteAgent::find(pid) {
                Ok(agent) => agents.push(agent),
                Err(
                    AgentError::NoAgent(_)
                    | AgentError::Unused(_)
                    | AgentError::Forked(_)
                    | AgentError::Gone(_),
                ) => {}
                // It has ended while it was looked at.
                Err(_) if !process::has_memory(pid) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if agents.is_empty() {
            if journal::has_used_gpu(root) {
                return Err(TreeError::Between(root));
            }
            // Of one alone, and of one that Strobe has not started, its own state says more.
            if processes == 1 || matches!(named, Err(AgentError::NoAgent(_))) {
                named?;
            }
            return Err(TreeError::Idle { root, processes });
        }
        Ok(Self {
            root: Identity::of(root).map_err(|_| AgentError::Gone(root))?,
            agents,
        })
    }
}

/// The first process of the tree that a process belongs to, as it or one above it says, if that is above
/// it. A process may have put something else where its environment was.
pub(crate) fn root_of(pid: u32) -> u32 {
    // The number is that of the namespace in which it was said.
    let said = |pid: u32| {
        let number: u32 = process::variable(pid, TREE).ok()??.parse().ok()?;
        let (namespace, _) = process::number_inside(pid).ok()?;
        Some((namespace, number))
    };
    let Some(root) = ancestors(pid).find_map(said) else {
        return pid;
    };
    // One that has left its tree has another parent now.
    let is_root = |pid: &u32| process::number_inside(*pid).is_ok_and(|inside| inside == root);
    ancestors(pid).find(is_root).unwrap_or(pid)
}

/// What has become of an agent that is not there any more.
pub(crate) fn gone(agent: &RemoteAgent) -> Option<String> {
    let pid = agent.identity().pid;
    let found = RemoteAgent::find(pid);
    match found {
        _ if !agent.identity().is_alive() || process::is_ending(pid) => {}
        // Its memory goes before its number does.
        Err(AgentError::Gone(_)) => {}
        Ok(found) if found.address() == agent.address() => return None,
        Ok(_) | Err(AgentError::NoAgent(_) | AgentError::Unused(_)) => {
            let sentence = "has become another program during the checkpoint";
            return Some(format!("process {pid} {sentence}"));
        }
        Err(_) => return None,
    }
    Some(format!("process {pid} has ended during the checkpoint"))
}

/// A process, its parent, and so on.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(pid), |pid| {
        let parent = process::stat(*pid).ok()?.parent;
        (parent > 0).then_some(parent)
    })
}
