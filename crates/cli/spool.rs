//! A program's output on its way to a terminal or a pipe.
//!
//! CRIU can restore a regular file, but not the other end of a terminal or a pipe. So the program
//! writes to files, opened for appending (CRIU does not mind when such a file has grown), and
//! `strobe run` passes on what arrives. The files stay when the program is killed: it may come back.
//! When a program comes back to files that are gone, they are made again: what was in them has long
//! been passed on, only their size matters.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::Pid;
use strobe_program::program_files::is_written;
use strobe_program::spool::{FOLDER, STDERR, STDOUT};
use strobe_proto::ProgramFile;

const PERIOD: Duration = Duration::from_millis(20);

/// The files of one program, and the threads that pass them on.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    ended: Arc<AtomicBool>,
    /// 0 until it runs.
    program: Arc<AtomicU32>,
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
pub(crate) fn is_needed<F: AsFd + IsTerminal>(fd: &F) -> bool {
    fd.is_terminal() || !is_restorable(fd)
}

/// Whether both are one open pipe, socket or terminal.
pub(crate) fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    let file = |fd| fstat(fd).map(|stat| (stat.st_dev, stat.st_ino)).ok();
    let one = file(one.as_fd());
    one.is_some() && one == file(other.as_fd())
}

impl Spool {
    pub(crate) fn create() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(FOLDER).tempdir()?.keep();
        Ok(Self {
            folder,
            ended: Arc::default(),
            program: Arc::default(),
            threads: Vec::new(),
        })
    }

    /// Where the files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file for the program's stdout, passed on to ours.
    pub(crate) fn stdout(&mut self) -> io::Result<File> {
        let file = new_file(&self.folder.join(STDOUT))?;
        self.pass_on(STDOUT, 0)?;
        Ok(file)
    }

    /// A file for the program's stderr, passed on to ours.
    pub(crate) fn stderr(&mut self) -> io::Result<File> {
        let file = new_file(&self.folder.join(STDERR))?;
        self.pass_on(STDERR, 0)?;
        Ok(file)
    }

    /// The program that is told when nobody reads what it writes.
    pub(crate) fn is_for(&self, program: u32) {
        self.program.store(program, Ordering::Release);
    }

    /// The spooled files of a program that has come back, if there are some; passes on what has been
    /// written since the checkpoint, and what will be.
    pub(crate) fn adopt<'a>(
        files: impl IntoIterator<Item = &'a ProgramFile>,
    ) -> io::Result<Option<Self>> {
        let mut spool: Option<Self> = None;
        for file in files {
            let path = file.path();
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                continue;
            };
            let spool = spool.get_or_insert_with(|| Self {
                folder: folder.to_owned(),
                ended: Arc::default(),
                program: Arc::default(),
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
        let (ended, program) = (Arc::clone(&self.ended), Arc::clone(&self.program));
        let work = move || {
            if pass_on(from, to, &ended).is_err() {
                nobody_reads(&program, &ended);
            }
        };
        self.threads.push(thread::spawn(work));
        Ok(())
    }

    /// Waits as long as a reader of the program would: until also those have ended that it leaves
    /// behind and that can write to it still. At a terminal nobody waits for them.
    pub(crate) fn wait_for_writers(&self) -> io::Result<()> {
        let terminal = [
            (STDOUT, io::stdout().is_terminal()),
            (STDERR, io::stderr().is_terminal()),
        ];
        for (name, _) in terminal.into_iter().filter(|(_, terminal)| !terminal) {
            let file = match File::open(self.folder.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let is_read = || !self.threads.iter().all(JoinHandle::is_finished);
            while is_read() && is_written(&file) {
                thread::sleep(PERIOD);
            }
        }
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

/// Makes a file that is gone again, as long as it was.
pub(crate) fn make_again(file: &ProgramFile) -> io::Result<()> {
    let path = file.path();
    match path.parent().map(fs::create_dir) {
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    new_file(path)?.set_len(file.size)
}

/// Undoes [`make_again`].
pub(crate) fn unmake(file: &ProgramFile) {
    let path = file.path();
    let _ = fs::remove_file(path);
    if let Some(folder) = path.parent() {
        // Stays while the other file is in it.
        let _ = fs::remove_dir(folder);
    }
}

/// Until the program has ended. An error when what it wrote cannot be passed on.
fn pass_on(mut from: File, mut to: impl Write, ended: &AtomicBool) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let last = ended.load(Ordering::Acquire);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    to.write_all(&buffer[..n])?;
                    to.flush()?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Ours, and not the reader's.
                Err(_) => return Ok(()),
            }
        }
        if last {
            return Ok(());
        }
        thread::sleep(PERIOD);
    }
}

/// The program would have been told by its next write.
fn nobody_reads(program: &AtomicU32, ended: &AtomicBool) {
    while !ended.load(Ordering::Acquire) {
        if let Ok(program @ 1..) = i32::try_from(program.load(Ordering::Acquire)) {
            // It may be about to end by itself.
            let _ = kill(Pid::from_raw(program), Signal::SIGPIPE);
            return;
        }
        thread::sleep(PERIOD);
    }
}
