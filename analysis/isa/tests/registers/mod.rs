//! Which registers an instruction reads and writes, by the tables: what tests say of an instruction.

use std::fmt;

use strobe_isa::scalar_register::{EXEC, FLAT_SCRATCH, LAST_TTMP, M0, TTMP, VCC, XNACK_MASK};
use strobe_isa::{Encoding, Flags, Generation, Inst, Operand, Special};

/// Consecutive registers of one file: the first, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Registers {
    /// By operand code, as [`Operand::Scalar`]: VCC, EXEC, M0 and FLAT_SCRATCH are among them.
    Scalar(u8, u8),
    Vector(u8, u8),
    Accumulator(u8, u8),
    /// The scalar condition code.
    Scc,
}

/// As an operand: `s4`, `v[6:7]`, `vcc`.
impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, first, count) = match *self {
            Self::Scc => return f.write_str("scc"),
            Self::Scalar(M0, _) => return f.write_str("m0"),
            Self::Scalar(first @ TTMP..=LAST_TTMP, count) => ("ttmp", first - TTMP, count),
            Self::Scalar(first @ FLAT_SCRATCH.., count) => return named(f, first, count),
            Self::Scalar(first, count) => ("s", first, count),
            Self::Vector(first, count) => ("v", first, count),
            Self::Accumulator(first, count) => ("a", first, count),
        };
        match count {
            0 | 1 => write!(f, "{file}{first}"),
            _ => write!(f, "{file}[{first}:{}]", first + count - 1),
        }
    }
}

/// A pair with a name, or a half of it.
fn named(f: &mut fmt::Formatter<'_>, first: u8, count: u8) -> fmt::Result {
    let pair = match first & !1 {
        FLAT_SCRATCH => "flat_scratch",
        XNACK_MASK => "xnack_mask",
        VCC => "vcc",
        EXEC => "exec",
        code => panic!("no register has the code {code}"),
    };
    let half = match (first & 1, count) {
        (0, 2..) => "",
        (0, _) => "_lo",
        _ => "_hi",
    };
    write!(f, "{pair}{half}")
}

/// What it reads; a register may come more than once. Vector registers keep the values of lanes that
/// EXEC disables: that is not counted as a read. What M0 selects (`s_movrels`, indexing by
/// `s_set_gpr_idx_on`) is not known here.
pub(crate) fn reads(inst: &Inst) -> Vec<Registers> {
    let mut found = Vec::new();
    for (i, &source) in inst.srcs.iter().enumerate() {
        found.extend(registers(inst, source, inst.src_dwords(i)));
    }
    let mut flags = flags(inst);
    // Waves of later targets find their scratch by themselves.
    flags.set(
        Flags::READS_FLAT_SCRATCH,
        flags.contains(Flags::READS_FLAT_SCRATCH) && inst.generation < Generation::Cdna3,
    );
    if flags.contains(Flags::READS_DST) {
        found.extend(registers(inst, inst.dsts[0], inst.dst_dwords(0)));
    }
    let implied = [
        (Flags::READS_SCC, Registers::Scc),
        (Flags::READS_VCC, lane_mask(inst, VCC)),
        (Flags::READS_EXEC, lane_mask(inst, EXEC)),
        (Flags::READS_M0, Registers::Scalar(M0, 1)),
        (
            Flags::READS_FLAT_SCRATCH,
            Registers::Scalar(FLAT_SCRATCH, 2),
        ),
    ];
    found.extend(of_flags(flags, &implied));
    found
}

/// What it writes. What M0 selects (`s_movreld`, indexing by `s_set_gpr_idx_on`) is not known here.
pub(crate) fn writes(inst: &Inst) -> Vec<Registers> {
    let mut found = Vec::new();
    for (i, &destination) in inst.dsts.iter().enumerate() {
        found.extend(registers(inst, destination, inst.dst_dwords(i)));
    }
    let implied = [
        (Flags::WRITES_SCC, Registers::Scc),
        (Flags::WRITES_VCC, lane_mask(inst, VCC)),
        (Flags::WRITES_EXEC, lane_mask(inst, EXEC)),
        (Flags::WRITES_M0, Registers::Scalar(M0, 1)),
    ];
    found.extend(of_flags(flags(inst), &implied));
    found
}

/// The operation's flags, and what this form of it adds.
fn flags(inst: &Inst) -> Flags {
    let mut flags = inst.op.info().flags;
    // The address in local data share.
    if inst.lds {
        flags |= Flags::READS_M0;
    }
    let keeps_part = inst
        .sdwa
        .is_some_and(|sdwa| sdwa.dst_unused == 2 && inst.encoding != Encoding::Vopc);
    // Lanes whose row or bank is masked, or whose source lane is not there, keep their value.
    let keeps_lanes = inst
        .dpp
        .is_some_and(|dpp| dpp.row_mask != 15 || dpp.bank_mask != 15 || !dpp.bound_ctrl);
    if keeps_part || keeps_lanes {
        flags |= Flags::READS_DST;
    }
    flags
}

fn of_flags(flags: Flags, implied: &[(Flags, Registers)]) -> impl Iterator<Item = Registers> {
    let there = implied
        .iter()
        .filter(move |(flag, _)| flags.contains(*flag));
    there.map(|(_, registers)| *registers)
}

fn registers(inst: &Inst, operand: Operand, count: u8) -> Option<Registers> {
    match operand {
        Operand::Scalar(first) => Some(Registers::Scalar(first, count)),
        Operand::Vector(first) => Some(Registers::Vector(first, count)),
        Operand::Accumulator(first) => Some(Registers::Accumulator(first, count)),
        Operand::Special(Special::Vccz) => Some(lane_mask(inst, VCC)),
        Operand::Special(Special::Execz) => Some(lane_mask(inst, EXEC)),
        Operand::Special(Special::Scc) => Some(Registers::Scc),
        Operand::Special(Special::LdsDirect) => Some(Registers::Scalar(M0, 1)),
        _ => None,
    }
}

fn lane_mask(inst: &Inst, first: u8) -> Registers {
    Registers::Scalar(first, inst.wave.mask_dwords())
}

/// As a test says it: each after a space.
pub(crate) fn list(registers: Vec<Registers>) -> String {
    registers.iter().map(|one| format!(" {one}")).collect()
}
