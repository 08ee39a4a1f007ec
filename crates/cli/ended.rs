//! A tree changes under whoever looks at it or saves it: its processes end, begin and become others at any moment.
//! Here alone is decided what a failure says then, which of them pass, and how long they are waited for.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nix::libc;
use strobe_criu::run::RunError;
use strobe_program::agent::AgentError;
use strobe_program::process::{self, Identity};
use strobe_proto::page::EXITING;

use crate::delivery::DamagedBase;
use crate::missed::MissedWrites;
use crate::outcome::Refused;
use crate::output::{notice, sentence};
use crate::tree::{Tree, TreeError, gone, root_of};

/// How long what passes is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// A checkpoint that cost one of its processes may take a good part of that: so often it is tried in any case.
const TRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(20);
/// What is over sooner is not worth a word.
const SILENCE: Duration = Duration::from_secs(1);

/// Why an attempt failed, where another may well succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Passing {
    /// A process is not there any more.
    #[error("{0}")]
    Ended(String),
    /// Nothing was begun, for there was nobody.
    #[error("{0}")]
    Nobody(String),
    /// The plugin has found what it could not foresee.
    #[error("{0}")]
    NotNow(String),
}

/// A tree as it was before an attempt.
pub(crate) struct Before {
    /// None of a process that was not there.
    root: Option<Identity>,
    processes: Vec<Identity>,
}

impl Before {
    pub(crate) fn of(pid: u32) -> Self {
        let root = root_of(pid);
        let all = process::tree(root).unwrap_or_default().into_iter();
        Self {
            root: Identity::of(root).ok(),
            processes: all.filter_map(|pid| Identity::of(pid).ok()).collect(),
        }
    }

    /// What to say of a failure before anything was begun.
    pub(crate) fn not_begun(&self, tree: Option<&Tree>, error: anyhow::Error) -> anyhow::Error {
        match self.ended() {
            Some(pid) => Refused(format!("process {pid} has ended")).into(),
            None => self.passing(tree, error),
        }
    }

    /// What to say of a failure in a checkpoint that had begun.
    pub(crate) fn begun(&self, tree: &Tree, error: anyhow::Error) -> anyhow::Error {
        match self.ended() {
            Some(pid) => anyhow!("process {pid} has ended during the checkpoint"),
            None => self.passing(Some(tree), error),
        }
    }

    /// The root, if it is not there any more. Its memory goes before its number does.
    fn ended(&self) -> Option<u32> {
        let root = self.root?;
        let is_there = root.is_alive() && process::has_memory(root.pid);
        (!is_there).then_some(root.pid)
    }

    /// The tree is still there: whether the failure is that something of it is not.
    fn passing(&self, tree: Option<&Tree>, error: anyhow::Error) -> anyhow::Error {
        let agents = tree.map_or(&[][..], |tree| &tree.agents);
        if let Some(sentence) = agents.iter().find_map(gone) {
            return Passing::Ended(sentence).into();
        }
        if let Some(TreeError::Between(_)) = error.downcast_ref() {
            return Passing::Nobody(error.to_string()).into();
        }
        // It becomes another program while its memory is looked at.
        let is_becoming = |error: &AgentError| matches!(error, AgentError::Access { error, .. } if error.raw_os_error() == Some(libc::EFAULT));
        if error.chain().filter_map(of_agent).any(is_becoming) {
            return Passing::Nobody(error.to_string()).into();
        }
        let others = agents
            .iter()
            .any(|agent| Some(agent.identity()) != self.root);
        if others && error.to_string() == EXITING {
            return Passing::Ended("a process of the program is exiting".into()).into();
        }
        if error.is::<Refused>() {
            return error;
        }
        let has_ended = |before: &&Identity| !before.is_alive() || process::is_ending(before.pid);
        match self.processes.iter().find(has_ended) {
            Some(ended) if is_of_a_process(&error) => {
                let why = sentence(&error);
                Passing::Ended(format!("process {} has ended: {why}", ended.pid)).into()
            }
            _ => error,
        }
    }
}

fn of_agent<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a AgentError> {
    match cause.downcast_ref() {
        Some(TreeError::Agent(error)) => Some(error),
        _ => cause.downcast_ref(),
    }
}

/// Whether a failure may be that a process is not there.
fn is_of_a_process(error: &anyhow::Error) -> bool {
    let has_own_cure = error.is::<MissedWrites>() || error.is::<DamagedBase>();
    let is_not_there =
        |error: &io::Error| matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH));
    !has_own_cure
        && error.chain().any(|cause| {
            cause.is::<RunError>()
                || of_agent(cause).is_some_and(|error| {
                    matches!(error, AgentError::Gone(_) | AgentError::Access { .. })
                })
                || cause.downcast_ref().is_some_and(is_not_there)
        })
}

