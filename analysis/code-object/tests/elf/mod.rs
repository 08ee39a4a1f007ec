//! Writes small AMDGPU ELF files, laid out as the linker does: one read-only segment with notes,
//! symbols and descriptors, one with code, one with data.

#![allow(dead_code, reason = "each test binary uses a part")]

use rmpv::Value;

pub(crate) struct KernelSource {
    pub(crate) name: &'static str,
    pub(crate) code: Vec<u32>,
    /// Size of the function symbol; `None` for the size of the code.
    pub(crate) symbol_size: Option<u64>,
    /// Offset, size, `.value_kind`.
    pub(crate) args: Vec<(u32, u32, &'static str)>,
    /// `.actual_access` of the first arguments.
    pub(crate) access: Vec<&'static str>,
    /// `.name` of the first arguments.
    pub(crate) names: Vec<&'static str>,
    /// `.is_const` of all arguments.
    pub(crate) is_const: bool,
    pub(crate) kernarg_size: u32,
    pub(crate) rsrc1: u32,
    pub(crate) rsrc2: u32,
    pub(crate) rsrc3: u32,
    /// Dwords of the kernarg segment that stand in registers, and the first of them.
    pub(crate) preload: u16,
    pub(crate) properties: u16,
}

impl KernelSource {
    /// A kernel with kernarg pointer in `s[0:1]`, work-group id x in `s2`, work-item id x in `v0`.
    pub(crate) fn new(name: &'static str, code: &[u32]) -> Self {
        Self {
            name,
            code: code.to_vec(),
            symbol_size: None,
            args: Vec::new(),
            access: Vec::new(),
            names: Vec::new(),
            is_const: false,
            kernarg_size: 64,
            rsrc1: 0x3f,
            rsrc2: 2 << 1 | 1 << 7,
            rsrc3: 0,
            preload: 0,
            properties: 8,
        }
    }

