//! What a failure says where the program, or a process of it, is not there any more.

use anyhow::anyhow;
use strobe_program::process::{self, Identity};

use crate::outcome::{Passing, Refused};
use crate::tree::{Tree, gone};

/// Why the preparation failed. Of a program that has ended, what was asked for is not there any more,
/// whatever that was.
pub(crate) fn unless_ended(program: Identity, error: anyhow::Error) -> anyhow::Error {
    // Its memory goes before its number does.
    match program.is_alive() && process::has_memory(program.pid) {
        true => error,
        false => Refused(format!("process {} has ended", program.pid)).into(),
    }
}

/// Why a checkpoint failed that had begun: of a program that is not there any more, that it is not.
pub(crate) fn unless_gone(tree: &Tree, error: anyhow::Error) -> anyhow::Error {
    match tree.agents.iter().find_map(gone) {
        Some(sentence) => unless_passing(tree, anyhow!("{sentence}")),
        None => error,
    }
}

/// Where the tree is still there, and one of its processes is not, it may be tried again.
pub(crate) fn unless_passing(tree: &Tree, error: anyhow::Error) -> anyhow::Error {
    let others = tree
        .agents
        .iter()
        .filter(|agent| agent.identity() != tree.root);
    match others.filter_map(gone).next() {
        Some(sentence) if tree.root.is_alive() => Passing(sentence).into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_program_that_has_ended_nothing_else_is_said() {
        let other = || anyhow!("something is not there");
        let myself = Identity::of(std::process::id()).expect("we run");
        assert_eq!(
            unless_ended(myself, other()).to_string(),
            other().to_string()
        );
        let mut child = std::process::Command::new("true").spawn().expect("it runs");
        let program = Identity::of(child.id()).expect("nobody has waited for it");
        child.wait().expect("it ends");
        let error = unless_ended(program, other());
        assert!(error.is::<Refused>(), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("process {} has ended", program.pid)
        );
    }
}
