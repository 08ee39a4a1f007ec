//! The shared objects of the process: which one an address lies in, what it defines, what it refers to.
//!
//! They are read the way the dynamic linker does it (System V gABI; GNU hash table).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::ControlFlow;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const STT_FUNC: u8 = 2;

/// A loaded object; the linker's lock keeps it so while it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a> {
    header: &'a libc::dl_phdr_info,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Calls `look` with each object until it has seen enough. Allocates nothing. Takes the linker's lock,
/// which a thread holds while it loads or unloads a library.
pub(crate) fn each(mut look: impl FnMut(Object<'_>) -> ControlFlow<()>) {
    unsafe extern "C" fn visit<F: FnMut(Object<'_>) -> ControlFlow<()>>(
        header: *mut libc::dl_phdr_info,
        _: usize,
        look: *mut c_void,
    ) -> c_int {
        // SAFETY: glibc hands out valid objects; `look` is the closure below, used by nobody else.
        let (header, look) = unsafe { (&*header, &mut *look.cast::<F>()) };
        match look(Object { header }) {
            ControlFlow::Continue(()) => 0,
            ControlFlow::Break(()) => 1,
        }
    }
    fn visitor<F: FnMut(Object<'_>) -> ControlFlow<()>>(
        _: &F,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        visit::<F>
    }
    // SAFETY: `visit` gets the closure, which outlives the walk.
    unsafe { libc::dl_iterate_phdr(Some(visitor(&look)), (&raw mut look).cast()) };
}

impl<'a> Object<'a> {
    /// The path it was loaded from; empty for the program itself.
    pub(crate) fn path(self) -> &'a CStr {
        if self.header.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: NUL-terminated, as long as the object is loaded.
        unsafe { CStr::from_ptr(self.header.dlpi_name) }
    }

    /// Whether its file's name begins with `start`: "libc.so.6", "libamdhip64.so".
    pub(crate) fn is(self, start: &str) -> bool {
        let path = self.path().to_bytes();
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        file.starts_with(start.as_bytes())
    }

    /// Where it lies: its first address, and the one behind its last.
    pub(crate) fn range(self) -> (usize, usize) {
        let base = self.header.dlpi_addr as usize;
        let segments = || self.segments().iter().filter(|part| part.p_type == PT_LOAD);
        let start = segments().map(|part| part.p_vaddr as usize).min();
        let end = segments()
            .map(|part| (part.p_vaddr + part.p_memsz) as usize)
            .max();
        match (start, end) {
            (Some(start), Some(end)) => (base.wrapping_add(start), base.wrapping_add(end)),
            _ => (0, 0),
        }
    }

    /// Whether `address` is in it.
    pub(crate) fn contains(self, address: usize) -> bool {
        let (start, end) = self.range();
        (start..end).contains(&address)
    }

    fn segments(self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: glibc gives the table and its length.
        unsafe { std::slice::from_raw_parts(self.header.dlpi_phdr, self.header.dlpi_phnum.into()) }
    }

    /// The values of these tags of its dynamic section; 0 where there is none.
    fn dynamic<const N: usize>(self, tags: [i64; N]) -> [usize; N] {
        let mut found = [0; N];
        let base = self.header.dlpi_addr as usize;
        let Some(dynamic) = self
            .segments()
            .iter()
            .find(|part| part.p_type == PT_DYNAMIC)
        else {
            return found;
        };
        let mut entry = base.wrapping_add(dynamic.p_vaddr as usize) as *const (i64, usize);
        loop {
            // SAFETY: the dynamic section ends with a zero tag.
            let (tag, value) = unsafe { *entry };
            if tag == 0 {
                return found;
            }
            if let Some(at) = tags.iter().position(|wanted| *wanted == tag) {
                found[at] = value;
            }
            // SAFETY: not at the end yet.
            entry = unsafe { entry.add(1) };
        }
    }

    /// The function `name` that it defines, in its default version.
    pub(crate) fn function(self, name: &CStr) -> Option<*mut ()> {
        const HIDDEN: u16 = 0x8000;
        let [strings, table, hash, versions] =
            self.dynamic([DT_STRTAB, DT_SYMTAB, DT_GNU_HASH, DT_VERSYM]);
        // The kernel's own object holds offsets where others have addresses.
        if [strings, table, hash]
            .iter()
            .any(|place| !self.contains(*place))
        {
            return None;
        }
        let (strings, table) = (strings as *const c_char, table as *const libc::Elf64_Sym);
        let (hashes, versions) = (hash as *const u32, versions as *const u16);
        let mut wanted = 5381u32;
        for byte in name.to_bytes() {
            wanted = wanted.wrapping_mul(33).wrapping_add(u32::from(*byte));
        }
        // SAFETY: the table's layout is: bucket count, first symbol, bloom words, bloom shift, the
        // bloom filter in 8-byte words, buckets, and one hash for each symbol from the first on;
        // the lowest bit of a hash ends a chain. A table of versions has one for each symbol.
        unsafe {
            let (buckets, first) = (*hashes, *hashes.add(1));
            if buckets == 0 {
                return None;
            }
            let bloom_words = *hashes.add(2) as usize;
            let bucket = hashes.add(4 + bloom_words * 2);
            let chain = bucket.add(buckets as usize);
            let mut symbol = *bucket.add((wanted % buckets) as usize);
            if symbol < first {
                return None;
            }
            loop {
                let hash = *chain.add((symbol - first) as usize);
                if hash | 1 == wanted | 1 {
                    let entry = &*table.add(symbol as usize);
                    let default =
                        versions.is_null() || *versions.add(symbol as usize) & HIDDEN == 0;
                    let text = CStr::from_ptr(strings.add(entry.st_name as usize));
                    let is_function = entry.st_info & 0xf == STT_FUNC && entry.st_shndx != 0;
                    if default && is_function && text == name {
                        let base = self.header.dlpi_addr as usize;
                        return Some(base.wrapping_add(entry.st_value as usize) as *mut ());
                    }
                }
                if hash & 1 == 1 {
                    return None;
                }
                symbol += 1;
            }
        }
    }

    /// Calls `look` with the name of each symbol that it takes from other objects, until it has seen
    /// enough; names may come more than once.
    pub(crate) fn references(self, mut look: impl FnMut(&'a CStr) -> ControlFlow<()>) {
        let [strings, symbols, rela, rela_bytes, plt, plt_bytes] = self.dynamic([
            DT_STRTAB,
            DT_SYMTAB,
            DT_RELA,
            DT_RELASZ,
            DT_JMPREL,
            DT_PLTRELSZ,
        ]);
        if !self.contains(strings) || !self.contains(symbols) {
            return;
        }
        let (strings, symbols) = (strings as *const c_char, symbols as *const libc::Elf64_Sym);
        for (table, bytes) in [(plt, plt_bytes), (rela, rela_bytes)] {
            if !self.contains(table) {
                continue;
            }
            let count = bytes / size_of::<Relocation>();
            // SAFETY: the dynamic section says where the table is and how long.
            let table = unsafe { std::slice::from_raw_parts(table as *const Relocation, count) };
            for relocation in table {
                let symbol = (relocation.info >> 32) as usize;
                if symbol == 0 {
                    continue;
                }
                // SAFETY: relocations name symbols of the table, and those name strings.
                let name = unsafe {
                    let symbol = &*symbols.add(symbol);
                    if symbol.st_shndx != 0 {
                        continue;
                    }
                    CStr::from_ptr(strings.add(symbol.st_name as usize))
                };
                if look(name).is_break() {
                    return;
                }
            }
        }
    }
}
