//! SOP1, SOP2, SOPK, SOPC, SOPP.

use core::fmt::{self, Formatter};

use super::list::List;
use crate::decode::takes_immediate;
use crate::info::{Class, Role};
use crate::inst::Inst;
use crate::isa::Generation;
use crate::op::Op;

fn destinations(inst: &Inst, list: &mut List<'_, '_>) -> fmt::Result {
    let place = inst.op.info().dsts[0];
    match place.role {
        Role::None => Ok(()),
        _ => list.operand(inst.dsts[0], place),
    }
}

fn sources(inst: &Inst, list: &mut List<'_, '_>) -> fmt::Result {
    for (&source, &place) in inst.srcs.iter().zip(&inst.op.info().srcs) {
        if place.role != Role::None {
            list.operand(source, place)?;
        }
    }
    Ok(())
}

pub(super) fn operation(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(inst.op.name())?;
    let list = &mut List::new(f, inst);
    destinations(inst, list)?;
    sources(inst, list)?;
    if inst.op == Op::s_set_gpr_idx_on {
        indexed_operands(list.next()?, inst.imm as u16)?;
    }
    Ok(())
}

pub(super) fn sopk(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(inst.op.name())?;
    let imm = inst.imm as u16;
    let list = &mut List::new(f, inst);
    match inst.op {
        Op::s_setreg_b32 | Op::s_setreg_imm32_b32 => {
            hardware_register(list.next()?, imm, inst.generation)?;
            sources(inst, list)
        }
        Op::s_getreg_b32 => {
            destinations(inst, list)?;
            hardware_register(list.next()?, imm, inst.generation)
        }
        _ => {
            destinations(inst, list)?;
            sources(inst, list)?;
            match inst.op.info().class {
                Class::Call | Class::Fork => write!(list.next()?, "{imm}"),
                _ => write!(list.next()?, "{imm:#x}"),
            }
        }
    }
}

pub(super) fn sopp(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(inst.op.name())?;
    if !takes_immediate(inst.op) {
        return Ok(());
    }
    let imm = inst.imm as u16;
    match (inst.op, inst.op.info().class) {
        (Op::s_endpgm, _) if imm == 0 => Ok(()),
        (Op::s_endpgm, _) | (_, Class::Branch | Class::ConditionalBranch) => write!(f, " {imm}"),
        (_, Class::Wait) => wait(f, imm),
        (_, Class::Message) => {
            f.write_str(" ")?;
            message(f, imm, inst.generation)
        }
        (Op::s_set_gpr_idx_mode, _) => {
            f.write_str(" ")?;
            indexed_operands(f, imm)
        }
        _ if imm <= 64 => write!(f, " {imm}"),
        _ => write!(f, " {imm:#x}"),
    }
}

/// Counters at their maximum do not wait and are left out, unless all are.
fn wait(f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
    let vector_memory = imm & 0xf | imm >> 10 & 0x30;
    let export = imm >> 4 & 7;
    let other = imm >> 8 & 0xf;
    let all = (vector_memory, export, other) == (63, 7, 15);
    for (name, value, maximum) in [
        ("vmcnt", vector_memory, 63),
        ("expcnt", export, 7),
        ("lgkmcnt", other, 15),
    ] {
        if all || value != maximum {
            write!(f, " {name}({value})")?;
        }
    }
    Ok(())
}

fn message(f: &mut Formatter<'_>, imm: u16, generation: Generation) -> fmt::Result {
    let (id, op, stream) = (imm & 0xf, imm >> 4 & 7, imm >> 8 & 3);
    let geometry = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let system = [
        "SYSMSG_OP_ECC_ERR_INTERRUPT",
        "SYSMSG_OP_REG_RD",
        "SYSMSG_OP_HOST_TRAP_ACK",
        "SYSMSG_OP_TTRACE_PC",
    ];
    match (id, op) {
        (2, 1..=3) => {
            write!(
                f,
                "sendmsg(MSG_GS, {}, {stream})",
                geometry[usize::from(op)]
            )
        }
        (3, 0) if stream == 0 => write!(f, "sendmsg(MSG_GS_DONE, {})", geometry[0]),
        (3, 1..=3) => {
            write!(
                f,
                "sendmsg(MSG_GS_DONE, {}, {stream})",
                geometry[usize::from(op)]
            )
        }
        // LLVM 19 knows that GFX9 has no answer of the host.
        (15, 1..=4) if stream == 0 && (op != 3 || generation < Generation::Cdna2) => {
            write!(f, "sendmsg(MSG_SYSMSG, {})", system[usize::from(op) - 1])
        }
        (1 | 4..=10, 0) if stream == 0 => {
            let names = [
                "INTERRUPT",
                "",
                "",
                "SAVEWAVE",
                "STALL_WAVE_GEN",
                "HALT_WAVES",
                "ORDERED_PS_DONE",
                "EARLY_PRIM_DEALLOC",
                "GS_ALLOC_REQ",
                "GET_DOORBELL",
            ];
            write!(f, "sendmsg(MSG_{})", names[usize::from(id) - 1])
        }
        _ if imm & !0x37f == 0 => write!(f, "sendmsg({id}, {op}, {stream})"),
        _ => write!(f, "{imm}"),
    }
}

fn hardware_register(f: &mut Formatter<'_>, imm: u16, generation: Generation) -> fmt::Result {
    let (id, offset, width) = (imm & 0x3f, imm >> 6 & 0x1f, (imm >> 11) + 1);
    f.write_str("hwreg(")?;
    let name = match id {
        1 => "MODE",
        2 => "STATUS",
        3 => "TRAPSTS",
        4 => "HW_ID",
        5 => "GPR_ALLOC",
        6 => "LDS_ALLOC",
        7 => "IB_STS",
        15 => "SH_MEM_BASES",
        16 => "TBA_LO",
        17 => "TBA_HI",
        18 => "TMA_LO",
        19 => "TMA_HI",
        20 if generation == Generation::Cdna3 => "XCC_ID",
        21 if generation == Generation::Cdna3 => "SQ_PERF_SNAPSHOT_DATA",
        22 if generation == Generation::Cdna3 => "SQ_PERF_SNAPSHOT_DATA1",
        23 if generation == Generation::Cdna3 => "SQ_PERF_SNAPSHOT_PC_LO",
        24 if generation == Generation::Cdna3 => "SQ_PERF_SNAPSHOT_PC_HI",
        _ => "",
    };
    if name.is_empty() {
        write!(f, "{id}")?;
    } else {
        write!(f, "HW_REG_{name}")?;
    }
    if (offset, width) != (0, 32) {
        write!(f, ", {offset}, {width}")?;
    }
    f.write_str(")")
}

/// The set of operands that M0 indexes.
fn indexed_operands(f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
    if imm > 15 {
        return write!(f, "{imm:#x}");
    }
    f.write_str("gpr_idx(")?;
    let mut separator = "";
    for (i, name) in ["SRC0", "SRC1", "SRC2", "DST"].into_iter().enumerate() {
        if imm >> i & 1 != 0 {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
    }
    f.write_str(")")
}
