//! Pipes whose other end is outside of the program.
//!
//! CRIU brings back a pipe with what is in it, and with the ends that the program has of it. Where the
//! other end belongs to a process that is not saved, a restored program finds itself at the end of its
//! input, or is killed by SIGPIPE: as if the other had gone away.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use strobe_proto::kernel_text;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::descriptor::{copy_descriptor, links, open_process};
use crate::program_files::parse_fdinfo;

/// A pipe that leads out of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadsOut {
    /// In this process's pid namespace.
    pub pid: u32,
    /// The descriptor.
    pub number: i32,
    /// "from" or "to".
    pub way: &'static str,
}

impl fmt::Display for LeadsOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeadsOut { pid, number, way } = self;
        write!(
            f,
            "descriptor {number} of process {pid} is a pipe {way} a process that is not saved: a restored \
             program will find it closed (give it a file, or /dev/null)"
        )
    }
}

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PipeError {
    #[error("descriptor {number} of process {pid} cannot be looked at: {error}")]
    Look {
        pid: u32,
        number: i32,
        error: io::Error,
    },
    #[error("the descriptors of process {pid} cannot be listed: {error}")]
    List { pid: u32, error: io::Error },
}

/// The ends of pipes that the processes of a program have.
#[derive(Debug, Default)]
pub struct Pipes(BTreeMap<u64, Ends>);

/// Of one pipe, one descriptor for each end: process and number.
#[derive(Debug, Default)]
struct Ends {
    reads: Option<(u32, i32)>,
    writes: Option<(u32, i32)>,
}

impl Pipes {
    /// Adds those of a process, which is frozen: of one that runs, a descriptor may be closed meanwhile.
    pub fn add(&mut self, pid: u32) -> Result<(), PipeError> {
        let list = |error| PipeError::List { pid, error };
        for (number, _) in links(pid).map_err(list)? {
            let (inode, flags) = match pipe_of(pid, number) {
                Ok(Some(pipe)) => pipe,
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(PipeError::Look { pid, number, error }),
            };
            let ends = self.0.entry(inode).or_default();
            let mode = flags & libc::O_ACCMODE as u64;
            if mode != libc::O_WRONLY as u64 {
                ends.reads.get_or_insert((pid, number));
            }
            if mode != libc::O_RDONLY as u64 {
                ends.writes.get_or_insert((pid, number));
            }
        }
        Ok(())
    }

    /// The pipes of which somebody else has the other end.
    pub fn that_lead_out(&self) -> Result<Vec<LeadsOut>, PipeError> {
        let mut found = Vec::new();
        for ends in self.0.values() {
            let (end, alone, way) = match (ends.reads, ends.writes) {
                (Some(end), None) => (end, PollFlags::POLLHUP, "from"),
                (None, Some(end)) => (end, PollFlags::POLLERR, "to"),
                _ => continue,
            };
            let (pid, number) = end;
            let other_is_closed =
                has(pid, number, alone).map_err(|error| PipeError::Look { pid, number, error })?;
            if !other_is_closed {
                found.push(LeadsOut { pid, number, way });
            }
        }
        Ok(found)
    }
}

/// Inode and flags of an anonymous pipe; none where the descriptor is something else.
fn pipe_of(pid: u32, number: i32) -> io::Result<Option<(u64, u64)>> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{number}"))?;
    let inode = link
        .to_str()
        .and_then(|link| link.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok());
    let Some(inode) = inode else { return Ok(None) };
    let info = kernel_text::read(format!("/proc/{pid}/fdinfo/{number}"))?;
    Ok(parse_fdinfo(&info).map(|(_, flags)| (inode, flags)))
}

/// Whether poll(2) says this of another process's descriptor.
fn has(pid: u32, number: i32, flag: PollFlags) -> io::Result<bool> {
    let copy = copy_descriptor(&open_process(pid)?, number)?;
    let mut asked = [PollFd::new(copy.as_fd(), PollFlags::empty())];
    poll(&mut asked, PollTimeout::ZERO)?;
    Ok(asked[0].revents().is_some_and(|said| said.contains(flag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_end_that_somebody_else_has_is_found_and_one_that_nobody_has_is_not() {
        let cat = |stdin: Stdio, stdout: Stdio| {
            let mut cat = Command::new("cat");
            cat.stdin(stdin).stdout(stdout).spawn().expect("cat starts")
        };
        // We write to the first, which writes to the second.
        let mut first = cat(Stdio::piped(), Stdio::piped());
        let between = first.stdout.take().expect("a pipe");
        let mut second = cat(between.into(), Stdio::null());
        let (one, other) = (first.id(), second.id());
        // Whoever runs the tests may have given us, and so them, more pipes.
        let out = |pids: &[u32]| -> Vec<(u32, i32, &str)> {
            let mut pipes = Pipes::default();
            for pid in pids {
                pipes.add(*pid).expect("a process");
            }
            let found = pipes.that_lead_out().expect("they can be looked at");
            let ours = found.iter().filter(|out| out.number < 2);
            ours.map(|out| (out.pid, out.number, out.way)).collect()
        };
        assert_eq!(out(&[one, other]), [(one, 0, "from")]);
        assert_eq!(out(&[other]), [(other, 0, "from")]);
        let mut both = out(&[one]);
        both.sort_unstable();
        assert_eq!(both, [(one, 0, "from"), (one, 1, "to")]);
        first.kill().expect("it runs");
        first.wait().expect("it was ours");
        assert!(second.wait().expect("it was ours").success());
        // A pipe of whose ends one is gone.
        let (reads, writes) = io::pipe().expect("a pipe");
        let mut alone = Command::new("sleep");
        let mut alone = alone.arg("60").stdin(reads).spawn().expect("it starts");
        let reads_alone = |out: &(u32, i32, &str)| out.1 == 0;
        assert!(out(&[alone.id()]).iter().any(reads_alone), "we write to it");
        drop(writes);
        // But for a child that another test has just forked, until it executes something.
        let closed = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !out(&[alone.id()]).iter().any(reads_alone)
        });
        assert!(closed, "nobody does");
        alone.kill().expect("it runs");
        alone.wait().expect("it was ours");
    }
}
