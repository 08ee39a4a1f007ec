//! What can be wrong with a file of a checkpoint.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file of a checkpoint that is not what was written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {defect}")]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub defect: Defect,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Defect {
    /// It is not there.
    #[error("the file is missing")]
    Missing,
    /// It is no regular file.
    #[error("not a regular file")]
    NotAFile,
    /// Its length differs from what was recorded, in bytes.
    #[error("the file has {found} bytes instead of {expected}")]
    Length {
        /// As recorded.
        expected: u64,
        /// As found.
        found: u64,
    },
    /// It is shorter than its header.
    #[error("the file ends within its header")]
    Header,
    /// It is larger than anything this program writes.
    #[error("a length of {0} bytes is beyond the limit")]
    Limit(u64),
    /// It starts with something else.
    #[error("the file does not start with the magic of its kind")]
    Magic,
    /// Written by another version.
    #[error("format {0} is not known to this version")]
    Format(u32),
    /// Its compression is not known.
    #[error("codec {0} is not known to this version")]
    Codec(u32),
    /// Its bytes are not those that were written.
    #[error("the content does not match its hash")]
    Content,
    /// Its bytes cannot be decompressed.
    #[error("the content cannot be decompressed")]
    Compression,
    /// Its bytes match their hash and make no sense.
    #[error("the content is invalid: {0}")]
    Invalid(String),
    /// It was not part of the checkpoint when that was written.
    #[error("the manifest does not list this file")]
    Unlisted,
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Defect {
    pub(crate) fn at(self, path: &Path) -> Damage {
        Damage {
            path: path.to_owned(),
            defect: self,
        }
    }
}

/// Opens a regular file and tells its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Defect> {
    // Checked before it is opened: opening a pipe would wait.
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(Defect::NotAFile),
        Err(error) => return Err(missing(error)),
    }
    let file = File::open(path).map_err(missing)?;
    let len = file.metadata()?.len();
    Ok((file, len))
}

/// Reads a whole regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Defect> {
    let (file, len) = open(path)?;
    if len > limit {
        return Err(Defect::Limit(len));
    }
    let mut bytes = Vec::with_capacity(len as usize);
    let found = file.take(len).read_to_end(&mut bytes)? as u64;
    if found != len {
        return Err(Defect::Length {
            expected: len,
            found,
        });
    }
    Ok(bytes)
}

fn missing(error: io::Error) -> Defect {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Defect::Missing,
        _ => Defect::Io(error),
    }
}
