//! Instructions that end a basic block: branches, calls, barriers, traps, messages; and the
//! hardware registers.

use strobe_isa::scalar_register::M0;
use strobe_isa::{Generation, Inst, Op};

use super::aperture::{LDS_APERTURE, PRIVATE_APERTURE};
use super::group::Group;
use super::source::Src;
use super::state::{Status, Wave};
use super::step::{Handler, Outcome, Step};
use super::stop::Stop;

/// `s_trap` of `__builtin_debugtrap`.
const DEBUG_TRAP: i32 = 3;

/// Waits for the wave's memory accesses.
pub(super) fn settle(_: &mut Wave, g: &mut Group<'_>, _: &Step) -> Outcome {
    g.memory.settle();
    Ok(())
}

/// Translates; `None` if the instruction is not one of these, or not known.
pub(super) fn translate(inst: &Inst, base: Step) -> Option<Step> {
    let next = base.pc.wrapping_add(u64::from(inst.size));
    let target = next.wrapping_add_signed(i64::from(inst.imm) * 4);
    let handler: Handler = match inst.op {
        Op::s_endpgm | Op::s_endpgm_saved => end,
        Op::s_branch => branch,
        Op::s_cbranch_scc0 => branch_scc0,
        Op::s_cbranch_scc1 => branch_scc1,
        Op::s_cbranch_vccz => branch_vccz,
        Op::s_cbranch_vccnz => branch_vccnz,
        Op::s_cbranch_execz => branch_execz,
        Op::s_cbranch_execnz => branch_execnz,
        Op::s_cbranch_cdbgsys
        | Op::s_cbranch_cdbguser
        | Op::s_cbranch_cdbgsys_or_user
        | Op::s_cbranch_cdbgsys_and_user => never,
        Op::s_call_b64 => {
            let src = [Src::Const(next), Src::None, Src::None];
            return Some(Step {
                run: call,
                aux: target,
                src,
                ..base
            });
        }
        Op::s_swappc_b64 => {
            return Some(Step {
                run: swap_pc,
                aux: next,
                ..base
            });
        }
        Op::s_setpc_b64 => set_pc,
        Op::s_barrier => barrier,
        Op::s_sleep => sleep,
        Op::s_icache_inv => forget_code,
        Op::s_sendmsg if inst.imm & 15 == 1 => interrupt,
        // A debug trap: no debugger is ever attached.
        Op::s_trap if inst.imm & 0xff == DEBUG_TRAP => never,
        Op::s_trap => {
            return Some(Step {
                run: trap,
                imm: inst.imm & 0xff,
                ..base
            });
        }
        Op::s_getreg_b32 => {
            if inst.imm & 63 == XCC_ID && inst.generation < Generation::Cdna3 {
                return None;
            }
            hardware_register(0, inst.imm)?;
            return Some(Step {
                run: get_register,
                imm: inst.imm,
                ..base
            });
        }
        Op::s_setreg_b32 | Op::s_setreg_imm32_b32 if inst.imm & 63 == MODE => {
            return Some(Step {
                run: set_mode,
                imm: inst.imm,
                ..base
            });
        }
        _ => return None,
    };
    Some(Step {
        run: handler,
        aux: target,
        ..base
    })
}

/// Whether the basic block ends after `op`.
pub(super) fn ends_block(op: Op) -> bool {
    use strobe_isa::Class;
    let class = op.info().class;
    matches!(
        class,
        Class::Branch
            | Class::ConditionalBranch
            | Class::Jump
            | Class::Call
            | Class::Barrier
            | Class::End
            | Class::Trap
    ) || matches!(
        op,
        Op::s_sleep | Op::s_icache_inv | Op::s_setreg_b32 | Op::s_setreg_imm32_b32
    )
}

/// The step of an instruction that is not known; the basic block knows its text.
pub(super) fn unknown(_: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    Err(Box::new(Stop::Unknown {
        pc: s.pc,
        text: String::new(),
    }))
}

fn never(_: &mut Wave, _: &mut Group<'_>, _: &Step) -> Outcome {
    Ok(())
}

fn end(w: &mut Wave, _: &mut Group<'_>, _: &Step) -> Outcome {
    w.status = Status::Ended;
    Ok(())
}

fn branch(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    w.pc = s.aux;
    Ok(())
}

