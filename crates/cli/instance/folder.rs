//! The folder of an instance.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// `files` has what the instance has written, as a tree from the root on; `checkpoints` is the only folder that it and
/// others share. `root` is where its files are mounted, in its own namespace, and `work` the kernel's.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    was_there: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{0} is not empty: an instance has a folder of its own, which is made")]
    NotEmpty(PathBuf),
}

const PARTS: [&str; 4] = ["files", "work", "root", "checkpoints"];

impl Folder {
    /// Makes it; it may be there, empty.
    pub(super) fn make(path: &Path) -> Result<Self, FolderError> {
        let failed = |error| FolderError::Io {
            path: path.to_path_buf(),
            error,
        };
        let was_there = match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(failed(error)),
        };
        if was_there && fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(FolderError::NotEmpty(path.to_path_buf()));
        }
        let folder = Self {
            path: fs::canonicalize(path).map_err(failed)?,
            was_there,
        };
        let mut parts = PARTS.iter();
        let made = parts
            .try_for_each(|part| fs::create_dir(folder.path.join(part)))
            .map_err(failed);
        made.inspect_err(|_| folder.remove())?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    pub(super) fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    pub(super) fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// Once nothing is mounted there, and nothing of the program has run.
    pub(super) fn remove(&self) {
        for part in PARTS {
            let _ = fs::remove_dir_all(self.path.join(part));
        }
        if !self.was_there {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
