//! What one checkpoint holds: a process, all below it, and the agents among them.
//!
//! What was started by one `strobe run` is saved as one, whichever of its processes is named: a shell that
//! waits for its program and a program that waits for its workers come back with them or not at all.

use strobe_program::agent::{AgentError, RemoteAgent};
use strobe_program::process::{self, Identity};

/// In the environment of all that `strobe run` starts: the number of the first process.
pub(crate) const VARIABLE: &str = "STROBE_TREE";

/// The processes that are saved together, as they were when they were looked at.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) root: Identity,
    /// Never empty; the first is the one nearest to the root.
    pub(crate) agents: Vec<RemoteAgent>,
}

impl Tree {
    /// The tree that a process belongs to.
    ///
    /// # Errors
    /// That of the process itself where no process of the tree has an agent.
    pub(crate) fn of(pid: u32) -> Result<Self, AgentError> {
        let named = RemoteAgent::find(pid);
        if let Err(error @ (AgentError::Gone(_) | AgentError::Thread { .. })) = named {
            return Err(error);
        }
        let root = root_of(pid);
        let pids = process::tree(root).map_err(|_| AgentError::Gone(root))?;
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
                Err(error) => return Err(error),
            }
        }
        if agents.is_empty() {
            named?;
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
        let number: u32 = process::variable(pid, VARIABLE).ok()??.parse().ok()?;
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

/// A process, its parent, and so on.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(pid), |pid| {
        let parent = process::stat(*pid).ok()?.parent;
        (parent > 0).then_some(parent)
    })
}
