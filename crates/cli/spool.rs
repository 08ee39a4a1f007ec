//! A program's output on its way to a terminal or a pipe.
//!
//! CRIU can restore a regular file, but not the other end of a terminal or a pipe. So the program
//! writes to files, opened for appending (CRIU does not mind when such a file has grown), and
//! `strobe run` passes on what arrives. The files stay when the program is killed: it may come back.
//! When a program comes back to files that are gone, they are made again: what was in them has long
//! been passed on, only their size matters.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::stat::{SFlag, fstat};
use strobe_proto::WritableFile;

/// Start of a folder's name; the number of the process that made it follows.
const FOLDER: &str = "strobe-run-";
const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";
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
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
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

    /// A file for the program's stdout, passed on to ours.
    pub(crate) fn stdout(&mut self) -> io::Result<Stdio> {
        let file = new_file(&self.folder.join(STDOUT))?;
        self.pass_on(STDOUT, 0)?;
        Ok(file.into())
    }

    /// A file for the program's stderr, passed on to ours.
    pub(crate) fn stderr(&mut self) -> io::Result<Stdio> {
        let file = new_file(&self.folder.join(STDERR))?;
        self.pass_on(STDERR, 0)?;
        Ok(file.into())
    }

    /// The spooled files of a program that has come back, if there are some; passes on what has been
    /// written since the checkpoint, and what will be.
    pub(crate) fn adopt<'a>(
        files: impl IntoIterator<Item = &'a WritableFile>,
    ) -> io::Result<Option<Self>> {
        let mut spool: Option<Self> = None;
        for file in files {
            let path = Path::new(&file.path);
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                continue;
            };
            let spool = spool.get_or_insert_with(|| Self {
                folder: folder.to_owned(),
                ended: Arc::default(),
                threads: Vec::new(),
            });
            if spool.folder == folder {
                spool.pass_on(if name == STDERR { STDERR } else { STDOUT }, file.size)?;
            }
        }
        Ok(spool)
    }

    /// Passes on what is in the file `name` from byte `start` on, now and later.
    fn pass_on(&mut self, name: &str, start: u64) -> io::Result<()> {
        let mut from = File::open(self.folder.join(name))?;
        from.seek(SeekFrom::Start(start))?;
        let to: Box<dyn Write + Send> = match name {
            STDERR => Box::new(io::stderr()),
            _ => Box::new(io::stdout()),
        };
        let ended = Arc::clone(&self.ended);
        self.threads
            .push(thread::spawn(move || pass_on(from, to, &ended)));
        Ok(())
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

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).append(true).open(path)
}

/// Whether a program's file is one that a `strobe run` passed on.
pub(crate) fn is_spooled(file: &WritableFile) -> bool {
    let path = Path::new(&file.path);
    let name_of = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let number = path.parent().and_then(name_of).and_then(|folder| {
        let digits = folder.strip_prefix(FOLDER)?;
        digits.parse::<u32>().ok()
    });
    number.is_some() && matches!(name_of(path).as_deref(), Some(STDOUT | STDERR))
}

/// Makes a file that is gone again, as long as it was.
pub(crate) fn make_again(file: &WritableFile) -> io::Result<()> {
    let path = Path::new(&file.path);
    match path.parent().map(fs::create_dir) {
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    new_file(path)?.set_len(file.size)
}

/// Undoes [`make_again`].
pub(crate) fn unmake(file: &WritableFile) {
    let path = Path::new(&file.path);
    let _ = fs::remove_file(path);
    if let Some(folder) = path.parent() {
        // Stays while the other file is in it.
        let _ = fs::remove_dir(folder);
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
