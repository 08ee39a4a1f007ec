//! Regular files the program has open for writing.
//!
//! CRIU saves a path, a position and a size, and refuses to restore onto a file of another size.
//! A program that goes on after a checkpoint appends to its log, so at restore such growth is cut
//! back to what the file was, and the tail kept aside. What cannot be undone that way is refused.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::WritableFile;

use crate::shared_memory::is_saved;

#[derive(Debug, thiserror::Error)]
pub enum WritableFileError {
    #[error("the open files of process {pid} cannot be read: {error}")]
    Record { pid: u32, error: io::Error },
    #[error("file {0}, which the program was writing, is missing")]
    Missing(PathBuf),
    #[error("file {0}, which the program was writing, was replaced by another")]
    Replaced(PathBuf),
    #[error("file {path}, which the program was writing, has shrunk from {then} to {now} bytes")]
    Shrunk { path: PathBuf, then: u64, now: u64 },
    #[error("{0} exists: move it away, the tail of the program's file is to be kept there")]
    TailExists(PathBuf),
    #[error("file {path} cannot be cut back to {size} bytes: {error}")]
    CutBack {
        path: PathBuf,
        size: u64,
        error: io::Error,
    },
}

/// Records the files of a process, but those that are saved; exact only while it is frozen. Paths are
/// ours, so this must run in the program's mount namespace.
pub fn record(pid: u32) -> Result<Vec<WritableFile>, WritableFileError> {
    let failed = |error| WritableFileError::Record { pid, error };
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A descriptor may be closed meanwhile when the process is not frozen.
        let (Ok(meta), Ok(path)) = (fs::metadata(entry.path()), fs::read_link(entry.path())) else {
            continue;
        };
        if !meta.is_file() || !has_a_name(&path, &meta) || is_saved(&path) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).map_err(failed)?;
        let Some((position, flags)) = parse_fdinfo(&info) else {
            continue;
        };
        if flags & libc::O_ACCMODE as u64 == libc::O_RDONLY as u64 {
            continue;
        }
        let file = WritableFile {
            path: path.to_string_lossy().into_owned(),
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            position,
        };
        files.entry(path).or_insert(file);
    }
    Ok(files.into_values().collect())
}

/// Whether the file can be found by this path (a memfd or a deleted file cannot).
fn has_a_name(path: &Path, meta: &fs::Metadata) -> bool {
    !path.starts_with("/proc")
        && fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
}

/// Position, and flags, which the kernel prints in octal.
fn parse_fdinfo(text: &str) -> Option<(u64, u64)> {
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
        if now > then {
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

    fn ours(path: &Path) -> Vec<WritableFile> {
        let path = path.to_str().unwrap();
        let mut all = record(std::process::id()).unwrap();
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
        let named = record(std::process::id()).unwrap();
        assert!(
            !named.iter().any(|f| f.path.contains("gone")),
            "a deleted file has no path"
        );
        drop(gone);
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
