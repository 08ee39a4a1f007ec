//! Regular files the program can write: open for writing, or mapped shared and writable.
//!
//! CRIU saves a path, a position and a size, and refuses to restore onto a file of another size.
//! A program that goes on after a checkpoint appends to its log, so at restore such growth is cut
//! back to what the file was, and the tail kept aside. What cannot be undone that way is refused:
//! a file that can be changed in place has its contents hashed at the cut, and the restored program
//! never works on later ones. The processes of a tree share files, so each is recorded once.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::WritableFile;

use crate::maps;
use crate::shared_memory::is_saved;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum WritableFileError {
    #[error("the open files of process {pid} cannot be read: {error}")]
    Record { pid: u32, error: io::Error },
    #[error("file {0}, which the program was writing, is missing")]
    Missing(PathBuf),
    #[error("file {0}, which the program was writing, was replaced by another")]
    Replaced(PathBuf),
    #[error("file {path}, which the program was writing, has shrunk from {then} to {now} bytes")]
    Shrunk { path: PathBuf, then: u64, now: u64 },
    #[error("file {0}, which the program was writing, has other contents than at the checkpoint")]
    Changed(PathBuf),
    #[error(
        "file {0}, which the program was writing, was written after the checkpoint, and is too large \
         for its contents to have been compared"
    )]
    TooLarge(PathBuf),
    #[error("file {path}, which the program was writing, cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{0} exists: move it away, the tail of the program's file is to be kept there")]
    TailExists(PathBuf),
    #[error("file {path} cannot be cut back to {size} bytes: {error}")]
    CutBack {
        path: PathBuf,
        size: u64,
        error: io::Error,
    },
}

/// Bytes hashed at one cut, while the program stands still: a second of it at most.
const HASHED_LIMIT: u64 = 1 << 30;

/// Records the files of the processes of one tree, but those that are saved.
#[derive(Debug, Default)]
pub struct Recorder {
    files: BTreeMap<PathBuf, WritableFile>,
    hashed: u64,
}

/// A way in which a process can write a file.
struct Way {
    /// A link to the file below `/proc/PID`.
    link: PathBuf,
    position: u64,
    /// What is in the file stays as it is.
    only_appends: bool,
}

impl Recorder {
    /// Adds the files of a process; exact only while all processes of the tree are frozen. Paths are
    /// ours, so this must run in the program's mount namespace.
    pub fn add(&mut self, pid: u32) -> Result<(), WritableFileError> {
        let failed = |error| WritableFileError::Record { pid, error };
        for way in descriptors(pid)
            .map_err(failed)?
            .into_iter()
            .chain(mappings(pid).map_err(failed)?)
        {
            self.add_way(&way)?;
        }
        Ok(())
    }

    /// What was recorded, each file once.
    pub fn finish(self) -> Vec<WritableFile> {
        self.files.into_values().collect()
    }

    fn add_way(&mut self, way: &Way) -> Result<(), WritableFileError> {
        // A descriptor may be closed meanwhile when the process is not frozen.
        let (Ok(meta), Ok(path)) = (fs::metadata(&way.link), fs::read_link(&way.link)) else {
            return Ok(());
        };
        if !meta.is_file() || !has_a_name(&path, &meta) || is_saved(&path) {
            return Ok(());
        }
        let file = self
            .files
            .entry(path.clone())
            .or_insert_with(|| WritableFile {
                path: path.to_string_lossy().into_owned(),
                device: meta.dev(),
                inode: meta.ino(),
                size: meta.len(),
                position: way.position,
                ..WritableFile::default()
            });
        if way.only_appends || file.modified_ns != 0 {
            return Ok(());
        }
        file.modified_ns = modified_ns(&meta);
        if meta.len() <= HASHED_LIMIT - self.hashed {
            self.hashed += meta.len();
            file.blake3 = hash(&way.link, meta.len())
                .map_err(|error| WritableFileError::Read { path, error })?;
        }
        Ok(())
    }
}

