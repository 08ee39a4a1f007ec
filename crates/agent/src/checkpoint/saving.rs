//! Keeping the cut's content: the engine, and the device doing what it decides.
//!
//! The engine's driver on the lanes of a device. Only the agent's own queues are used, plus waits on
//! the stream whose owner is calling. Nobody is held back without bound: see
//! [`crate::checkpoint::progress`].

use crate::call::gate::{GATE, thread_id};
use crate::checkpoint::progress::{Progress, Since, Stuck};
use crate::checkpoint::refusal::Refusal;
use crate::device::error::DeviceError;
use crate::device::resources::Resources;
use crate::seen::kernel::Kernel;
use crate::seen::observed::RawStream;
use crate::seen::trace::Effect;
use crate::wire::page::now_ns;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use strobe_engine::{
    CopyAside, CopyOut, Driver, Engine, EngineStatistics, Evidence, FirstUse, KernelId, Lanes,
    Proceed, RingSlot, Source, Ticket, Waits, Writer,
};
use strobe_extent::{Access, Extent, Side};
use strobe_proto::{TraceEvent, TraceKind};

/// Extents in the order of their first use, at the most: they go into one message.
const MOST_USED: usize = 16 << 10;
/// Bytes of a kernel's name in a trace.
const MOST_OF_NAME: usize = 512;

/// One checkpoint from the cut on.
#[derive(Debug)]
pub(crate) struct Saving {
    driver: Driver<Refusal>,
    pub(crate) resources: Resources,
    progress: Progress,
    /// Launches let through since the gate opened.
    pub(crate) launches: u64,
    /// Their kernels, as the engine's evidence names them.
    kernels: HashMap<KernelId, &'static Kernel>,
    first_use: FirstUse,
    first_write: FirstUse,
}

/// What is left of a checkpoint to find out who has made a missed write.
#[derive(Debug)]
pub(crate) struct Witnesses {
    evidence: Evidence,
    kernels: HashMap<KernelId, &'static Kernel>,
}

impl Witnesses {
    /// The kernels that may have written these chunks.
    pub(crate) fn suspects(&self, missed: &[Extent]) -> Vec<&'static Kernel> {
        let suspects = self.evidence.suspects(missed);
        let mut kernels: Vec<&'static Kernel> = suspects
            .iter()
            .filter_map(|id| self.kernels.get(id).copied())
            .collect();
        kernels.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        kernels
    }
}

impl Saving {
    /// `max_hold`: how long anybody is held back while nothing moves.
    pub(crate) fn new(engine: Engine, resources: Resources, max_hold: Duration) -> Saving {
        Saving {
            first_use: FirstUse::new(engine.chunks().clone()),
            first_write: FirstUse::new(engine.chunks().clone()),
            driver: Driver::new(engine),
            resources,
            progress: Progress::new(max_hold, Instant::now()),
            launches: 0,
            kernels: HashMap::new(),
        }
    }

    /// What `writes` may touch is about to be written. A `waiter` waits on the device.
    pub(crate) fn before_write(
        &mut self,
        writer: Writer,
        writes: &Side,
        waiter: Option<RawStream>,
    ) -> Proceed {
        let lanes = &mut self.resources;
        self.driver.before_write(lanes, writer, writes, waiter)
    }

    /// A call goes on that may write something; since then it was ours.
    pub(crate) fn called(&mut self, effect: &Effect, since_ns: u64) {
        if let Some(log) = &mut self.resources.log {
            let name = effect.kernel.map_or("", |kernel| kernel.name.as_str());
            log.keep(TraceEvent {
                kind: TraceKind::Launch.into(),
                start_ns: since_ns,
                end_ns: now_ns(),
                lane: thread_id(),
                name: name[..name.floor_char_boundary(MOST_OF_NAME)].into(),
                ..TraceEvent::default()
            });
        }
    }

    /// Takes note of what is used, for who restores this.
    pub(crate) fn used(&mut self, access: &Access) {
        self.first_use.touched(&access.reads);
        self.first_use.touched(&access.writes);
    }

    /// The same of what comes after the cut, and of what that writes: it is compared with what was expected to come.
    pub(crate) fn touched(&mut self, access: &Access) {
        self.used(access);
        self.first_write.touched(&access.writes);
    }

    /// In which order it was used so far.
    pub(crate) fn first_use(&self) -> Vec<Extent> {
        self.first_use.order(MOST_USED)
    }

    /// In which order it was written so far, in no more than so many extents.
    pub(crate) fn first_write(&self, most: usize) -> Vec<Extent> {
        self.first_write.order(most)
    }

    /// Takes note of a launch, for the case that a write is missed.
    pub(crate) fn let_through(&mut self, effect: &Effect) {
        if let Some(kernel) = effect.kernel {
            let id = KernelId(std::ptr::from_ref(kernel).addr() as u64);
            self.kernels.insert(id, kernel);
            self.driver.launched(id, effect.writes());
        }
    }

    /// Who may have made a write that was missed.
    pub(crate) fn witnesses(&self) -> Witnesses {
        Witnesses {
            evidence: self.driver.evidence().clone(),
            kernels: self.kernels.clone(),
        }
    }

    /// Whether these points have been passed, or nobody waits for them any more.
    pub(crate) fn has_passed(&mut self, waits: Waits) -> bool {
        self.driver.has_passed(&mut self.resources, waits)
    }

