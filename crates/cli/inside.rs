//! A program in another PID namespace: its agent and CRIU know it by its number there, so this command runs
//! once more, in there.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use strobe_criu::wrapper::{self, Held};
use strobe_program::namespaces::{self, Namespaces, check_seen};
use strobe_program::process;

use crate::outcome::{Refused, of_program};
use crate::signals;

/// Runs this command where the process is, if that is elsewhere; how it ended.
pub(crate) fn run(pid: u32) -> anyhow::Result<Option<ExitCode>> {
    // Of a process that is gone, and to who may not look, the command itself says so.
    if !namespaces::is_elsewhere(pid, "pid").unwrap_or(false) {
        return Ok(None);
    }
    let refused = |error: namespaces::NamespaceError| Refused(error.to_string());
    let (_, inside) = process::number_inside(pid)?;
    let here = env::current_dir().context("cannot tell the current folder")?;
    let executable = env::current_exe().context("cannot tell where strobe is")?;
    // What a container of another file system has is another strobe, if any.
    check_seen(pid, &executable).map_err(refused)?;
    check_seen(pid, &here).map_err(refused)?;
    let held = Held::hold()?;
    let mut command = Command::new(executable);
    command.args(["--number-inside", &inside.to_string()]);
    command.args(env::args_os().skip(1));
    wrapper::inherit(&mut command);
    let namespaces = Namespaces::with_pids_of(pid).map_err(refused)?;
    // The folder is found once the namespaces are entered.
    namespaces.enter_on_spawn_in(&mut command, &here)?;
    let mut child = command.spawn().context("cannot run in there")?;
    let status = signals::forward(&held, child.id(), || child.try_wait())?;
    // With the first process of a namespace all others in there are killed.
    ensure!(
        status.signal() != Some(Signal::SIGKILL as i32) || process::exists(pid),
        "process {pid} has ended, and all in its namespace with it"
    );
    Ok(Some(of_program(status)))
}
