//! One queue as the threads see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use strobe_kfd::aql::{INVALID, PACKET_BYTES};
use strobe_kfd::queue::COMPUTE_AQL;

use super::control_stack::Evicted;
use super::memory::{word16, word64};
use crate::device::{Device, GPUS, Queue};
use crate::space::Snapshot;

/// What became of the packet at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Executed,
    /// It was evicted, and stays.
    Left,
    /// Its condition does not hold yet.
    Waiting,
    /// There is none.
    Empty,
    /// The queue is evicted, failed or gone.
    Stopped,
}

/// A queue read from the tables. The read and write pointers stay in the program's memory.
#[derive(Debug)]
pub(super) struct QueueState {
    queue: Queue,
    /// Of the process that has it, in its slot.
    pub tenancy: u64,
    busy: AtomicBool,
    stopped: AtomicBool,
    /// The percentage as last read; nothing is taken from a queue with none.
    share: AtomicU32,
    /// Whether its control stack says how far the packet at its head was.
    has_begun: AtomicBool,
}

impl QueueState {
    pub(super) fn new(queue: Queue, tenancy: u64, has_begun: bool) -> Self {
        Self {
            queue,
            tenancy,
            busy: AtomicBool::new(false),
            stopped: AtomicBool::new(queue.failed != 0),
            share: AtomicU32::new(queue.percentage),
            has_begun: AtomicBool::new(has_begun),
        }
    }

    /// Whether this is still that queue, with the same ring. Its share may be another.
    pub(super) fn is(&self, queue: &Queue) -> bool {
        self.queue.id == queue.id
            && self.queue.ring == queue.ring
            && self.queue.ring_size == queue.ring_size
            && self.queue.evicted == queue.evicted
    }

    pub(super) fn id(&self) -> u32 {
        self.queue.id
    }

    pub(super) fn gpu(&self) -> usize {
        self.queue.gpu as usize % GPUS
    }

