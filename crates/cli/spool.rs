//! A program's output on its way to a terminal or a pipe.
//!
//! CRIU can restore a regular file, but not the other end of a terminal or a pipe. So the program
//! writes to files, opened for appending (CRIU does not mind when such a file has grown), and
//! `strobe run` passes on what arrives. The files stay when the program is killed: it may come back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::stat::{SFlag, fstat};

const PERIOD: Duration = Duration::from_millis(20);

/// The files of one program, and the threads that pass them on.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Whether CRIU can restore this file by itself.
fn is_restorable(fd: impl AsFd) -> bool {
    let Ok(stat) = fstat(fd) else { return true };
    let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
    // Of the devices, terminals are the trouble.
    kind == SFlag::S_IFREG || kind == SFlag::S_IFCHR
}

/// Whether output to `fd` has to go through a file.
pub(crate) fn is_needed<F: AsFd + io::IsTerminal>(fd: &F) -> bool {
    fd.is_terminal() || !is_restorable(fd)
}

impl Spool {
    pub(crate) fn create() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("strobe-run-{}", std::process::id()));
        // A leftover of an earlier process of this number that was killed.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(Self {
            folder,
            ended: Arc::default(),
            threads: Vec::new(),
        })
    }

    /// Where the files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file for the program to write to, passed on to `to`.
    pub(crate) fn through(
        &mut self,
        name: &str,
        to: impl Write + Send + 'static,
    ) -> io::Result<Stdio> {
        let path = self.folder.join(name);
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(&path)?;
        let from = File::open(&path)?;
        let ended = Arc::clone(&self.ended);
        self.threads
            .push(thread::spawn(move || pass_on(from, to, &ended)));
        Ok(file.into())
    }

    /// Passes on the rest. `keep` leaves the files.
    pub(crate) fn finish(self, keep: bool) -> io::Result<()> {
        self.ended.store(true, Ordering::Release);
        for thread in self.threads {
            let _ = thread.join();
        }
        if keep {
            Ok(())
        } else {
            fs::remove_dir_all(&self.folder)
        }
    }
}

fn pass_on(mut from: File, mut to: impl Write, ended: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    loop {
        let last = ended.load(Ordering::Acquire);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    // Nobody reads any more: the program goes on regardless.
                    if to
                        .write_all(&buffer[..n])
                        .and_then(|()| to.flush())
                        .is_err()
                    {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
        if last {
            return;
        }
        thread::sleep(PERIOD);
    }
}
