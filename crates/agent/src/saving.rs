//! Keeping the cut's content: the engine, and HIP doing what it decides.
//!
//! One critical section holds a decision of the engine, the copies it orders and the waits it puts
//! into streams; so copies are issued in the order of their tickets. Inside it only the agent's own
//! streams are used, plus waits on the stream whose owner is calling. A thread that has to wait
//! itself does so outside.

use crate::agent::{Agent, GATE};
use crate::hsa::HsaError;
use crate::observed::RawStream;
use crate::resources::Resources;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_engine::{
    CopyAside, CopyOut, Engine, Proceed, RingSlot, Source, StreamId, Ticket, Waits, WriteDecision,
    Writer,
};
use strobe_extent::{Extent, Side};
use strobe_hip::{CAPTURE_MODE_RELAXED, CaptureMode, Ptr, Status, next};

/// How long a held-back thread sleeps between two looks at a lane.
const LOOK_AGAIN: Duration = Duration::from_micros(50);
/// How long a blocked thread sleeps when nobody wakes it.
const BLOCKED_LOOK_AGAIN: Duration = Duration::from_millis(20);

/// One checkpoint from the cut on.
#[derive(Debug)]
pub(crate) struct Saving {
    pub(crate) engine: Engine,
    pub(crate) resources: Resources,
    /// The pinned ring; null until copying starts.
    pub(crate) ring: u64,
    pub(crate) slot_bytes: u64,
    /// Copies into the ring that have not arrived, oldest first.
    under_way: VecDeque<CopyOut>,
    /// Why HIP let us down, if it did.
    pub(crate) failed: Option<String>,
    /// Launches let through since the gate opened.
    pub(crate) launches: u64,
}

/// The checkpoint under way, if any.
#[derive(Debug, Default)]
pub(crate) struct Save {
    saving: Mutex<Option<Saving>>,
    /// A copy has arrived, or the checkpoint is over.
    changed: Condvar,
}

impl Save {
    /// From now on the cut's content is kept.
    pub(crate) fn begin(&self, saving: Saving) {
        *self.saving.lock() = Some(saving);
    }

