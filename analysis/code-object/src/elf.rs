//! One AMDGPU ELF file.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use goblin::elf::{Elf, program_header, sym};

use crate::constants::Constants;
use crate::descriptor::{DESCRIPTOR_SIZE, Descriptor};
use crate::kernel::Kernel;
use crate::limits::ObjectLimits;
use crate::metadata::{self, MetadataError};
use crate::target::TargetId;

const EM_AMDGPU: u16 = 224;
const NT_AMDGPU_METADATA: u32 = 32;

/// Why an ELF file is not a code object that we can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ObjectError {
    #[error("the ELF file cannot be read: {0}")]
    Elf(String),
    #[error("an ELF file for machine {0}, not for AMDGPU")]
    Machine(u16),
    #[error("more than {0} symbols")]
    TooManySymbols(usize),
    #[error("metadata: {0}")]
    Metadata(#[from] MetadataError),
    #[error("kernel {kernel}: its descriptor is missing or cut off")]
    Descriptor { kernel: String },
}

/// A loadable part of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Addresses in the image, the zero-filled tail included.
    pub addresses: Range<u64>,
    /// Bytes in the file.
    pub file: Range<usize>,
    /// `PF_W`.
    pub writable: bool,
    /// `PF_X`.
    pub executable: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// `STT_FUNC`.
    Function,
    /// `STT_OBJECT`.
    Object,
    /// Any other type.
    Other,
}

/// A symbol with an address in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// As in the string table: mangled.
    pub name: String,
    /// In the loaded image.
    pub address: u64,
    /// Bytes; 0 if not given.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
}

/// A place in the image that the loader fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// In the loaded image.
    pub address: u64,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    /// The image address that the place, of eight bytes, will point to, if it is in this object.
    pub value: Option<u64>,
}

/// A parsed code object. Cheap to clone in its bytes only; share it by reference.
#[derive(Clone, Debug)]
pub struct CodeObject {
    /// From `e_flags`.
    pub target: TargetId,
    /// `EI_ABIVERSION`: 2 is code object v4, 3 is v5, 4 is v6.
    pub abi: u8,
    /// In the order of their metadata.
    pub kernels: Vec<Kernel>,
    /// By ascending address.
    pub symbols: Vec<Symbol>,
    /// By ascending address.
    pub segments: Vec<Segment>,
    /// By ascending address.
    pub relocations: Vec<Relocation>,
    pub(crate) constants: Constants,
    bytes: Arc<[u8]>,
}

impl CodeObject {
    /// Reads an AMDGPU ELF file.
    ///
    /// # Errors
    /// If the file, its metadata or a kernel's descriptor cannot be read.
    pub fn parse(bytes: &[u8], limits: &ObjectLimits) -> Result<Self, ObjectError> {
        let elf = Elf::parse(bytes).map_err(|error| ObjectError::Elf(error.to_string()))?;
        if elf.header.e_machine != EM_AMDGPU {
            return Err(ObjectError::Machine(elf.header.e_machine));
        }
        let segments = segments(&elf, bytes.len());
        let mut object = Self {
            target: TargetId::from_flags(elf.header.e_flags),
            abi: elf.header.e_ident[8],
            kernels: Vec::new(),
            symbols: symbols(&elf, limits)?,
            constants: Constants::new(&elf, &segments),
            segments,
            relocations: relocations(&elf),
            bytes: bytes.into(),
        };
        // Linkers concatenate: kernels written in assembly bring one note each.
        let mut entries = Vec::new();
        for note in elf.iter_note_headers(bytes).into_iter().flatten() {
            let note = note.map_err(|error| ObjectError::Elf(error.to_string()))?;
            if note.n_type == NT_AMDGPU_METADATA && note.name == "AMDGPU" {
                entries.extend(metadata::parse(note.desc, limits)?);
            }
            if entries.len() > limits.kernels {
                return Err(MetadataError::TooMany.into());
            }
        }
        object.kernels = object.resolve(entries)?;
        Ok(object)
    }

    /// The bytes of the ELF file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The segment that contains an image address.
    #[must_use]
    pub fn segment_at(&self, address: u64) -> Option<&Segment> {
        let after = self
            .segments
            .partition_point(|segment| segment.addresses.start <= address);
        let segment = &self.segments[after.checked_sub(1)?];
        segment.addresses.contains(&address).then_some(segment)
    }

    /// File content from an image address to the end of its segment's part in the file.
    #[must_use]
    pub fn content_from(&self, address: u64) -> Option<&[u8]> {
        let segment = self.segment_at(address)?;
        let offset = usize::try_from(address - segment.addresses.start).ok()?;
        self.bytes
            .get(segment.file.start.checked_add(offset)?..segment.file.end)
    }

