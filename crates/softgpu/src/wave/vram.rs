//! Device memory of its own, for dispatches without a driver: tests, and whoever judges kernels.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;

use super::memory::{AddressSpace, HostMapping};

/// One block of zeroed memory. Kernels may write all of it but the first part, which is for code.
///
/// Nothing outside has its address: it is reached by kernels, whose accesses the interpreter checks
/// against the mappings given here, and by the methods, while no kernel runs.
pub struct Vram {
    base: u64,
    read_only: u64,
    host: *mut u8,
    layout: Layout,
}

// SAFETY: the memory belongs to `self` alone and moves with it.
unsafe impl Send for Vram {}

// SAFETY: with `&self` the memory is only reached through raw pointers, by the interpreter (whose
// rules for shared memory hold); the methods that reach it take `&mut self`.
unsafe impl Sync for Vram {}

// SAFETY: the memory lives as long as `self` and stays where it is; both mappings are inside.
unsafe impl AddressSpace for Vram {
    fn find(&self, va: u64) -> Option<HostMapping> {
        let middle = self.base + self.read_only;
        let end = self.base + self.layout.size() as u64;
        let (start, end) = match va {
            _ if va < self.base || va >= end => return None,
            _ if va < middle => (self.base, middle),
            _ => (middle, end),
        };
        Some(HostMapping {
            start,
            end,
            host: self.host.wrapping_add((start - self.base) as usize),
            writable: start == middle,
        })
    }

    fn epoch(&self) -> u64 {
        0
    }
}

impl Vram {
    /// `bytes` of memory (at least one) at the GPU virtual address `base`, which kernels cannot
    /// write in the first `read_only` bytes.
    ///
    /// # Panics
    /// If that is no memory: nothing at all, more than an address space, or less than `read_only`.
    pub fn new(base: u64, bytes: usize, read_only: usize) -> Self {
        assert!(
            bytes > 0 && read_only < bytes && base.checked_add(bytes as u64).is_some(),
            "{bytes} bytes at {base:#x}, {read_only} of them read-only"
        );
        let layout = Layout::from_size_align(bytes, 1 << 12).expect("a size that fits");
        // SAFETY: the layout has a size.
        let host = unsafe { alloc_zeroed(layout) };
        if host.is_null() {
            handle_alloc_error(layout);
        }
        Self {
            base,
            read_only: read_only as u64,
            host,
            layout,
        }
    }

    /// Where `len` bytes at `va` begin.
    ///
    /// # Panics
    /// If they are not all inside.
    fn offset(&self, va: u64, len: usize) -> usize {
        let at = va.wrapping_sub(self.base) as usize;
        let inside = at <= self.layout.size() && self.layout.size() - at >= len;
        assert!(inside, "{len} bytes at {va:#x} are not all in this memory");
        at
    }

    /// Copies `bytes` to `va`.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write(&mut self, va: u64, bytes: &[u8]) {
        let at = self.offset(va, bytes.len());
        // SAFETY: `offset` has checked the range; no kernel runs, as `self` is borrowed mutably.
        unsafe {
            self.host
                .add(at)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
    }

    /// The `len` bytes at `va`.
    ///
    /// # Panics
    /// If they are not all inside.
    pub fn read(&mut self, va: u64, len: usize) -> Vec<u8> {
        let at = self.offset(va, len);
        let mut bytes = vec![0; len];
        // SAFETY: `offset` has checked the range; no kernel runs, as `self` is borrowed mutably.
        unsafe {
            self.host
                .add(at)
                .copy_to_nonoverlapping(bytes.as_mut_ptr(), len)
        };
        bytes
    }
}

impl fmt::Debug for Vram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vram({:#x}, {} bytes)", self.base, self.layout.size())
    }
}

impl Drop for Vram {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.host, self.layout) };
    }
}
