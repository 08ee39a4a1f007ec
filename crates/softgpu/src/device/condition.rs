//! Whether the kernel lets a thread run.

/// What the kernel says of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It runs, or will when it has its turn.
    Running,
    /// By a signal or a tracer.
    Stopped,
    /// It has ended; nobody may have asked for its status yet.
    Gone,
}

pub(super) fn condition(pid: u32, tid: u32) -> Condition {
    match std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")) {
        // The state stands behind the name, which is in parentheses and may hold some.
        Ok(text) => match text
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next())
        {
            Some('T' | 't') => Condition::Stopped,
            Some('Z' | 'X' | 'x') => Condition::Gone,
            // CRIU has a thread that it dumps run code of its own, which waits for orders.
            Some('S') if is_traced(pid, tid) => Condition::Stopped,
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

fn is_traced(pid: u32, tid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status"));
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