    /// The object or function symbol that covers an image address.
    #[must_use]
    pub fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        self.symbols[..after]
            .iter()
            .rev()
            .take_while(|symbol| address - symbol.address < 1 << 32)
            .take(64)
            .find(|symbol| address - symbol.address < symbol.size.max(1))
    }

    fn resolve(&self, entries: Vec<metadata::Entry>) -> Result<Vec<Kernel>, ObjectError> {
        let by_name: HashMap<&str, &Symbol> = self
            .symbols
            .iter()
            .map(|symbol| (symbol.name.as_str(), symbol))
            .collect();
        let mut kernels = Vec::with_capacity(entries.len());
        for entry in entries {
            let missing = || ObjectError::Descriptor {
                kernel: entry.name.clone(),
            };
            let address = by_name
                .get(entry.symbol.as_str())
                .ok_or_else(missing)?
                .address;
            let descriptor = self
                .content_from(address)
                .and_then(|content| content.get(..DESCRIPTOR_SIZE))
                .and_then(Descriptor::parse)
                .ok_or_else(missing)?;
            let start = address.wrapping_add_signed(descriptor.entry_offset);
            let segment = self.segment_at(start).filter(|s| s.executable);
            // Padding between functions is part of no symbol.
            let content = self.content_from(start).map_or(0, <[u8]>::len) as u64;
            // A body that a compiler took for unreachable may be the last: there is no code then.
            let end = segment.map_or(start, |segment| {
                self.code_end(start, &entry.symbol)
                    .unwrap_or(segment.addresses.end)
            });
            kernels.push(Kernel {
                kernarg_size: entry.kernarg_size.max(descriptor.kernarg_size),
                name: entry.name,
                symbol: entry.symbol,
                descriptor,
                descriptor_address: address,
                args: entry.args,
                code: start..end.clamp(start, start.saturating_add(content)),
            });
        }
        Ok(kernels)
    }

    /// Where the code that starts at `start` ends. Compilers that found the body unreachable leave a
    /// function of size 0 where the next one begins; assembly gives no size either, but has a body.
    fn code_end(&self, start: u64, descriptor: &str) -> Option<u64> {
        let first = self
            .symbols
            .partition_point(|symbol| symbol.address < start);
        let here = self.symbols[first..]
            .iter()
            .take_while(|symbol| symbol.address == start);
        let own = descriptor.strip_suffix(".kd").unwrap_or(descriptor);
        let mut sized = None;
        for symbol in here.filter(|symbol| symbol.kind == SymbolKind::Function) {
            if symbol.name == own && symbol.size > 0 {
                return start.checked_add(symbol.size);
            }
            sized = sized.or((symbol.size > 0).then_some(symbol.size));
        }
        if sized.is_some() {
            return Some(start);
        }
        self.symbols[first..]
            .iter()
            .find(|symbol| symbol.address > start && symbol.kind == SymbolKind::Function)
            .map(|symbol| symbol.address)
    }
}

fn segments(elf: &Elf<'_>, file_size: usize) -> Vec<Segment> {
    let mut segments: Vec<Segment> = elf
        .program_headers
        .iter()
        .filter(|header| header.p_type == program_header::PT_LOAD)
        .filter_map(|header| {
            let end = header.p_vaddr.checked_add(header.p_memsz)?;
            let start = usize::try_from(header.p_offset).ok()?.min(file_size);
            let length = usize::try_from(header.p_filesz.min(header.p_memsz)).ok()?;
            Some(Segment {
                addresses: header.p_vaddr..end,
                file: start..start.saturating_add(length).min(file_size),
                writable: header.is_write(),
                executable: header.is_executable(),
            })
        })
        .collect();
    segments.sort_by_key(|segment| segment.addresses.start);
    segments
}

/// Whether a symbol has an address in the image.
pub(crate) fn is_defined(symbol: &sym::Sym) -> bool {
    symbol.st_shndx != 0 && symbol.st_shndx < 0xff00
}

fn symbols(elf: &Elf<'_>, limits: &ObjectLimits) -> Result<Vec<Symbol>, ObjectError> {
    // Everything with an address is in .dynsym unless it is local.
    let tables = [(&elf.dynsyms, &elf.dynstrtab), (&elf.syms, &elf.strtab)];
    let mut symbols = Vec::new();
    for (table, names) in tables {
        if symbols.len() + table.len() > limits.symbols {
            return Err(ObjectError::TooManySymbols(limits.symbols));
        }
        for symbol in table.iter() {
            let Some(name) = names.get_at(symbol.st_name).filter(|name| !name.is_empty()) else {
                continue;
            };
            if !is_defined(&symbol) {
                continue;
            }
            symbols.push(Symbol {
                name: name.to_owned(),
                address: symbol.st_value,
                size: symbol.st_size,
                kind: match symbol.st_type() {
                    sym::STT_FUNC | 10 => SymbolKind::Function,
                    sym::STT_OBJECT => SymbolKind::Object,
                    _ => SymbolKind::Other,
                },
            });
        }
    }
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    symbols.dedup_by(|a, b| a.address == b.address && a.name == b.name);
    Ok(symbols)
}

fn relocations(elf: &Elf<'_>) -> Vec<Relocation> {
    /// `R_AMDGPU_RELATIVE64`: image base plus addend.
    const RELATIVE64: u32 = 13;
    /// `R_AMDGPU_ABS64`: symbol plus addend.
    const ABS64: u32 = 3;
    let mut relocations: Vec<Relocation> = elf
        .dynrelas
        .iter()
        .map(|relocation| {
            let addend = relocation.r_addend.unwrap_or(0);
            let value = match relocation.r_type {
                RELATIVE64 => Some(addend as u64),
                ABS64 => elf
                    .dynsyms
                    .get(relocation.r_sym)
                    .filter(|symbol| symbol.st_shndx != 0)
                    .map(|symbol| symbol.st_value.wrapping_add_signed(addend)),
                // Halves, and ways from here to there.
                _ => None,
            };
            Relocation {
                address: relocation.r_offset,
                kind: relocation.r_type,
                value,
            }
        })
        .collect();
    relocations.sort_by_key(|relocation| relocation.address);
    relocations
}
