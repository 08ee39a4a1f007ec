//! Where kernels begin whose arguments stand in registers.
//!
//! Firmware that sets such registers begins 256 bytes behind the entry; older firmware begins at the entry, where the
//! compiler has put loads of the same registers (LLVM's AMDGPU guide, "Preloaded Kernel Arguments"). Both are one
//! program if those loads bring what firmware would have set, and nothing else is done.

use strobe_code_object::{CodeObject, Kernel};
use strobe_extent::Reason;
use strobe_isa::{Class, Op, Operand};

use crate::machine::Machine;

/// Bytes from one entry to the other.
const TO_OTHER_ENTRY: u64 = 256;
const NO_PROLOGUE: Reason = Reason::Other("arguments in registers that are loaded otherwise");

/// Where the walk begins.
pub(crate) fn entry(object: &CodeObject, kernel: &Kernel, machine: Machine) -> Result<u64, Reason> {
    let start = kernel.code.start;
    if kernel.descriptor.preload_length == 0 {
        return Ok(start);
    }
    let other = start
        .checked_add(TO_OTHER_ENTRY)
        .filter(|_| loads_the_same(object, kernel, machine) == Some(true));
    other.ok_or(NO_PROLOGUE)
}

/// Whether what stands between the entries sets the registers of arguments, and does nothing else. `None`: it is no
/// program.
fn loads_the_same(object: &CodeObject, kernel: &Kernel, machine: Machine) -> Option<bool> {
    let descriptor = &kernel.descriptor;
    let first = descriptor.first_preloaded_sgpr();
    let count = usize::from(descriptor.preload_length);
    let kernarg = descriptor.kernarg_segment_sgpr()?;
    let mut loaded = vec![false; count];
    let content = object.content_from(kernel.code.start)?;
    let words = content.chunks_exact(4).take(TO_OTHER_ENTRY as usize / 4);
    let words: Vec<u32> = words
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    let mut at = 0;
    loop {
        let inst = machine
            .target
            .isa
            .decode(words.get(at..)?, machine.wave)
            .ok()?;
        let next = at + usize::from(inst.size / 4);
        match inst.op.info().class {
            Class::Load
                if inst.srcs[0] == Operand::Scalar(kernarg)
                    && inst.srcs[1] == Operand::None
                    && inst.op.name().starts_with("s_load_dword") =>
            {
                let Operand::Scalar(to) = inst.dsts[0] else {
                    return Some(false);
                };
                let offset = usize::try_from(inst.imm).ok()?;
                for dword in 0..usize::from(inst.dst_dwords(0)) {
                    let argument = (usize::from(to) + dword).checked_sub(first)?;
                    let from = 4 * (usize::from(descriptor.preload_offset) + argument);
                    if offset + 4 * dword != from {
                        return Some(false);
                    }
                    *loaded.get_mut(argument)? = true;
                }
            }
            Class::Wait => {}
            // Old firmware ends the kernel.
            Class::Trap if at == 0 && inst.op == Op::s_trap => return Some(true),
            Class::Hint if inst.op == Op::s_nop => {}
            Class::Branch => {
                let to = i64::try_from(next).ok()? + i64::from(inst.imm);
                let is_other = to == TO_OTHER_ENTRY as i64 / 4;
                return Some(is_other && loaded.iter().all(|is| *is));
            }
            _ => return Some(false),
        }
        at = next;
    }
}