    /// Gives up when nothing has moved for too long.
    pub(crate) fn look_at_progress(&mut self) {
        if self.failed().is_some() {
            return;
        }
        let Ok((_, link_passed)) = self.resources.passed() else {
            return;
        };
        let (_, link) = self.driver.issued();
        // On the lane a ticket may be many copies, and each of them counts.
        let (kernels, ended) = self.resources.aside.kernels();
        let ordered = (kernels, link.0);
        let arrived = (ended, link_passed.0);
        let now = Instant::now();
        let look = self.progress.look(now, GATE.is_closed(), ordered, arrived);
        if let Err(stuck) = look {
            self.give_up(&self.held_back(stuck));
        }
    }

    /// A call of the program begins to wait.
    pub(crate) fn call_waits(&mut self) -> Since {
        self.progress.call_waits()
    }

    /// A call still waits. Gives up when that has been too long.
    pub(crate) fn look_at_call(&mut self, since: Since) {
        self.look_at_progress();
        if let Err(stuck) = self.progress.look_at_call(since) {
            self.give_up(&self.held_back(stuck));
        }
    }

    /// With where the lanes stand: whether the device has stopped, or only its word of what it has done.
    fn held_back(&self, stuck: Stuck) -> Refusal {
        let (aside, link) = self.driver.issued();
        let (aside_passed, link_passed) = self.resources.passed().unwrap_or_default();
        let (kernels, ended) = self.resources.aside.kernels();
        Refusal::Stuck {
            stuck,
            arrived: format!(
                "aside {} of {} ({ended} of {kernels} kernels), link {} of {}",
                aside_passed.0, aside.0, link_passed.0, link.0
            ),
        }
    }

    /// Stages what is copied next, and keeps the link busy.
    pub(crate) fn order_copies(&mut self) {
        self.driver.order_copies(&mut self.resources);
    }

    /// The copies that have arrived since the last call.
    pub(crate) fn arrivals(&mut self) -> Vec<CopyOut> {
        let arrived = self.driver.arrivals(&mut self.resources);
        if self.resources.log.is_some()
            && let Ok((aside, out)) = self.resources.passed()
            && let Some(log) = &mut self.resources.log
        {
            log.passed(aside, out);
        }
        arrived
    }

    /// The controller has stored what was in `slot`, it says.
    pub(crate) fn slot_free(&mut self, slot: u32) {
        self.driver.slot_free(&mut self.resources, RingSlot(slot));
        if let Some(log) = &mut self.resources.log {
            log.stored(slot);
        }
    }

    /// Why it was given up, if it was.
    pub(crate) fn failed(&self) -> Option<&Refusal> {
        self.driver.failed()
    }

    /// Whether nothing is held back any more.
    pub(crate) fn is_saved(&self) -> bool {
        self.driver.is_saved()
    }

    /// Whether the controller has stored everything.
    pub(crate) fn finished(&self) -> bool {
        self.driver.finished()
    }

    /// What it has cost so far.
    pub(crate) fn statistics(&self) -> EngineStatistics {
        self.driver.statistics()
    }

    pub(crate) fn into_resources(self) -> Resources {
        self.resources
    }

    /// Nothing is held back any more, and nothing will be delivered.
    pub(crate) fn give_up(&mut self, why: &Refusal) {
        self.driver.give_up(&mut self.resources, why.clone());
    }
}

/// The lanes of a device: the engine's pool is the copy-aside pool.
impl Lanes for Resources {
    type Waiter = RawStream;
    type Error = Refusal;

    fn copy_aside(&mut self, copy: &CopyAside) -> Result<(), Refusal> {
        let to = self.pool_start() + copy.pool_offset;
        let extent = copy.extent;
        // SAFETY: the engine hands out room inside the pool; the source was live at the cut and
        // nobody frees it before this copy is done.
        unsafe { self.aside.copy(to, extent.start(), extent.len())? };
        if let Some(log) = &mut self.log {
            log.aside(extent);
        }
        Ok(())
    }

    fn mark_aside(&mut self, ticket: Ticket) -> Result<(), Refusal> {
        self.aside.mark(ticket)?;
        if let Some(log) = &mut self.log {
            log.mark_aside(ticket);
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.out.is_open()
    }

    fn copy_out(&mut self, copy: &CopyOut) -> Result<(), Refusal> {
        let from = match copy.source {
            Source::Original => copy.extent.start(),
            Source::Pool(offset) => self.pool_start() + offset,
        };
        let (slot, bytes) = (copy.slot, copy.extent.len());
        // SAFETY: the slot is free until this copy has been stored; the source stays as it is until
        // the copy is done.
        unsafe { self.out.start(slot, from, bytes, copy.ticket) }.map_err(DeviceError::from)?;
        if let Some(log) = &mut self.log {
            log.out(*copy);
        }
        Ok(())
    }

    fn make_wait(&mut self, stream: RawStream, waits: Waits) -> Result<(), Refusal> {
        if let Some(ticket) = waits.aside {
            self.aside.make_wait(stream.handle(), ticket)?;
        }
        if let Some(ticket) = waits.out {
            self.out.make_wait(stream.handle(), ticket)?;
        }
        Ok(())
    }

    fn passed(&self) -> Result<(Ticket, Ticket), Refusal> {
        Ok((self.aside.poll()?, self.out.passed()))
    }

    fn release(&mut self) {
        self.aside.release();
        self.out.release();
    }
}
