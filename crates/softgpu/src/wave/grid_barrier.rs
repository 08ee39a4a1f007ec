//! Global wave sync: the barrier that all work-groups of a cooperative dispatch meet at.
//!
//! The GPU has a counter for it, of which a kernel that runs before says how many waves have to come. What is modelled
//! is the one resource that runtimes use. The counter is a word in memory of the program, so that it is saved with it:
//! its low half says how many waves come before the one that lets all go on, the high half how often that was.
//!
//! Facts: AMD's Vega instruction set manual, `DS_GWS_INIT` and `DS_GWS_BARRIER`.

use std::sync::atomic::{AtomicU64, Ordering};

use strobe_isa::scalar_register::M0;
use strobe_isa::{Inst, Op};

use super::group::Group;
use super::source::Src;
use super::state::{Status, Wave};
use super::step::{Handler, Outcome, Step};
use super::stop::Stop;

/// Translates; `None` if the instruction is not one of these.
pub(super) fn translate(inst: &Inst, base: Step) -> Option<Step> {
    let run: Handler = match inst.op {
        Op::ds_gws_init => init,
        Op::ds_gws_barrier => arrive,
        _ => return None,
    };
    Some(Step { run, ..base })
}

/// Whether a wave that is there may go on.
pub(super) fn is_open(barrier: Option<&AtomicU64>, until_odd: bool) -> bool {
    barrier.is_some_and(|word| (word.load(Ordering::SeqCst) >> 32 & 1 != 0) == until_odd)
}

fn init(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (barrier, value) = operands(w, g, s)?;
    let init = |word: u64| Some(word >> 32 << 32 | u64::from(value));
    // It never refuses.
    let _ = barrier.fetch_update(Ordering::SeqCst, Ordering::SeqCst, init);
    Ok(())
}

fn arrive(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let (barrier, value) = operands(w, g, s)?;
    let come = |word: u64| {
        Some(match word as u32 {
            0 => ((word >> 32) + 1) << 32 | u64::from(value),
            _ => word - 1,
        })
    };
    let before = barrier.fetch_update(Ordering::SeqCst, Ordering::SeqCst, come);
    let before = before.unwrap_or_else(|word| word);
    if before as u32 != 0 {
        w.status = Status::AtGridBarrier {
            until_odd: before >> 32 & 1 == 0,
        };
    }
    Ok(())
}

/// The barrier, and the value of the first active lane.
fn operands<'a>(w: &Wave, g: &Group<'a>, s: &Step) -> Result<(&'a AtomicU64, u32), Box<Stop>> {
    let unknown = |text: &str| {
        Box::new(Stop::Unknown {
            pc: s.pc,
            text: text.into(),
        })
    };
    // Bits 21:16 of M0 are added to the offset, of which there are 64.
    if (w.scalar(M0) >> 16).wrapping_add(s.imm.cast_unsigned()) & 63 != 0 {
        return Err(unknown("global wave sync by another resource than 0"));
    }
    let Src::Vector(register) = s.src[0] else {
        return Err(unknown("global wave sync without a value"));
    };
    let lane = w.exec().trailing_zeros() as usize;
    let value = w.vector(register).get(lane).copied();
    let value = value.ok_or_else(|| unknown("global wave sync of a wave without lanes"))?;
    let barrier = g.host.grid_barrier();
    let barrier =
        barrier.ok_or_else(|| unknown("global wave sync of a queue without memory for it"))?;
    Ok((barrier, value))
}
