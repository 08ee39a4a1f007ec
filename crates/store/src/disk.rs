//! The few operations that build a checkpoint directory, behind a trait so that tests can make each
//! of them fail or be the last.

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::statfs::{
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, FsType, TMPFS_MAGIC, XFS_SUPER_MAGIC,
    fstatfs,
};
use nix::unistd::syncfs;
use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a checkpoint directory is built.
pub trait Disk: Debug + Send + Sync {
    /// Makes a directory that only its owner may enter.
    fn make_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes a file, locks it for as long as it stays open, and only then writes `content`.
    fn write_locked(&self, path: &Path, content: &[u8]) -> io::Result<File>;
    /// Makes a file of these parts.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()>;
    /// Gives an existing file a second name.
    fn link(&self, existing: &Path, path: &Path) -> io::Result<()>;
    /// Makes a file's content, or a directory's entries, durable.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Makes everything durable in the file system that a folder lies in, which takes one journal commit where
    /// file by file takes as many as there are files; `false` where nothing is done, for file by file is safer.
    fn sync_file_system(&self, folder: &Path) -> io::Result<bool>;
    /// Renames; fails if `to` exists.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a directory with all it holds, following no link.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
}

/// File systems whose syncfs(2) waits for all data and reports errors (Linux 5.8). Others may hand data to a server
/// and leave it at that, or, as overlayfs, see no errors of the file system below.
const DURABLE_AS_A_WHOLE: [FsType; 5] = [
    BTRFS_SUPER_MAGIC,
    EXT4_SUPER_MAGIC,
    F2FS_SUPER_MAGIC,
    TMPFS_MAGIC,
    XFS_SUPER_MAGIC,
];

/// A local file system.
#[derive(Debug)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn write_locked(&self, path: &Path, content: &[u8]) -> io::Result<File> {
        let mut file = new_file(path)?;
        file.lock()?;
        file.write_all(content)?;
        Ok(file)
    }

    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = new_file(path)?;
        parts.iter().try_for_each(|part| file.write_all(part))
    }

    fn link(&self, existing: &Path, path: &Path) -> io::Result<()> {
        fs::hard_link(existing, path)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_file_system(&self, folder: &Path) -> io::Result<bool> {
        let folder = File::open(folder)?;
        let kind = fstatfs(&folder)?.filesystem_type();
        if !DURABLE_AS_A_WHOLE.contains(&kind) {
            return Ok(false);
        }
        syncfs(folder)?;
        Ok(true)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
            Ok(()) => Ok(()),
            // Not every file system knows how not to replace.
            Err(nix::Error::EINVAL | nix::Error::ENOSYS) if fs::symlink_metadata(to).is_err() => {
                fs::rename(from, to)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// An operation on disk that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// There is no room left, or the quota is used up.
    #[error("cannot {action} {path}: the disk is full")]
    Full {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
    },
    /// Anything else.
    #[error("cannot {action} {path}: {source}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Names what was tried, and on what, in an error.
pub(crate) trait Context<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, DiskError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, DiskError> {
        self.map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskError::Full {
                action,
                path: path.to_owned(),
            },
            _ => DiskError::Failed {
                action,
                path: path.to_owned(),
                source,
            },
        })
    }
}
