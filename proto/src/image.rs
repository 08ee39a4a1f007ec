//! Which messages stand in image files, and what each has much of.

use crate::amdgpu::{CriuDmabufNode, CriuKfd, CriuRenderNode};
use crate::{Attributes, LaunchWindow, PluginStatistics, ProgramFiles, Residual, SharedBuffers};

/// A message that an image file holds.
pub trait Image: prost::Message + Default {
    /// What makes one large, in words: who has to say that it is too large says this.
    fn parts(&self) -> String;
}

impl Image for CriuKfd {
    fn parts(&self) -> String {
        let (bos, state) = (self.bo_entries.len(), self.priv_data.len());
        format!("{bos} buffer objects and {state} bytes of the driver's own state")
    }
}

impl Image for CriuRenderNode {
    fn parts(&self) -> String {
        format!("{} buffer objects", self.bo_entries.len())
    }
}

impl Image for CriuDmabufNode {
    fn parts(&self) -> String {
        "one handle".into()
    }
}

impl Image for Residual {
    fn parts(&self) -> String {
        let (ranges, tracked, dead) = (self.ranges.len(), self.tracked.len(), self.dead.len());
        format!("{ranges} ranges of content, {tracked} that are promised and {dead} that are dead")
    }
}

impl Image for PluginStatistics {
    fn parts(&self) -> String {
        let promises = self.promises.iter();
        let count: usize = promises.map(|p| p.tracked.len() + p.touched.len()).sum();
        let warnings = self.warnings.len();
        format!("{count} ranges that are promised and {warnings} warnings")
    }
}

impl Image for ProgramFiles {
    fn parts(&self) -> String {
        format!("{} files", self.files.len())
    }
}

impl Image for Attributes {
    fn parts(&self) -> String {
        let threads: usize = self.processes.iter().map(|one| one.threads.len()).sum();
        format!("{threads} threads")
    }
}

impl Image for SharedBuffers {
    fn parts(&self) -> String {
        let names: usize = self.buffers.iter().map(|buffer| buffer.names.len()).sum();
        format!("{names} buffer objects")
    }
}

impl Image for LaunchWindow {
    fn parts(&self) -> String {
        format!("{} operations", self.operations.len())
    }
}
