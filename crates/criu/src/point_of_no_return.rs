//! Whether a restored program runs is decided once: by CRIU, which lets its threads go one after the other, or by who
//! gives the restore up. A CRIU that is killed between two threads takes those with it that it has let go already:
//! work that was done, and is not.
//!
//! So both lock the same file. CRIU does (our plugin, before it lets the first thread go), and then nobody kills it; who
//! has the lock before CRIU may kill it, and it lets nobody go.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::prctl;

/// Tells our plugin where the file is.
pub(crate) const VARIABLE: &str = "STROBE_POINT_OF_NO_RETURN";
/// For all threads to go. Each process that is restored on demand may take some seconds.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The file, in the folder of a restore.
pub(crate) fn path(work: &Path) -> PathBuf {
    work.join("point-of-no-return")
}

/// In CRIU: decides that the program runs, and has CRIU outlive its command. The lock is held as long as CRIU runs.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] where the restore has been given up.
pub fn pass() -> io::Result<Option<File>> {
    let Some(path) = env::var_os(VARIABLE) else {
        // Somebody else's CRIU.
        return Ok(None);
    };
    let file = File::open(path)?;
    file.try_lock()?;
    prctl::set_pdeathsig(None)?;
    Ok(Some(file))
}

/// The right to end a restore: CRIU lets nobody go while this is there.
#[derive(Debug)]
pub(crate) struct GivenUp {
    _file: File,
}

impl GivenUp {
    /// Unless CRIU lets the program go, or has and runs.
    pub(crate) fn now(work: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path(work))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(error) => match io::Error::from(error) {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Waits for the end of a CRIU that lets the program go. `None` where it does not come to one, or nothing is known.
    pub(crate) fn wait(work: &Path) -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::now(work) {
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                result => return result.ok().flatten(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_decides() {
        let folder = tempfile::tempdir().unwrap();
        let now = || GivenUp::now(folder.path());
        assert!(now().is_err(), "no restore");
        File::create(path(folder.path())).unwrap();
        let criu = File::open(path(folder.path())).unwrap();
        let given_up = now().unwrap().expect("CRIU has not come to it");
        assert!(criu.try_lock().is_err());
        drop(given_up);
        criu.try_lock().unwrap();
        assert!(now().unwrap().is_none());
        drop(criu);
        assert!(GivenUp::wait(folder.path()).is_some());
    }
}
