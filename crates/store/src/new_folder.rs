//! A folder that is complete, or not there at all, as a checkpoint directory is.

use crate::disk::{Context, Disk, DiskError, LocalDisk};
use crate::staging::{OWNER, Staging, parent, remove_dead_on};
use crate::writer::{CommitError, CreateError};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder in the making. Dropped without [`NewFolder::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    staging: Staging,
    committed: bool,
}

impl NewFolder {
    /// Begins a folder that will be `target`, which must not exist, in a directory that does.
    pub fn create(target: &Path) -> Result<Self, CreateError> {
        let target = std::path::absolute(target).context("find", target)?;
        if target.file_name().is_none() {
            return Err(CreateError::NoName(target));
        }
        if target.symlink_metadata().is_ok() {
            return Err(CreateError::Exists(target));
        }
        remove_dead_on(&LocalDisk, parent(&target))?;
        let staging = Staging::make(&LocalDisk, &target)?;
        Ok(Self {
            target,
            staging,
            committed: false,
        })
    }

    /// Where it is until the commit.
    pub fn path(&self) -> &Path {
        &self.staging.path
    }

    /// Makes everything durable, and gives the folder its name.
    pub fn commit(mut self) -> Result<(), CommitError> {
        let root = self.path().to_owned();
        sync_all(&root)?;
        if let Err(error) = LocalDisk.rename(&root, &self.target) {
            if self.target.symlink_metadata().is_ok() {
                return Err(CommitError::Exists(self.target.clone()));
            }
            Err(error).context("name", &self.target)?;
        }
        self.committed = true;
        // A mark of what is being made: it is made.
        let _ = fs::remove_file(self.target.join(OWNER));
        let parent = parent(&self.target);
        let durable = LocalDisk.sync(parent).context("sync", parent);
        durable.map_err(CommitError::NotDurable)
    }
}

/// Files first, then the folder that has them.
fn sync_all(folder: &Path) -> Result<(), DiskError> {
    for entry in fs::read_dir(folder).context("list", folder)? {
        let path = entry.context("list", folder)?.path();
        match path.is_dir() {
            true => sync_all(&path)?,
            false => LocalDisk.sync(&path).context("sync", &path)?,
        }
    }
    LocalDisk.sync(folder).context("sync", folder)
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.committed {
            // Nobody to tell; the next of this folder tries again.
            let _ = LocalDisk.remove(self.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_appears_whole_or_not_at_all_and_replaces_nothing() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        let names = || {
            let entries = fs::read_dir(place.path()).unwrap().flatten();
            entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
        };
        let folder = NewFolder::create(&target).unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), "x").unwrap();
        assert!(!target.exists());
        drop(folder);
        assert!(names().is_empty(), "{:?}", names());
        let folder = NewFolder::create(&target).unwrap();
        fs::write(folder.path().join("file"), "y").unwrap();
        let second = NewFolder::create(&target).unwrap();
        folder.commit().unwrap();
        let entries = fs::read_dir(&target).unwrap().flatten();
        let inside: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert_eq!(inside, ["file"], "the mark stays");
        assert!(matches!(second.commit(), Err(CommitError::Exists(_))));
        assert!(matches!(
            NewFolder::create(&target),
            Err(CreateError::Exists(_))
        ));
        assert_eq!(names(), ["target"]);
    }
}
