//! Files that are an instance's own before its program has them.
//!
//! What nobody has opened for writing is still that of outside: somebody else's writes are seen, and who has it open for
//! reading does not see the program's own, which go to a copy.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use strobe_program::spool::is_spooled;
use strobe_proto::ProgramFile;

use super::mounts::{hold, link};
use crate::outcome::Refused;

/// Copies those of the program's files into the instance's layer whose contents the checkpoint has, or the program has
/// open for writing. Who opens one for writing has the kernel do so.
pub(crate) fn take(files: &[ProgramFile]) -> anyhow::Result<()> {
    let its = files.iter().filter(|file| !file.foreign);
    for file in its.filter(|file| !is_spooled(file.path())) {
        let taken = open_to_write(file.path());
        taken.map_err(|error| {
            let path = file.path().display();
            Refused(format!("{path} cannot be copied for the instance: {error}"))
        })?;
    }
    Ok(())
}

fn open_to_write(path: &Path) -> io::Result<()> {
    let opened = hold(path).and_then(|held| {
        if !held.metadata()?.is_file() {
            return Ok(None);
        }
        // To the end: a file that only grows can be opened for nothing else.
        let mut options = OpenOptions::new();
        let options = options
            .append(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        options.open(link(&held)).map(Some)
    });
    match opened.map(|opened: Option<File>| drop(opened)) {
        // It is gone, or nobody can write it: who has it open does not either.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(
                    libc::ENOENT
                        | libc::ENOTDIR
                        | libc::EROFS
                        | libc::EPERM
                        | libc::EACCES
                        | libc::ETXTBSY
                )
            ) =>
        {
            Ok(())
        }
        opened => opened,
    }
}
