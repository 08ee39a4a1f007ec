//! The model of the agent and the controller: the engine's driver on the lanes of the modelled device,
//! and what collects the image. A [`Mutation`] breaks one of the engine's rules.

use crate::device::{Device, LaneOp, Place};
use crate::random::{Random, mix};
use std::collections::BTreeMap;
use strobe_engine::{
    Config, CopyAside, CopyOut, Driver, Engine, KernelId, Lane, Lanes, Mode, Proceed, SlotError,
    Source, Ticket, Validate, Waits, Writer,
};
use strobe_extent::{Extent, Side, StreamId};

/// A rule of the engine that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// Streams are not told to wait.
    SkipWait,
    /// Some launches leave a written extent out of their footprint.
    LieInFootprint,
    /// Frees are not announced.
    SilentFree,
    /// Copies by the CPU do not wait.
    HurriedHost,
    /// A wait is enqueued after another thread may have launched on the stream.
    LateWait,
    /// A copy into the pool is reported done when it is issued.
    EarlyAsideDone,
    /// The cut is taken while kernels run.
    SkipDrain,
    /// A slot is reported stored before it is.
    EarlySlotFree,
    /// Fingerprints are taken before the cut; where one is of another moment than a write that was
    /// announced meanwhile, it is done again.
    EarlyFingerprints,
}

/// What a thread has to do after it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Go,
    /// The thread itself waits.
    HostWait(Waits),
    /// Only under [`Mutation::LateWait`]: the thread enqueues the wait later.
    EnqueueLater(Waits),
    Blocked,
}

/// Why a checkpoint is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody wants it.
    Wanted,
    /// A lane has failed.
    Lane,
    Slot(SlotError),
}

impl From<SlotError> for Reason {
    fn from(error: SlotError) -> Reason {
        Reason::Slot(error)
    }
}

/// What the agent knows of the device's lanes.
#[derive(Debug)]
struct LaneState {
    mutation: Option<Mutation>,
    /// Where the lanes were when the checkpoint began: tickets count on over the checkpoints of a
    /// process, those of a checkpoint start anew.
    aside_base: u64,
    out_base: u64,
    /// Copies over the link at a time.
    at_a_time: u64,
    /// In so many calls of a lane one fails; 0 is never.
    fails: u64,
    random: Random,
    /// Only under [`Mutation::LateWait`].
    late: Option<Waits>,
}

/// The lanes that the driver drives.
struct ModelLanes<'a> {
    device: &'a mut Device,
    state: &'a mut LaneState,
}

impl ModelLanes<'_> {
    fn may_fail(&mut self) -> Result<(), Reason> {
        let fails = self.state.fails != 0 && self.state.random.below(self.state.fails) == 0;
        if fails { Err(Reason::Lane) } else { Ok(()) }
    }

    /// In tickets of the process.
    fn in_all(&self, waits: Waits) -> Waits {
        Waits {
            aside: waits.aside.map(|t| Ticket(t.0 + self.state.aside_base)),
            out: waits.out.map(|t| Ticket(t.0 + self.state.out_base)),
        }
    }
}

impl Lanes for ModelLanes<'_> {
    type Waiter = usize;
    type Error = Reason;

    fn copy_aside(&mut self, copy: &CopyAside) -> Result<(), Reason> {
        self.may_fail()?;
        let copy = LaneOp::Copy {
            from: vram(copy.extent),
            to: Place::Pool(copy.pool_offset as usize),
            len: copy.extent.len() as usize,
            done: 0,
        };
        self.device.enqueue_lane(Lane::Aside, copy);
        Ok(())
    }

    fn mark_aside(&mut self, ticket: Ticket) -> Result<(), Reason> {
        self.may_fail()?;
        let ticket = Ticket(ticket.0 + self.state.aside_base);
        self.device.enqueue_lane(Lane::Aside, LaneOp::Event(ticket));
        Ok(())
    }

    fn has_room(&self) -> bool {
        let out = &self.device.out;
        out.recorded.0 - out.passed.0 < self.state.at_a_time
    }

    fn copy_out(&mut self, copy: &CopyOut) -> Result<(), Reason> {
        self.may_fail()?;
        let from = match copy.source {
            Source::Original => vram(copy.extent),
            Source::Pool(offset) => Place::Pool(offset as usize),
        };
        let op = LaneOp::Copy {
            from,
            to: Place::Ring {
                slot: copy.slot.0 as usize,
            },
            len: copy.extent.len() as usize,
            done: 0,
        };
        self.device.enqueue_lane(Lane::Out, op);
        let ticket = Ticket(copy.ticket.0 + self.state.out_base);
        self.device.enqueue_lane(Lane::Out, LaneOp::Event(ticket));
        Ok(())
    }

    fn make_wait(&mut self, stream: usize, waits: Waits) -> Result<(), Reason> {
        self.may_fail()?;
        let waits = self.in_all(waits);
        match self.state.mutation {
            Some(Mutation::SkipWait) => {}
            Some(Mutation::LateWait) => self.state.late = Some(waits),
            _ => enqueue_waits(stream, waits, self.device),
        }
        Ok(())
    }

    fn passed(&self) -> Result<(Ticket, Ticket), Reason> {
        let Device { aside, out, .. } = &*self.device;
        let aside = match self.state.mutation {
            Some(Mutation::EarlyAsideDone) => aside.recorded,
            _ => aside.passed,
        };
        Ok((
            Ticket(aside.0 - self.state.aside_base),
            Ticket(out.passed.0 - self.state.out_base),
        ))
    }

    fn release(&mut self) {
        self.device.release_waits();
    }
}

