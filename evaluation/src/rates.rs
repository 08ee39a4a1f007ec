//! The time model of the software GPU in experiments.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// Rates that the software GPU keeps to.
///
/// On real machines device memory is 30 to 100 times as fast as the link. Here a copy inside the
/// device is as fast as the host's memory, so the link has to be slowed to keep the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Bytes a second between host and device.
    pub link: u64,
    /// Bytes a second inside the device.
    pub device: u64,
}

impl Rates {
    /// What two cores can keep to beside a busy program.
    pub const MODEL: Self = Self {
        link: 200_000_000,
        device: 6_400_000_000,
    };

    /// The same with the link at 1/96 of it: the ratio of the machines with the fastest memory.
    pub const VALIDATION: Self = Self {
        link: Self::MODEL.device / 96,
        ..Self::MODEL
    };

    /// So slow that much happens while a small state is copied; 1 : 30 as well.
    pub const SLOW: Self = Self {
        link: 11_300_000,
        device: 340_000_000,
    };

    /// Options for `strobe softgpu`.
    pub fn options(self) -> Vec<String> {
        vec![
            "--link-rate".into(),
            self.link.to_string(),
            "--device-rate".into(),
            self.device.to_string(),
        ]
    }

    /// The same, and the folder gets a file that says whether they were kept.
    pub fn measured_options(self, folder: &Path) -> Vec<String> {
        let mut options = self.options();
        options.extend([
            "--pace".into(),
            folder.join(PACE).to_string_lossy().into_owned(),
        ]);
        options
    }

    /// How the device whose program ran in the folder kept to its rates, if it had any.
    ///
    /// # Errors
    /// When what it has said cannot be read.
    pub fn pace(folder: &Path) -> anyhow::Result<Option<MeasuredPace>> {
        let path = folder.join(PACE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path)?;
        let pace = serde_json::from_str(&text);
        Ok(Some(
            pace.with_context(|| format!("read {}", path.display()))?,
        ))
    }
}

const PACE: &str = "pace";

/// What `strobe softgpu --pace` writes, as far as it is needed here.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct MeasuredPace {
    /// How long copies take by the model, all together.
    pub modelled_ms: f64,
    /// How much later they ended.
    pub late_ms: f64,
    /// Whether that is little enough.
    pub kept: bool,
}
