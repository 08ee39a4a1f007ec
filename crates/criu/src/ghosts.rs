//! Stand-ins of the program's deleted files.
//!
//! A file that the program holds but has deleted comes back for a moment under a name of CRIU's, in
//! the nearest folder that still exists: for temporary files of ROCm's compiler that is the same
//! name for all programs. So restores take turns, and what a failed one, or one that was killed, has
//! left is removed in the turn of the next that meets it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Where only root writes: restores need root anyway.
const LOCK: &str = "/run/strobe-restore.lock";
/// In mount namespaces of its own CRIU names the stand-in; elsewhere the file, in whatever folder it was,
/// behind its number.
const STAND_IN: &str = "Trying to create ghost on path ";
const FILE: &str = "Opening ghost file 0x";

/// While one is held, no other restore of ours makes stand-ins.
#[derive(Debug)]
pub struct Turn {
    _lock: Flock<File>,
}

impl Turn {
    /// None while another restore is under way.
    pub fn take() -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(LOCK)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(Self { _lock: lock })),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Removes the stand-ins that the log of a failed restore names. To be called when no process of
    /// that restore exists any more.
    pub(crate) fn remove(&self, log: &str) {
        for path in named(log) {
            // Most often CRIU has removed it itself.
            let _ = fs::remove_file(path);
        }
    }
}

fn named(log: &str) -> impl Iterator<Item = PathBuf> {
    log.lines()
        .filter_map(|line| stand_in(line).or_else(|| of_file(line)))
}

fn stand_in(line: &str) -> Option<PathBuf> {
    let path = line.split_once(STAND_IN)?.1.trim_end();
    is_ghost(path).then(|| Path::new("/").join(path))
}

/// In the nearest folder that is still there.
fn of_file(line: &str) -> Option<PathBuf> {
    let (id, path) = line.split_once(FILE)?.1.split_once(" for ")?;
    let path = Path::new("/").join(path.trim_end());
    let name = path.file_name()?.to_str()?;
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let ghost = format!("{name}.cr.{id}.ghost");
    is_ghost(&ghost).then(|| folder.join(ghost))
}

/// `NAME.cr.ID.ghost`, the ID in hexadecimal digits.
fn is_ghost(path: &str) -> bool {
    path.strip_suffix(".ghost")
        .and_then(|path| path.rsplit_once(".cr."))
        .is_some_and(|(name, id)| {
            !name.is_empty() && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_criu_s_own_making_are_taken_from_its_log() {
        let log = "(00.01)      9: Trying to create ghost on path tmp/a b.cr.1f.ghost\n\
                   (00.02)      9: Trying to create ghost on path home/me/letter\n\
                   (00.03)      9: Trying to create ghost on path etc/passwd.cr..ghost\n\
                   (00.04)      9: Opening ghost file 0x1a for tmp/gone-since/c.o\n\
                   (00.04)      9: Opening ghost file 0x../ for tmp/d.o\n\
                   (00.05)      9: Trying to create ghost on path /dev/shm/x.cr.2.ghost\n";
        let found: Vec<_> = named(log).collect();
        let expected = [
            "/tmp/a b.cr.1f.ghost",
            "/tmp/c.o.cr.1a.ghost",
            "/dev/shm/x.cr.2.ghost",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
