//! A hardware queue of the agent's own, for its kernels.
//!
//! One producer: whoever has it mutably. Every packet has the barrier bit, so packets are executed
//! in the order of their numbers, each after the one before it has ended. Nothing of the program is
//! ever put into it, and no packet waits for anything: what is in it always comes to its end.
//!
//! Layouts: HSA platform system architecture specification 1.2, section 2.9.

use crate::device::code::Kernel;
use crate::device::error::QueueError;
use crate::device::gpu::Gpu;
use crate::device::hsa::{HsaError, QueueHead, Signal, check};
use crate::device::memory::Memory;
use crate::device::queues;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Packets, a power of two: a launch that may write anything orders one for each unsaved chunk.
const PACKETS: u32 = 8192;
const PACKET_BYTES: usize = 64;
/// Bytes of arguments that a kernel can have.
const ARGUMENT_BYTES: usize = 64;
/// `HSA_QUEUE_TYPE_SINGLE`.
const SINGLE_PRODUCER: u32 = 1;
/// What the signal of completed packets begins with; each counts it down. Only the device writes it.
const NONE_COMPLETED: i64 = 1 << 62;
/// `HSA_AMD_SIGNAL_AMD_GPU_ONLY`: no interrupt; we look at the value.
const NO_INTERRUPT: u64 = 1;
/// A kernel dispatch with the barrier bit, which acquires and releases at system scope.
const HEADER: u32 = 2 | 1 << 8 | 2 << 9 | 2 << 11;
/// One dimension.
const SETUP: u32 = 1;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct DeviceQueue {
    gpu: &'static Gpu,
    head: *mut QueueHead,
    /// [`ARGUMENT_BYTES`] for each packet.
    arguments: Memory,
    completed: Signal,
    submitted: u64,
    /// What the runtime says went wrong with it; 0 is nothing.
    status: &'static AtomicI32,
}

// SAFETY: the queue's memory is the runtime's and lives as long as the process; it is written
// through `&mut self` only.
unsafe impl Send for DeviceQueue {}

impl DeviceQueue {
    /// A new queue. It stays until the process ends.
    pub(crate) fn create(gpu: &'static Gpu) -> Result<DeviceQueue, HsaError> {
        let hsa = gpu.hsa;
        let status: &'static AtomicI32 = Box::leak(Box::new(AtomicI32::new(0)));
        let mut completed = Signal(0);
        // SAFETY: no consumers; writes to a local.
        check("making a signal", unsafe {
            (hsa.signal_create)(
                NONE_COMPLETED,
                0,
                std::ptr::null(),
                NO_INTERRUPT,
                &mut completed,
            )
        })?;
        let arguments = Memory::on_host(gpu, PACKETS as usize * ARGUMENT_BYTES)?;
        let mut head = std::ptr::null_mut();
        let data = (&raw const *status).cast_mut().cast();
        let make = || {
            // SAFETY: the callback takes `status`, which is never freed; writes to a local.
            unsafe {
                (hsa.queue_create)(
                    gpu.processor,
                    PACKETS,
                    SINGLE_PRODUCER,
                    note_failure,
                    data,
                    0,
                    0,
                    &mut head,
                )
            }
        };
        check("making a queue", queues::ours(make))?;
        Ok(DeviceQueue {
            gpu,
            head,
            arguments,
            completed,
            submitted: 0,
            status,
        })
    }

