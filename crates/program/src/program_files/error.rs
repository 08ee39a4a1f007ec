//! What may be wrong with a file.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ProgramFileError {
    #[error("the open files of process {pid} cannot be read: {error}")]
    Record { pid: u32, error: io::Error },
    #[error("the contents of {path}, which the program is writing, cannot be saved: {error}")]
    Save { path: PathBuf, error: io::Error },
    #[error("file {0} of the program is missing, and its contents were not saved")]
    Missing(PathBuf),
    #[error("a directory has taken the place of file {0} of the program")]
    Directory(PathBuf),
    #[error("{0}, a directory of the program's, has become a file")]
    NoDirectory(PathBuf),
    #[error(
        "file {0} of the program was replaced by another, and its contents were not saved \
         (--allow-changed {0} takes it as it is)"
    )]
    Replaced(PathBuf),
    #[error(
        "file {path} of the program has shrunk from {then} to {now} bytes, and its contents were not saved"
    )]
    Shrunk { path: PathBuf, then: u64, now: u64 },
    #[error(
        "file {0} of the program has other contents than at the checkpoint, and they were not saved \
         (--allow-changed {0} takes it as it is)"
    )]
    Changed(PathBuf),
    #[error(
        "file {0} of the program was written after the checkpoint, and is too large for its contents to \
         have been compared (--allow-changed {0} takes it as it is)"
    )]
    TooLarge(PathBuf),
    #[error("file {path} of the program has mode {now:o}, at the checkpoint it had {then:o}")]
    Mode { path: PathBuf, then: u32, now: u32 },
    #[error("file {path} of the program cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("file {path} cannot be made what it was at the checkpoint: {error}")]
    Repair { path: PathBuf, error: io::Error },
}
