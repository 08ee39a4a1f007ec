//! The device as a process sees it: two mappings.

use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::layout::{MEMORY_NODE, STATE_BYTES, STATE_NODE, doorbell_page};
use super::lock::{LockError, Locked};
use super::tables::{Header, MAGIC, State, VERSION};

/// The mappings of the software GPU in this process.
#[derive(Debug)]
pub(crate) struct Device {
    state: NonNull<u8>,
    memory: NonNull<u8>,
}

// SAFETY: the mappings live as long as the process, and all access through them is by atomics,
// under the state lock, or is the GPU's access to memory, whose races are the program's own.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// The device of this process's namespace, if it has one.
    pub(crate) fn open() -> Option<Self> {
        let state = map(STATE_NODE, STATE_BYTES)?;
        // SAFETY: the state device is at least as large as `State`, page-aligned, and a header's
        // every bit pattern is valid.
        let header = unsafe { &*state.cast::<Header>().as_ptr() };
        if header.magic != MAGIC || header.version != VERSION {
            return None;
        }
        let memory = map(MEMORY_NODE, header.memory_bytes)?;
        Some(Self { state, memory })
    }

    /// A device in anonymous shared memory, empty and of no environment, for unit tests.
    #[cfg(test)]
    pub(crate) fn anonymous() -> Self {
        let map = |bytes: usize| {
            // SAFETY: a new anonymous mapping, never unmapped.
            let address = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            assert_ne!(address, libc::MAP_FAILED);
            NonNull::new(address.cast()).expect("mmap never answers null")
        };
        Self {
            state: map(STATE_BYTES as usize),
            memory: map(1 << 20),
        }
    }

    pub(crate) fn state(&self) -> &State {
        // SAFETY: the mapping is large enough, page-aligned and never unmapped; all of `State` but
        // the header (constant) is atomic or behind the lock, and zero or written by this code.
        unsafe { &*self.state.cast::<State>().as_ptr() }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.state().header
    }

    pub(crate) fn lock(&self) -> Result<Locked<'_>, LockError> {
        self.state().lock()
    }

    /// Start of the memory device in this process.
    pub(crate) fn memory(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Where a place of the state device that the program may map too is in this process.
    pub(crate) fn state_byte(&self, offset: u64) -> *mut u8 {
        assert!(
            offset < STATE_BYTES,
            "offset {offset:#x} is outside the state device"
        );
        // SAFETY: inside the mapping, by the assertion.
        unsafe { self.state.as_ptr().add(offset as usize) }
    }

    /// A 64-bit doorbell of a process.
    pub(crate) fn doorbell(&self, slot: usize, index: u32) -> &AtomicU64 {
        let offset = doorbell_page(slot) + u64::from(index) * 8;
        // SAFETY: inside the mapping, 8-byte aligned, and only ever accessed as an atomic here.
        unsafe { AtomicU64::from_ptr(self.state_byte(offset).cast()) }
    }

    /// Zeroes a range of the memory device and gives its pages back.
    pub(crate) fn discard(&self, offset: u64, size: u64) {
        // By the mapping: while a descriptor is open, whatever the program writes to its number, which it
        // may hold closed, would go into device memory.
        // SAFETY: objects lie inside the memory device; this one has no user any more.
        let punched = unsafe {
            let start = self.memory().add(offset as usize);
            libc::madvise(start.cast(), size as usize, libc::MADV_REMOVE)
        };
        if punched == 0 {
            return;
        }
        // SAFETY: objects lie inside the memory device; this one has no user any more.
        unsafe {
            self.memory()
                .add(offset as usize)
                .write_bytes(0, size as usize)
        };
    }
}

fn map(path: &std::ffi::CStr, bytes: u64) -> Option<NonNull<u8>> {
    // SAFETY: `path` is a C string; the new mapping overlaps nothing, and a descriptor may be closed
    // once it is mapped.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let address = libc::syscall(
            libc::SYS_mmap,
            std::ptr::null::<u8>(),
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            fd,
            0_i64,
        );
        libc::close(fd);
        if address == -1 {
            None
        } else {
            NonNull::new(address as *mut u8)
        }
    }
}