    /// Puts a kernel into the queue; its number, from 1 on. `arguments` are those of its source, in
    /// their order and alignment; `groups` and `items` the groups, and the work-items of each.
    ///
    /// # Safety
    /// `kernel` is of the queue's GPU, and what it does with these arguments is the caller's to
    /// answer for until it has ended.
    pub(crate) unsafe fn dispatch(
        &mut self,
        kernel: &Kernel,
        arguments: &[u8],
        groups: u32,
        items: u16,
    ) -> Result<u64, QueueError> {
        assert!(arguments.len() <= kernel.argument_bytes as usize);
        assert!(kernel.argument_bytes as usize <= ARGUMENT_BYTES);
        if self.submitted - self.completed()? >= u64::from(PACKETS) {
            return Err(QueueError::Full);
        }
        let index = self.submitted;
        let at = (index % u64::from(PACKETS)) as usize;
        let place = self.arguments.address() + (at * ARGUMENT_BYTES) as u64;
        // SAFETY: the arguments' room of a packet that has ended; the queue's own memory, of which
        // the packet at `at` is free because fewer than all are on their way.
        unsafe {
            std::ptr::copy_nonoverlapping(arguments.as_ptr(), place as *mut u8, arguments.len());
            let packet = (*self.head).packets.cast::<u8>().add(at * PACKET_BYTES);
            let body = body(kernel, place, groups, items, self.completed);
            std::ptr::copy_nonoverlapping(body[4..].as_ptr(), packet.add(4), PACKET_BYTES - 4);
            // The header last: with it the packet is the device's.
            AtomicU32::from_ptr(packet.cast()).store(HEADER | SETUP << 16, Ordering::Release);
            (self.gpu.hsa.queue_store_write_index)(self.head, index + 1);
            (self.gpu.hsa.signal_store)((*self.head).doorbell, index as i64);
        }
        self.submitted = index + 1;
        Ok(self.submitted)
    }

    /// The number of the last kernel that was put in.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// The number of the last kernel that has ended, and so have all before it.
    pub(crate) fn completed(&self) -> Result<u64, QueueError> {
        match self.status.load(Ordering::Acquire) {
            0 => {}
            status => return Err(QueueError::Failed(status)),
        }
        // SAFETY: a signal that is never destroyed.
        let value = unsafe { (self.gpu.hsa.signal_load)(self.completed) };
        Ok((NONE_COMPLETED - value).cast_unsigned())
    }
}

/// A dispatch packet; its first four bytes, header and setup, are left out.
fn body(
    kernel: &Kernel,
    arguments: u64,
    groups: u32,
    items: u16,
    done: Signal,
) -> [u8; PACKET_BYTES] {
    let mut packet = [0; PACKET_BYTES];
    let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
    put(4, &items.to_le_bytes());
    put(6, &1u16.to_le_bytes());
    put(8, &1u16.to_le_bytes());
    put(12, &groups.saturating_mul(items.into()).to_le_bytes());
    put(16, &1u32.to_le_bytes());
    put(20, &1u32.to_le_bytes());
    put(28, &kernel.group_bytes.to_le_bytes());
    put(32, &kernel.object.to_le_bytes());
    put(40, &arguments.to_le_bytes());
    put(56, &done.0.to_le_bytes());
    packet
}

/// The runtime tells of a queue that it had to stop.
unsafe extern "C" fn note_failure(status: c_int, _: *mut QueueHead, data: *mut c_void) {
    // SAFETY: the number that `create` has leaked for this.
    let place = unsafe { &*data.cast::<AtomicI32>() };
    let _ = place.compare_exchange(0, status, Ordering::AcqRel, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_as_the_specification_draws_it() {
        let kernel = Kernel {
            object: 0x1122_3344_5566_7788,
            argument_bytes: 28,
            group_bytes: 512,
        };
        let body = body(&kernel, 0x1000, 3, 256, Signal(0x2000));
        let word = |at: usize| u32::from_le_bytes(*body[at..].first_chunk().unwrap());
        let long = |at: usize| u64::from_le_bytes(*body[at..].first_chunk().unwrap());
        assert_eq!((word(0), word(4), word(8)), (0, 1 << 16 | 256, 1));
        assert_eq!((word(12), word(16), word(20)), (768, 1, 1));
        assert_eq!((word(24), word(28)), (0, 512));
        assert_eq!((long(32), long(40)), (kernel.object, 0x1000));
        assert_eq!((long(48), long(56)), (0, 0x2000));
    }
}