/// The descriptors that write.
fn descriptors(pid: u32) -> io::Result<Vec<Way>> {
    let mut ways = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let link = entry?.path();
        if !fs::metadata(&link).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let Some(number) = link.file_name() else {
            continue;
        };
        let info = Path::new("/proc")
            .join(pid.to_string())
            .join("fdinfo")
            .join(number);
        let info = match fs::read_to_string(info) {
            Ok(info) => info,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let Some((position, flags)) = parse_fdinfo(&info) else {
            continue;
        };
        if flags & libc::O_ACCMODE as u64 != libc::O_RDONLY as u64 {
            ways.push(Way {
                link,
                position,
                only_appends: flags & libc::O_APPEND as u64 != 0,
            });
        }
    }
    Ok(ways)
}

/// The mappings that write; their descriptors are often closed.
fn mappings(pid: u32) -> io::Result<Vec<Way>> {
    let ways = maps::read(pid)?
        .into_iter()
        .filter(|map| map.shared && map.writable && map.inode != 0)
        .map(|map| Way {
            link: PathBuf::from(format!(
                "/proc/{pid}/map_files/{:x}-{:x}",
                map.range.start, map.range.end
            )),
            position: 0,
            only_appends: false,
        });
    Ok(ways.collect())
}

/// Never 0, which stands for "not recorded".
fn modified_ns(meta: &fs::Metadata) -> i64 {
    let ns = meta
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec());
    if ns == 0 { 1 } else { ns }
}

/// Of the first `len` bytes, or of all there are.
fn hash(path: &Path, len: u64) -> io::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    let mut rest = File::open(path)?.take(len);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().as_bytes().to_vec()),
            Ok(n) => _ = hasher.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the file can be found by this path (a memfd or a deleted file cannot).
fn has_a_name(path: &Path, meta: &fs::Metadata) -> bool {
    !path.starts_with("/proc")
        && fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
}

/// Position of an open file, and its flags, which the kernel prints in octal.
pub(crate) fn parse_fdinfo(text: &str) -> Option<(u64, u64)> {
    let field = |name| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    Some((
        field("pos:")?.parse().ok()?,
        u64::from_str_radix(field("flags:")?, 8).ok()?,
    ))
}

/// One file that grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The file.
    pub path: PathBuf,
    /// Bytes to keep.
    pub size: u64,
    /// Bytes beyond.
    pub grown: u64,
    /// Where they are kept.
    pub tail: PathBuf,
}

/// Compares the files with their records and changes nothing. `id` names the checkpoint.
pub fn check(records: &[WritableFile], id: &str) -> Result<Vec<Growth>, WritableFileError> {
    let mut growths = Vec::new();
    for record in records {
        let path = PathBuf::from(&record.path);
        let Ok(meta) = fs::metadata(&path) else {
            return Err(WritableFileError::Missing(path));
        };
        // The inode only: device numbers change when disks are found in another order.
        if !meta.is_file() || meta.ino() != record.inode {
            return Err(WritableFileError::Replaced(path));
        }
        let (then, now) = (record.size, meta.len());
        if now < then {
            return Err(WritableFileError::Shrunk { path, then, now });
        }
        check_contents(record, &meta)?;
        // Checkpoints of before each was recorded once have some twice.
        if now > then && !growths.iter().any(|growth: &Growth| growth.path == path) {
            let tail = PathBuf::from(format!("{}.strobe-tail-{id}", record.path));
            if fs::symlink_metadata(&tail).is_ok() {
                return Err(WritableFileError::TailExists(tail));
            }
            growths.push(Growth {
                path,
                size: then,
                grown: now - then,
                tail,
            });
        }
    }
    Ok(growths)
}