    /// Nothing is kept any more; what is left to release.
    pub(crate) fn end(&self) -> Option<Saving> {
        let saving = self.saving.lock().take();
        self.changed.notify_all();
        saving
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Saving>> {
        self.saving.lock()
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// `writes` are about to be written, in a stream or (without one) by the calling thread, which
    /// returns when the cut's content of them is safe or nobody wants it any more.
    pub(crate) fn before_write(
        &self,
        agent: &Agent,
        stream: Option<(StreamId, RawStream)>,
        writes: &Side,
    ) {
        let writer = stream.map_or(Writer::Host, |(id, _)| Writer::Stream(id));
        let relaxed = RelaxedCapture::begin(agent);
        let mut since = None;
        let mut guard = self.saving.lock();
        let waits = loop {
            let Some(saving) = guard.as_mut() else {
                break Waits::default();
            };
            let decision = saving.engine.before_write(writer, writes);
            match saving.carry_out(&decision, stream) {
                Proceed::After(waits) => {
                    saving.launches += u64::from(stream.is_some());
                    break waits;
                }
                Proceed::Blocked => {
                    since.get_or_insert_with(Instant::now);
                    self.changed.wait_for(&mut guard, BLOCKED_LOOK_AGAIN);
                }
            }
        };
        if stream.is_none() && !waits.is_empty() {
            since.get_or_insert_with(Instant::now);
            while guard.as_mut().is_some_and(|saving| !saving.passed(waits)) {
                MutexGuard::unlocked(&mut guard, || std::thread::sleep(LOOK_AGAIN));
            }
        }
        drop(guard);
        relaxed.end();
        if let Some(since) = since {
            GATE.add_held_back(since.elapsed());
        }
    }
}

impl Saving {
    pub(crate) fn new(engine: Engine, resources: Resources, slot_bytes: u64) -> Saving {
        Saving {
            engine,
            resources,
            ring: 0,
            slot_bytes,
            under_way: VecDeque::new(),
            failed: None,
            launches: 0,
        }
    }

    /// Issues the copies that a decision orders, and the waits of a stream.
    fn carry_out(
        &mut self,
        decision: &WriteDecision,
        stream: Option<(StreamId, RawStream)>,
    ) -> Proceed {
        let done = self.issue(decision).and_then(|()| {
            if let (Proceed::After(waits), Some((_, stream))) = (decision.proceed, stream) {
                if let Some(ticket) = waits.aside {
                    self.resources.aside.make_wait(stream.handle(), ticket)?;
                }
                self.wait_for_link(waits);
            }
            Ok(())
        });
        match done {
            Ok(()) => decision.proceed,
            Err(status) => {
                self.give_up(&format!("copying aside failed: {}", name_of(status)));
                Proceed::After(Waits::default())
            }
        }
    }

    /// Only where the pool is too small to stage what is copied out. A stream cannot wait for the
    /// link, so its thread does, and holds the lock: nobody launches on the stream before.
    fn wait_for_link(&mut self, waits: Waits) {
        if let Some(ticket) = waits.out {
            let since = Instant::now();
            if let Err(why) = self.resources.out.wait_for(ticket) {
                self.give_up(&why);
            }
            GATE.add_held_back(since.elapsed());
        }
    }

    fn issue(&mut self, decision: &WriteDecision) -> Result<(), Status> {
        for copy in &decision.asides {
            self.issue_aside(copy)?;
        }
        let aside = &mut self.resources.aside;
        decision.ticket.map_or(Ok(()), |ticket| aside.mark(ticket))
    }

    fn issue_aside(&mut self, copy: &CopyAside) -> Result<(), Status> {
        let Resources { pool, aside, .. } = &mut self.resources;
        let to = (pool.map_or(0, Extent::start) + copy.pool_offset) as Ptr;
        let (from, bytes) = (copy.extent.start() as Ptr, copy.extent.len() as usize);
        // SAFETY: the engine hands out room inside the pool; the source was live at the cut and
        // nobody frees it before this copy is done.
        unsafe { next::hipMemcpyDtoDAsync(to, from, bytes, aside.stream()) }.ok()
    }

    fn passed(&mut self, waits: Waits) -> bool {
        match self.poll() {
            Ok((aside, out)) => {
                waits.aside.is_none_or(|ticket| ticket <= aside)
                    && waits.out.is_none_or(|ticket| ticket <= out)
            }
            Err(why) => {
                self.give_up(&why);
                true
            }
        }
    }

    /// How far lane and link are.
    fn poll(&mut self) -> Result<(Ticket, Ticket), String> {
        let Resources { aside, out, .. } = &mut self.resources;
        let failed = |status| format!("copying aside failed: {}", name_of(status));
        Ok((aside.poll().map_err(failed)?, out.poll()?))
    }

    /// Stages what is copied next, and keeps the link busy.
    pub(crate) fn order_copies(&mut self) {
        while let Some((copy, ticket)) = self.engine.stage() {
            let staged = self
                .issue_aside(&copy)
                .and_then(|()| self.resources.aside.mark(ticket));
            if let Err(status) = staged {
                self.give_up(&format!("staging failed: {}", name_of(status)));
                return;
            }
        }
        while self.resources.out.has_room() {
            let Some(copy) = self.engine.next_copy() else {
                return;
            };
            let started = self.start_out(&copy);
            if let Err(error) = started {
                self.give_up(&format!("copying out failed: {error}"));
                return;
            }
            self.under_way.push_back(copy);
        }
    }

    fn start_out(&mut self, copy: &CopyOut) -> Result<(), HsaError> {
        let Resources { pool, out, .. } = &mut self.resources;
        let from = match copy.source {
            Source::Original => copy.extent.start(),
            Source::Pool(offset) => pool.map_or(0, Extent::start) + offset,
        };
        let to = self.ring + u64::from(copy.slot.0) * self.slot_bytes;
        // SAFETY: a slot of the pinned ring, free until this copy has been stored; the source stays
        // as it is until the copy is done.
        unsafe { out.start(to, from, copy.extent.len() as usize, copy.ticket) }
    }

    /// The copies that have arrived since the last call.
    pub(crate) fn arrivals(&mut self) -> Vec<CopyOut> {
        let out = match self.poll() {
            Ok((aside, out)) => {
                self.engine.aside_done(aside);
                out
            }
            Err(why) => {
                self.give_up(&why);
                return Vec::new();
            }
        };
        let mut arrived = Vec::new();
        while let Some(copy) = self.under_way.pop_front_if(|copy| copy.ticket <= out) {
            self.engine.copy_done(copy.slot);
            arrived.push(copy);
        }
        arrived
    }

    pub(crate) fn slot_free(&mut self, slot: u32) {
        if let Err(error) = self.engine.slot_free(RingSlot(slot)) {
            self.give_up(&format!("the controller's answer is wrong: {error}"));
        }
    }

    /// The pinned ring and the resources.
    pub(crate) fn into_parts(self) -> (u64, Resources) {
        (self.ring, self.resources)
    }

    /// Nothing is held back any more, and nothing will be delivered.
    pub(crate) fn give_up(&mut self, why: &str) {
        self.engine.abort();
        self.failed.get_or_insert_with(|| why.to_owned());
    }
}

/// What HIP calls a status.
pub(crate) fn name_of(status: Status) -> String {
    // SAFETY: returns a string constant, or null when HIP is not there.
    let name = unsafe { next::hipGetErrorName(status) };
    if name.is_null() {
        return format!("error {}", status.0);
    }
    // SAFETY: a string constant of HIP's.
    unsafe { std::ffi::CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// While the program captures streams, calls of ours from its threads must not disturb that.
struct RelaxedCapture(Option<CaptureMode>);

impl RelaxedCapture {
    fn begin(agent: &Agent) -> RelaxedCapture {
        if agent.captures.load(Ordering::Acquire) == 0 {
            return RelaxedCapture(None);
        }
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: exchanges the mode of this thread.
        let exchanged = unsafe { next::hipThreadExchangeStreamCaptureMode(&mut mode) };
        RelaxedCapture(exchanged.ok().is_ok().then_some(mode))
    }

    fn end(self) {
        if let RelaxedCapture(Some(mut mode)) = self {
            // SAFETY: as above.
            let _ = unsafe { next::hipThreadExchangeStreamCaptureMode(&mut mode) };
        }
    }
}
