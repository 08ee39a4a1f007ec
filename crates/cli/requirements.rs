//! What CRIU needs of a program, and would say itself when it has stopped it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use strobe_criu::locate::Criu;
use strobe_program::awaited::Standstill;
use strobe_program::unsaved::{self, Unsaved};
use strobe_program::{apart, journal, namespaces, process};
use strobe_proto::TcpConnections;

use crate::capabilities;
use crate::outcome::Refused;

/// How long a tracer may have a process, and between two looks at that.
const TRACED: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// CRIU makes a file in the program's name, of the size of its own code and of what it says of each
/// mapping; a smaller limit would end the program by SIGXFSZ.
const CRIU_FILE_BYTES: u64 = 64 << 20;

/// CRIU moves each process of a tree, whether it uses a GPU or not.
pub(crate) fn check_all_run(root: u32) -> anyhow::Result<()> {
    process::tree(root)?.into_iter().try_for_each(check_runs)
}

/// A CRIU whose command was killed may still have it in its hands, for a moment.
pub(crate) fn check_runs(pid: u32) -> anyhow::Result<()> {
    let deadline = Instant::now() + TRACED;
    loop {
        match process::stat(pid) {
            Ok(stat) if stat.is_traced() && Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
            Ok(stat) if stat.is_stopped() => return Err(refused(Standstill::Stopped(pid))),
            _ => return Ok(()),
        }
    }
}

pub(crate) fn check_file_size_limits(pid: u32) -> anyhow::Result<()> {
    for pid in process::tree(pid)? {
        // A child may end meanwhile.
        if let Ok(Some(limit)) = process::file_size_limit(pid)
            && limit < CRIU_FILE_BYTES
        {
            return Err(refused(format!(
                "process {pid} may write files of {limit} bytes at most (RLIMIT_FSIZE), and CRIU needs \
                 {CRIU_FILE_BYTES}"
            )));
        }
    }
    Ok(())
}

/// What another user's processes and their commands have written is looked at with that user's rights.
pub(crate) fn check_users(root: u32) -> anyhow::Result<()> {
    let is_others = |pid: &u32| {
        process::user(*pid).is_ok_and(|user| user != 0)
            || journal::of(*pid).is_some_and(|journal| journal::are_beside(&journal))
    };
    match process::tree(root)?.iter().any(is_others) {
        true => capabilities::check(capabilities::USERS).map_err(refused),
        false => Ok(()),
    }
}

/// CRIU saves the namespaces of a tree's root, and needs each session's leader beside the session; its network locks go
/// through the loopback interface.
pub(crate) fn check_namespaces(root: u32) -> anyhow::Result<()> {
    for pid in process::tree(root)? {
        apart::check(root, pid).map_err(refused)?;
        // A child may end meanwhile.
        if process::session_inside(pid).is_ok_and(|session| session == 0) {
            return Err(refused(format!(
                "the session of process {pid} was begun outside of its PID namespace: start `strobe run` in \
                 there, or the program by setsid"
            )));
        }
    }
    if namespaces::has_loopback(root).is_ok_and(|is_up| !is_up) {
        return Err(refused(
            "the loopback interface of the program's network namespace is down, and CRIU needs it: ip link \
             set lo up",
        ));
    }
    Ok(())
}

/// Of CRIU, what it needs for connections.
pub(crate) fn check_network_lock(criu: &Criu, tcp: TcpConnections) -> anyhow::Result<()> {
    if tcp == TcpConnections::Established && !criu.locks_networks() {
        bail!("CRIU cannot use nftables here, which it needs to save TCP connections");
    }
    Ok(())
}

/// CRIU would say so, too, in its words and after it has stopped the program.
pub(crate) fn check_descriptors(root: u32, tcp: TcpConnections) -> anyhow::Result<()> {
    match unsaved(root, tcp)?.first() {
        Some(first) => Err(refused(first)),
        None => Ok(()),
    }
}

/// What CRIU would not save of the whole tree.
pub(crate) fn unsaved(root: u32, tcp: TcpConnections) -> anyhow::Result<Vec<Unsaved>> {
    let all = process::tree(root)?.into_iter();
    // A child may end meanwhile.
    Ok(all
        .flat_map(|pid| unsaved::of(pid, tcp).unwrap_or_default())
        .collect())
}

fn refused(error: impl std::fmt::Display) -> anyhow::Error {
    Refused(error.to_string()).into()
}
