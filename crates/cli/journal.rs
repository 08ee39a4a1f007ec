//! The journal of the files that a program writes, for as long as a checkpoint may need it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use strobe_program::journal;

/// Bytes that are set aside for it: of hundreds of entries.
const ROOM: i64 = 64 << 10;

/// Removed again unless a checkpoint was taken.
#[derive(Debug)]
pub(crate) struct Journal(PathBuf);

impl Journal {
    /// Where it outlives the machine's next start, if that can be.
    pub(crate) fn create() -> io::Result<Self> {
        let state = state().map(|state| state.join("strobe/journals"));
        let lasting = state.filter(|folder| fs::create_dir_all(folder).is_ok());
        let new = |folder: &Path| {
            let mut name = tempfile::Builder::new();
            let file = name.prefix("").rand_bytes(12).tempfile_in(folder)?;
            // On a full disk nobody would notice before a checkpoint.
            match fallocate(file.as_file(), FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, ROOM) {
                Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => Ok(file),
                Err(error) => Err(io::Error::from(error)),
            }
        };
        let file = lasting
            .and_then(|folder| new(&folder).ok())
            .map_or_else(|| new(&env::temp_dir()), Ok)?;
        let (_, path) = file.keep()?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !journal::has_cut(&self.0) {
            journal::remove(&self.0);
        }
    }
}

/// XDG Base Directory Specification.
fn state() -> Option<PathBuf> {
    let absolute = |name| {
        let path = env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}