#[derive(Debug)]
pub(crate) struct Agent {
    driver: Option<Driver<Reason>>,
    lanes: LaneState,
    pub(crate) mutation: Option<Mutation>,
    /// How far the lanes were at the last look.
    noticed: Option<(Ticket, Ticket)>,
    /// Copies that have arrived in the ring and are not stored.
    inbox: Vec<CopyOut>,
    pub(crate) image: Vec<(Extent, Vec<u8>)>,
    /// Of the chunks at the cut.
    fingerprints: BTreeMap<Extent, u64>,
    validate: Validate,
    /// Chunks that were not stored as they were at the cut.
    pub(crate) missed: Vec<Extent>,
}

impl Agent {
    /// `fails`: in so many calls of a lane one fails; 0 is never.
    pub(crate) fn new(
        mutation: Option<Mutation>,
        validate: Validate,
        fails: u64,
        seed: u64,
    ) -> Agent {
        Agent {
            driver: None,
            lanes: LaneState {
                mutation,
                aside_base: 0,
                out_base: 0,
                at_a_time: 0,
                fails,
                random: Random::new(seed),
                late: None,
            },
            mutation,
            noticed: None,
            inbox: Vec::new(),
            image: Vec::new(),
            fingerprints: BTreeMap::new(),
            validate,
            missed: Vec::new(),
        }
    }

    /// Takes the fingerprints of chunks of `tracked` that have none.
    pub(crate) fn fingerprint(&mut self, tracked: &[Extent], chunk_bytes: u64, device: &Device) {
        let chosen = self.validate.choose(tracked, chunk_bytes);
        for chunk in chosen.expect("allocations") {
            let taken = || fingerprint(device.bytes(chunk));
            self.fingerprints.entry(chunk).or_insert_with(taken);
        }
    }

    pub(crate) fn begin(&mut self, config: Config, device: &mut Device) {
        assert!(device.lanes_idle());
        self.missed.clear();
        if self.mutation != Some(Mutation::EarlyFingerprints) {
            self.fingerprints.clear();
        }
        self.fingerprint(&config.tracked, config.chunk_bytes, device);
        device.begin(&config);
        self.lanes.aside_base = device.aside.passed.0;
        self.lanes.out_base = device.out.passed.0;
        self.lanes.at_a_time = self.lanes.random.between(1, 4);
        self.image.clear();
        self.inbox.clear();
        self.noticed = None;
        let engine = Engine::begin(config).expect("the simulator's configurations are valid");
        self.driver = Some(Driver::new(engine));
    }

