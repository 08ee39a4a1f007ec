//! Between fork and exec of a program under `strobe run`.

use anyhow::Context;
use strobe_criu::wrapper;
use strobe_proto::environment::{PRELOAD, TREE};

use crate::arguments::SessionArguments;
use crate::outcome::Outcome;
use crate::run;

/// Becomes the program, as the leader of a session of its own: CRIU dumps whole sessions.
pub(crate) fn run(arguments: &SessionArguments) -> Outcome {
    nix::unistd::setsid().context("cannot start a session")?;
    let mut command = run::program(&arguments.command)?;
    command.env(PRELOAD, run::preload_list()?);
    command.env(TREE, std::process::id().to_string());
    wrapper::inherit(&mut command);
    run::become_it(command)
}
