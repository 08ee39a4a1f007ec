//! A thread that executes the packets of one queue at a time.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use strobe_kfd::queue::COMPUTE_AQL;

use super::drill;
use super::memory::word64;
use super::offers::Offers;
use super::packet_processor::Head;
use super::process::Process;
use super::queue::{Progress, QueueState};
use crate::device::event;
use crate::report::report;
use crate::sdma::{Engine, Outcome, SdmaError};
use crate::space::Snapshot;
use crate::wave::ComputeUnit;

/// How long a runner stays with a queue that has run dry.
const LINGER: Duration = Duration::from_micros(200);

/// What a runner works with.
pub(super) struct Runner {
    process: &'static Process,
    offers: &'static Offers,
    unit: ComputeUnit,
}

impl Runner {
    pub(super) fn new(process: &'static Process, offers: &'static Offers) -> Self {
        Self {
            process,
            offers,
            unit: drill::unit(process.device),
        }
    }

    /// Executes packets until the queue runs dry, is evicted, fails or goes away.
    pub(super) fn serve(&mut self, queue: &QueueState) {
        let mut last = Instant::now();
        loop {
            match self.step(queue) {
                Progress::Executed | Progress::Left => last = Instant::now(),
                Progress::Waiting => std::thread::sleep(Duration::from_micros(20)),
                Progress::Empty if last.elapsed() < LINGER => std::thread::yield_now(),
                Progress::Empty | Progress::Stopped => return,
            }
        }
    }

    /// Executes the packet at the head, if there is one and it may run.
    fn step(&mut self, queue: &QueueState) -> Progress {
        let process = self.process;
        let device = process.device;
        let Some((slot, _)) = process.slot().filter(|_| queue.may_run()) else {
            return Progress::Stopped;
        };
        let live = &device.state().live[slot];
        if live.is_paused() {
            return Progress::Stopped;
        }
        let side = process.on(queue.gpu());
        let Ok(space) = side.space.snapshot(slot) else {
            return Progress::Stopped;
        };
        if queue.ready(device, slot, &space).is_none() {
            return Progress::Empty;
        }
        // Counted first, looked at afterwards: whoever stops the queues looks in the other order.
        // Before it is counted, this thread may have been restored into another slot, where another thread serves the
        // queue.
        let events = event::sequence(device, slot);
        live.resident.fetch_add(1, Ordering::SeqCst);
        let ours = process.is_tenant(slot, queue.tenancy);
        let progress = if ours && !live.is_paused() {
            match queue.head(device, slot, || side.space.snapshot(slot).ok()) {
                Some((read, space)) if queue.queue().kind == COMPUTE_AQL => {
                    let head = Head {
                        process,
                        queue,
                        slot,
                        space: &space,
                        index: read,
                    };
                    head.execute(self.offers, &mut self.unit)
                }
                Some((read, space)) => self.copy_packet(queue, slot, &space, read),
                None => Progress::Empty,
            }
        } else {
            Progress::Stopped
        };
        live.resident.fetch_sub(1, Ordering::SeqCst);
        // Only now: who is woken may take this thread's place on the processor, and the process be
        // frozen before it has it back, with a packet that is over and still counted.
        if event::sequence(device, slot) != events {
            event::wake(device, slot);
        }
        progress
    }

    /// Executes the SDMA packet at `read`.
    fn copy_packet(
        &self,
        state: &QueueState,
        slot: usize,
        space: &Snapshot,
        read: u64,
    ) -> Progress {
        let (device, queue) = (self.process.device, state.queue());
        let engine = Engine {
            device,
            gpu: state.gpu(),
            snapshot: space,
            slot: Some(slot),
        };
        let size = u64::from(queue.ring_size);
        let fetch = |dword: u64| {
            let at = (read + dword * 4) % size;
            engine.read_u32(queue.ring + at)
        };
        match engine.execute(&fetch) {
            Ok(Outcome::Done { dwords }) => {
                if let Some(pointer) = word64(space, queue.read_pointer) {
                    pointer.store(read + u64::from(dwords) * 4, Ordering::Release);
                }
                Progress::Executed
            }
            Ok(Outcome::Wait) => Progress::Waiting,
            Err(error) => {
                report(&format!("queue {}: {error}", queue.id));
                state.fail(device, slot);
                match error {
                    SdmaError::Fault { va, write } => {
                        let mapped = space.find(va).is_some();
                        event::memory_fault(device, (slot, state.gpu()), va, write, mapped);
                    }
                    // No queue of copies has a way to tell its runtime. Hardware hangs until it is reset, which ends
                    // what was on it; and a packet that hardware knows must not get lost here.
                    SdmaError::Unknown { .. } | SdmaError::UnknownAtomic(_) => {
                        std::process::abort();
                    }
                }
                Progress::Stopped
            }
        }
    }
}
