//! One checkpoint of a program at a time, and one restore.
//!
//! Two commands that both find the agent idle would both call it, and the second call takes the agent
//! from the first, which then gives the second's checkpoint up. Two restores of one program would both
//! find its numbers free, and the one that fails would put files back that the other's program has. So
//! whoever wants to call, or restore, holds a lock: a byte of one file for each process, freed by the
//! kernel with whoever held it.
//!
//! Ports and abstract names are a network namespace's, whatever else a restore has to itself (an instance has numbers and
//! files of its own): two that both find them free could both have them, as CRIU lets sockets share a port. So who looks
//! at those holds the byte of the namespace until the program is back.
//!
//! The file is the machine's, and containers that share it number their processes alike: a process is
//! known by its PID namespace and its number there, whoever looks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

use crate::process;

/// Where only root writes: both need root anyway.
const FOLDER: &str = "/run";
const CHECKPOINTS: &str = "strobe-checkpoint.lock";
const RESTORES: &str = "strobe-restore.lock";

/// How long who comes second waits: much longer than a look at the launches takes.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Numbers of processes are below this power of two (`PID_MAX_LIMIT`, linux/threads.h).
const PID_BITS: u32 = 22;

/// While one is held, no other command of this machine calls the agent of that process, or restores it.
#[derive(Debug)]
pub struct Lease {
    _file: File,
}

impl Lease {
    /// Of a process that runs. Waits a little: who only looks at the launches is done in a moment. `None`
    /// if somebody else still has it then.
    pub fn take(pid: u32) -> io::Result<Option<Self>> {
        let byte = byte_of(pid)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match lock(&Path::new(FOLDER).join(CHECKPOINTS), byte)? {
                None if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                lease => return Ok(lease),
            }
        }
    }

    /// Of a process that is to be restored among those that we see. `None` while another restore has it.
    pub fn of_restore(pid: u32) -> io::Result<Option<Self>> {
        let namespace = process::number_inside(std::process::id())?.0;
        lock(&Path::new(FOLDER).join(RESTORES), byte(namespace, pid)?)
    }

    /// Of the ports and abstract names of this process's network namespace, where `root` is that of the machine. `None`
    /// while another restore has them.
    pub fn of_ports(root: &Path) -> io::Result<Option<Self>> {
        let namespace = fs::metadata("/proc/self/ns/net")?.ino();
        let folder = root.join(FOLDER.trim_start_matches('/'));
        // No process has this number, and no two namespaces of any kind the same inode.
        lock(&folder.join(RESTORES), byte(namespace, 0)?)
    }
}

fn lock(path: &Path, byte: i64) -> io::Result<Option<Lease>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::NotFound => "; /run has to be there, as a tmpfs",
                _ => "",
            };
            let sentence = format!("{} cannot be opened ({error}){remedy}", path.display());
            io::Error::new(error.kind(), sentence)
        })?;
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    };
    // Of this open file: children that inherit nothing of it do not keep it.
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Ok(Some(Lease { _file: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The byte that stands for a process.
fn byte_of(pid: u32) -> io::Result<i64> {
    let (namespace, number) = process::number_inside(pid)?;
    byte(namespace, number)
}

/// Its namespace's inode, 32 bits, and its number there.
fn byte(namespace: u64, number: u32) -> io::Result<i64> {
    let namespace = u32::try_from(namespace).ok();
    let number = Some(number).filter(|number| *number < 1 << PID_BITS);
    let byte = namespace.zip(number);
    byte.map(|(namespace, number)| i64::from(namespace) << PID_BITS | i64::from(number))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a PID namespace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_elsewhere_is_another_process() {
        let own = byte_of(std::process::id()).unwrap();
        assert_eq!(own & ((1 << PID_BITS) - 1), i64::from(std::process::id()));
        let namespace = process::number_inside(std::process::id()).unwrap().0;
        assert_eq!((own >> PID_BITS) as u64, namespace);
    }

    #[test]
    fn one_at_a_time_has_a_number_and_others_have_theirs_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock(&path, 1).unwrap();
        assert!(first.is_some());
        assert!(lock(&path, 1).unwrap().is_none());
        assert!(lock(&path, 2).unwrap().is_some());
        drop(first);
        assert!(lock(&path, 1).unwrap().is_some());
    }
}
