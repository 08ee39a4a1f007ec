//! Runs one kernel dispatch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use strobe_code_object::{DESCRIPTOR_SIZE, Descriptor};
use strobe_kfd::aql::KernelDispatch;

use super::access::Entry;
use super::control_stack::{Evicted, Reached};
use super::exception;
use super::job::{Begun, Job, Outcome};
use super::memory::read;
use super::offers::Offers;
use super::packet_processor::Failure;
use super::process::Process;
use super::queue::QueueState;
use super::save_area::SaveArea;
use crate::clock;
use crate::device::eviction;
use crate::precedence::Precedence;
use crate::space::{Snapshot, View};
use crate::time_model::{self, Path};
use crate::wave::{AccessLog, ComputeUnit, Dispatch, Native, PRELOADED, Stop};

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
    /// Does all of its work, or what is left of it. None: it was evicted, and how far it is stands in the queue's
    /// control stack.
    pub(super) fn execute(
        &self,
        space: &Snapshot,
        unit: &mut ComputeUnit,
    ) -> Result<Option<Times>, Failure> {
        exception::check_packet(&self.packet)?;
        let descriptor = read::<[u8; DESCRIPTOR_SIZE]>(space, self.packet.kernel_object)
            .and_then(|bytes| Descriptor::parse(&bytes))
            .ok_or(Failure::Unmapped {
                what: "a kernel's descriptor",
                address: self.packet.kernel_object,
                write: false,
            })?;
        let model = self.process.device.model;
        let dispatch = Dispatch {
            target: model.target,
            packet: self.packet,
            descriptor,
            preloaded: preloaded(space, &self.packet, &descriptor)?,
            packet_address: self.address,
            queue_address: self.queue_address,
            dispatch_id: self.index,
        };
        exception::check_registers(model, &dispatch)?;
        let before = self.evicted()?;
        let spent_ns = before.as_ref().map_or(0, |before| before.spent_ns);
        // From the moment on that counts; whether it is for an engine that has a rate is not known yet.
        let precedence = Precedence::take(self.process.device);
        let began_ns = time_model::now_ns().saturating_sub(spent_ns);
        let start = before.as_ref().map_or_else(clock::ticks, |b| b.start);
        let gpu = self.queue.gpu();
        let view = View {
            space: &self.process.on(gpu).space,
            slot: self.slot,
        };
        // What goes on has been logged from its beginning, or is not at all.
        let log = if before.is_some() {
            self.process.begun.take(self.queue_address, self.index)
        } else {
            let device = self.process.device;
            let entry = Entry::of(device, space, gpu, self.queue_address, &dispatch);
            entry.map(|entry| (entry, AccessLog::new()))
        };
        let is_native = before.as_ref().map_or(log.is_none(), |b| b.is_native);
        let native = is_native.then(|| Native::of(&dispatch, &view)).flatten();
        let state = Evicted {
            index: self.index,
            packet: self.packet,
            start,
            spent_ns: 0,
            is_native: native.is_some(),
            total: 0,
            reached: Reached::End { left_ns: 0 },
        };
        let pending = Pending {
            run: self,
            state,
            began_ns,
            log,
            precedence: Some(precedence),
        };
        match before {
            None => pending.work(space, unit, dispatch, native, Begun::default()),
            Some(before) => {
                let total = native
                    .as_ref()
                    .map_or_else(|| dispatch.groups(), Native::pieces);
                if before.is_native != native.is_some() || before.total != total {
                    return Err(self.damaged());
                }
                match before.reached {
                    Reached::Work { begun, groups } => {
                        let area = SaveArea::of(self.queue.queue(), space);
                        let read = |place| {
                            let saved = area?.read(space, place)?;
                            Some((place.group, saved))
                        };
                        let saved: Option<Vec<_>> = groups.iter().map(read).collect();
                        let saved = saved.ok_or_else(|| self.damaged())?;
                        let begun = Begun { next: begun, saved };
                        pending.work(space, unit, dispatch, native, begun)
                    }
                    Reached::End { left_ns } => {
                        let due = time_model::now_ns().saturating_add(left_ns);
                        pending.end(space, total, due)
                    }
                }
            }
        }
    }

    /// How far it was when it was evicted.
    fn evicted(&self) -> Result<Option<Evicted>, Failure> {
        let taken = self.queue.take_evicted(self.process.device, self.slot);
        match taken.map_err(|()| self.damaged())? {
            Some(evicted) if evicted.index != self.index || evicted.packet != self.packet => {
                Err(self.damaged())
            }
            evicted => Ok(evicted),
        }
    }

    fn damaged(&self) -> Failure {
        Failure::Unable(format!(
            "what was saved of packet {} is damaged, or of another packet",
            self.index
        ))
    }

    fn is_to_let_go(&self) -> bool {
        let word = self.queue.evict(self.process.device, self.slot);
        word.load(Ordering::Relaxed) != 0
    }
}

