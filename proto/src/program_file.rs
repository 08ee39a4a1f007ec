//! Paths in messages: the kernel's are bytes, and need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::{FileJournal, ProgramFile};

impl ProgramFile {
    /// With nothing but its path known.
    pub fn at(path: PathBuf) -> Self {
        Self {
            path: path.into_os_string().into_vec(),
            ..Self::default()
        }
    }

    /// Its path in the program's root.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

impl FileJournal {
    /// Where its newer half is, in the program's root.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}
