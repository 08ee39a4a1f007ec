//! How many lanes a wave has.

/// The lanes that execute one instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaveSize {
    /// RDNA may.
    Lanes32,
    /// GCN and CDNA always.
    Lanes64,
}

impl WaveSize {
    /// How many.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::Lanes32 => 32,
            Self::Lanes64 => 64,
        }
    }

    /// Scalar registers of a lane mask: VCC, EXEC, carries and results of comparisons.
    pub const fn mask_dwords(self) -> u8 {
        (self.lanes() / 32) as u8
    }
}
