//! What the experiments share.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use strobe_evaluation::{MeasuredPace, Rates, Strobe};

/// How often something is measured until the time model was kept.
const ATTEMPTS: usize = 4;

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
    /// Measures something in a folder of its own. Where the machine was too slow for the time model it is
    /// measured again: what came out is not what the model says.
    pub(super) fn measured<T>(
        &self,
        name: &str,
        measure: impl Fn(&Path) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        for attempt in 1..=ATTEMPTS {
            let folder = self.new_folder(&format!("{name}-{attempt}"))?;
            let value = measure(&folder)?;
            let Some(MeasuredPace {
                modelled_ms,
                late_ms,
                kept: false,
            }) = Rates::pace(&folder)?
            else {
                return Ok(value);
            };
            eprintln!(
                "{name}: the machine was too slow for the time model: {late_ms:.0} ms late of {modelled_ms:.0}"
            );
        }
        bail!("{name}: the machine was too slow for the time model, {ATTEMPTS} times")
    }

    /// A new folder.
    pub(super) fn new_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}
