//! How many registers an instruction's operands occupy.

use crate::inst::{Encoding, Inst, Operand};

impl Inst {
    /// Registers that source `i` would occupy (a constant has the width, not the registers);
    /// 0 if the instruction has no such source.
    pub fn src_dwords(&self, i: usize) -> u8 {
        if self.srcs[i] == Operand::None {
            return 0;
        }
        match self.encoding {
            // With a scalar base the vector address is a 32-bit offset.
            Encoding::Global if i == 0 && self.srcs[2] != Operand::None => 1,
            Encoding::Mubuf | Encoding::Mtbuf if i == 0 => {
                u8::from(self.offen) + u8::from(self.idxen)
            }
            _ => self.op.info().srcs[i].dwords(self.wave),
        }
    }

    /// Registers that destination `i` occupies; 0 if the instruction has no such destination.
    pub fn dst_dwords(&self, i: usize) -> u8 {
        match self.dsts[i] {
            Operand::None => 0,
            // The status dword follows the data.
            _ => self.op.info().dsts[i].dwords(self.wave) + u8::from(self.tfe && i == 0),
        }
    }
}
