//! Staging directories: where a checkpoint is built, and how those of dead writers are told from
//! those of live ones.
//!
//! A staging directory of `DIR` lies beside it and is called `.NAME.staging-` and 16 hexadecimal
//! digits. Its file `owner` starts with [`MARK`], and stays locked (`flock`) as long as the writer
//! lives: the kernel drops the lock with the process, also across namespaces and a crash of the
//! machine. The content is written after the lock is taken, so a mark without a lock means death.

use crate::disk::{Context, Disk, DiskError, LocalDisk};
use nix::unistd::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const OWNER: &str = "owner";
const INFIX: &str = ".staging-";
/// How the file `owner` of a staging directory of ours starts.
const MARK: &str = "strobe checkpoint\n";

/// A staging directory of this process.
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) path: PathBuf,
    /// Of the file `owner`.
    _lock: File,
}

impl Staging {
    /// Makes an empty one beside `target`.
    pub(crate) fn make(disk: &dyn Disk, target: &Path) -> Result<Staging, DiskError> {
        let path = staging_path(target);
        disk.make_dir(&path).context("make", &path)?;
        Staging::mark(disk, &path).inspect_err(|_| {
            // It was made just now and holds nothing yet.
            let _ = disk.remove(&path);
        })
    }

    /// Marks a directory as ours, so that even after a power failure it can be told.
    fn mark(disk: &dyn Disk, path: &Path) -> Result<Staging, DiskError> {
        let owner = path.join(OWNER);
        let content = format!("{MARK}pid {}\n", std::process::id());
        let lock = disk
            .write_locked(&owner, content.as_bytes())
            .context("write", &owner)?;
        disk.sync(&owner).context("sync", &owner)?;
        disk.sync(path).context("sync", path)?;
        Ok(Staging {
            path: path.to_owned(),
            _lock: lock,
        })
    }
}

/// The directory that `target`, an absolute path, lies in.
pub(crate) fn parent(target: &Path) -> &Path {
    target.parent().unwrap_or(Path::new("/"))
}

/// The staging directories in a folder whose writers are dead.
pub fn dead(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let staged = entries.filter(|entry| is_staging_name(&entry.file_name()));
    let paths = staged.map(|entry| entry.path());
    paths.filter(|path| lock_dead(path).is_some()).collect()
}

/// Removes the staging directories in a folder, of whatever checkpoints, whose writers are dead; leaves
/// everything else.
pub fn remove_dead(folder: &Path) -> Result<(), DiskError> {
    remove_dead_on(&LocalDisk, folder)
}

pub(crate) fn remove_dead_on(disk: &dyn Disk, folder: &Path) -> Result<(), DiskError> {
    for entry in fs::read_dir(folder).context("list", folder)?.flatten() {
        let path = entry.path();
        if is_staging_name(&entry.file_name())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(_lock) = lock_dead(&path)
        {
            disk.remove(&path).context("remove", &path)?;
        }
    }
    Ok(())
}

/// The lock of a directory of ours, staged or complete, that nobody owns any more.
pub(crate) fn lock_dead(path: &Path) -> Option<File> {
    let owner = path.join(OWNER);
    let there = owner.symlink_metadata().ok()?;
    if !there.is_file() || there.uid() != geteuid().as_raw() {
        return None;
    }
    let mut file = File::open(owner).ok()?;
    file.try_lock().ok()?;
    let mut start = [0; MARK.len()];
    file.read_exact(&mut start).ok()?;
    (start == MARK.as_bytes()).then_some(file)
}

/// A path for a staging directory of `target`, which nobody else has.
pub(crate) fn staging_path(target: &Path) -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(INFIX);
    name.push(format!("{random:016x}"));
    parent(target).join(name)
}

fn is_staging_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let Some((start, digits)) = name.split_last_chunk::<16>() else {
        return false;
    };
    let is_ours = start.starts_with(b".") && start.ends_with(INFIX.as_bytes());
    is_ours && digits.iter().all(u8::is_ascii_hexdigit)
}
