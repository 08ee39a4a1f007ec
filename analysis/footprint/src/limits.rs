//! How much work a kernel is worth.

/// Bounds on the work for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Instructions walked, inlined calls counted each time.
    pub instructions: usize,
    /// Expressions kept.
    pub expressions: usize,
    /// Calls inside calls.
    pub calls: usize,
    /// Pointers taken out of one table in memory at a launch.
    pub table: usize,
}

impl Default for AnalysisLimits {
    fn default() -> Self {
        Self {
            instructions: 400_000,
            expressions: 1 << 20,
            calls: 16,
            table: 65_536,
        }
    }
}
