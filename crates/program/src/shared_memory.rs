//! The thunk's files in /dev/shm.
//!
//! The ROCm thunk maps two files there; CRIU records their paths, not their contents. They are
//! saved with the checkpoint and put back where they are absent: another ROCm program may be
//! using them, and every process finds the same contents in them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use strobe_proto::SharedMemoryFile;
use strobe_proto::files::FILES;

use crate::handle;

const SHM: &str = "/dev/shm";
const NAMES: [&str; 2] = ["hsakmt_shared_mem", "sem.hsakmt_semaphore"];
/// The second by the name `sem_open` takes.
const SEMAPHORE: &std::ffi::CStr = c"/hsakmt_semaphore";
/// Both are a page.
const SIZE_LIMIT: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum SharedMemoryError {
    #[error("{path} cannot be saved: {error}")]
    Save { path: PathBuf, error: io::Error },
    #[error("{path} cannot be put back: {error}")]
    PutBack { path: PathBuf, error: io::Error },
    #[error("the checkpoint names a shared memory file {0:?}, which is none of the thunk's")]
    Name(String),
}

/// Whether this is a file that is saved here.
pub fn is_saved(path: &Path) -> bool {
    let name = path.strip_prefix(SHM).ok().and_then(Path::to_str);
    name.is_some_and(|name| NAMES.contains(&name))
}

/// Saves the files that the process sees in `folder`, the folder `files` of a checkpoint.
pub fn save(pid: u32, folder: &Path) -> Result<Vec<SharedMemoryFile>, SharedMemoryError> {
    save_from(&PathBuf::from(format!("/proc/{pid}/root{SHM}")), folder)
}

