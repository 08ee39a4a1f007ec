//! A queue of the agent's own for the copy engine that moves data over the link.
//!
//! The runtime has one queue for each direction, which all of HIP's copies share; they wait in it for
//! kernels. So this one is made by the driver directly, as the runtime makes its own, and neither
//! HIP nor the runtime knows it. It exists only while content is copied: at the cut there is none,
//! and a restored program makes its own. No descriptor of the driver stays open.
//!
//! Packet layouts: `strobe_kfd::sdma`; the queue's pointers count bytes and never go back.

use crate::device::error::CopyQueueError;
use crate::device::gpu::{self, Gpu};
use crate::device::memory::Memory;
use crate::device::queues;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use strobe_kfd::queue::{CreateQueue, DestroyQueue, SDMA};
use strobe_kfd::sdma::{CopyLinear, MAX_COPY, OP_FENCE};
use zerocopy::IntoBytes;

/// Bytes of the ring, a power of two.
const RING_BYTES: u64 = 64 << 10;
/// The kernel wants the pointers in a mapping of one page.
const POINTERS_BYTES: usize = 4096;
const READ_POINTER: u64 = 0;
const WRITE_POINTER: u64 = 64;
/// Doorbells of a process on one device: 1024 of 8 bytes.
const DOORBELLS_BYTES: u64 = 8192;
/// `HSA_QUEUE_PRIORITY_NORMAL` of the runtime, and the whole of a queue's share.
const PRIORITY: u32 = 7;
const SHARE: u32 = 100;
/// Words of a fence.
const FENCE_WORDS: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct CopyQueue {
    gpu: &'static Gpu,
    id: u32,
    ring: Memory,
    pointers: Memory,
    doorbells: *mut libc::c_void,
    /// The queue's own, among them.
    doorbell: *mut u64,
    /// Bytes ever put into the ring.
    written: u64,
}

// SAFETY: the mappings are the queue's own and are written through `&mut self` only.
unsafe impl Send for CopyQueue {}

impl CopyQueue {
    pub(crate) fn create(gpu: &'static Gpu) -> Result<CopyQueue, CopyQueueError> {
        let ring = Memory::on_host(gpu, RING_BYTES as usize)?;
        let pointers = match Memory::on_host(gpu, POINTERS_BYTES) {
            Ok(pointers) => pointers,
            Err(error) => {
                // SAFETY: nobody has used it.
                unsafe { ring.free(gpu) };
                return Err(error.into());
            }
        };
        match register(gpu, &ring, &pointers) {
            Ok((id, doorbells, doorbell)) => Ok(CopyQueue {
                gpu,
                id,
                ring,
                pointers,
                doorbells,
                doorbell,
                written: 0,
            }),
            Err(error) => {
                // SAFETY: no queue uses them.
                unsafe {
                    ring.free(gpu);
                    pointers.free(gpu);
                }
                Err(error.into())
            }
        }
    }

