//! How much work a kernel is worth.

/// Bounds on the work for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Instructions walked, inlined calls counted each time.
    pub instructions: usize,
    /// Expressions kept.
    pub expressions: usize,
    /// Work of all kinds, in steps of about ten nanoseconds: instructions, expressions and their inputs,
    /// registers joined, chains followed. Counted and not timed: a kernel's footprint is always the same.
    pub steps: usize,
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
            steps: 12_000_000,
            calls: 16,
            table: 65_536,
        }
    }
}
