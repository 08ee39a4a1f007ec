//! Whether the kernel lets a thread run.

use std::{fmt, io};
use strobe_proto::kernel_text;

use super::process_id::{number_inside, own_namespace, own_pid, seen_as};

/// What the kernel says of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It runs, or will when it has its turn.
    Running,
    /// By a signal or a tracer. With the time it has run at all, in nanoseconds: two looks that find the
    /// same found it stopped all along.
    Stopped { ran: u64 },
    /// It has ended; nobody may have asked for its status yet.
    Gone,
}

/// A thread, as one word holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pid: u32,
    tid: u32,
    /// The end of the inode of the PID namespace in which these are its numbers.
    namespace: u32,
}

/// The kernel's limit (`PID_MAX_LIMIT`).
const NUMBER_BITS: u32 = 22;
const NAMESPACE_BITS: u32 = u64::BITS - 2 * NUMBER_BITS;

const fn end(value: u64, bits: u32) -> u32 {
    (value & ((1 << bits) - 1)) as u32
}

impl Owner {
    /// The calling thread.
    pub(super) fn own() -> Self {
        Self {
            pid: own_pid(),
            tid: nix::unistd::gettid().as_raw().cast_unsigned(),
            namespace: end(own_namespace().into(), NAMESPACE_BITS),
        }
    }

    /// Never 0.
    pub(super) fn word(self) -> u64 {
        let numbers = u64::from(self.pid) << NUMBER_BITS | u64::from(self.tid);
        numbers << NAMESPACE_BITS | u64::from(self.namespace)
    }

    pub(super) fn of_word(word: u64) -> Self {
        let numbers = word >> NAMESPACE_BITS;
        Self {
            pid: end(numbers >> NUMBER_BITS, NUMBER_BITS),
            tid: end(numbers, NUMBER_BITS),
            namespace: end(word, NAMESPACE_BITS),
        }
    }

    /// `sees_all`: whether no PID namespace is hidden from the calling process.
    pub(super) fn condition(self, sees_all: bool) -> Condition {
        let is_its = |namespace: u32| end(namespace.into(), NAMESPACE_BITS) == self.namespace;
        if is_its(own_namespace()) {
            return condition(self.pid, self.tid);
        }
        match self.seen_as(is_its) {
            Ok(Some((pid, tid))) => condition(pid, tid),
            Ok(None) if sees_all => Condition::Gone,
            // From where it cannot be seen, or be looked for, nobody can say that it has ended.
            _ => Condition::Running,
        }
    }

    /// The numbers by which the calling process sees its process and itself.
    fn seen_as(self, is_its: impl Fn(u32) -> bool) -> io::Result<Option<(u32, u32)>> {
        let Some(pid) = seen_as(self.pid, is_its)? else {
            return Ok(None);
        };
        for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?;
            let name = thread.file_name();
            let tid = name.to_str().and_then(|name| name.parse().ok());
            if let Some(tid) = tid
                && number_inside(&thread.path().join("status"))? == Some(self.tid)
            {
                return Ok(Some((pid, tid)));
            }
        }
        Ok(None)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of process {}", self.tid, self.pid)
    }
}

fn condition(pid: u32, tid: u32) -> Condition {
    match kernel_text::read(format!("/proc/{pid}/task/{tid}/stat")) {
        // The state stands behind the name, which is in parentheses and may hold some.
        Ok(text) => match text
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next())
        {
            Some('T' | 't') => stopped(pid, tid),
            Some('Z' | 'X' | 'x') => Condition::Gone,
            // CRIU has a thread that it dumps run code of its own, which waits for orders.
            Some('S') if is_traced(pid, tid) => stopped(pid, tid),
            _ => Condition::Running,
        },
        // Without a look at /proc there is only this question, which a zombie answers like a thread
        // that lives.
        Err(_) => {
            // SAFETY: signal 0 only checks; no pointers.
            let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
            if result != 0 && nix::errno::Errno::last() == nix::errno::Errno::ESRCH {
                Condition::Gone
            } else {
                Condition::Running
            }
        }
    }
}

/// The time stands first in `schedstat` (kernel: Documentation/scheduler/sched-stats.rst). A kernel without it
/// says nothing of what was between two looks.
fn stopped(pid: u32, tid: u32) -> Condition {
    let schedstat = kernel_text::read(format!("/proc/{pid}/task/{tid}/schedstat"));
    let ran = schedstat.unwrap_or_default();
    let ran = ran.split(' ').next().and_then(|ran| ran.parse().ok());
    Condition::Stopped {
        ran: ran.unwrap_or(0),
    }
}

fn is_traced(pid: u32, tid: u32) -> bool {
    let status = kernel_text::read(format!("/proc/{pid}/task/{tid}/status"));
    let tracer = status.as_deref().unwrap_or_default().lines();
    let tracer = tracer.filter_map(|line| line.strip_prefix("TracerPid:"));
    tracer.map(str::trim).any(|tracer| tracer != "0")
}

/// Whether no thread of a process runs before somebody lets it: CRIU has frozen it.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let tid = thread
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        tid.is_some_and(|tid| condition(pid, tid) != Condition::Running)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_the_largest_numbers() {
        let largest = end(u64::MAX, NUMBER_BITS);
        for owner in [
            Owner::own(),
            Owner {
                pid: largest,
                tid: largest - 1,
                namespace: end(u64::MAX, NAMESPACE_BITS),
            },
        ] {
            assert_eq!(Owner::of_word(owner.word()), owner);
        }
    }
}
