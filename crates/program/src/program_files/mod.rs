//! Regular files that the program has open, or mapped.
//!
//! CRIU saves a path, a position and a size, and refuses to restore onto a file of another size or
//! mode; it does not look at contents. A program that goes on after a checkpoint appends to its log,
//! renames what it was writing, or writes over it. So of what it can write, and of what it reads that
//! was written lately, the contents at the cut are in the checkpoint, and a restore makes each file
//! what it was then; what it has become meanwhile is kept beside it. Of what was too large, and of
//! what the program only reads, a change is refused. Folders that it needs are made again, and what it
//! has made since is moved aside. The processes of a tree share files, so each is recorded once.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

pub use compare::{Comparison, compare};
pub use error::ProgramFileError;
pub use folders::is_folder;
pub use later::{Later, later};
pub use links::Links;
pub use places::Places;
pub(crate) use record::parse_fdinfo;
pub use record::{LeftOut, Needs, Recorder, Saved, Unknown, hash_foreign};
pub use repair::Repair;
pub use repaired::Repaired;
pub use sealed::Sealed;

mod aside;
mod attributes;
mod compare;
mod error;
mod folders;
mod foreseen;
mod kept;
mod later;
mod links;
mod noted;
mod places;
mod record;
mod repair;
mod repaired;
mod sealed;
mod site;
mod view;

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