/// With failures that pass, from the first one on.
#[derive(Default)]
pub(crate) struct Patience {
    since: Option<Instant>,
    tries: u32,
    has_told: bool,
    /// Of the last one that had begun.
    begun: Option<String>,
}

impl Patience {
    /// Why the last attempt has failed that was one.
    pub(crate) fn last(&self) -> Option<&str> {
        self.begun.as_deref()
    }

    /// Waits until another attempt may succeed. Where none is made any more, what to say instead.
    pub(crate) fn wait(&mut self, why: &Passing, is_quiet: bool) -> Result<(), Refused> {
        let since = *self.since.get_or_insert_with(Instant::now);
        self.tries += 1;
        if let Passing::Ended(why) = why {
            self.begun = Some(why.clone());
        }
        let limit = PATIENCE.as_secs();
        if since.elapsed() >= PATIENCE && self.tries >= TRIES {
            let tried = format!("{why} (tried for {} s)", since.elapsed().as_secs());
            return Err(Refused(match why {
                Passing::Ended(_) => format!(
                    "{tried}: its processes end sooner than a checkpoint is taken; try again when one runs for longer"
                ),
                Passing::Nobody(_) | Passing::NotNow(_) => tried,
            }));
        }
        // Who reads a file gets one sentence, at the end.
        let is_told = !is_quiet && io::stderr().is_terminal();
        if since.elapsed() >= SILENCE && !self.has_told && is_told {
            self.has_told = true;
            notice(format_args!("{why}; tried again, for up to {limit} s"));
        }
        thread::sleep(BETWEEN);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn ended() -> (Child, Identity) {
        let child = Command::new("true").spawn().expect("it runs");
        let identity = Identity::of(child.id()).expect("nobody has waited for it");
        (child, identity)
    }

    fn myself() -> Identity {
        Identity::of(std::process::id()).expect("we run")
    }

    #[test]
    fn of_a_program_that_has_ended_nothing_else_is_said() {
        let other = || anyhow!("something is not there");
        let here = Before::of(std::process::id());
        assert_eq!(
            here.not_begun(None, other()).to_string(),
            other().to_string()
        );
        let (mut child, program) = ended();
        let before = Before {
            root: Some(program),
            processes: Vec::new(),
        };
        child.wait().expect("it ends");
        let error = before.not_begun(None, TreeError::Between(program.pid).into());
        assert!(error.is::<Refused>(), "{error:?}");
        let sentence = format!("process {} has ended", program.pid);
        assert_eq!(error.to_string(), sentence);
    }

    #[test]
    fn what_a_process_that_ends_has_caused_passes_and_nothing_else_does() {
        let (mut child, program) = ended();
        child.wait().expect("it ends");
        let before = Before {
            root: Some(myself()),
            processes: vec![myself(), program],
        };
        let passes = |error: anyhow::Error| before.not_begun(None, error).is::<Passing>();
        let not_there = || io::Error::from_raw_os_error(libc::ENOENT);
        assert!(passes(anyhow::Error::from(not_there()).context("no turns")));
        assert!(passes(AgentError::Gone(program.pid).into()));
        assert!(passes(RunError::Failed("CRIU".into()).into()));
        assert!(passes(TreeError::Between(1).into()));
        let replaced = AgentError::Access {
            pid: 1,
            error: io::Error::from_raw_os_error(libc::EFAULT),
        };
        assert!(passes(TreeError::Agent(replaced).into()));
        assert!(!passes(AgentError::NoAgent(1).into()));
        let idle = TreeError::Idle {
            root: 1,
            processes: 2,
        };
        assert!(!passes(idle.into()));
        assert!(!passes(io::Error::from_raw_os_error(libc::ENOSPC).into()));
        assert!(!passes(Refused("a file with a lease".into()).into()));
        assert!(!passes(MissedWrites(Vec::new()).into()));
        let all_there = Before {
            processes: vec![myself()],
            ..before
        };
        assert!(
            !all_there
                .not_begun(None, not_there().into())
                .is::<Passing>()
        );
    }

    #[test]
    fn patience_ends_with_a_remedy() {
        let why = Passing::Ended("process 7 has ended".into());
        let long_ago = Instant::now().checked_sub(PATIENCE);
        let mut patience = Patience {
            since: long_ago,
            ..Patience::default()
        };
        for _ in 1..TRIES {
            patience.wait(&why, true).expect("not tried often enough");
        }
        let Refused(said) = patience.wait(&why, true).expect_err("long enough");
        assert!(
            said.starts_with("process 7 has ended (tried for 5 s)"),
            "{said}"
        );
        assert!(said.contains("try again when"), "{said}");
        let mut patience = Patience::default();
        (0..2 * TRIES).for_each(|_| patience.wait(&why, true).expect("not long enough"));
    }
}