    /// The driver and its lanes.
    fn parts<'a>(
        &'a mut self,
        device: &'a mut Device,
    ) -> Option<(&'a mut Driver<Reason>, ModelLanes<'a>)> {
        let state = &mut self.lanes;
        Some((self.driver.as_mut()?, ModelLanes { device, state }))
    }

    /// Whether the gate may be open.
    pub(crate) fn may_run(&self, mode: Mode) -> bool {
        mode == Mode::Cow || self.driver.as_ref().is_none_or(Driver::is_saved)
    }

    /// Asks before a write and carries out what is decided: one critical section.
    pub(crate) fn before_write(
        &mut self,
        stream: Option<usize>,
        writes: &Side,
        device: &mut Device,
    ) -> Answer {
        let mutation = self.mutation;
        let Some((driver, mut lanes)) = self.parts(device) else {
            let is_written = |chunk: &Extent| writes.overlaps(*chunk);
            self.fingerprints.retain(|chunk, _| !is_written(chunk));
            return Answer::Go;
        };
        let writer = stream.map_or(Writer::Host, |s| Writer::Stream(StreamId(s as u64)));
        let proceed = driver.before_write(&mut lanes, writer, writes, stream);
        let late = self.lanes.late.take();
        match (proceed, stream) {
            (Proceed::Blocked, _) => Answer::Blocked,
            (Proceed::After(_), Some(_)) => late.map_or(Answer::Go, Answer::EnqueueLater),
            (Proceed::After(_), None) if mutation == Some(Mutation::HurriedHost) => Answer::Go,
            (Proceed::After(waits), None) => Answer::HostWait(waits),
        }
    }

    /// Whether a thread that waits for these points may go on.
    pub(crate) fn has_passed(&mut self, waits: Waits, device: &mut Device) -> bool {
        self.parts(device)
            .is_none_or(|(driver, mut lanes)| driver.has_passed(&mut lanes, waits))
    }

    /// A launch was let through.
    pub(crate) fn launched(&mut self, kernel: Option<KernelId>, writes: &Side) {
        if let (Some(driver), Some(kernel)) = (&mut self.driver, kernel) {
            driver.launched(kernel, writes);
        }
    }

    /// Stages and orders copies; whether there were any.
    pub(crate) fn order_copies(&mut self, device: &mut Device) -> bool {
        let Some((driver, mut lanes)) = self.parts(device) else {
            return false;
        };
        let before = (driver.issued(), driver.failed().is_some());
        driver.order_copies(&mut lanes);
        before != (driver.issued(), driver.failed().is_some())
    }

    /// Notices how far the lanes are, and the copies that have arrived; whether that is news.
    pub(crate) fn notice_arrivals(&mut self, device: &mut Device) -> bool {
        let mutation = self.mutation;
        let Some((driver, mut lanes)) = self.parts(device) else {
            return false;
        };
        let passed = lanes.passed().ok();
        let arrived = driver.arrivals(&mut lanes);
        if mutation == Some(Mutation::EarlySlotFree) {
            for copy in &arrived {
                driver.slot_free(&mut lanes, copy.slot);
            }
        }
        self.inbox.extend(&arrived);
        let news = passed != self.noticed;
        self.noticed = passed;
        news
    }

    /// The controller stores one chunk, whichever it gets to first.
    pub(crate) fn store_one(&mut self, random: &mut Random, device: &mut Device) -> bool {
        if self.inbox.is_empty() {
            return false;
        }
        let at = random.below(self.inbox.len() as u64) as usize;
        let CopyOut { slot, extent, .. } = self.inbox.swap_remove(at);
        let bytes = device.ring[slot.0 as usize][..extent.len() as usize].to_vec();
        let at_cut = self.fingerprints.get(&extent);
        if at_cut.is_some_and(|at_cut| *at_cut != fingerprint(&bytes)) {
            self.missed.push(extent);
        }
        self.image.push((extent, bytes));
        let stored_before = self.mutation == Some(Mutation::EarlySlotFree);
        if let Some((driver, mut lanes)) = self.parts(device).filter(|_| !stored_before) {
            driver.slot_free(&mut lanes, slot);
        }
        true
    }

    /// Somebody gives the checkpoint up.
    pub(crate) fn give_up(&mut self, device: &mut Device) {
        if let Some((driver, mut lanes)) = self.parts(device) {
            driver.give_up(&mut lanes, Reason::Wanted);
        }
    }

    /// Why the checkpoint was given up, if it was.
    pub(crate) fn failed(&self) -> Option<Reason> {
        self.driver.as_ref()?.failed().copied()
    }

    /// Whether every chunk has been stored.
    pub(crate) fn finished(&self) -> bool {
        self.inbox.is_empty() && self.driver.as_ref().is_some_and(Driver::finished)
    }

    /// The checkpoint under way.
    pub(crate) fn driver(&self) -> &Driver<Reason> {
        self.driver.as_ref().expect("a checkpoint is under way")
    }

    /// Ends the checkpoint, finished or given up.
    pub(crate) fn end(&mut self) -> Driver<Reason> {
        self.inbox.clear();
        self.fingerprints.clear();
        self.driver.take().expect("a checkpoint is under way")
    }
}

pub(crate) fn enqueue_waits(stream: usize, waits: Waits, device: &mut Device) {
    for (lane, wait) in [(Lane::Aside, waits.aside), (Lane::Out, waits.out)] {
        if let Some(ticket) = wait {
            device.enqueue_wait(stream, lane, ticket);
        }
    }
}

fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, byte| mix(sum ^ u64::from(*byte)))
}

fn vram(extent: Extent) -> Place {
    Place::Vram(extent.start() as usize)
}
