//! The devices as a process sees them: a mapping of each.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use zerocopy::{FromZeros, IntoBytes};

use super::layout::{self, STATE_NODE, state_bytes};
use super::lock::{LockError, Locked};
use super::tables::{GPUS, Header, MAGIC, State, VERSION};
#[cfg(test)]
use crate::target::MODELS;
use crate::target::Model;
use crate::time_model;

/// How much of an object is made present when it is allocated: programs may reserve far more than they use.
const PRESENT_BYTES: u64 = 256 << 20;

/// The mappings of the software GPUs in this process.
#[derive(Debug)]
pub(crate) struct Device {
    state: NonNull<u8>,
    /// Of each GPU that exists.
    memory: [Option<NonNull<u8>>; GPUS],
    /// What the GPUs are.
    pub(crate) model: &'static Model,
}

// SAFETY: the mappings live as long as the process, and all access through them is by atomics,
// under the state lock, or is the GPU's access to memory, whose races are the program's own.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// The devices of this process's namespace, if it has any.
    pub(crate) fn open() -> Option<Self> {
        let header = read_header().ok()?;
        if header.magic != MAGIC || header.version != VERSION {
            return None;
        }
        let model = Model::of_version(header.target)?;
        let state = map(STATE_NODE, state_bytes(header.gpus().len()))?;
        let mut memory = [None; GPUS];
        for gpu in header.gpus() {
            let node = layout::path(&layout::memory_node(gpu));
            memory[gpu] = Some(map(&node, header.memory_bytes)?);
        }
        Some(Self {
            state,
            memory,
            model,
        })
    }

    /// The devices behind these open files, the memory of each GPU in its turn.
    pub(crate) fn of<'a>(state: &File, files: impl Iterator<Item = &'a File>) -> Option<Self> {
        let header = header_of(state).ok()?;
        let model = Model::of_version(header.target)?;
        let mut memory = [None; GPUS];
        for (place, file) in memory.iter_mut().zip(files) {
            *place = Some(map_file(file.as_raw_fd(), header.memory_bytes)?);
        }
        let state = map_file(state.as_raw_fd(), state_bytes(header.gpus().len()))?;
        Some(Self {
            state,
            memory,
            model,
        })
    }

    /// Two GPUs in anonymous shared memory, empty and of no environment, for unit tests.
    #[cfg(test)]
    pub(crate) fn anonymous() -> Self {
        const COUNT: usize = 2;
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
        let state = map(state_bytes(COUNT) as usize);
        // SAFETY: a new mapping that begins with the header, and that nobody else knows yet.
        unsafe { (*state.cast::<Header>().as_ptr()).gpu_count = COUNT as u32 };
        let memory = std::array::from_fn(|gpu| (gpu < COUNT).then(|| map(1 << 20)));
        Self {
            state,
            memory,
            model: &MODELS[0],
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

    /// Start of a GPU's memory device in this process.
    pub(crate) fn memory(&self, gpu: usize) -> *mut u8 {
        let memory = self.memory.get(gpu).copied().flatten();
        memory.expect("only GPUs that exist are spoken of").as_ptr()
    }

    /// Where a place of the state device that the program may map too is in this process.
    pub(crate) fn state_byte(&self, offset: u64) -> *mut u8 {
        assert!(
            offset < state_bytes(self.header().gpus().len()),
            "offset {offset:#x} is outside the state device"
        );
        // SAFETY: inside the mapping, by the assertion.
        unsafe { self.state.as_ptr().add(offset as usize) }
    }

    /// Offset in the state device of a process's doorbells on a GPU.
    pub(crate) fn doorbell_page(&self, slot: usize, gpu: usize) -> u64 {
        layout::doorbell_page(self.header().gpus().len(), slot, gpu)
    }

    /// A 64-bit doorbell of a process on a GPU.
    pub(crate) fn doorbell(&self, slot: usize, gpu: usize, index: u32) -> &AtomicU64 {
        let offset = self.doorbell_page(slot, gpu) + u64::from(index) * 8;
        // SAFETY: inside the mapping, 8-byte aligned, and only ever accessed as an atomic here.
        unsafe { AtomicU64::from_ptr(self.state_byte(offset).cast()) }
    }

    /// Makes a new range of a GPU's memory device present. A page that is touched first is read from the
    /// device, which is the work of a thread of the kernel's; on a busy machine that thread may wait for the
    /// processor for a second and more, which is for an allocation to wait for and not for a wave.
    pub(crate) fn make_present(&self, gpu: usize, offset: u64, size: u64) {
        // A fault at a first write takes longer than the model gives a copy of a page.
        let populate = match time_model::is_limited(self) {
            true => libc::MADV_POPULATE_WRITE,
            false => libc::MADV_POPULATE_READ,
        };
        let size = size.min(PRESENT_BYTES) as usize;
        // Advice: whatever is not there now is read when it is touched. All at once first, by itself the
        // second would read it piece by piece.
        for advice in [libc::MADV_WILLNEED, populate] {
            // SAFETY: objects lie inside the memory device; reading changes nothing.
            unsafe {
                let start = self.memory(gpu).add(offset as usize);
                libc::madvise(start.cast(), size, advice);
            }
        }
    }

    /// Zeroes a range of a GPU's memory device and gives its pages back.
    pub(crate) fn discard(&self, gpu: usize, offset: u64, size: u64) {
        // By the mapping: while a descriptor is open, whatever the program writes to its number, which it
        // may hold closed, would go into device memory.
        // SAFETY: objects lie inside the memory device; this one has no user any more.
        let punched = unsafe {
            let start = self.memory(gpu).add(offset as usize);
            libc::madvise(start.cast(), size as usize, libc::MADV_REMOVE)
        };
        if punched == 0 {
            return;
        }
        // SAFETY: objects lie inside the memory device; this one has no user any more.
        unsafe {
            self.memory(gpu)
                .add(offset as usize)
                .write_bytes(0, size as usize)
        };
    }
}

fn read_header() -> std::io::Result<Header> {
    header_of(&File::open(OsStr::from_bytes(STATE_NODE.to_bytes()))?)
}

fn header_of(file: &File) -> std::io::Result<Header> {
    let mut header = Header::new_zeroed();
    file.read_exact_at(header.as_mut_bytes(), 0)?;
    Ok(header)
}

fn map(path: &std::ffi::CStr, bytes: u64) -> Option<NonNull<u8>> {
    // SAFETY: `path` is a C string, and a descriptor may be closed once it is mapped.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let mapped = map_file(fd, bytes);
        libc::close(fd);
        mapped
    }
}

fn map_file(fd: i32, bytes: u64) -> Option<NonNull<u8>> {
    // SAFETY: the new mapping overlaps nothing.
    unsafe {
        let address = libc::syscall(
            libc::SYS_mmap,
            std::ptr::null::<u8>(),
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            fd,
            0_i64,
        );
        if address == -1 {
            None
        } else {
            NonNull::new(address as *mut u8)
        }
    }
}
