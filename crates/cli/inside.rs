//! A program in another PID namespace: its agent and CRIU know it by its number there, so this command runs
//! once more, in there.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use strobe_criu::wrapper::{self, Held};
use strobe_program::namespaces::{self, Namespaces, check_seen};
use strobe_program::process;

use crate::arguments::Action;
use crate::outcome::{Refused, of_program};
use crate::signals;

/// Runs an action where its program is, if that is elsewhere; how it ended.
pub(crate) fn run(action: &Action) -> anyhow::Result<Option<ExitCode>> {
    let Some(pid) = action.program() else {
        return Ok(None);
    };
    let refused = |error: namespaces::NamespaceError| Refused(error.to_string());
    namespaces::check_user(pid).map_err(refused)?;
    // Of a process that is gone, and to who may not look, the command itself says so.
    if !namespaces::is_elsewhere(pid, "pid").unwrap_or(false) {
        return Ok(None);
    }
    let (_, inside) = process::number_inside(pid)?;
    let here = env::current_dir().context("cannot tell the current folder")?;
    let executable = env::current_exe().context("cannot tell where strobe is")?;
    // What a container of another file system has is another strobe, if any.
    check_seen(pid, &executable).map_err(refused)?;
    // What is written where only the container sees it goes with the container.
    for path in action.paths() {
        let path = here.join(path);
        if let Some(folder) = path.parent() {
            check_seen(pid, folder).map_err(refused)?;
        }
    }
    let here = match action.paths().iter().all(|path| path.is_absolute()) {
        true => PathBuf::from("/"),
        false => here,
    };
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
