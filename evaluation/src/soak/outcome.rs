//! How a cycle ended.

use serde::{Deserialize, Serialize};

use crate::strobe::CheckpointReport;

/// The verdict on a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "reason")]
pub enum CycleVerdict {
    /// Every run ended as the uninterrupted one.
    Identical,
    /// A checkpoint was refused by a name that the program expects; all else as in `Identical`.
    Refused(String),
    /// The program had ended before the first checkpoint was taken; what was said to that.
    TooLate(String),
    Failed(String),
}

/// What the checkpoints of a cycle report, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub checkpoints: u64,
    pub restores: u64,
    pub state_bytes: u64,
    pub copied_out_bytes: u64,
    pub copied_aside_bytes: u64,
    /// Of each checkpoint, milliseconds.
    pub cow_stalls_ms: Vec<f64>,
    pub stop_stalls_ms: Vec<f64>,
}

impl Figures {
    pub fn add(&mut self, report: &CheckpointReport, cow: bool) {
        self.checkpoints += 1;
        self.state_bytes += report.state_bytes;
        self.copied_out_bytes += report.copied_out_bytes;
        self.copied_aside_bytes += report.copied_aside_bytes;
        let stalls = if cow {
            &mut self.cow_stalls_ms
        } else {
            &mut self.stop_stalls_ms
        };
        stalls.push(report.stall_ms);
    }

    pub fn merge(&mut self, other: &Self) {
        self.checkpoints += other.checkpoints;
        self.restores += other.restores;
        self.state_bytes += other.state_bytes;
        self.copied_out_bytes += other.copied_out_bytes;
        self.copied_aside_bytes += other.copied_aside_bytes;
        self.cow_stalls_ms.extend(&other.cow_stalls_ms);
        self.stop_stalls_ms.extend(&other.stop_stalls_ms);
    }
}

/// A finished cycle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CycleOutcome {
    pub program: String,
    pub seed: u64,
    /// The plan in words.
    pub plan: String,
    pub seconds: f64,
    #[serde(flatten)]
    pub verdict: CycleVerdict,
    pub figures: Figures,
}
