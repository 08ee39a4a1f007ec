//! Processes and threads of a tree that are in other namespaces than its root. CRIU saves one namespace of each kind
//! (for nested ones see `CLONE_SUBNS` there, which takes a root that has its own): some it refuses when it has stopped
//! the program, some only when it restores it, and those of a thread it does not see.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::process;
use crate::threads;

/// The links below `/proc/PID/ns` (namespaces(7)), that of the root which each is compared with, and what it is.
/// Who begins the others most often begins one of PIDs, too: that comes first.
const KINDS: [(&str, &str, &str); 10] = [
    ("pid", "pid", "is in a PID"),
    ("mnt", "mnt", "is in a mount"),
    ("net", "net", "is in a network"),
    ("ipc", "ipc", "is in an IPC"),
    ("uts", "uts", "is in a UTS"),
    ("cgroup", "cgroup", "is in a cgroup"),
    ("time", "time", "is in a time"),
    ("user", "user", "is in a user"),
    ("pid_for_children", "pid", "puts new children in a PID"),
    ("time_for_children", "time", "puts new children in a time"),
];

/// A process, or one of its threads, in another namespace than the root of its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// In this process's pid namespace.
    pub pid: u32,
    /// Other than `pid` where the process itself is in the root's.
    pub thread: u32,
    /// The root of the tree.
    pub root: u32,
    what: &'static str,
}

impl std::error::Error for Apart {}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pid,
            thread,
            root,
            what,
        } = self;
        if thread != pid {
            write!(f, "thread {thread} of ")?;
        }
        // There a program cannot be saved at all (`NamespaceError::OtherUser`).
        let remedy = match what.ends_with("user") {
            true => "Start it without one",
            false => {
                "Start `strobe run` in that namespace (unshare .. strobe run .., not strobe run unshare ..)"
            }
        };
        write!(
            f,
            "process {pid} {what} namespace of its own, and {root}, which is saved with it, is not: CRIU brings that \
             back for a whole tree only. {remedy}, or try again when that process has ended"
        )
    }
}

/// Whether a process of the tree of `root` is with all its threads where that is. One that has ended is nowhere else.
pub fn check(root: u32, pid: u32) -> Result<(), Apart> {
    // None of those that this kernel does not have, or that are still to begin with the first child.
    let link = |pid: u32, name: &str| fs::read_link(format!("/proc/{pid}/ns/{name}")).ok();
    let kinds = KINDS.map(|(name, of_root, what)| (name, link(root, of_root), what));
    let apart = |thread: u32| {
        let differs = |(name, there, what): &(&str, Option<PathBuf>, &'static str)| {
            (link(thread, name) != *there).then_some(*what)
        };
        let what = kinds.iter().find_map(differs)?;
        // The kernel takes its namespaces away first.
        let is_there = !process::is_ending(thread) && !process::is_ending(root);
        is_there.then_some(Apart {
            pid,
            thread,
            root,
            what,
        })
    };
    let threads = threads::of(pid).unwrap_or_default();
    let mut all = [pid].into_iter().chain(threads);
    all.find_map(apart).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    use nix::sched::{CloneFlags, unshare};

    #[test]
    fn a_thread_is_found_as_long_as_it_is_apart() {
        let own = std::process::id();
        check(own, own).expect("all are together");
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            // Takes root, as all that makes namespaces.
            let apart = unshare(CloneFlags::CLONE_NEWUTS).is_ok();
            tell.send(apart.then(|| nix::unistd::gettid().as_raw() as u32))
                .expect("somebody listens");
            let _ = ended.recv();
        });
        if let Some(number) = told.recv().expect("it tells") {
            let apart = check(own, own).expect_err("one is apart");
            assert_eq!((apart.pid, apart.thread), (own, number));
            let sentence = apart.to_string();
            assert!(sentence.starts_with(&format!("thread {number} of process {own} is in a UTS")));
        }
        drop(end);
        thread.join().expect("it ends");
        check(own, own).expect("all are together again");
    }
}
