//! `strobe release`: a program whose dump has died goes on.
//!
//! The work is done by a second process, this command again, that is where the program is
//! ([`strobe_criu::release`]).

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use strobe_criu::network_lock::Run;
use strobe_criu::release;
use strobe_program::agent::RemoteAgent;
use strobe_program::awaited::Standstill;
use strobe_program::process;
use strobe_proto::page::{Phase, Verdict};

use crate::arguments::ReleaseArguments;
use crate::loading;
use crate::outcome::{Outcome, Refused};
use crate::output::{answer, notice, tell};

/// Where CRIU works, in a staging directory.
pub(crate) const WORK: &str = "work";
/// Nothing in it waits, except for a driver that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(2);
/// How long a CRIU whose command has died may have the program before that is called a checkpoint.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &ReleaseArguments) -> Outcome {
    let pid = arguments.pid;
    if arguments.inside {
        let dead: Vec<Run> = arguments
            .dead
            .iter()
            .flat_map(|name| Run::named(name))
            .collect();
        let freed = release::release(pid, &dead)?;
        return answer(serde_json::to_string(&freed)?, ExitCode::SUCCESS);
    }
    let refused = |sentence: String| Err(Refused(sentence).into());
    if !process::exists(pid) {
        return refused(format!("there is no process {pid}"));
    }
    if !nix::unistd::geteuid().is_root() {
        return refused("the GPU driver obeys root only; run this command as root".into());
    }
    let freed = let_go_on(pid, &[])?;
    if arguments.json {
        tell(serde_json::to_string(&freed)?);
    } else if freed.is_empty() {
        tell(format_args!("the queues of {pid} were not stopped"));
    }
    for pid in &freed {
        notice(format_args!(
            "the queues of {pid} were stopped and run again"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings the last checkpoint of a program to its end, before another begins: where it ended badly,
/// or its command has died, the queues may still stand, and draining them would never end.
pub(crate) fn end_last(agent: &RemoteAgent) -> anyhow::Result<()> {
    let pid = agent.identity().pid;
    loading::wait_for(agent)?;
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    loop {
        let last = agent.snapshot()?;
        match last.phase {
            Some(Phase::Idle) if last.verdict != Some(Verdict::Aborted) => return Ok(()),
            Some(Phase::Idle | Phase::Refused) => {
                return match let_go_on(pid, &[]) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(Refused(error.to_string()).into()),
                };
            }
            _ if last.controller.is_alive() => return Err(under_way(pid)),
            _ if Instant::now() > deadline => {
                return Err(
                    match process::stat(pid).is_ok_and(|stat| stat.is_stopped()) {
                        true => Refused(Standstill::Stopped(pid).to_string()).into(),
                        false => under_way(pid),
                    },
                );
            }
            // While the dead command's CRIU has the program, nobody else gets it.
            _ => drop(let_go_on(pid, &[])),
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// The answer to who comes second.
pub(crate) fn under_way(pid: u32) -> anyhow::Error {
    Refused(format!("another checkpoint of process {pid} is under way")).into()
}

/// After a dump that has died in a staging directory: its program goes on.
pub(crate) fn put_in_order(pid: u32, staging: Option<&Path>) -> anyhow::Result<Vec<u32>> {
    let dead = staging.and_then(dead_run);
    let_go_on(pid, dead.as_slice())
}

/// Removes the locks of connections of dumps in a folder that are dead with their commands. What else they have left
/// of the program's goes with its next checkpoint.
pub(crate) fn unlock_all(folder: &Path) {
    for staging in strobe_store::dead(folder) {
        if let Some(Err(error)) = dead_run(&staging).map(|run| run.unlock()) {
            tracing::debug!("{error}");
        }
    }
}

fn dead_run(staging: &Path) -> Option<Run> {
    Run::of_dump(&staging.join(WORK))
}

/// Lets the queues of a process and of those below it run, and the connections that these dead runs of CRIU have
/// locked; the processes whose queues stood still.
fn let_go_on(pid: u32, dead: &[Run]) -> anyhow::Result<Vec<u32>> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["release", "--inside", &pid.to_string()]);
    for run in dead {
        command.args(["--dead", run.name()]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = release::command(command, pid)?
        .spawn()
        .context("this command cannot be started again")?;
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            // It cannot be waited for either: it is in the driver's hands.
            let _ = child.kill();
            bail!("the GPU driver does not answer");
        }
        thread::sleep(POLL);
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let sentence = said.trim().trim_start_matches("strobe: ");
        bail!("{}", sentence.replace('\n', " "));
    }
    serde_json::from_slice(&output.stdout).context("this command says something unexpected")
}
