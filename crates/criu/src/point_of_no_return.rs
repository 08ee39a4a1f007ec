//! Whether a restored program runs is decided once: by CRIU, which lets its threads go one after the other, or by who
//! gives the restore up. A CRIU that is killed between two threads takes those with it that it has let go already:
//! work that was done, and is not.
//!
//! So both lock the same file. CRIU does (our plugin, before it lets the first thread go), and then nobody kills it; who
//! has the lock before CRIU may kill it, and it lets nobody go. What is in the file says that CRIU was first, also when it
//! has ended since and its lock with it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::prctl;

/// Tells our plugin where the file is.
pub(crate) const VARIABLE: &str = "STROBE_POINT_OF_NO_RETURN";
/// For all threads to go. Each process that is restored on demand may take some seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the file holds when CRIU was first.
const PASSED: &[u8] = b"passed";
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
    let file = pass_at(Path::new(&path))?;
    prctl::set_pdeathsig(None)?;
    Ok(Some(file))
}

fn pass_at(path: &Path) -> io::Result<File> {
    let mut file = File::options().append(true).open(path)?;
    file.try_lock()?;
    file.write_all(PASSED)?;
    Ok(file)
}

/// The right to end a restore: CRIU lets nobody go while this is there.
#[derive(Debug)]
pub(crate) struct GivenUp {
    file: File,
}

impl GivenUp {
    /// Unless CRIU lets the program go, or has.
    pub(crate) fn now(work: &Path) -> io::Result<Option<Self>> {
        let Some(this) = Self::lock(work)? else {
            return Ok(None);
        };
        let is_passed = this.file.metadata()?.len() != 0;
        Ok((!is_passed).then_some(this))
    }

    /// Waits for the end of a CRIU that lets the program go: whether it has let all go is known then. `None` where it does
    /// not come to one, or nothing is known.
    pub(crate) fn after_criu(work: &Path) -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::lock(work) {
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                result => return result.ok().flatten(),
            }
        }
    }

    fn lock(work: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path(work))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(error) => match io::Error::from(error) {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
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
        let criu = || pass_at(&path(folder.path()));
        let given_up = now().unwrap().expect("CRIU has not come to it");
        assert_eq!(criu().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(given_up);
        let passed = criu().unwrap();
        assert!(now().unwrap().is_none());
        drop(passed);
        assert!(GivenUp::after_criu(folder.path()).is_some());
        assert!(now().unwrap().is_none(), "CRIU was first, and has ended");
    }
}
