//! Scalar loads, clocks.

use strobe_isa::{Class, Inst, Op};

use super::group::Group;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};

/// Translates; `None` if the instruction is not known. `base.src` holds base and offset register.
pub(super) fn translate(inst: &Inst, base: Step) -> Option<Step> {
    let info = inst.op.info();
    let handler: Handler = match (inst.op, info.class) {
        (Op::s_memtime | Op::s_memrealtime, _) => clock,
        (_, Class::Load) if info.name.starts_with("s_load_") => load,
        (_, Class::Load) if info.name.starts_with("s_buffer_load_") => buffer_load,
        _ => return None,
    };
    Some(Step {
        run: handler,
        sel: info.bytes / 4,
        ..base
    })
}

fn read(w: &mut Wave, g: &mut Group<'_>, s: &Step, addr: u64) -> Outcome {
    let mut words = [0; 16];
    let words = &mut words[..usize::from(s.sel).min(16)];
    g.memory
        .read_words(addr & !3, words)
        .map_err(|fault| fault.at(s.pc))?;
    for (k, &word) in words.iter().enumerate() {
        w.set_scalar(s.sdst.wrapping_add(k as u8), word);
    }
    Ok(())
}

fn load(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let offset = i64::from(s.imm)
        .cast_unsigned()
        .wrapping_add(u64::from(w.read32(s.src[1])));
    let addr = w.read64(s.src[0]).wrapping_add(offset);
    read(w, g, s, addr)
}

/// Words beyond the buffer's end read as zero.
fn buffer_load(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let Src::Scalar(first) = s.src[0] else {
        return Ok(());
    };
    let word = |k: u8| w.scalar(first.wrapping_add(k));
    let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
    let stride = u64::from(word(1) >> 16 & 0x3fff);
    let size = u64::from(word(2)) * stride.max(1);
    let offset = (s.imm as u64).wrapping_add(u64::from(w.read32(s.src[1]))) & !3;
    for k in 0..s.sel {
        let at = offset + 4 * u64::from(k);
        let mut word = [0];
        if at + 4 <= size {
            g.memory
                .read_words(base.wrapping_add(at), &mut word)
                .map_err(|fault| fault.at(s.pc))?;
        }
        w.set_scalar(s.sdst.wrapping_add(k), word[0]);
    }
    Ok(())
}

fn clock(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
    let ticks = g.host.ticks();
    w.set_scalar64(s.sdst, ticks);
    Ok(())
}
