//! Runs one kernel dispatch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strobe_code_object::{DESCRIPTOR_SIZE, Descriptor};
use strobe_kfd::aql::KernelDispatch;

use super::access::Entry;
use super::job::Job;
use super::memory::read;
use super::offers::Offers;
use super::process::Process;
use super::queue::QueueState;
use crate::clock;
use crate::space::{Snapshot, View};
use crate::time_model::{self, Path};
use crate::wave::{ComputeUnit, Dispatch, Native, Stop};

/// Start and end of a dispatch in GPU ticks.
pub(super) type Times = (u64, u64);

/// A dispatch packet and where it stands.
pub(super) struct Run<'a> {
    pub(super) process: &'a Process,
    pub(super) offers: &'a Offers,
    pub(super) slot: usize,
    pub(super) queue: &'a QueueState,
    pub(super) packet: KernelDispatch,
    pub(super) address: u64,
    pub(super) queue_address: u64,
    pub(super) index: u64,
}

impl Run<'_> {
    /// Does all of its work.
    pub(super) fn execute(&self, space: &Snapshot, unit: &mut ComputeUnit) -> Result<Times, Stop> {
        let packet = self.packet;
        let begin = Instant::now();
        let began = time_model::now_ns();
        let start = clock::ticks();
        let fault = |addr: u64| Stop::Fault {
            addr,
            write: false,
            pc: 0,
        };
        let descriptor = read::<[u8; DESCRIPTOR_SIZE]>(space, packet.kernel_object)
            .and_then(|bytes| Descriptor::parse(&bytes))
            .ok_or(fault(packet.kernel_object))?;
        let dispatch = Dispatch {
            packet,
            descriptor,
            packet_address: self.address,
            queue_address: self.queue_address,
            dispatch_id: self.index,
        };
        let device = self.process.device;
        let gpu = self.queue.gpu();
        let entry = Entry::of(device, space, gpu, self.queue_address, &dispatch);
        let view = View {
            space: &self.process.on(gpu).space,
            slot: self.slot,
        };
        let native = entry
            .is_none()
            .then(|| Native::of(&dispatch, &view))
            .flatten();
        let traffic = native.as_ref().and_then(Native::traffic);
        let evict = self.queue.evict(device, self.slot);
        let job = Arc::new(Job::new(
            dispatch,
            native,
            (self.slot, gpu),
            evict,
            entry.is_some(),
        ));
        self.queue.runs(Some(&job));
        if job.total > 1 {
            self.offers.offer(&job);
        }
        job.work(self.process, unit);
        let (stop, accesses) = job.join();
        self.offers.withdraw(&job);
        self.queue.runs(None);
        if let Some(stop) = stop {
            return Err(stop);
        }
        if let Some(entry) = entry {
            entry.record(device, &self.process.logged, space, accesses);
        }
        if let Some(traffic) = traffic {
            let vram_of = |va| space.find(va).and_then(|region| region.vram_of);
            let to = vram_of(traffic.to);
            let from = traffic.from.map_or(Some(gpu), vram_of);
            let path = Path::between(from, to, gpu);
            time_model::keep(device, path, traffic.bytes, began);
        }
        let floor = Duration::from_nanos(device.header().kernel_floor_ns);
        std::thread::sleep(floor.saturating_sub(begin.elapsed()));
        Ok((start, clock::ticks()))
    }
}
