//! A series: checkpoints that were taken one after the other, in one folder.
//!
//! ```text
//! FOLDER/
//!   000001/ 000002/ ...   checkpoints, by their numbers
//!   latest                a symbolic link to the newest
//! ```
//!
//! What holds: a number is given once as long as a higher one is there; `latest` names a complete checkpoint, or is
//! not there; an old checkpoint is removed when a newer one is complete, and never while somebody has it open. One whose
//! removal was cut short is no checkpoint any more, and is removed as a staging directory is.

use crate::damage::open;
use crate::disk::{Context, Disk, DiskError, LocalDisk};
use crate::staging::{self, OWNER, staging_path};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use strobe_proto::files::{CHUNKS, CRIU, FILES, MANIFEST};

/// Digits of a number at least.
const DIGITS: usize = 6;
const LATEST: &str = "latest";

/// See the module's documentation.
#[derive(Debug)]
pub struct Series {
    folder: PathBuf,
}

impl Series {
    /// Of this folder, which is made if it is not there.
    pub fn make(folder: &Path) -> Result<Series, DiskError> {
        if !folder.is_dir() {
            LocalDisk.make_dir(folder).context("make", folder)?;
        }
        Ok(Series::of(folder))
    }

    /// Of this folder, whatever is in it.
    #[must_use]
    pub fn of(folder: &Path) -> Series {
        Series {
            folder: folder.to_owned(),
        }
    }

    /// All that are complete, by their numbers: the newest is the last. No links: what they lead to is somebody else's.
    pub fn checkpoints(&self) -> Result<Vec<PathBuf>, DiskError> {
        let numbers = self.numbers()?.into_iter().map(|(_, path)| path);
        Ok(numbers.filter(|path| is_complete(path)).collect())
    }

    /// Where the next one goes.
    pub fn next(&self) -> Result<PathBuf, DiskError> {
        let last = self.numbers()?.last().map_or(0, |(number, _)| *number);
        Ok(self.folder.join(format!("{:0DIGITS$}", last + 1)))
    }

    /// Has `latest` name this one.
    pub fn point_at(&self, checkpoint: &Path) -> Result<(), DiskError> {
        let name = checkpoint.file_name().unwrap_or_default();
        let latest = self.folder.join(LATEST);
        let is_there = latest.symlink_metadata().is_ok();
        let is_ours = || fs::read_link(&latest).is_ok_and(|to| number(to.as_os_str()).is_some());
        if is_there && !is_ours() {
            let error = Err(io::ErrorKind::AlreadyExists.into());
            return error.context("replace what is not ours,", &latest);
        }
        // In one step: who reads it finds the one or the other.
        let link = staging_path(&self.folder.join(LATEST));
        symlink(name, &link).context("make", &link)?;
        fs::rename(&link, &latest)
            .inspect_err(|_| drop(fs::remove_file(&link)))
            .context("make", &latest)
    }

    /// Those of the oldest but `keep` that would be removed now.
    pub fn removable_but(&self, keep: usize) -> Result<Vec<PathBuf>, DiskError> {
        let mut removable = Vec::new();
        for path in self.too_many(keep)? {
            if lock(&path)?.is_some() {
                removable.push(path);
            }
        }
        Ok(removable)
    }

    /// Of the oldest but `keep`, all that are ours and not open anywhere are removed; which those were.
    pub fn remove_but(&self, keep: usize) -> Result<Vec<PathBuf>, DiskError> {
        let mut removed = Vec::new();
        for path in self.too_many(keep)? {
            if remove(&path)? {
                removed.push(path);
            }
        }
        Ok(removed)
    }

    fn too_many(&self, keep: usize) -> Result<Vec<PathBuf>, DiskError> {
        let mut old = self.checkpoints()?;
        old.truncate(old.len().saturating_sub(keep));
        Ok(old)
    }

    fn numbers(&self) -> Result<Vec<(u64, PathBuf)>, DiskError> {
        let entries = fs::read_dir(&self.folder).context("list", &self.folder)?;
        let mut numbers = Vec::new();
        for entry in entries.flatten() {
            if let Some(number) = number(&entry.file_name()) {
                numbers.push((number, entry.path()));
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

fn number(name: &OsStr) -> Option<u64> {
    let name = name.to_str()?;
    let is_number = name.len() >= DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    // One has to come after it.
    is_number
        .then(|| name.parse().ok())?
        .filter(|number| *number < u64::MAX)
}

fn is_complete(path: &Path) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|there| there.is_dir());
    is_folder && path.join(MANIFEST).is_file()
}

/// Whether nothing lies in a checkpoint that is not of it.
fn is_all_ours(path: &Path) -> Result<bool, DiskError> {
    const OURS: [&str; 5] = [MANIFEST, CHUNKS, CRIU, FILES, OWNER];
    let is_ours = |entry: fs::DirEntry| OURS.iter().any(|name| entry.file_name() == *name);
    let mut entries = fs::read_dir(path).context("list", path)?;
    // What cannot be told may be anybody's.
    Ok(entries.all(|entry| entry.is_ok_and(is_ours)))
}

/// The lock of a checkpoint, unless it or something in it is not ours, or it is open somewhere.
fn lock(path: &Path) -> Result<Option<File>, DiskError> {
    let lock = staging::lock_dead(path);
    Ok(match is_all_ours(path)? {
        true => lock,
        false => None,
    })
}

/// Removes a checkpoint that can be locked; whether it was.
fn remove(path: &Path) -> Result<bool, DiskError> {
    let Some(_lock) = lock(path)? else {
        return Ok(false);
    };
    let gone = staging_path(path);
    LocalDisk.rename(path, &gone).context("remove", path)?;
    // The mark goes last: what is left of a removal that is cut short is known by it.
    for entry in fs::read_dir(&gone).context("list", &gone)?.flatten() {
        let inner = entry.path();
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => LocalDisk.remove(&inner),
            _ if entry.file_name() == OWNER => Ok(()),
            _ => LocalDisk.remove_file(&inner),
        };
        removed.context("remove", &inner)?;
    }
    LocalDisk.remove(&gone).context("remove", &gone)?;
    Ok(true)
}

/// Keeps a checkpoint from being removed as long as the file is open; nothing where that cannot be said.
pub(crate) fn hold(checkpoint: &Path) -> Option<File> {
    let (file, _) = open(&checkpoint.join(OWNER)).ok()?;
    file.try_lock_shared().ok()?;
    Some(file)
}
