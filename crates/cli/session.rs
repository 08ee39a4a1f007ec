//! Between fork and exec of a program under `strobe run`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::arguments::SessionArguments;
use crate::outcome::Outcome;
use crate::{run, signals};

/// Becomes the program, as the leader of a session of its own: CRIU dumps whole sessions.
pub(crate) fn run(arguments: &SessionArguments) -> Outcome {
    nix::unistd::setsid().context("cannot start a session")?;
    signals::release()?;
    let (program, rest) = arguments
        .command
        .split_first()
        .context("no program is named")?;
    let preload = run::preload_list()?;
    let error = Command::new(program)
        .args(rest)
        .env("LD_PRELOAD", preload)
        .exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
