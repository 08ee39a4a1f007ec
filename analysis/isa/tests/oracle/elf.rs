//! The smallest ELF file that LLVM disassembles for one target.

use strobe_isa::Target;

/// `code` as the `.text` of an object file.
pub(crate) fn wrap(code: &[u32], target: &Target) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.text\0.shstrtab\0";
    const HEADER: usize = 64;
    const AMDGPU: u16 = 224;
    let text_size = 4 * code.len();
    let sections = (HEADER + text_size + NAMES.len()).next_multiple_of(8);

    // 64-bit, little-endian, version 1, AMD HSA, ABI version 2.
    let mut elf = b"\x7fELF\x02\x01\x01\x40\x02\0\0\0\0\0\0\0".to_vec();
    elf.extend(1u16.to_le_bytes());
    elf.extend(AMDGPU.to_le_bytes());
    elf.extend(1u32.to_le_bytes());
    elf.extend([0; 16]);
    elf.extend((sections as u64).to_le_bytes());
    elf.extend(u32::from(target.machine).to_le_bytes());
    for half in [HEADER as u16, 0, 0, 64, 3, 2] {
        elf.extend(half.to_le_bytes());
    }
    elf.extend(code.iter().flat_map(|word| word.to_le_bytes()));
    elf.extend(NAMES);
    elf.resize(sections, 0);

    // Name, type, flags, offset, size, alignment.
    let text = (1, 1, 6, HEADER, text_size, 4);
    let names = (7, 3, 0, HEADER + text_size, NAMES.len(), 1);
    for (name, kind, flags, offset, size, align) in [(0, 0, 0, 0, 0, 0), text, names] {
        elf.extend([name as u32, kind].into_iter().flat_map(u32::to_le_bytes));
        for field in [flags, 0, offset as u64, size as u64, 0, align, 0] {
            elf.extend(u64::to_le_bytes(field));
        }
    }
    elf
}
