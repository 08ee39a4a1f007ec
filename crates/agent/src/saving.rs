//! Keeping the cut's content: the engine, and the device doing what it decides.
//!
//! One critical section holds a decision of the engine, the copies it orders and the waits it puts
//! into streams; so copies are issued in the order of their tickets. Inside it only the agent's own
//! queues are used, plus waits on the stream whose owner is calling. A thread that has to wait
//! itself does so outside.
//!
//! Nobody is held back without bound: see [`crate::progress`]. Giving up releases every wait, those
//! that streams have on the device already included; copies that were under way still come to their
//! end, and who frees memory waits for that.

use crate::agent::{Agent, GATE};
use crate::device::queue::QueueError;
use crate::device::sdma::CopyQueueError;
use crate::kernel::Kernel;
use crate::observed::RawStream;
use crate::progress::{Progress, Since};
use crate::resources::Resources;
use crate::trace::Effect;
use crate::word::Word;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};
use strobe_engine::{
    CopyAside, CopyOut, Engine, Evidence, KernelId, Proceed, RingSlot, Source, StreamId, Ticket,
    Waits, WriteDecision, Writer,
};
use strobe_extent::Extent;
use strobe_hip::{CAPTURE_MODE_RELAXED, CaptureMode, Status, next};

/// How long a held-back thread sleeps between two looks at a lane.
const LOOK_AGAIN: Duration = Duration::from_micros(50);
/// How long the program's freeing of memory waits for copies that nobody wants any more.
const FREE_PATIENCE: Duration = Duration::from_secs(5);
/// How long a blocked thread sleeps when nobody wakes it.
const BLOCKED_LOOK_AGAIN: Duration = Duration::from_millis(20);

/// One checkpoint from the cut on.
#[derive(Debug)]
pub(crate) struct Saving {
    pub(crate) engine: Engine,
    pub(crate) resources: Resources,
    /// Copies into the ring that have not arrived, oldest first.
    under_way: VecDeque<CopyOut>,
    /// Why it was given up, if it was.
    pub(crate) failed: Option<String>,
    progress: Progress,
    last_aside: Ticket,
    /// Launches let through since the gate opened.
    pub(crate) launches: u64,
    /// Their kernels, as the engine's evidence names them.
    kernels: HashMap<KernelId, &'static Kernel>,
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

