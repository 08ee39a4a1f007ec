//! Names that CRIU wants a file to have while it restores.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use strobe_proto::ProgramFile;

use super::error::ProgramFileError;
use super::site::Site;
use crate::rights::Rights;

/// They go when this does, where CRIU has not removed them.
#[derive(Debug, Default)]
pub struct Links(Vec<PathBuf>);

impl Links {
    /// Makes those of all files, which are what they were at the cut.
    pub fn make(files: &[ProgramFile]) -> Result<Self, ProgramFileError> {
        let mut made = Self::default();
        for file in files {
            for link in &file.links {
                let failed = |error| ProgramFileError::Repair {
                    path: file.path().to_owned(),
                    error,
                };
                make(file.path(), link).map_err(failed)?;
                made.0.push(PathBuf::from(link));
            }
        }
        Ok(made)
    }
}

fn make(file: &Path, link: &str) -> io::Result<()> {
    let by = Rights::alone(0);
    let (file, new) = (Site::open(file, &by)?, Site::open(link.as_ref(), &by)?);
    match fs::hard_link(file.name(), new.name()) {
        // No other checkpoint has this name: a restore that was killed has left it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours(link) => {
            fs::remove_file(new.name())?;
            fs::hard_link(file.name(), new.name())
        }
        made => made,
    }
}

/// As the images name it after a dump.
fn is_ours(link: &str) -> bool {
    let name = link.rsplit('/').next().unwrap_or(link);
    name.starts_with("link_remap.") && name.contains(".strobe-")
}

impl Drop for Links {
    fn drop(&mut self) {
        for link in &self.0 {
            let _ = fs::remove_file(link);
        }
    }
}