macro_rules! conditional_branches {
    ($($name:ident |$w:ident| $condition:expr;)*) => { $(
        fn $name($w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
            if $condition {
                $w.pc = s.aux;
            }
            Ok(())
        }
    )* };
}

conditional_branches! {
    branch_scc0 |w| !w.scc;
    branch_scc1 |w| w.scc;
    branch_vccz |w| w.vcc() == 0;
    branch_vccnz |w| w.vcc() != 0;
    branch_execz |w| w.exec() == 0;
    branch_execnz |w| w.exec() != 0;
}

fn call(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    w.set_scalar64(s.sdst, w.read64(s.src[0]));
    w.pc = s.aux;
    Ok(())
}

fn swap_pc(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let target = w.read64(s.src[0]);
    w.set_scalar64(s.sdst, s.aux);
    w.pc = target;
    Ok(())
}

fn set_pc(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    w.pc = w.read64(s.src[0]);
    Ok(())
}

fn barrier(w: &mut Wave, _: &mut Group<'_>, _: &Step) -> Outcome {
    w.status = Status::AtBarrier;
    Ok(())
}

fn sleep(w: &mut Wave, _: &mut Group<'_>, _: &Step) -> Outcome {
    w.status = Status::Yielded;
    Ok(())
}

/// Before its next turn the wave's code is decoded anew.
fn forget_code(w: &mut Wave, g: &mut Group<'_>, _: &Step) -> Outcome {
    g.code_has_changed = true;
    w.status = Status::Yielded;
    Ok(())
}

fn interrupt(w: &mut Wave, g: &mut Group<'_>, _: &Step) -> Outcome {
    g.host.interrupt(w.scalar(M0));
    Ok(())
}

fn trap(_: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    Err(Box::new(Stop::Trap {
        id: s.imm as u8,
        pc: s.pc,
    }))
}

/// Hardware registers by number.
const MODE: i32 = 1;
const TRAP_STATUS: i32 = 3;
const SH_MEM_BASES: i32 = 15;
/// Which die of the processor, since gfx942: the first.
const XCC_ID: i32 = 20;

/// The field of a hardware register that `selector` names; `None` for registers not modelled.
fn hardware_register(mode: u32, selector: i32) -> Option<u32> {
    let value = match selector & 63 {
        MODE => mode,
        // No exception is ever enabled.
        TRAP_STATUS | XCC_ID => 0,
        SH_MEM_BASES => (LDS_APERTURE >> 32) as u32 | (PRIVATE_APERTURE >> 48) as u32,
        _ => return None,
    };
    let (at, size) = (selector >> 6 & 31, (selector >> 11 & 31) + 1);
    Some((u64::from(value) >> at & ((1 << size) - 1)) as u32)
}

fn get_register(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let value = hardware_register(w.mode, s.imm).unwrap_or(0);
    w.set_scalar(s.sdst, value);
    Ok(())
}

fn set_mode(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let (at, size) = (s.imm >> 6 & 31, (s.imm >> 11 & 31) + 1);
    let mask = (((1_u64 << size) - 1) << at) as u32;
    let mode = w.mode & !mask | w.read32(s.src[0]) << at & mask;
    check_mode(mode).map_err(|text| {
        Box::new(Stop::Unknown {
            pc: s.pc,
            text: text.into(),
        })
    })?;
    w.mode = mode;
    Ok(())
}

/// What the interpreter can do of the MODE register; the error names what it cannot.
pub(super) fn check_mode(mode: u32) -> Result<(), &'static str> {
    if mode & 15 != 0 {
        Err("a rounding mode other than to nearest even")
    } else if mode >> 6 & 3 != 3 {
        Err("flushing of f16 and f64 subnormals")
    } else if !matches!(mode >> 4 & 3, 0 | 3) {
        Err("flushing of f32 subnormals on one side only")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apertures_are_found_where_the_compiler_looks() {
        // hwreg(HW_REG_SH_MEM_BASES, 16, 16) and (.., 0, 16), shifted left by 16.
        let field = |at: i32| SH_MEM_BASES | at << 6 | 15 << 11;
        let base = |at| u64::from(hardware_register(0, field(at)).unwrap()) << 48;
        assert_eq!(base(16), LDS_APERTURE);
        assert_eq!(base(0), PRIVATE_APERTURE);
    }
}