    /// The word by which its waves are told to let go.
    pub(super) fn evict<'a>(&self, device: &'a Device, slot: usize) -> &'a AtomicU32 {
        device.state().live[slot].evict(self.gpu(), self.queue.doorbell)
    }

    /// How far the packet at its head was; nothing is left of that in the control stack. An error: nobody can say.
    pub(super) fn take_evicted(&self, device: &Device, slot: usize) -> Result<Option<Evicted>, ()> {
        if !self.has_begun.load(Ordering::Acquire) {
            return Ok(None);
        }
        let mut tables = device.lock().map_err(drop)?;
        let stack = tables.control_stack_mut(slot, self.queue.id).ok_or(())?;
        let evicted = Evicted::parse(stack.content()).ok_or(())?;
        stack.used = 0;
        self.has_begun.store(false, Ordering::Release);
        Ok(Some(evicted))
    }

    /// Notes how far the packet at its head is; false if that cannot be noted.
    pub(super) fn put_evicted(&self, device: &Device, slot: usize, evicted: &Evicted) -> bool {
        let Ok(mut tables) = device.lock() else {
            return false;
        };
        let stack = tables.control_stack_mut(slot, self.queue.id);
        let is_noted = stack.is_some_and(|stack| stack.fill(&evicted.to_bytes()));
        self.has_begun.store(is_noted, Ordering::Release);
        is_noted
    }

    /// Whether it was destroyed, or failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    pub(super) fn set_share(&self, percentage: u32) {
        self.share.store(percentage, Ordering::Release);
    }

    pub(super) fn has_share(&self) -> bool {
        self.share.load(Ordering::Acquire) > 0
    }

    pub(super) fn claim(&self) -> bool {
        !self.busy.swap(true, Ordering::AcqRel)
    }

    pub(super) fn release(&self) {
        self.busy.store(false, Ordering::Release);
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(super) fn may_run(&self) -> bool {
        !self.stopped.load(Ordering::Acquire) && self.queue.evicted == 0 && self.has_share()
    }

    /// Where packet `index` of an AQL queue stands.
    pub(super) fn packet(&self, index: u64) -> u64 {
        self.queue.ring + index * PACKET_BYTES as u64 % u64::from(self.queue.ring_size)
    }

    /// Whether the producer has finished the packet.
    fn is_valid(&self, space: &Snapshot, index: u64) -> bool {
        word16(space, self.packet(index))
            .is_some_and(|header| header.load(Ordering::Acquire) as u8 != INVALID)
    }

    /// Whether a packet is there.
    pub(super) fn has_work(&self, device: &Device, slot: usize, space: &Snapshot) -> bool {
        self.may_run() && self.ready(device, slot, space).is_some()
    }

    /// The read pointer, when a packet is there, and the address space to execute that in. What a packet
    /// names was mapped before it was written, so the address space is looked at after the packet: in one
    /// that was read before it, memory may be missing.
    pub(super) fn head(
        &self,
        device: &Device,
        slot: usize,
        space: impl Fn() -> Option<Arc<Snapshot>>,
    ) -> Option<(u64, Arc<Snapshot>)> {
        let read = self.ready(device, slot, &*space()?)?;
        Some((read, space()?))
    }

    /// The read pointer, when something is behind it. Of AQL queues the doorbell says nothing: the
    /// threads that share one may ring in another order than that of their packets, so its last value
    /// may be an older packet's; and a packet whose header is valid may be executed.
    pub(super) fn ready(&self, device: &Device, slot: usize, space: &Snapshot) -> Option<u64> {
        let read = word64(space, self.queue.read_pointer)?.load(Ordering::Acquire);
        let write = word64(space, self.queue.write_pointer)?.load(Ordering::Acquire);
        if self.queue.kind == COMPUTE_AQL {
            (read < write && self.is_valid(space, read)).then_some(read)
        } else {
            let doorbell = device
                .doorbell(slot, self.gpu(), self.queue.doorbell)
                .load(Ordering::Acquire);
            (read < write && read < doorbell).then_some(read)
        }
    }

    /// Marks the queue as one that never goes on.
    pub(super) fn fail(&self, device: &Device, slot: usize) {
        self.stop();
        if let Ok(mut tables) = device.lock()
            && let Some(queue) = tables.queue_mut(slot, self.queue.id)
        {
            queue.failed = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::space::Region;
    use crate::wave::HostMapping;

    /// The program maps memory and writes a packet that names it, at any moment between two looks.
    #[test]
    fn a_packet_is_executed_in_an_address_space_that_has_what_it_names() {
        const QUEUE: u64 = 0x1000;
        const KERNEL: u64 = 0x8000;
        let device = Device::anonymous();
        // Read pointer, write pointer, and a ring of one packet.
        let words: [AtomicU64; 16] = std::array::from_fn(|_| AtomicU64::new(0));
        words[8].store(1, Ordering::Relaxed);
        let state = QueueState::new(
            Queue {
                kind: COMPUTE_AQL,
                read_pointer: QUEUE,
                write_pointer: QUEUE + 8,
                ring: QUEUE + 64,
                ring_size: 64,
                percentage: 100,
                ..Queue::default()
            },
            0,
            false,
        );
        let region = |start| Region {
            mapping: HostMapping {
                start,
                end: start + 128,
                host: words.as_ptr().cast_mut().cast(),
                writable: true,
            },
            vram_of: Some(0),
            serial: 0,
        };
        let before = Arc::new(Snapshot::of(vec![region(QUEUE)]));
        let after = Arc::new(Snapshot::of(vec![region(QUEUE), region(KERNEL)]));
        for writes_after in 0..3 {
            words[1].store(0, Ordering::Relaxed);
            let looks = Cell::new(0);
            let write = || {
                words[8].store(2, Ordering::Relaxed);
                words[1].store(1, Ordering::Release);
            };
            if writes_after == 0 {
                write();
            }
            let head = state.head(&device, 0, || {
                looks.set(looks.get() + 1);
                let is_mapped = words[1].load(Ordering::Relaxed) == 1;
                let space = if is_mapped { &after } else { &before };
                if looks.get() == writes_after {
                    write();
                }
                Some(Arc::clone(space))
            });
            if let Some((_, space)) = head {
                assert!(space.find(KERNEL).is_some(), "written after {writes_after}");
            } else {
                assert_eq!(writes_after, 2, "the packet is there at the first look");
            }
        }
    }
}