fn save_from(shm: &Path, folder: &Path) -> Result<Vec<SharedMemoryFile>, SharedMemoryError> {
    let mut records = Vec::new();
    for name in NAMES {
        let path = shm.join(name);
        let stored = format!("{FILES}/{name}");
        match copy(&path, &folder.join(name)) {
            Ok(mode) => records.push(SharedMemoryFile {
                name: name.into(),
                stored,
                mode,
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !path.exists() => {}
            Err(error) => return Err(SharedMemoryError::Save { path, error }),
        }
    }
    Ok(records)
}

fn copy(from: &Path, to: &Path) -> io::Result<u32> {
    let file = File::open(from)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > SIZE_LIMIT {
        return Err(io::Error::other("it is not a small regular file"));
    }
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT).read_to_end(&mut bytes)?;
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    copy.write_all(&bytes)?;
    copy.sync_all()?;
    Ok(meta.mode() & 0o777)
}

/// Puts back those files that are absent from our /dev/shm, and the modes of those that are there.
pub fn put_back(checkpoint: &Path, records: &[SharedMemoryFile]) -> Result<(), SharedMemoryError> {
    put_back_to(Path::new(SHM), checkpoint, records)
}

fn put_back_to(
    shm: &Path,
    checkpoint: &Path,
    records: &[SharedMemoryFile],
) -> Result<(), SharedMemoryError> {
    for record in records {
        if !NAMES.contains(&record.name.as_str()) {
            return Err(SharedMemoryError::Name(record.name.clone()));
        }
        let path = shm.join(&record.name);
        let stored = checkpoint.join(FILES).join(&record.name);
        fs::read(stored)
            .and_then(|bytes| create_absent(&path, &bytes, record.mode & 0o777))
            .map_err(|error| SharedMemoryError::PutBack { path, error })?;
    }
    Ok(())
}

/// Makes both files as a ROCm program that finds none does, where they are absent: zeros behind a
/// first word, and a semaphore of value 1. For checkpoints whose images are all there is.
pub fn make_anew(bytes: u64, first_word: u32) -> Result<(), SharedMemoryError> {
    let path = Path::new(SHM).join(NAMES[0]);
    let make = || {
        let len = usize::try_from(bytes.min(SIZE_LIMIT)).unwrap_or_default();
        let mut content = first_word.to_le_bytes().to_vec();
        content.resize(len, 0);
        // Less our umask, as the thunk does: CRIU compares the mode with the program's file.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o666)
            .open(&path)
        {
            Ok(mut file) => file.write_all(&content),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(e),
        }
    };
    make().map_err(|error| SharedMemoryError::PutBack { path, error })?;
    const MODE: libc::mode_t = 0o666;
    const VALUE: libc::c_uint = 1;
    // SAFETY: the name is a C string; mode and value are the arguments O_CREAT asks for.
    let semaphore = unsafe { libc::sem_open(SEMAPHORE.as_ptr(), libc::O_CREAT, MODE, VALUE) };
    if semaphore == libc::SEM_FAILED {
        let (path, error) = (Path::new(SHM).join(NAMES[1]), io::Error::last_os_error());
        return Err(SharedMemoryError::PutBack { path, error });
    }
    // SAFETY: opened above, used by nobody.
    unsafe { libc::sem_close(semaphore) };
    Ok(())
}

/// Makes a file with this content where there is none. One that is there gets the mode: that is the umask's of whoever made
/// it, and CRIU wants the program's.
fn create_absent(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Ok(there) = handle::named(path) {
        let meta = there.metadata()?;
        return match meta.is_file() && meta.mode() & 0o777 != mode {
            true => fs::set_permissions(handle::link(&there), fs::Permissions::from_mode(mode)),
            false => Ok(()),
        };
    }
    // Complete under another name first: a ROCm program may start at any time.
    let folder = path.parent().unwrap_or(Path::new(SHM));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(bytes)?;
    let file = fresh.as_file();
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    match fresh.persist_noclobber(path) {
        Err(e) if e.error.kind() != io::ErrorKind::AlreadyExists => Err(e.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_saved_and_put_back_only_where_absent() {
        let root = tempfile::tempdir().unwrap();
        let (shm, checkpoint) = (root.path().join("shm"), root.path().join("checkpoint"));
        fs::create_dir_all(checkpoint.join("files")).unwrap();
        fs::create_dir(&shm).unwrap();
        fs::write(shm.join(NAMES[0]), b"content").unwrap();
        fs::set_permissions(shm.join(NAMES[0]), fs::Permissions::from_mode(0o666)).unwrap();

        let records = save_from(&shm, &checkpoint.join("files")).unwrap();
        assert_eq!(records.len(), 1, "the semaphore is absent");
        assert_eq!(records[0].stored, "files/hsakmt_shared_mem");

        fs::write(shm.join(NAMES[0]), b"another").unwrap();
        put_back_to(&shm, &checkpoint, &records).unwrap();
        assert_eq!(
            fs::read(shm.join(NAMES[0])).unwrap(),
            b"another",
            "one in use is left alone"
        );

        let mode = |mode| fs::Permissions::from_mode(mode);
        fs::set_permissions(shm.join(NAMES[0]), mode(0o600)).unwrap();
        put_back_to(&shm, &checkpoint, &records).unwrap();
        let meta = fs::metadata(shm.join(NAMES[0])).unwrap();
        assert_eq!(meta.mode() & 0o777, 0o666, "of who came with another umask");

        fs::remove_file(shm.join(NAMES[0])).unwrap();
        put_back_to(&shm, &checkpoint, &records).unwrap();
        assert_eq!(fs::read(shm.join(NAMES[0])).unwrap(), b"content");
        assert_eq!(
            fs::metadata(shm.join(NAMES[0])).unwrap().mode() & 0o777,
            0o666
        );
        assert_eq!(
            fs::read_dir(&shm).unwrap().count(),
            1,
            "nothing else is left there"
        );
    }

    #[test]
    fn a_foreign_name_is_refused() {
        let record = SharedMemoryFile {
            name: "../../etc/passwd".into(),
            ..Default::default()
        };
        let error = put_back(Path::new("/"), &[record]).unwrap_err();
        assert!(matches!(error, SharedMemoryError::Name(_)));
    }
}
