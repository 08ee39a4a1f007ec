//! The first process of an instance: all others in there end when it does.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use anyhow::Context;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, setpgid, setsid};
use strobe_criu::fork::{ForkResult, fork};
use strobe_criu::guard;
use strobe_criu::wrapper::Held;

use super::folder::Folder;
use super::{Inside, Outside, Told, view};
use crate::guard_link::send;
use crate::outcome::{Outcome, Refused};
use crate::{readiness, signals};

/// Makes the view, has the program restored, and waits for the end of everything in there.
pub(super) fn run(
    folder: &Folder,
    inside: Inside,
    outside: Outside,
    bring_back: impl FnOnce(&Inside) -> Outcome,
) -> Outcome {
    // What the terminal sends comes from the command, once.
    setsid().context("the instance cannot have a session of its own")?;
    // Not the command's, whose root would be another, too.
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC)
        .context("no namespaces for the instance")?;
    view::enter(folder, inside.checkpoint()).map_err(|error| Refused(error.to_string()))?;
    readiness::go_on_counting(&outside.checkpoint);
    let restore = match fork()? {
        ForkResult::Child => {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            outside.mask.thread_set_mask()?;
            return bring_back(&inside);
        }
        ForkResult::Parent { child } => child,
    };
    // Whoever needs it in there opens it.
    drop(outside.checkpoint);
    let command = inside.command;
    let held = Held::hold()?;
    let status = signals::forward(&held, restore.as_raw().cast_unsigned(), || {
        Ok(ended(restore)?)
    })?;
    let _ = send(&command, &Told::Ended(status.into_raw()));
    drop(command);
    let _ = guard::let_go_of_output();
    // Whoever loses its parent in there becomes our child.
    while waitpid(None, None).is_ok() {}
    Ok(ExitCode::SUCCESS)
}

/// How the restore has ended; others that have are waited for meanwhile.
fn ended(restore: Pid) -> nix::Result<Option<ExitStatus>> {
    loop {
        let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::Exited(pid, code) => (pid, code << 8),
            WaitStatus::Signaled(pid, signal, _) => (pid, signal as i32),
            _ => return Ok(None),
        };
        if pid == restore {
            return Ok(Some(ExitStatus::from_raw(status)));
        }
    }
}
