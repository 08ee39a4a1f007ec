//! One checkpoint of a program at a time.
//!
//! Two commands that both find the agent idle would both call it, and the second call takes the agent
//! from the first, which then gives the second's checkpoint up. So whoever wants to call holds a lock:
//! a byte of one file for each process number, freed by the kernel with whoever held it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// Where only root writes: checkpoints need root anyway.
const FILE: &str = "/run/strobe-checkpoint.lock";

/// While one is held, no other command of this machine calls the agent of that process.
#[derive(Debug)]
pub struct Lease {
    _file: File,
}

impl Lease {
    /// `None` if somebody else has it.
    pub fn take(pid: u32) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(FILE)?;
        let lock = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: pid.into(),
            l_len: 1,
            l_pid: 0,
        };
        // Of this open file: children that inherit nothing of it do not keep it.
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(Some(Self { _file: file })),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
