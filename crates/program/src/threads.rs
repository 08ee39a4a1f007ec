//! Threads that CRIU would bring back as others than they were: it takes what the kernel lets threads
//! have of their own for the process's.

use std::time::{Duration, Instant};
use std::{fs, io, thread};

use nix::libc;
use strobe_proto::page::FILES_THREAD;

use crate::process;

/// `enum kcmp_type` of linux/kcmp.h.
const KCMP_FILES: libc::c_int = 2;
const KCMP_FS: libc::c_int = 3;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ThreadError {
    #[error(
        "the first thread of process {0} has ended, and others run on; CRIU cannot save such a process"
    )]
    NoLeader(u32),
    #[error(
        "thread {thread} of process {pid} has {what} of its own (unshare), which CRIU would not bring back"
    )]
    Apart {
        pid: u32,
        thread: u32,
        what: &'static str,
    },
}

/// How long the threads of a process may take to end one after the other.
const ENDING: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Whether all threads of a process can be brought back. One that has ended has none.
pub fn check(pid: u32) -> Result<(), ThreadError> {
    let deadline = Instant::now() + ENDING;
    let threads = loop {
        let threads = of(pid).unwrap_or_default();
        let is_dead = process::stat(pid).is_ok_and(|stat| stat.is_dead());
        match is_dead && threads.iter().any(|thread| !process::is_ending(*thread)) {
            false => break threads,
            true if Instant::now() > deadline => return Err(ThreadError::NoLeader(pid)),
            true => thread::sleep(LOOK_AGAIN),
        }
    };
    for thread in threads {
        // It is gone at the cut, or the agent refuses that.
        if is_agents(pid, thread) {
            continue;
        }
        for (kind, what) in [
            (KCMP_FILES, "a table of open files"),
            (KCMP_FS, "a working directory and umask"),
        ] {
            if stays_apart(pid, thread, kind) {
                return Err(ThreadError::Apart { pid, thread, what });
            }
        }
    }
    Ok(())
}

/// Whether it is one of those that have descriptors of their own for a moment, again and again.
fn is_agents(pid: u32, thread: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm"));
    name.is_ok_and(|name| name.trim_end() == FILES_THREAD)
}

/// The numbers of a process's threads, its own among them.
pub(crate) fn of(pid: u32) -> io::Result<Vec<u32>> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?;
    let names = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| name.parse().ok()).collect())
}

/// A thread of a process by the number that it has in its own PID namespace; `None` where there is none.
pub(crate) fn by_own_number(pid: u32, number: u64) -> Option<u32> {
    let mut threads = of(pid).ok()?.into_iter();
    threads.find(|thread| {
        let own = process::number_inside(*thread);
        own.is_ok_and(|(_, own)| u64::from(own) == number)
    })
}

/// A thread that ends gives up what it shares before it is gone, and is apart for that moment.
fn stays_apart(pid: u32, thread: u32, kind: libc::c_int) -> bool {
    let deadline = Instant::now() + ENDING;
    while is_apart(pid, thread, kind) && !process::is_ending(thread) {
        if Instant::now() > deadline {
            return true;
        }
        thread::sleep(LOOK_AGAIN);
    }
    false
}

/// No, where the kernel cannot say: it may be built without, and a thread may end.
fn is_apart(pid: u32, thread: u32, kind: libc::c_int) -> bool {
    // SAFETY: the call compares by number; it takes no pointers.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid, thread, kind, 0_usize, 0_usize) };
    order > 0
}