/// What was in the file at the cut is in it now.
fn check_contents(record: &WritableFile, meta: &fs::Metadata) -> Result<(), WritableFileError> {
    let path = PathBuf::from(&record.path);
    if record.blake3.is_empty() {
        // Only appended to, or too large.
        return match record.modified_ns {
            0 => Ok(()),
            then if then == modified_ns(meta) => Ok(()),
            _ => Err(WritableFileError::TooLarge(path)),
        };
    }
    // The time of the last change says nothing: it stands still for pages that are mapped and dirty.
    match hash(&path, record.size) {
        Ok(now) if now == record.blake3 => Ok(()),
        Ok(_) => Err(WritableFileError::Changed(path)),
        Err(error) => Err(WritableFileError::Read { path, error }),
    }
}

impl Growth {
    /// Copies the tail aside, then cuts the file back.
    pub fn cut_back(&self) -> Result<(), WritableFileError> {
        let cut = || {
            let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
            let mut tail = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&self.tail)?;
            file.seek(SeekFrom::Start(self.size))?;
            io::copy(&mut file, &mut tail)?;
            tail.sync_all()?;
            file.set_len(self.size)
        };
        cut().map_err(|error| self.failed(error))
    }

    /// Undoes [`Self::cut_back`] when the restore failed.
    pub fn undo(&self) -> Result<(), WritableFileError> {
        let append = || {
            let mut file = OpenOptions::new().append(true).open(&self.path)?;
            if file.metadata()?.len() != self.size {
                return Err(io::Error::other(format!(
                    "its tail is in {}",
                    self.tail.display()
                )));
            }
            io::copy(&mut File::open(&self.tail)?, &mut file)?;
            file.sync_all()?;
            fs::remove_file(&self.tail)
        };
        append().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> WritableFileError {
        WritableFileError::CutBack {
            path: self.path.clone(),
            size: self.size,
            error,
        }
    }
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
mod tests {
    use super::*;
    use std::io::Write;

    /// Other tests of this process open files and remove them meanwhile.
    fn record() -> Vec<WritableFile> {
        let recorded = || {
            let mut recorder = Recorder::default();
            recorder.add(std::process::id()).map(|()| recorder.finish())
        };
        let mut tries = (0..1000).map(|_| recorded());
        let gone = |tried: &Result<_, WritableFileError>| matches!(tried, Err(WritableFileError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound);
        tries
            .find(|tried| !gone(tried))
            .expect("a moment of rest")
            .unwrap()
    }

    fn ours(path: &Path) -> Vec<WritableFile> {
        let path = path.to_str().unwrap();
        let mut all = record();
        all.retain(|f| f.path == path);
        all
    }

    #[test]
    fn only_files_open_for_writing_are_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let mut log = File::create(folder.join("log")).unwrap();
        log.write_all(b"12345").unwrap();
        let _reader = File::open(folder.join("log")).unwrap();
        let records = ours(&folder.join("log"));
        assert_eq!(records.len(), 1);
        assert_eq!((records[0].size, records[0].position), (5, 5));
        drop(log);
        assert_eq!(ours(&folder.join("log")), [], "only a reader is left");
        let gone = File::create(folder.join("gone")).unwrap();
        fs::remove_file(folder.join("gone")).unwrap();
        let named = record();
        assert!(
            !named.iter().any(|f| f.path.contains("gone")),
            "a deleted file has no path"
        );
        drop(gone);
    }

    #[test]
    fn a_file_of_two_processes_is_recorded_once_and_cut_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("log");
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        log.write_all(b"before").unwrap();
        let mut recorder = Recorder::default();
        recorder.add(std::process::id()).unwrap();
        recorder.add(std::process::id()).unwrap();
        let mut records = recorder.finish();
        records.retain(|file| Path::new(&file.path) == path);
        assert_eq!(records.len(), 1);
        log.write_all(b" and after").unwrap();
        // As older checkpoints have it.
        records.push(records[0].clone());
        assert_eq!(check(&records, "id").unwrap().len(), 1);
    }

    #[test]
    fn contents_that_were_changed_in_place_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("counter");
        let mut counter = File::create(&path).unwrap();
        counter.write_all(b"1 of 9").unwrap();
        let records = ours(&path);
        counter.write_all(b" and more").unwrap();
        assert_eq!(check(&records, "id").unwrap().len(), 1, "it has grown");
        counter.seek(SeekFrom::Start(0)).unwrap();
        counter.write_all(b"2").unwrap();
        let changed = check(&records, "id").unwrap_err();
        assert!(
            matches!(changed, WritableFileError::Changed(_)),
            "{changed}"
        );
        assert!(changed.to_string().contains("counter"), "{changed}");
    }

    #[test]
    fn what_was_too_large_to_be_compared_must_not_have_been_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("large");
        let file = File::create(&path).unwrap();
        file.set_len(HASHED_LIMIT + 1).unwrap();
        let records = ours(&path);
        assert_eq!(records[0].blake3, [0; 0]);
        assert_eq!(check(&records, "id").unwrap(), []);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
        file.set_modified(later).unwrap();
        let written = check(&records, "id").unwrap_err();
        assert!(
            matches!(written, WritableFileError::TooLarge(_)),
            "{written}"
        );
    }

    #[test]
    fn a_file_that_is_only_mapped_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("mapped");
        fs::write(&path, [7; 100]).unwrap();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        // SAFETY: a new mapping of a file that keeps its size; nobody refers to it.
        let map = unsafe {
            nix::sys::mman::mmap(
                None,
                std::num::NonZeroUsize::new(4096).unwrap(),
                nix::sys::mman::ProtFlags::PROT_READ | nix::sys::mman::ProtFlags::PROT_WRITE,
                nix::sys::mman::MapFlags::MAP_SHARED,
                &file,
                0,
            )
        }
        .unwrap();
        drop(file);
        let records = ours(&path);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].blake3, hash(&path, 100).unwrap());
        // SAFETY: the mapping made above, which nobody uses any more.
        unsafe { nix::sys::mman::munmap(map, 4096) }.unwrap();
        assert_eq!(ours(&path), []);
    }

    #[test]
    fn growth_is_cut_back_with_its_tail_kept_and_can_be_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"before").unwrap();
        let records = ours(&path);
        assert_eq!(check(&records, "id").unwrap(), []);
        log.write_all(b" and after").unwrap();
        let growths = check(&records, "id").unwrap();
        assert_eq!(growths.len(), 1);
        growths[0].cut_back().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read(&growths[0].tail).unwrap(), b" and after");
        assert!(
            growths[0]
                .tail
                .to_str()
                .unwrap()
                .ends_with("log.strobe-tail-id")
        );
        growths[0].undo().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before and after");
        assert!(!growths[0].tail.exists());
    }

    #[test]
    fn what_cannot_be_undone_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"before").unwrap();
        let records = ours(&path);
        log.set_len(2).unwrap();
        let shrunk = check(&records, "id").unwrap_err();
        assert!(
            matches!(
                shrunk,
                WritableFileError::Shrunk {
                    then: 6,
                    now: 2,
                    ..
                }
            ),
            "{shrunk}"
        );
        fs::rename(&path, folder.path().join("other")).unwrap();
        let missing = check(&records, "id").unwrap_err();
        assert!(
            matches!(missing, WritableFileError::Missing(_)),
            "{missing}"
        );
        fs::write(&path, b"before").unwrap();
        let replaced = check(&records, "id").unwrap_err();
        assert!(replaced.to_string().contains("log"), "{replaced}");
        assert!(
            matches!(replaced, WritableFileError::Replaced(_)),
            "{replaced}"
        );
    }

    #[test]
    fn a_file_is_written_while_somebody_has_it_open_for_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(is_written(&reader));
        drop(writer);
        assert!(!is_written(&reader));
    }
}
