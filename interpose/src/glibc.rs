//! glibc's own `dlsym`, `dlvsym` and `dlopen`, which our exports of these names hide from us.
//!
//! No name leads there: in our own object the names are ours, and a versioned reference is satisfied
//! by the first unversioned definition, which is ours again. So the symbol table of the loaded libc
//! is read, the way the dynamic linker does it (System V gABI; GNU hash table).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) static DLSYM: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
pub(crate) static DLVSYM: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
pub(crate) static DLOPEN: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Finds the three functions. Allocates nothing; may run at any time and more than once.
pub(crate) extern "C" fn resolve() {
    if DLSYM.load(Ordering::Acquire).is_null() {
        // SAFETY: `visit` takes no data.
        unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::null_mut()) };
    }
}

/// The symbol `name` as `handle` sees it; for `RTLD_NEXT`, as seen from us.
pub(crate) fn dlsym(handle: *mut c_void, name: &CStr) -> Option<*mut ()> {
    resolve();
    let address = DLSYM.load(Ordering::Acquire);
    if address.is_null() {
        return None;
    }
    // SAFETY: glibc's dlsym has this signature.
    let dlsym: extern "C" fn(*mut c_void, *const c_char) -> *mut () =
        unsafe { std::mem::transmute(address) };
    let found = dlsym(handle, name.as_ptr());
    (!found.is_null()).then_some(found)
}

/// Opens a library.
pub(crate) fn dlopen(path: &CStr, flags: c_int) -> Option<*mut c_void> {
    resolve();
    let address = DLOPEN.load(Ordering::Acquire);
    if address.is_null() {
        return None;
    }
    // SAFETY: glibc's dlopen has this signature.
    let dlopen: extern "C" fn(*const c_char, c_int) -> *mut c_void =
        unsafe { std::mem::transmute(address) };
    let handle = dlopen(path.as_ptr(), flags);
    (!handle.is_null()).then_some(handle)
}

/// Looks into one loaded object. Until glibc 2.34 the functions are in libdl.
unsafe extern "C" fn visit(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: glibc hands out valid objects.
    let object = unsafe { &*object };
    if object.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: NUL-terminated.
    let path = unsafe { CStr::from_ptr(object.dlpi_name) }.to_bytes();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if file != b"libc.so.6" && file != b"libdl.so.2" {
        return 0;
    }
    // SAFETY: the object is loaded, and libc is never unloaded.
    let Some(symbols) = (unsafe { Symbols::of(object) }) else {
        return 0;
    };
    for (name, place) in [
        (c"dlsym", &DLSYM),
        (c"dlvsym", &DLVSYM),
        (c"dlopen", &DLOPEN),
    ] {
        // SAFETY: as above.
        if let Some(address) = unsafe { symbols.find(name) } {
            place.store(address, Ordering::Release);
        }
    }
    0
}

/// The dynamic symbols of a loaded object.
struct Symbols {
    base: usize,
    table: *const libc::Elf64_Sym,
    strings: *const c_char,
    versions: *const u16,
    hash: *const u32,
}

impl Symbols {
    /// # Safety
    /// The object is loaded and stays so.
    unsafe fn of(object: &libc::dl_phdr_info) -> Option<Symbols> {
        const PT_DYNAMIC: u32 = 2;
        const DT_STRTAB: i64 = 5;
        const DT_SYMTAB: i64 = 6;
        const DT_GNU_HASH: i64 = 0x6fff_fef5;
        const DT_VERSYM: i64 = 0x6fff_fff0;
        let base = object.dlpi_addr as usize;
        // SAFETY: glibc gives the table and its length.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let dynamic = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
        let mut entry = (base + dynamic.p_vaddr as usize) as *const (i64, usize);
        let mut found = [0usize; 4];
        loop {
            // SAFETY: the dynamic section ends with a zero tag.
            let (tag, value) = unsafe { *entry };
            match tag {
                0 => break,
                DT_STRTAB => found[0] = value,
                DT_SYMTAB => found[1] = value,
                DT_GNU_HASH => found[2] = value,
                DT_VERSYM => found[3] = value,
                _ => {}
            }
            // SAFETY: not at the end yet.
            entry = unsafe { entry.add(1) };
        }
        let [strings, table, hash, versions] = found;
        (!found.contains(&0)).then_some(Symbols {
            base,
            table: table as *const libc::Elf64_Sym,
            strings: strings as *const c_char,
            versions: versions as *const u16,
            hash: hash as *const u32,
        })
    }

    /// The default version of a defined symbol.
    ///
    /// # Safety
    /// The object is still loaded.
    unsafe fn find(&self, name: &CStr) -> Option<*mut ()> {
        const HIDDEN: u16 = 0x8000;
        let mut wanted = 5381u32;
        for byte in name.to_bytes() {
            wanted = wanted.wrapping_mul(33).wrapping_add(u32::from(*byte));
        }
        // SAFETY: the table's layout is: bucket count, first symbol, bloom words, bloom shift, the
        // bloom filter in 8-byte words, buckets, and one hash for each symbol from the first on;
        // the lowest bit of a hash ends a chain.
        unsafe {
            let (buckets, first) = (*self.hash, *self.hash.add(1));
            let bloom_words = *self.hash.add(2) as usize;
            let bucket = self.hash.add(4 + bloom_words * 2);
            let chain = bucket.add(buckets as usize);
            let mut symbol = *bucket.add((wanted % buckets) as usize);
            if symbol < first {
                return None;
            }
            loop {
                let hash = *chain.add((symbol - first) as usize);
                if hash | 1 == wanted | 1 {
                    let entry = &*self.table.add(symbol as usize);
                    let default = *self.versions.add(symbol as usize) & HIDDEN == 0;
                    let text = CStr::from_ptr(self.strings.add(entry.st_name as usize));
                    if default && entry.st_shndx != 0 && text == name {
                        return Some((self.base + entry.st_value as usize) as *mut ());
                    }
                }
                if hash & 1 == 1 {
                    return None;
                }
                symbol += 1;
            }
        }
    }
}
