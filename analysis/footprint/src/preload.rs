//! Where kernels begin whose arguments stand in registers.
//!
//! Firmware that sets such registers begins 256 bytes behind the entry; older firmware begins at the entry, where
//! compilers put loads of the same registers (LLVM's AMDGPU guide, "Preloaded Kernel Arguments"). Where those bring what
//! firmware would have set, and nothing else is done, both are one program. Else a launch does either.

use strobe_code_object::{CodeObject, Kernel};
use strobe_isa::{Class, Op, Operand};

use crate::machine::Machine;

/// Bytes from one entry to the other.
const TO_OTHER_ENTRY: u64 = 256;

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    pub(crate) first: u64,
    /// Whether arguments stand in registers there.
    pub(crate) is_preloaded: bool,
    /// Where they do, if a launch may begin there as well.
    pub(crate) other: Option<u64>,
}

pub(crate) fn entries(object: &CodeObject, kernel: &Kernel, machine: Machine) -> Entries {
    let start = kernel.code.start;
    let behind = start.saturating_add(TO_OTHER_ENTRY);
    let is_preloading = kernel.descriptor.preload_length > 0;
    let is_preloaded = is_preloading && loads_the_same(object, kernel, machine) == Some(true);
    Entries {
        first: if is_preloaded { behind } else { start },
        is_preloaded,
        other: (is_preloading && !is_preloaded).then_some(behind),
    }
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
