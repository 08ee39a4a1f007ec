//! What the experiments share.

use std::fs;
use std::path::PathBuf;

use strobe_evaluation::Strobe;

/// With what each experiment runs.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) strobe: Strobe,
    /// Compiled programs.
    pub(crate) programs: PathBuf,
    /// For everything that is gone afterwards.
    pub(crate) folder: PathBuf,
    pub(crate) repetitions: usize,
}

impl Setup {
    /// A new folder.
    pub(super) fn new_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}
