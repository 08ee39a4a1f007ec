//! Terminals that the program has not made itself.
//!
//! A terminal whose other side, its master, the program holds comes back with it. Any other CRIU replaces by the
//! terminal at which the program is restored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use strobe_proto::kernel_text;

use crate::descriptor::links;

/// A terminal of somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// In this process's pid namespace.
    pub pid: u32,
    /// The descriptor.
    pub number: i32,
    /// Its name.
    pub path: String,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Foreign { pid, number, path } = self;
        write!(
            f,
            "descriptor {number} of process {pid} is {path}, a terminal of a process that is not saved: a restored \
             program has the one that it is restored at in its place, and cannot be restored without one (give it \
             a file, or /dev/null)"
        )
    }
}

/// The terminals that the processes of a program have.
#[derive(Debug, Default)]
pub struct Terminals {
    /// One descriptor for each.
    open: BTreeMap<String, (u32, i32)>,
    masters: BTreeSet<String>,
}

impl Terminals {
    /// Adds those of a process.
    pub fn add(&mut self, pid: u32) -> io::Result<()> {
        for (number, path) in links(pid)? {
            if path == "/dev/ptmx" || path == "/dev/pts/ptmx" {
                let info = kernel_text::read(format!("/proc/{pid}/fdinfo/{number}"));
                self.masters.extend(slave(&info.unwrap_or_default()));
            } else if is_terminal(&path) {
                self.open.entry(path).or_insert((pid, number));
            }
        }
        Ok(())
    }

    /// Those of somebody else.
    pub fn that_are_foreign(&self) -> Vec<Foreign> {
        let foreign = |path: &&String| !self.masters.contains(*path);
        let paths = self.open.keys().filter(foreign);
        let described = paths.map(|path| {
            let (pid, number) = self.open[path];
            Foreign {
                pid,
                number,
                path: path.clone(),
            }
        });
        described.collect()
    }
}

fn is_terminal(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    name.starts_with("pts/") || name.starts_with("tty") || name == "console"
}

/// The terminal that a descriptor is the master of (proc_pid_fdinfo(5)).
fn slave(info: &str) -> Option<String> {
    let index = info
        .lines()
        .find_map(|line| line.strip_prefix("tty-index:"))?;
    Some(format!("/dev/pts/{}", index.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    use nix::pty::openpty;

    #[test]
    fn a_terminal_is_foreign_to_who_has_not_its_master() {
        let pty = openpty(None, None).expect("a terminal");
        // Else the child has it, too.
        fcntl(&pty.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("it is open");
        let path = nix::unistd::ttyname(&pty.slave).expect("it has a name");
        let path = path.to_str().expect("text").to_owned();
        let mut sleep = Command::new("sleep");
        let mut sleep = sleep.arg("60").stdin(pty.slave).spawn().expect("it starts");
        let mut terminals = Terminals::default();
        terminals.add(sleep.id()).expect("it runs");
        let foreign = terminals.that_are_foreign();
        let (pid, number) = (sleep.id(), 0);
        let expected = Foreign { pid, number, path };
        assert!(foreign.contains(&expected), "{foreign:?}");
        terminals.add(std::process::id()).expect("it runs");
        let foreign = terminals.that_are_foreign();
        assert!(!foreign.contains(&expected), "{foreign:?}");
        sleep.kill().expect("it runs");
        sleep.wait().expect("it was ours");
    }
}
