//! A kernel's code as text.

use strobe_code_object::{CodeObject, Kernel};

use crate::machine;

/// An instruction where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// In the loaded image.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// As LLVM writes it; a word that is no instruction as `.long 0x...`.
    pub text: String,
}

/// The instruction at an address of the image. `None`: there is none of which anything is known.
pub(crate) fn at(object: &CodeObject, kernel: &Kernel, address: u64) -> Option<Instruction> {
    let isa = object.target.target()?.isa;
    let content = object.content_from(address)?;
    // None is longer than three words.
    let words = content.chunks_exact(4).take(3);
    let words: Vec<u32> = words
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    let (size, text) = match isa.decode(&words, machine::wave(kernel)) {
        Ok(inst) => (u64::from(inst.size), inst.to_string()),
        Err(_) => (4, format!(".long {:#010x}", words.first()?)),
    };
    Some(Instruction {
        address,
        size,
        text,
    })
}

/// Those of the kernel's symbol, from its entry on.
pub(crate) fn of<'a>(
    object: &'a CodeObject,
    kernel: &'a Kernel,
) -> impl Iterator<Item = Instruction> + 'a {
    let mut address = kernel.code.start;
    std::iter::from_fn(move || {
        if address >= kernel.code.end {
            return None;
        }
        let instruction = at(object, kernel, address)?;
        address += instruction.size;
        Some(instruction)
    })
}