/// A dispatch that is under way.
struct Pending<'a> {
    run: &'a Run<'a>,
    state: Evicted,
    began_ns: u64,
    log: Option<(Entry, AccessLog)>,
    /// While the host does its work.
    precedence: Option<Precedence>,
}

impl Pending<'_> {
    fn work(
        mut self,
        space: &Snapshot,
        unit: &mut ComputeUnit,
        dispatch: Dispatch,
        native: Option<Native>,
        begun: Begun,
    ) -> Result<Option<Times>, Failure> {
        let run = self.run;
        let device = run.process.device;
        let gpu = run.queue.gpu();
        let traffic = native.as_ref().and_then(Native::traffic);
        if traffic.is_none() {
            self.precedence = None;
        }
        let evict = run.queue.evict(device, run.slot);
        let area = SaveArea::of(run.queue.queue(), space);
        let job = Arc::new(Job::new(
            device.model,
            dispatch,
            native,
            (run.slot, gpu),
            (evict, area),
            begun,
            self.log.is_some(),
        ));
        if job.total > 1 {
            run.offers.offer(&job);
        }
        job.work(run.process, unit);
        let (outcome, accesses) = job.join();
        run.offers.withdraw(&job);
        if let Some((_, so_far)) = &mut self.log {
            so_far.absorb(accesses);
        }
        self.state.total = job.total;
        match outcome {
            Outcome::Stopped(stop) => Err(stop.into()),
            Outcome::Unfinished(Begun { next, saved }) => {
                evict.fetch_and(!eviction::DRILLED, Ordering::SeqCst);
                let places = match area {
                    Some(area) => area.write(space, &saved),
                    None => None,
                };
                let groups = places.ok_or_else(|| {
                    Failure::Unable("the memory for saved waves is not mapped any more".into())
                })?;
                self.leave(Reached::Work {
                    begun: next,
                    groups,
                })
            }
            Outcome::Done => {
                let vram_of = |va| space.find(va).and_then(|region| region.vram_of);
                let floor = self
                    .began_ns
                    .saturating_add(device.header().kernel_floor_ns);
                let moved = traffic.and_then(|traffic| {
                    let to = vram_of(traffic.to);
                    let from = traffic.from.map_or(Some(gpu), vram_of);
                    let path = Path::between(from, to, gpu);
                    time_model::due(device, path, traffic.bytes, self.began_ns)
                });
                let due = moved.map_or(floor, |moved| moved.max(floor));
                let total = job.total;
                let _precedence = self.precedence.take();
                let times = self.end(space, total, due)?;
                if times.is_some() && moved.is_some() {
                    time_model::ended(device, due);
                }
                Ok(times)
            }
        }
    }

    /// Ends when it is due.
    fn end(mut self, space: &Snapshot, total: u64, due_ns: u64) -> Result<Option<Times>, Failure> {
        if let Some(left_ns) = time_model::until(due_ns, || self.run.is_to_let_go()) {
            self.state.total = total;
            return self.leave(Reached::End { left_ns });
        }
        if let Some((entry, accesses)) = self.log {
            let process = self.run.process;
            entry.record(process.device, &process.logged, space, accesses);
        }
        Ok(Some((self.state.start, clock::ticks())))
    }

    /// Leaves it as it is.
    fn leave(mut self, reached: Reached) -> Result<Option<Times>, Failure> {
        let run = self.run;
        if run.queue.is_stopped() {
            return Err(Stop::Evicted.into());
        }
        self.state.reached = reached;
        self.state.spent_ns = time_model::now_ns().saturating_sub(self.began_ns);
        let device = run.process.device;
        if !run.queue.put_evicted(device, run.slot, &self.state) {
            return Err(Failure::Unable(
                "how far the packet is cannot be noted".into(),
            ));
        }
        if let Some((entry, accesses)) = self.log {
            run.process.begun.keep(entry, accesses);
        }
        Ok(None)
    }
}

/// What the kernel has loaded into registers before its waves start.
fn preloaded(
    space: &Snapshot,
    packet: &KernelDispatch,
    descriptor: &Descriptor,
) -> Result<[u32; PRELOADED], Failure> {
    let mut words = [0; PRELOADED];
    // More is refused by name when its first workgroup is to start.
    let length = usize::from(descriptor.preload_length).min(PRELOADED);
    let first = usize::from(descriptor.preload_offset);
    for (at, word) in (first..).zip(&mut words[..length]) {
        let address = packet.kernarg_address.wrapping_add(4 * at as u64);
        *word = read(space, address).ok_or(Failure::Unmapped {
            what: "an argument that is to be in a register",
            address,
            write: false,
        })?;
    }
    Ok(words)
}