    pub(crate) fn args(mut self, args: &[(u32, u32, &'static str)]) -> Self {
        self.args = args.to_vec();
        self
    }
}

/// Where code begins in the image and in the file.
pub(crate) const CODE: u64 = 0x1_0000;
/// Where data begins in the image and in the file.
pub(crate) const DATA: u64 = 0x2_0000;

/// An ELF file for gfx906. `data` is an `STT_OBJECT` symbol `global` of a writable segment.
/// With `one_note_each`, every kernel brings a metadata note of its own.
pub(crate) fn write(kernels: &[KernelSource], data: &[u8], one_note_each: bool) -> Vec<u8> {
    const NOTE: usize = 0x1000;
    let mut notes = Vec::new();
    if one_note_each {
        for kernel in kernels {
            notes.extend(note(&metadata(std::slice::from_ref(kernel))));
        }
    } else {
        notes.extend(note(&metadata(kernels)));
    }
    let mut file = vec![0_u8; NOTE];
    file.extend(&notes);
    let align = |file: &mut Vec<u8>, to: usize| file.resize(file.len().next_multiple_of(to), 0);
    align(&mut file, 64);

    let mut symbols = vec![(String::new(), 0_u64, 0_u64, 0_u8)];
    let mut entry = CODE;
    for kernel in kernels {
        let address = file.len() as u64;
        let mut descriptor = [0_u8; 64];
        descriptor[8..12].copy_from_slice(&kernel.kernarg_size.to_le_bytes());
        descriptor[16..24].copy_from_slice(&entry.wrapping_sub(address).to_le_bytes());
        descriptor[44..48].copy_from_slice(&kernel.rsrc3.to_le_bytes());
        descriptor[48..52].copy_from_slice(&kernel.rsrc1.to_le_bytes());
        descriptor[52..56].copy_from_slice(&kernel.rsrc2.to_le_bytes());
        descriptor[56..58].copy_from_slice(&kernel.properties.to_le_bytes());
        descriptor[58..60].copy_from_slice(&kernel.preload.to_le_bytes());
        file.extend(descriptor);
        symbols.push((format!("{}.kd", kernel.name), address, 64, 1));
        let size = kernel.symbol_size.unwrap_or(4 * kernel.code.len() as u64);
        symbols.push((kernel.name.to_owned(), entry, size, 2));
        entry += 4 * kernel.code.len() as u64;
    }
    symbols.push(("global".to_owned(), DATA, data.len() as u64, 1));

    let (mut symtab, mut strtab) = (Vec::new(), Vec::new());
    for (name, address, size, kind) in &symbols {
        symtab.extend((strtab.len() as u32).to_le_bytes());
        symtab.push(if *address == 0 { 0 } else { 0x10 | kind });
        symtab.push(0);
        symtab.extend(u16::from(*address != 0).to_le_bytes());
        symtab.extend(address.to_le_bytes());
        symtab.extend(size.to_le_bytes());
        strtab.extend(name.as_bytes());
        strtab.push(0);
    }
    let symtab_at = file.len();
    file.extend(&symtab);
    let strtab_at = file.len();
    file.extend(&strtab);
    let read_only = file.len();
    assert!(
        read_only < CODE as usize,
        "the read-only part outgrew its place"
    );
    file.resize(CODE as usize, 0);
    for word in kernels.iter().flat_map(|kernel| &kernel.code) {
        file.extend(word.to_le_bytes());
    }
    let code = file.len() - CODE as usize;
    assert!(file.len() < DATA as usize, "the code outgrew its place");
    file.resize(DATA as usize, 0);
    file.extend(data);
    let sections = file.len();
    for [name, kind, address, offset, size, link, info, entry] in [
        [0_u64; 8],
        [0, 1, CODE, CODE, code as u64, 0, 0, 0],
        [0, 2, 0, symtab_at as u64, symtab.len() as u64, 3, 1, 24],
        [0, 3, 0, strtab_at as u64, strtab.len() as u64, 0, 0, 0],
    ] {
        file.extend((name as u32).to_le_bytes());
        file.extend((kind as u32).to_le_bytes());
        for word in [0, address, offset, size] {
            file.extend(word.to_le_bytes());
        }
        file.extend((link as u32).to_le_bytes());
        file.extend((info as u32).to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(entry.to_le_bytes());
    }

    let mut header = Vec::new();
    header.extend(b"\x7fELF\x02\x01\x01\x40\x02\0\0\0\0\0\0\0");
    header.extend(3_u16.to_le_bytes());
    header.extend(224_u16.to_le_bytes());
    header.extend(1_u32.to_le_bytes());
    for word in [0, 64, sections as u64] {
        header.extend(word.to_le_bytes());
    }
    header.extend(0x2f_u32.to_le_bytes());
    for half in [64_u16, 56, 4, 64, 4, 3] {
        header.extend(half.to_le_bytes());
    }
    for (kind, flags, at, size) in [
        (1_u32, 4_u32, 0, read_only),
        (1, 5, CODE as usize, code),
        (1, 6, DATA as usize, data.len()),
        (4, 4, NOTE, notes.len()),
    ] {
        header.extend(kind.to_le_bytes());
        header.extend(flags.to_le_bytes());
        for word in [at, at, at, size, size, 4] {
            header.extend((word as u64).to_le_bytes());
        }
    }
    file[..header.len()].copy_from_slice(&header);
    file
}

fn note(metadata: &Value) -> Vec<u8> {
    let mut description = Vec::new();
    rmpv::encode::write_value(&mut description, metadata).expect("a vector takes all bytes");
    let mut note = Vec::new();
    note.extend(7_u32.to_le_bytes());
    note.extend((description.len() as u32).to_le_bytes());
    note.extend(32_u32.to_le_bytes());
    note.extend(b"AMDGPU\0\0");
    note.extend(&description);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

fn metadata(kernels: &[KernelSource]) -> Value {
    let map = |pairs: Vec<(&str, Value)>| {
        Value::Map(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    };
    let kernels = kernels.iter().map(|kernel| {
        let args = kernel
            .args
            .iter()
            .enumerate()
            .map(|(index, &(offset, size, kind))| {
                map(vec![
                    (".offset", offset.into()),
                    (".size", size.into()),
                    (".value_kind", kind.into()),
                    (
                        ".actual_access",
                        kernel.access.get(index).map_or(Value::Nil, |a| (*a).into()),
                    ),
                    (
                        ".name",
                        kernel.names.get(index).map_or(Value::Nil, |n| (*n).into()),
                    ),
                    (".is_const", kernel.is_const.into()),
                    (".future_key", Value::Array(vec![Value::Nil])),
                ])
            });
        map(vec![
            (".name", kernel.name.into()),
            (".symbol", format!("{}.kd", kernel.name).into()),
            (".kernarg_segment_size", kernel.kernarg_size.into()),
            (".args", Value::Array(args.collect())),
        ])
    });
    map(vec![("amdhsa.kernels", Value::Array(kernels.collect()))])
}
