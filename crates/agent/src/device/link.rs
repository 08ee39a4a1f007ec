//! Copies into the pinned ring, over the link to the host.
//!
//! Ring and queue exist only while content is copied. The link stays busy as long as a second copy
//! waits in the queue, which has room for more than the ring has.

use crate::device::error::CopyQueueError;
use crate::device::error::DeviceError;
use crate::device::gpu::Gpu;
use crate::device::handle::DeviceHandle;
use crate::device::memory::Memory;
use crate::device::sdma::CopyQueue;
use crate::device::tickets::Tickets;
use std::time::{Duration, Instant};
use strobe_engine::{RingSlot, Ticket};
use strobe_hip::Stream;

/// Bytes of the pinned ring, about, and the part of what is copied that it has room for: host memory for all of a small state
/// would be no gain. It is never less than this many slots.
const RING_BYTES: u64 = 32 << 20;
const RING_PART: u64 = 4;
const RING_SLOTS: (u64, u64) = (4, 128);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Link {
    tickets: Tickets,
    /// The last ticket that was started.
    started: Ticket,
    open: Option<Open>,
}

/// What a copy needs.
#[derive(Debug)]
struct Open {
    gpu: &'static Gpu,
    queue: CopyQueue,
    ring: Memory,
    slot_bytes: u64,
}

/// Slots of the pinned ring where so many bytes are copied.
pub(crate) fn ring_slots(chunk_bytes: u64, bytes: u64) -> u32 {
    let ring_bytes = RING_BYTES.min(bytes / RING_PART);
    (ring_bytes / chunk_bytes).clamp(RING_SLOTS.0, RING_SLOTS.1) as u32
}

impl Link {
    pub(crate) fn create() -> Result<Link, DeviceError> {
        Ok(Link {
            tickets: Tickets::create()?,
            started: Ticket(0),
            open: None,
        })
    }

    /// The next checkpoint counts its tickets anew. Nothing is under way.
    pub(crate) fn start_over(&mut self) -> Result<(), DeviceError> {
        self.started = Ticket(0);
        self.tickets.start_over()
    }

    /// The word has gone with everything that HIP had on the device.
    pub(crate) fn device_was_reset(&mut self) {
        self.tickets.device_was_reset();
        self.started = Ticket(0);
    }

    /// Makes queue and ring; the ring's address.
    pub(crate) fn open(
        &mut self,
        device: &'static DeviceHandle,
        slots: u32,
        slot_bytes: u64,
    ) -> Result<u64, DeviceError> {
        let gpu = device.gpu()?;
        let bytes = usize::try_from(slot_bytes * u64::from(slots)).unwrap_or(usize::MAX);
        let ring = Memory::on_host(gpu, bytes).map_err(DeviceError::NoRing)?;
        let queue = match CopyQueue::create(gpu) {
            Ok(queue) => queue,
            Err(error) => {
                // SAFETY: nobody has used it.
                unsafe { ring.free(gpu) };
                return Err(error.into());
            }
        };
        let address = ring.address();
        self.open = Some(Open {
            gpu,
            queue,
            ring,
            slot_bytes,
        });
        Ok(address)
    }

    /// Gives queue and ring back. Nothing is under way.
    pub(crate) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            // SAFETY: no copy is under way, and nobody looks at the ring any more.
            unsafe {
                open.queue.destroy();
                open.ring.free(open.gpu);
            }
        }
    }

    /// Whether copies may be started.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Starts a copy into a slot of the ring, which is `ticket`.
    ///
    /// # Safety
    /// The source stays valid until the copy has arrived, and nobody writes it until then; the slot
    /// is free.
    pub(crate) unsafe fn start(
        &mut self,
        slot: RingSlot,
        from: u64,
        bytes: u64,
        ticket: Ticket,
    ) -> Result<(), CopyQueueError> {
        let done = self.tickets.store(ticket);
        let open = self.open.as_mut().ok_or(CopyQueueError::Full)?;
        let offset = u64::from(slot.0) * open.slot_bytes;
        assert!(bytes <= open.slot_bytes && offset + bytes <= open.ring.bytes() as u64);
        // SAFETY: the source is the caller's promise; a slot of the ring; the word is never freed.
        unsafe {
            open.queue
                .copy(open.ring.address() + offset, from, bytes, done)?;
        }
        self.started = ticket;
        Ok(())
    }

    /// Makes `stream` wait for `ticket`.
    pub(crate) fn make_wait(&self, stream: Stream, ticket: Ticket) -> Result<(), DeviceError> {
        self.tickets.make_wait(stream, ticket)
    }

    /// The latest ticket of which everything has arrived.
    pub(crate) fn passed(&self) -> Ticket {
        self.tickets.passed()
    }

    /// Nobody waits for any ticket any more.
    pub(crate) fn release(&self) {
        self.tickets.release();
    }

    /// Waits until no copy is under way; whether that came before the deadline.
    pub(crate) fn wait_until_idle(&self, deadline: Instant) -> bool {
        while self.passed() < self.started {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }
}
