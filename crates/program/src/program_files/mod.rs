//! Regular files that the program has open, or mapped.
//!
//! CRIU saves a path, a position and a size, and refuses to restore onto a file of another size or
//! mode; it does not look at contents. A program that goes on after a checkpoint appends to its log,
//! renames what it was writing, or writes over it. So of what it can write, and of what it reads that
//! was written lately, the contents at the cut are in the checkpoint, and a restore makes each file
//! what it was then; what it has become meanwhile is kept beside it. Of what was too large, and of
//! what the program only reads, a change is refused. The processes of a tree share files, so each is
//! recorded once.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

pub use compare::{Comparison, compare};
pub(crate) use record::parse_fdinfo;
pub use record::{LeftOut, Recorder, Saved, hash_foreign};
pub use repair::{Repair, Repaired};

mod compare;
mod record;
mod repair;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ProgramFileError {
    #[error("the open files of process {pid} cannot be read: {error}")]
    Record { pid: u32, error: io::Error },
    #[error("the contents of {path}, which the program is writing, cannot be saved: {error}")]
    Save { path: PathBuf, error: io::Error },
    #[error("file {0} of the program is missing, and its contents were not saved")]
    Missing(PathBuf),
    #[error("a directory has taken the place of file {0} of the program")]
    Directory(PathBuf),
    #[error("file {0} of the program was replaced by another, and its contents were not saved")]
    Replaced(PathBuf),
    #[error(
        "file {path} of the program has shrunk from {then} to {now} bytes, and its contents were not saved"
    )]
    Shrunk { path: PathBuf, then: u64, now: u64 },
    #[error(
        "file {0} of the program has other contents than at the checkpoint, and they were not saved"
    )]
    Changed(PathBuf),
    #[error(
        "file {0} of the program was written after the checkpoint, and is too large for its contents to \
         have been compared"
    )]
    TooLarge(PathBuf),
    #[error("file {path} of the program has mode {now:o}, at the checkpoint it had {then:o}")]
    Mode { path: PathBuf, then: u32, now: u32 },
    #[error("file {path} of the program cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("file {path} cannot be made what it was at the checkpoint: {error}")]
    Repair { path: PathBuf, error: io::Error },
}

/// Whether somebody has this file, which is open for reading here, open for writing: the kernel gives
/// a lease for reading only where nobody has (fcntl(2)).
pub fn is_written(file: &File) -> bool {
    let lease = |kind: libc::c_int| {
        // SAFETY: takes numbers only; the descriptor is open.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) }
    };
    let is_refused =
        lease(libc::F_RDLCK) < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
    lease(libc::F_UNLCK);
    is_refused
}

#[cfg(test)]
mod tests;
