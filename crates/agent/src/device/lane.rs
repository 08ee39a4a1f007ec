//! The agent's queue for copies inside the device, and the points in it that others wait for.

use crate::device::code::Kernel;
use crate::device::error::DeviceError;
use crate::device::error::QueueError;
use crate::device::handle::DeviceHandle;
use crate::device::queue::DeviceQueue;
use crate::device::tickets::Tickets;
use std::time::{Duration, Instant};
use strobe_engine::Ticket;
use strobe_hip::Stream;

/// Work-items of a group of both kernels.
const COPY_ITEMS: u16 = 256;
const PUBLISH_ITEMS: u16 = 1;
/// Bytes that a group moves in a turn, and the groups that are enough to keep the memory busy.
const TURN_BYTES: u64 = 4 * 16 * COPY_ITEMS as u64;
const MOST_GROUPS: u64 = 64;
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Lane {
    queue: DeviceQueue,
    copy: Kernel,
    publish: Kernel,
    tickets: Tickets,
}

impl Lane {
    pub(crate) fn create(device: &'static DeviceHandle) -> Result<Lane, DeviceError> {
        let code = device.code()?;
        Ok(Lane {
            queue: DeviceQueue::create(device.gpu()?)?,
            copy: code.kernel(c"copy.kd")?,
            publish: code.kernel(c"publish.kd")?,
            tickets: Tickets::create()?,
        })
    }

    /// The next checkpoint counts its tickets anew. Nothing is under way.
    pub(crate) fn start_over(&mut self) -> Result<(), DeviceError> {
        self.tickets.start_over()
    }

    /// The word has gone with everything that HIP had on the device.
    pub(crate) fn device_was_reset(&mut self) {
        self.tickets.device_was_reset();
    }

    /// The queue that it is made of, for what else the agent has to do in order with it.
    pub(crate) fn queue(&mut self) -> &mut DeviceQueue {
        &mut self.queue
    }

    /// Copies inside the device.
    ///
    /// # Safety
    /// Both ranges stay valid until the copy has ended; nothing else writes the source or touches
    /// the destination until then.
    pub(crate) unsafe fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), QueueError> {
        let groups = bytes.div_ceil(TURN_BYTES).clamp(1, MOST_GROUPS) as u32;
        let mut arguments = [0; 28];
        arguments[..8].copy_from_slice(&to.to_le_bytes());
        arguments[8..16].copy_from_slice(&from.to_le_bytes());
        arguments[16..24].copy_from_slice(&bytes.to_le_bytes());
        arguments[24..].copy_from_slice(&groups.to_le_bytes());
        // SAFETY: the kernel reads and writes these ranges, which are the caller's promise.
        unsafe {
            self.queue
                .dispatch(&self.copy, &arguments, groups, COPY_ITEMS)
        }
        .map(drop)
    }

    /// Everything issued so far is `ticket`.
    pub(crate) fn mark(&mut self, ticket: Ticket) -> Result<(), QueueError> {
        let (word, value) = self.tickets.store(ticket);
        let mut arguments = [0; 12];
        arguments[..8].copy_from_slice(&word.to_le_bytes());
        arguments[8..].copy_from_slice(&value.to_le_bytes());
        // SAFETY: the kernel stores into the low half of the word, which is never freed.
        unsafe {
            self.queue
                .dispatch(&self.publish, &arguments, 1, PUBLISH_ITEMS)
        }
        .map(drop)
    }

    /// Whether the device executes what is put into the queue, shown by a kernel that ends before the
    /// deadline. Nothing is under way.
    pub(crate) fn answers(&mut self, deadline: Instant) -> bool {
        // It stores what the word holds already.
        self.mark(Ticket(0)).is_ok() && self.wait_until_idle(deadline) && self.poll().is_ok()
    }

    /// Makes `stream` wait for `ticket`.
    pub(crate) fn make_wait(&self, stream: Stream, ticket: Ticket) -> Result<(), DeviceError> {
        self.tickets.make_wait(stream, ticket)
    }

    /// The latest point that has been passed.
    pub(crate) fn poll(&self) -> Result<Ticket, QueueError> {
        self.queue.completed()?;
        Ok(self.tickets.passed())
    }

    /// How many kernels it was given, and how many of them have ended.
    pub(crate) fn kernels(&self) -> (u64, u64) {
        (
            self.queue.submitted(),
            self.queue.completed().unwrap_or_default(),
        )
    }

    /// Nobody waits for any ticket any more.
    pub(crate) fn release(&self) {
        self.tickets.release();
    }

    /// Waits until nothing is under way; whether that came before the deadline. A queue that has
    /// failed has nothing under way.
    pub(crate) fn wait_until_idle(&self, deadline: Instant) -> bool {
        while self
            .queue
            .completed()
            .is_ok_and(|done| done < self.queue.submitted())
        {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }
}