    /// Whether no copy of ours is under way.
    pub(crate) fn is_idle(&self) -> bool {
        let now = Instant::now();
        let saving = self.saving.lock();
        saving
            .as_ref()
            .is_none_or(|saving| saving.resources.wait_until_idle(now))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Saving>> {
        self.saving.lock()
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// What the effect says is about to be written, in a stream or (without one) by the calling
    /// thread, which returns when the cut's content of it is safe or nobody wants it any more. A
    /// stream that cannot wait has its thread wait.
    pub(crate) fn before_write(
        &self,
        agent: &Agent,
        stream: Option<(StreamId, RawStream)>,
        effect: &Effect,
    ) {
        let writes = &effect.writes;
        let writer = stream.map_or(Writer::Host, |(id, _)| Writer::Stream(id));
        // Who waits on the device.
        let waiter = stream
            .map(|(_, raw)| raw)
            .filter(|raw| Word::can_hold(raw.handle()));
        let relaxed = RelaxedCapture::begin(agent);
        let mut held = Held::default();
        let mut guard = self.saving.lock();
        let waits = loop {
            let Some(saving) = guard.as_mut() else {
                break Waits::default();
            };
            let decision = saving.engine.before_write(writer, writes);
            match saving.carry_out(&decision, waiter) {
                Proceed::After(waits) => {
                    saving.launches += u64::from(stream.is_some());
                    saving.let_through(effect);
                    break waits;
                }
                Proceed::Blocked => {
                    held.look(saving);
                    self.changed.wait_for(&mut guard, BLOCKED_LOOK_AGAIN);
                }
            }
        };
        if waiter.is_none() && !waits.is_empty() {
            while let Some(saving) = guard.as_mut()
                && !saving.passed(waits)
            {
                held.look(saving);
                MutexGuard::unlocked(&mut guard, || std::thread::sleep(LOOK_AGAIN));
            }
        }
        drop(guard);
        relaxed.end();
        held.end();
    }

    /// Memory is about to go: waits for the copies that still read it after the checkpoint was given
    /// up. They wait for nothing, so that is soon; but where the device has no room for them, the
    /// program goes first.
    pub(crate) fn before_free(&self) {
        let deadline = Instant::now() + FREE_PATIENCE;
        while Instant::now() < deadline {
            match self.saving.lock().as_ref() {
                Some(saving) if saving.failed.is_some() => {
                    if saving.resources.wait_until_idle(Instant::now()) {
                        return;
                    }
                }
                _ => return,
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// How long a thread of the program has been held back.
#[derive(Default)]
struct Held(Option<(Instant, Since)>);

impl Held {
    /// The thread waits. Gives up when that has been too long.
    fn look(&mut self, saving: &mut Saving) {
        let begin = || (Instant::now(), saving.progress.call_waits());
        let (_, since) = *self.0.get_or_insert_with(begin);
        saving.look_at_progress();
        if let Err(stuck) = saving.progress.look_at_call(since) {
            saving.give_up(&stuck.to_string());
        }
    }

    fn end(self) {
        if let Some((since, _)) = self.0 {
            GATE.add_held_back(since.elapsed());
        }
    }
}

impl Saving {
    /// `max_hold`: how long anybody is held back while nothing moves.
    pub(crate) fn new(engine: Engine, resources: Resources, max_hold: Duration) -> Saving {
        Saving {
            engine,
            resources,
            under_way: VecDeque::new(),
            failed: None,
            progress: Progress::new(max_hold, Instant::now()),
            last_aside: Ticket(0),
            launches: 0,
            kernels: HashMap::new(),
        }
    }

    /// Takes note of a launch, for the case that a write is missed.
    fn let_through(&mut self, effect: &Effect) {
        if let Some(kernel) = effect.kernel {
            let id = KernelId(std::ptr::from_ref(kernel).addr() as u64);
            self.kernels.insert(id, kernel);
            self.engine.launched(id, &effect.writes);
        }
    }

    /// Who may have made a write that was missed.
    pub(crate) fn witnesses(&self) -> Witnesses {
        Witnesses {
            evidence: self.engine.evidence().clone(),
            kernels: self.kernels.clone(),
        }
    }

    /// Issues the copies that a decision orders, and the waits of a stream.
    fn carry_out(&mut self, decision: &WriteDecision, waiter: Option<RawStream>) -> Proceed {
        let done = self
            .issue(decision)
            .map_err(|error| error.to_string())
            .and_then(|()| match (decision.proceed, waiter) {
                (Proceed::After(waits), Some(stream)) => self
                    .make_wait(waits, stream)
                    .map_err(|status| format!("waiting for copies failed: {}", name_of(status))),
                _ => Ok(()),
            });
        match done {
            Ok(()) => decision.proceed,
            Err(why) => {
                self.give_up(&why);
                Proceed::After(Waits::default())
            }
        }
    }

    fn make_wait(&self, waits: Waits, stream: RawStream) -> Result<(), Status> {
        let Resources { aside, out, .. } = &self.resources;
        if let Some(ticket) = waits.aside {
            aside.make_wait(stream.handle(), ticket)?;
        }
        if let Some(ticket) = waits.out {
            out.make_wait(stream.handle(), ticket)?;
        }
        Ok(())
    }

    fn issue(&mut self, decision: &WriteDecision) -> Result<(), QueueError> {
        for copy in &decision.asides {
            self.issue_aside(copy)?;
        }
        decision.ticket.map_or(Ok(()), |ticket| self.mark(ticket))
    }

    fn mark(&mut self, ticket: Ticket) -> Result<(), QueueError> {
        self.last_aside = ticket;
        self.resources.aside.mark(ticket)
    }

    fn issue_aside(&mut self, copy: &CopyAside) -> Result<(), QueueError> {
        let to = self.pool_start() + copy.pool_offset;
        let CopyAside { extent, .. } = copy;
        // SAFETY: the engine hands out room inside the pool; the source was live at the cut and
        // nobody frees it before this copy is done.
        unsafe { self.resources.aside.copy(to, extent.start(), extent.len()) }
    }

    fn pool_start(&self) -> u64 {
        self.resources.pool().map_or(0, Extent::start)
    }

    fn passed(&mut self, waits: Waits) -> bool {
        match self.poll() {
            Ok((aside, out)) => {
                self.failed.is_some()
                    || waits.aside.is_none_or(|ticket| ticket <= aside)
                        && waits.out.is_none_or(|ticket| ticket <= out)
            }
            Err(why) => {
                self.give_up(&why.to_string());
                true
            }
        }
    }

    /// How far lane and link are.
    fn poll(&self) -> Result<(Ticket, Ticket), QueueError> {
        let Resources { aside, out, .. } = &self.resources;
        Ok((aside.poll()?, out.passed()))
    }

    /// Gives up when nothing has moved for too long.
    pub(crate) fn look_at_progress(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let Ok(passed) = self.poll() else { return };
        let issued = (self.last_aside, self.resources.out.started());
        let look = self
            .progress
            .look(Instant::now(), GATE.is_closed(), issued, passed);
        if let Err(stuck) = look {
            self.give_up(&stuck.to_string());
        }
    }

    /// Stages what is copied next, and keeps the link busy.
    pub(crate) fn order_copies(&mut self) {
        while let Some((copy, ticket)) = self.engine.stage() {
            let staged = self.issue_aside(&copy).and_then(|()| self.mark(ticket));
            if let Err(error) = staged {
                self.give_up(&error.to_string());
                return;
            }
        }
        while self.resources.out.has_room() {
            let Some(copy) = self.engine.next_copy() else {
                return;
            };
            if let Err(error) = self.start_out(&copy) {
                self.give_up(&format!("copying out failed: {error}"));
                return;
            }
            self.under_way.push_back(copy);
        }
    }

    fn start_out(&mut self, copy: &CopyOut) -> Result<(), CopyQueueError> {
        let from = match copy.source {
            Source::Original => copy.extent.start(),
            Source::Pool(offset) => self.pool_start() + offset,
        };
        let out = &mut self.resources.out;
        // SAFETY: the slot is free until this copy has been stored; the source stays as it is until
        // the copy is done.
        unsafe { out.start(copy.slot, from, copy.extent.len(), copy.ticket) }
    }

    /// The copies that have arrived since the last call.
    pub(crate) fn arrivals(&mut self) -> Vec<CopyOut> {
        let out = match self.poll() {
            Ok((aside, out)) => {
                self.engine.aside_done(aside);
                out
            }
            Err(error) => {
                self.give_up(&error.to_string());
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

    pub(crate) fn into_resources(self) -> Resources {
        self.resources
    }

    /// Nothing is held back any more, and nothing will be delivered.
    pub(crate) fn give_up(&mut self, why: &str) {
        self.engine.abort();
        self.resources.release();
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
        if !agent.captures.may_be_any() {
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
