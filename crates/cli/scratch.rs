//! Folders for the time of a command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that goes away with everything in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        Ok(Self(path.to_path_buf()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