    /// Copies, and then stores `value` into the 32 bits at `word`.
    ///
    /// # Safety
    /// All ranges are mapped on the device and stay so until the value is there; nothing else writes
    /// the source or touches the destination until then.
    pub(crate) unsafe fn copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: u64,
        (word, value): (u64, u32),
    ) -> Result<(), CopyQueueError> {
        let packets = bytes.div_ceil(u64::from(MAX_COPY));
        let need = packets * size_of::<CopyLinear>() as u64 + FENCE_WORDS as u64 * 4;
        // Padding at the end of the ring may take as much again as the longest packet.
        let most = need + size_of::<CopyLinear>() as u64;
        let under_way = self.written - self.pointer(READ_POINTER).load(Ordering::Acquire);
        if most > RING_BYTES - under_way {
            return Err(CopyQueueError::Full);
        }
        let mut at = 0;
        while at < bytes {
            let part = (bytes - at).min(MAX_COPY.into());
            self.put(CopyLinear::new(from + at, to + at, part as u32).as_bytes());
            at += part;
        }
        let fence: [u32; FENCE_WORDS] = [OP_FENCE.into(), word as u32, (word >> 32) as u32, value];
        self.put(fence.as_bytes());
        self.pointer(WRITE_POINTER)
            .store(self.written, Ordering::Release);
        // SAFETY: the doorbell is mapped as long as the queue exists.
        unsafe { AtomicU64::from_ptr(self.doorbell) }.store(self.written, Ordering::Release);
        Ok(())
    }

    /// Gives everything back.
    ///
    /// # Safety
    /// No copy is under way.
    pub(crate) unsafe fn destroy(self) {
        // SAFETY: our mapping, which nobody uses any more.
        unsafe { libc::munmap(self.doorbells, DOORBELLS_BYTES as usize) };
        let mut destroy = DestroyQueue {
            queue_id: self.id,
            pad: 0,
        };
        // SAFETY: the request holds no pointers.
        let destroyed =
            gpu::driver().and_then(|kfd| unsafe { strobe_kfd::call(kfd.as_fd(), &mut destroy) });
        if destroyed.is_ok() {
            // SAFETY: the queue that used them is gone.
            unsafe {
                self.ring.free(self.gpu);
                self.pointers.free(self.gpu);
            }
        }
    }

    /// Puts a packet behind what is there. Packets do not go over the ring's end: zeros, which are
    /// packets that do nothing, fill what is left.
    fn put(&mut self, packet: &[u8]) {
        let len = packet.len() as u64;
        let left = RING_BYTES - self.written % RING_BYTES;
        if len > left {
            self.write(&[0; size_of::<CopyLinear>()][..left as usize]);
        }
        self.write(packet);
    }

    fn write(&mut self, bytes: &[u8]) {
        let at = self.ring.address() + self.written % RING_BYTES;
        // SAFETY: inside the ring, where the device has read everything: `copy` has seen to it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.written += bytes.len() as u64;
    }

    fn pointer(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: inside the page, aligned; the driver and we touch it atomically only.
        unsafe { AtomicU64::from_ptr((self.pointers.address() + offset) as *mut u64) }
    }
}

/// Makes the queue; its id, the mapping of the process's doorbells, and the queue's among them.
fn register(
    gpu: &Gpu,
    ring: &Memory,
    pointers: &Memory,
) -> io::Result<(u32, *mut libc::c_void, *mut u64)> {
    let kfd = gpu::driver()?;
    let mut create = CreateQueue {
        ring_base_address: ring.address(),
        write_pointer_address: pointers.address() + WRITE_POINTER,
        read_pointer_address: pointers.address() + READ_POINTER,
        ring_size: RING_BYTES as u32,
        gpu_id: gpu.driver_id,
        queue_type: SDMA,
        queue_percentage: SHARE,
        queue_priority: PRIORITY,
        ..CreateQueue::default()
    };
    // SAFETY: the addresses are of memory that stays until the queue is destroyed.
    queues::ours(|| unsafe { strobe_kfd::call(kfd.as_fd(), &mut create) })?;
    let page = create.doorbell_offset & !(DOORBELLS_BYTES - 1);
    // SAFETY: a new mapping, of the driver's doorbells of this process.
    let doorbells = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            DOORBELLS_BYTES as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            kfd.as_raw_fd(),
            page as libc::off_t,
        )
    };
    if doorbells == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        let mut destroy = DestroyQueue {
            queue_id: create.queue_id,
            pad: 0,
        };
        // SAFETY: the request holds no pointers.
        let _ = unsafe { strobe_kfd::call(kfd.as_fd(), &mut destroy) };
        return Err(error);
    }
    // SAFETY: the mapping just made; the offset is inside it.
    let doorbell = unsafe { doorbells.byte_add((create.doorbell_offset - page) as usize) };
    Ok((create.queue_id, doorbells, doorbell.cast()))
}
