//! Which registers an instruction reads and writes.

use crate::info::Flags;
use crate::inst::{Encoding, Inst, Operand, Special};
use crate::scalar_register;
use crate::wave::WaveSize;

/// Consecutive registers of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the first register of a file, and how many")]
pub enum Registers {
    /// By operand code, as [`Operand::Scalar`]: VCC, EXEC, M0 and FLAT_SCRATCH are among them.
    Scalar {
        first: u8,
        count: u8,
    },
    Vector {
        first: u8,
        count: u8,
    },
    Accumulator {
        first: u8,
        count: u8,
    },
    /// The scalar condition code.
    Scc,
}

const M0: Registers = Registers::Scalar {
    first: scalar_register::M0,
    count: 1,
};
const FLAT_SCRATCH: Registers = Registers::Scalar {
    first: scalar_register::FLAT_SCRATCH,
    count: 2,
};

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

    /// The operation's flags, and what this form of it adds.
    pub fn flags(&self) -> Flags {
        let mut flags = self.op.info().flags;
        // The address in local data share.
        if self.lds {
            flags |= Flags::READS_M0;
        }
        let keeps_part = self
            .sdwa
            .is_some_and(|sdwa| sdwa.dst_unused == 2 && self.encoding != Encoding::Vopc);
        // Lanes whose row or bank is masked, or whose source lane is not there, keep their value.
        let keeps_lanes = self
            .dpp
            .is_some_and(|dpp| dpp.row_mask != 15 || dpp.bank_mask != 15 || !dpp.bound_ctrl);
        if keeps_part || keeps_lanes {
            flags |= Flags::READS_DST;
        }
        flags
    }

    /// Calls `f` with everything the instruction reads; a register may come more than once. Vector
    /// registers keep the values of lanes that EXEC disables: that is not counted as a read. What
    /// M0 selects (`s_movrels`, indexing by `s_set_gpr_idx_on`) is not known here.
    pub fn for_each_read(&self, mut f: impl FnMut(Registers)) {
        for (i, &source) in self.srcs.iter().enumerate() {
            self.registers(source, self.src_dwords(i), &mut f);
        }
        let flags = self.flags();
        if flags.contains(Flags::READS_DST) {
            self.registers(self.dsts[0], self.dst_dwords(0), &mut f);
        }
        for (flag, register) in [
            (Flags::READS_SCC, Registers::Scc),
            (Flags::READS_VCC, self.vcc()),
            (Flags::READS_EXEC, self.exec()),
            (Flags::READS_M0, M0),
            (Flags::READS_FLAT_SCRATCH, FLAT_SCRATCH),
        ] {
            if flags.contains(flag) {
                f(register);
            }
        }
    }

    /// Calls `f` with everything the instruction writes. What M0 selects (`s_movreld`, indexing by
    /// `s_set_gpr_idx_on`) is not known here.
    pub fn for_each_write(&self, mut f: impl FnMut(Registers)) {
        for (i, &destination) in self.dsts.iter().enumerate() {
            self.registers(destination, self.dst_dwords(i), &mut f);
        }
        let flags = self.flags();
        for (flag, register) in [
            (Flags::WRITES_SCC, Registers::Scc),
            (Flags::WRITES_VCC, self.vcc()),
            (Flags::WRITES_EXEC, self.exec()),
            (Flags::WRITES_M0, M0),
        ] {
            if flags.contains(flag) {
                f(register);
            }
        }
    }

    fn vcc(&self) -> Registers {
        lane_mask(scalar_register::VCC, self.wave)
    }

    fn exec(&self) -> Registers {
        lane_mask(scalar_register::EXEC, self.wave)
    }

    fn registers(&self, operand: Operand, count: u8, f: &mut impl FnMut(Registers)) {
        match operand {
            Operand::Scalar(first) => f(Registers::Scalar { first, count }),
            Operand::Vector(first) => f(Registers::Vector { first, count }),
            Operand::Accumulator(first) => f(Registers::Accumulator { first, count }),
            Operand::Special(Special::Vccz) => f(self.vcc()),
            Operand::Special(Special::Execz) => f(self.exec()),
            Operand::Special(Special::Scc) => f(Registers::Scc),
            Operand::Special(Special::LdsDirect) => f(M0),
            _ => {}
        }
    }
}

const fn lane_mask(first: u8, wave: WaveSize) -> Registers {
    Registers::Scalar {
        first,
        count: wave.mask_dwords(),
    }
}
