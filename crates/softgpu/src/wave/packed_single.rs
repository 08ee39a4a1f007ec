//! Two singles in a pair of registers, and moves of such: what gfx90a has beside packed halves.
//!
//! Each half of the result is the operation on the halves of the sources that `op_sel` (the low half) and `op_sel_hi`
//! (the high one) name, with the signs that `neg_lo` and `neg_hi` say (LLVM's AMDGPU guide).

use strobe_isa::{Inst, Op, Operand};

use super::lanes::Kind;
use super::modifiers::{self, Bits};
use super::operand::source;
use super::register::{MODIFIED, RESULT};
use super::source::Src;
use super::step::Step;
use super::translate::{Context, halves_of, lane_op};

pub(super) fn is_one(op: Op) -> bool {
    half(op).is_some()
}

/// What it does with one half; whether that is arithmetic.
fn half(op: Op) -> Option<(Op, bool)> {
    Some(match op {
        Op::v_pk_fma_f32 => (Op::v_fma_f32, true),
        Op::v_pk_mul_f32 => (Op::v_mul_f32, true),
        Op::v_pk_add_f32 => (Op::v_add_f32, true),
        Op::v_pk_mov_b32 => (Op::v_mov_b32, false),
        _ => return None,
    })
}

/// Appends its steps; `None` if it is not known in this form.
pub(super) fn translate(
    inst: &Inst,
    pc: u64,
    context: Context,
    steps: &mut Vec<Step>,
) -> Option<()> {
    let (op, is_arithmetic) = half(inst.op)?;
    let Operand::Vector(dst) = inst.dsts[0] else {
        return None;
    };
    let dst = u16::from(dst);
    let mut halves = [[Src::None; 3]; 2];
    let sources = inst.srcs.iter().take_while(|src| **src != Operand::None);
    for (i, &operand) in sources.take(3).enumerate() {
        for high in [false, true] {
            let of = Half { i, high };
            let src = of.selected(inst, operand)?;
            halves[usize::from(high)][i] = if is_arithmetic {
                of.prepared(inst, src, pc, context, steps)
            } else {
                (inst.neg | inst.neg_hi == 0).then_some(src)?
            };
        }
    }
    let run = lane_op(op, context.uses_avx512)?.run;
    let [lo, hi] = if is_arithmetic {
        halves
    } else {
        // The low half of the result is of the first source, the high one of the second.
        [
            [halves[0][0], Src::None, Src::None],
            [halves[1][1], Src::None, Src::None],
        ]
    };
    let finishes = is_arithmetic && (context.flush || inst.clamp);
    // Where the high half is still to read what the low one overwrites, that waits.
    let waits = finishes || hi.contains(&Src::Vector(dst));
    let first = if waits { RESULT } else { dst };
    let second = if finishes { RESULT + 1 } else { dst + 1 };
    steps.push(Step::new(run, pc, lo, first));
    steps.push(Step::new(run, pc, hi, second));
    for (from, to) in [(first, dst), (second, dst + 1)] {
        let result = Src::Vector(from);
        if finishes && context.flush {
            let to = if inst.clamp { from } else { to };
            steps.push(modifiers::flush_step(
                context.uses_avx512,
                pc,
                result,
                to,
                true,
            ));
        }
        if finishes && inst.clamp {
            steps.push(modifiers::clamp_step(
                context.uses_avx512,
                pc,
                Kind::F32,
                from,
                to,
            )?);
        }
        if !finishes && from != to {
            let copy = lane_op(Op::v_mov_b32, context.uses_avx512)?.run;
            steps.push(Step::new(copy, pc, [result, Src::None, Src::None], to));
        }
    }
    Some(())
}

/// Source number `i`, for one half of the result.
#[derive(Clone, Copy)]
struct Half {
    i: usize,
    high: bool,
}

impl Half {
    fn bit(self, low: u8, high: u8) -> bool {
        (if self.high { high } else { low }) >> self.i & 1 != 0
    }

    /// The half of the source that this one reads.
    fn selected(self, inst: &Inst, operand: Operand) -> Option<Src> {
        // Moves have their second source's choice for the high half in `op_sel`, too.
        let takes_high = match inst.op {
            Op::v_pk_mov_b32 => inst.op_sel >> self.i & 1 != 0,
            _ => self.bit(inst.op_sel, inst.op_sel_hi),
        };
        let src = source(operand, Kind::F32)?;
        let (lo, hi) = halves_of(src);
        match src {
            // What the high half of a constant is no document says, but for zero.
            Src::Const(value) => (!takes_high || value == 0).then_some(lo),
            _ => Some(if takes_high { hi } else { lo }),
        }
    }

    fn prepared(
        self,
        inst: &Inst,
        src: Src,
        pc: u64,
        context: Context,
        steps: &mut Vec<Step>,
    ) -> Src {
        let temporary = MODIFIED + 2 * self.i as u16 + u16::from(self.high);
        let mut src = src;
        if self.bit(inst.neg, inst.neg_hi) {
            let bits = Bits::default().with_sign(false, true, 31);
            steps.push(bits.step(context.uses_avx512, pc, src, temporary));
            src = Src::Vector(temporary);
        }
        if context.flush {
            steps.push(modifiers::flush_step(
                context.uses_avx512,
                pc,
                src,
                temporary,
                false,
            ));
            src = Src::Vector(temporary);
        }
        src
    }
}
