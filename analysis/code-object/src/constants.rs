//! Content of the image that neither kernels nor the host change.
//!
//! What is loaded without the right to write is constant, and so is what only the loader writes (`PT_GNU_RELRO`: global
//! offset tables, tables of virtual functions) - but for `__constant__` variables, which stand there too, and which the
//! host finds by their names and sets (`hipMemcpyToSymbol`).

use std::ops::Range;

use goblin::elf::{Elf, program_header, sym};

use crate::bytes::Bytes;
use crate::elf::{CodeObject, Relocation, Segment, is_defined};

/// What stands at an address for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Four bytes.
    Dword(u32),
    /// Eight bytes: the address of this image address, where it is loaded.
    Address(u64),
}

/// Ranges of image addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    /// That nobody writes but the loader.
    read_only: Vec<Range<u64>>,
    /// Variables among them that the host may set; ascending, apart.
    settable: Vec<Range<u64>>,
}

impl Constants {
    pub(crate) fn new(elf: &Elf<'_>, segments: &[Segment]) -> Self {
        let read_only = segments.iter().filter(|segment| !segment.writable);
        let read_only = read_only.map(|segment| segment.addresses.clone());
        let relocated = elf.program_headers.iter();
        let relocated = relocated.filter(|header| header.p_type == program_header::PT_GNU_RELRO);
        let relocated = relocated.filter_map(|header| {
            let end = header.p_vaddr.checked_add(header.p_memsz)?;
            Some(header.p_vaddr..end)
        });
        // Those that can be found by name are in `.dynsym`.
        let variables = elf.dynsyms.iter().filter(|symbol| {
            let name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default();
            let sets_nobody = name.starts_with("_ZTV") || name.ends_with(".kd");
            symbol.st_type() == sym::STT_OBJECT && is_defined(symbol) && !sets_nobody
        });
        let mut settable: Vec<Range<u64>> = variables
            .map(|symbol| symbol.st_value..symbol.st_value.saturating_add(symbol.st_size.max(1)))
            .collect();
        settable.sort_by_key(|range| range.start);
        settable.dedup_by(|later, earlier| {
            let meets = later.start <= earlier.end;
            if meets {
                earlier.end = earlier.end.max(later.end);
            }
            meets
        });
        Self {
            read_only: read_only.chain(relocated).collect(),
            settable,
        }
    }

    fn contain(&self, asked: &Range<u64>) -> bool {
        let mut read_only = self.read_only.iter();
        let below = self
            .settable
            .partition_point(|variable| variable.end <= asked.start);
        let next = self.settable.get(below);
        read_only.any(|range| range.start <= asked.start && asked.end <= range.end)
            && next.is_none_or(|variable| asked.end <= variable.start)
    }
}

impl CodeObject {
    /// What stands at an image address, if it stays.
    #[must_use]
    pub fn constant_at(&self, address: u64) -> Option<Constant> {
        let end = |bytes| address.checked_add(bytes);
        let Some(relocation) = self.relocation_near(address) else {
            let own = self.constants.contain(&(address..end(4)?));
            let dword = || self.content_from(address)?.u32_at(0);
            return own.then(dword).flatten().map(Constant::Dword);
        };
        let whole = relocation.address == address && self.constants.contain(&(address..end(8)?));
        relocation.value.filter(|_| whole).map(Constant::Address)
    }

    /// The relocation whose eight bytes meet the four at an address.
    fn relocation_near(&self, address: u64) -> Option<&Relocation> {
        let near = self
            .relocations
            .partition_point(|relocation| relocation.address.saturating_add(8) <= address);
        let relocation = self.relocations.get(near)?;
        (relocation.address < address.saturating_add(4)).then_some(relocation)
    }
}
