//! Semaphores and message queues of System V that a process uses (semget(2), msgget(2)). They are of the IPC namespace:
//! CRIU saves those of a program that has one of its own.

use std::fmt;
use std::fs;
use std::io;

use nix::libc;
use strobe_proto::kernel_text;

/// Something that a restored program finds as it is then, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemV {
    /// In this process's pid namespace, the last to use it.
    pub pid: u32,
    kind: Kind,
    number: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Semaphores,
    Messages,
}

impl fmt::Display for SystemV {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, call) = match self.kind {
            Kind::Semaphores => ("semaphores", "semget"),
            Kind::Messages => ("the message queue", "msgget"),
        };
        let Self { pid, number, .. } = self;
        write!(
            f,
            "process {pid} uses {what} {number} of System V ({call}): a restored program finds what there is then \
             (unless it has an IPC namespace of its own)"
        )
    }
}

/// Those that this process was the last to use. None where its namespace is not ours: it is saved.
pub fn of(pid: u32) -> io::Result<Vec<SystemV>> {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/ipc"));
    if namespace(&pid.to_string())? != namespace("self")? {
        return Ok(Vec::new());
    }
    let found = |kind| move |number| SystemV { pid, kind, number };
    let semaphores = kernel_text::read("/proc/sysvipc/sem")?;
    let semaphores = rows(&semaphores, ["semid", "nsems"])
        .filter(|[set, count]| (0..*count).any(|one| last_user(*set, one) == Some(pid)))
        .map(|[set, _]| set)
        .map(found(Kind::Semaphores));
    let messages = kernel_text::read("/proc/sysvipc/msg")?;
    let is_user = |user: i32| user.cast_unsigned() == pid;
    let messages = rows(&messages, ["msqid", "lspid", "lrpid"])
        .filter(|[_, sent, received]| is_user(*sent) || is_user(*received))
        .map(|[queue, ..]| queue)
        .map(found(Kind::Messages));
    Ok(semaphores.chain(messages).collect())
}

/// What stands in the columns of these names.
fn rows<const N: usize>(table: &str, names: [&str; N]) -> impl Iterator<Item = [i32; N]> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    lines.filter_map(move |line| {
        let row: Vec<&str> = line.split_whitespace().collect();
        let mut found = [0; N];
        for (place, name) in found.iter_mut().zip(names) {
            let column = header.iter().position(|column| *column == name)?;
            *place = row.get(column)?.parse().ok()?;
        }
        Some(found)
    })
}

/// Who has changed a semaphore last.
fn last_user(set: i32, semaphore: i32) -> Option<u32> {
    // SAFETY: it takes numbers.
    let pid = unsafe { libc::semctl(set, semaphore, libc::GETPID) };
    u32::try_from(pid).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_was_the_last_to_use_is_named() {
        let pid = std::process::id();
        // SAFETY: takes numbers.
        let set = unsafe { libc::semget(libc::IPC_PRIVATE, 2, 0o600) };
        // SAFETY: takes numbers.
        let queue = unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) };
        assert!(set >= 0 && queue >= 0);
        let names = || -> Vec<_> {
            let all = of(pid).unwrap().into_iter();
            all.filter(|one| [set, queue].contains(&one.number))
                .collect()
        };
        let unused = names();
        // SAFETY: takes numbers.
        unsafe { libc::semctl(set, 1, libc::SETVAL, 7) };
        // A type and no bytes.
        let message: libc::c_long = 1;
        // SAFETY: it reads the type.
        unsafe { libc::msgsnd(queue, (&raw const message).cast(), 0, 0) };
        let used = names();
        // SAFETY: takes numbers.
        unsafe { libc::semctl(set, 0, libc::IPC_RMID) };
        // SAFETY: takes numbers, and no place for an answer.
        unsafe { libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut()) };
        assert_eq!(unused, []);
        let (semaphores, messages) = (Kind::Semaphores, Kind::Messages);
        let expected = [(semaphores, set), (messages, queue)];
        assert_eq!(
            used,
            expected.map(|(kind, number)| SystemV { pid, kind, number })
        );
    }
}
