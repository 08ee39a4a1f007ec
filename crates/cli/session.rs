//! Between fork and exec of a program under `strobe run`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use strobe_criu::wrapper;
use strobe_proto::environment::{PRELOAD, TREE};

use crate::arguments::SessionArguments;
use crate::outcome::Outcome;
use crate::run;

/// Becomes the program, as the leader of a session of its own: CRIU dumps whole sessions.
pub(crate) fn run(arguments: &SessionArguments) -> Outcome {
    nix::unistd::setsid().context("cannot start a session")?;
    let (program, rest) = arguments
        .command
        .split_first()
        .context("no program is named")?;
    let preload = run::preload_list()?;
    let mut command = Command::new(program);
    command.args(rest).env(PRELOAD, preload);
    command.env(TREE, std::process::id().to_string());
    wrapper::inherit(&mut command);
    let error = command.exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
