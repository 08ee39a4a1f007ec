//! `strobe run`: a program with libstrobe.so in it, in a shape that CRIU can save.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, bail};
use strobe_criu::wrapper::{self, Held};
use strobe_program::process;
use strobe_proto::environment::{LAUNCH_LOG, LIBRARY, PRELOAD, TREE};
use strobe_proto::journal::VARIABLE;

use crate::arguments::RunArguments;
use crate::journal::Journal;
use crate::outcome::{Outcome, of_program};
use crate::signals;
use crate::spool::{Spool, is_needed, is_same};
use crate::tree;

/// The library that is preloaded, with its path.
pub(crate) fn library(name: &str) -> anyhow::Result<PathBuf> {
    let executable = env::current_exe().context("cannot tell where strobe is")?;
    let folder = executable.parent().context("strobe is in no folder")?;
    // The second is where `cargo test` puts it.
    for candidate in [folder.join(name), folder.join("deps").join(name)] {
        if candidate.is_file() {
            return Ok(candidate);
        }
    }
    bail!(
        "{name} is not beside {}; build it with cargo xtask build",
        executable.display()
    )
}

/// The value of `LD_PRELOAD` for the program: our library first, then what was there.
pub(crate) fn preload_list() -> anyhow::Result<OsString> {
    let mut list = library(LIBRARY)?.into_os_string();
    if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    Ok(list)
}

pub(crate) fn run(arguments: &RunArguments) -> Outcome {
    library(LIBRARY)?;
    let own = std::process::id();
    let root = tree::root_of(own);
    if root != own {
        return within(arguments, root);
    }
    let held = Held::hold()?;
    let mut command = Command::new(env::current_exe()?);
    command.arg("session").arg("--").args(&arguments.command);
    log_launches(arguments, &mut command)?;
    let journal = Journal::create()
        .inspect_err(|error| tracing::warn!("what the program writes will not be known: {error}"));
    if let Ok(journal) = &journal {
        command.env(VARIABLE, journal.path());
    }
    if io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    let mut spool = None;
    if is_needed(&io::stdout()) || is_needed(&io::stderr()) {
        let spool = spool.insert(Spool::create().context("cannot make a folder for the output")?);
        let one_file = is_same(io::stdout(), io::stderr());
        if is_needed(&io::stdout()) {
            let stdout = spool.stdout()?;
            if one_file {
                // Lines of both stay in their order.
                command.stderr(stdout.try_clone()?);
            }
            command.stdout(stdout);
        }
        if is_needed(&io::stderr()) && !one_file {
            command.stderr(spool.stderr()?);
        }
    }
    wrapper::inherit(&mut command);
    let mut child = command.spawn().context("cannot start the program")?;
    // It has the files of the output open for writing.
    drop(command);
    write_pid(arguments, child.id())?;
    if let Some(spool) = &spool {
        spool.is_for(child.id());
    }
    let status = signals::forward(&held, child.id(), || child.try_wait())?;
    if let Some(spool) = spool {
        let killed = status.signal().is_some();
        if killed {
            tracing::info!(folder = %spool.folder().display(), "the program's output stays");
        } else {
            spool.wait_for_writers()?;
        }
        spool
            .finish(killed)
            .context("cannot pass on the rest of the output")?;
    }
    drop(journal);
    if let Some(signal) = status.signal() {
        wrapper::end_by(signal);
    }
    Ok(of_program(status))
}

/// A program of another `strobe run` is saved with that, whole: there is nothing to do but to become it, and to give it what
/// that gives to its own, where whoever is between has not passed it on.
fn within(arguments: &RunArguments, root: u32) -> Outcome {
    let mut command = program(&arguments.command)?;
    if !env::var(PRELOAD).is_ok_and(|list| list.contains(LIBRARY)) {
        command.env(PRELOAD, preload_list()?);
    }
    for name in [VARIABLE, TREE] {
        let is_given = env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_given && let Ok(Some(value)) = process::variable(root, name) {
            command.env(name, value);
        }
    }
    log_launches(arguments, &mut command)?;
    write_pid(arguments, std::process::id())?;
    become_it(command)
}

/// The program of a command line.
pub(crate) fn program(words: &[OsString]) -> anyhow::Result<Command> {
    let (program, rest) = words.split_first().context("no program is named")?;
    let mut command = Command::new(program);
    command.args(rest);
    Ok(command)
}

/// This process is that program from now on.
pub(crate) fn become_it(mut command: Command) -> Outcome {
    let error = command.exec();
    let program = command.get_program().display().to_string();
    Err(error).with_context(|| format!("cannot run {program}"))
}

fn log_launches(arguments: &RunArguments, command: &mut Command) -> anyhow::Result<()> {
    if let Some(path) = &arguments.launch_log {
        let path = std::path::absolute(path).context("cannot tell where the launch log is")?;
        command.env(LAUNCH_LOG, path);
    }
    Ok(())
}

fn write_pid(arguments: &RunArguments, pid: u32) -> anyhow::Result<()> {
    let Some(path) = &arguments.pid_file else {
        return Ok(());
    };
    write_whole(path, &format!("{pid}\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Readers see the whole text or no file.
fn write_whole(path: &std::path::Path, text: &str) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, text)?;
    fs::rename(&part, path)
}
