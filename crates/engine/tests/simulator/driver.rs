//! The model of the agent and the controller: what drives the engine, carries out its answers, and
//! collects the image. A [`Mutation`] makes it break one of the engine's rules.

use crate::device::{Device, LaneOp, Op, Place};
use crate::random::{Random, mix};
use std::collections::VecDeque;
use strobe_engine::{
    Config, CopyAside, CopyOut, Engine, KernelId, Lane, Mode, Proceed, RingSlot, Source, StreamId,
    Ticket, Validate, Validation, Waits, Writer,
};
use strobe_extent::{Extent, Side};

/// A rule of the driver that is broken on purpose.
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
    /// What is under way when fingerprints are begun ahead of the cut is not reported as written.
    ForgetInFlight,
    /// Nor what is written from then on.
    NeverStale,
}

/// A chunk on its way to the controller.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    slot: RingSlot,
    extent: Extent,
    ticket: Ticket,
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

#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) engine: Option<Engine>,
    pub(crate) mutation: Option<Mutation>,
    copying: VecDeque<Delivery>,
    inbox: Vec<Delivery>,
    pub(crate) image: Vec<(Extent, Vec<u8>)>,
    pub(crate) validation: Validation<u64>,
    validate: Validate,
    /// A chunk being fingerprinted ahead of the cut: how far, and what of.
    ahead: Option<(Extent, u64, u64)>,
    /// Everything that was announced so far.
    history: Vec<Side>,
    /// Chunks that were not stored as they were at the cut.
    pub(crate) missed: Vec<Extent>,
    /// Tickets count on over checkpoints of one process; the engine's start anew.
    aside_base: u64,
    out_base: u64,
    /// The aside ticket last reported to the engine.
    asides_noticed: u64,
}

impl Driver {
    pub(crate) fn new(mutation: Option<Mutation>, validate: Validate) -> Driver {
        Driver {
            engine: None,
            mutation,
            copying: VecDeque::new(),
            inbox: Vec::new(),
            image: Vec::new(),
            validation: Validation::begin(Validate::Off, Vec::new(), 16).expect("nothing"),
            validate,
            ahead: None,
            history: Vec::new(),
            missed: Vec::new(),
            aside_base: 0,
            out_base: 0,
            asides_noticed: 0,
        }
    }

    /// A checkpoint is about to come: chunks are fingerprinted while the program runs.
    pub(crate) fn arm(&mut self, tracked: &[Extent], chunk_bytes: u64) {
        self.validation =
            Validation::begin(self.validate, tracked.to_vec(), chunk_bytes).expect("allocations");
        self.ahead = None;
        if self.mutation != Some(Mutation::ForgetInFlight) {
            for writes in &self.history {
                self.validation.written(writes);
            }
        }
    }

    /// Goes on with fingerprints ahead of the cut, some bytes at a time.
    pub(crate) fn fingerprint_ahead(&mut self, device: &Device) -> bool {
        match self.ahead.take() {
            None => {
                let next = self.validation.next_ahead();
                self.ahead = next.map(|extent| (extent, extent.start(), 0));
                next.is_some()
            }
            Some((extent, at, sum)) if at == extent.end() => {
                self.validation.ahead_done(extent, sum);
                true
            }
            Some((extent, at, sum)) => {
                let piece = Extent::new(at, extent.end().min(at + 8)).expect("bytes are left");
                self.ahead = Some((extent, piece.end(), fingerprint(sum, device.bytes(piece))));
                true
            }
        }
    }

    pub(crate) fn begin(&mut self, config: Config, device: &mut Device) {
        assert!(device.lanes_idle());
        self.ahead = None;
        self.missed.clear();
        for extent in self.validation.cut(&config.tracked).expect("allocations") {
            let sum = fingerprint(0, device.bytes(extent));
            self.validation.taken(extent, sum);
        }
        device.pool = vec![0xaa; config.aside_bytes as usize];
        device.ring = vec![vec![0x55; config.chunk_bytes as usize]; config.ring_slots as usize];
        for aside in &config.set_aside {
            let bytes = device.bytes(aside.extent).to_vec();
            device.pool[aside.pool_offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.aside_base = device.aside.passed.0;
        self.out_base = device.out.passed.0;
        self.asides_noticed = 0;
        self.image.clear();
        self.copying.clear();
        self.inbox.clear();
        self.engine =
            Some(Engine::begin(config).expect("the simulator's configurations are valid"));
    }

    /// Whether the gate may be open.
    pub(crate) fn may_run(&self, mode: Mode) -> bool {
        mode == Mode::Cow || self.engine.as_ref().is_none_or(Engine::is_saved)
    }

    /// Asks before a write and carries out what is decided: one critical section.
    pub(crate) fn before_write(
        &mut self,
        stream: Option<usize>,
        writes: &Side,
        device: &mut Device,
    ) -> Answer {
        // What is let through while one checkpoint is kept may still be under way at the next.
        self.history.push(writes.clone());
        let Some(engine) = &mut self.engine else {
            if self.mutation != Some(Mutation::NeverStale) {
                self.validation.written(writes);
            }
            return Answer::Go;
        };
        let writer = stream.map_or(Writer::Host, |s| Writer::Stream(StreamId(s as u64)));
        let decision = engine.before_write(writer, writes);
        for copy in decision.asides {
            issue_aside(copy, device);
        }
        if let Some(ticket) = decision.ticket {
            device.enqueue_lane(
                Lane::Aside,
                LaneOp::Event(Ticket(ticket.0 + self.aside_base)),
            );
        }
        let waits = match decision.proceed {
            Proceed::Blocked => return Answer::Blocked,
            Proceed::After(waits) => Waits {
                aside: waits.aside.map(|t| Ticket(t.0 + self.aside_base)),
                out: waits.out.map(|t| Ticket(t.0 + self.out_base)),
            },
        };
        match (stream, self.mutation) {
            (Some(_), Some(Mutation::SkipWait)) => Answer::Go,
            (Some(_), Some(Mutation::LateWait)) => Answer::EnqueueLater(waits),
            (None, Some(Mutation::HurriedHost)) => Answer::Go,
            (Some(stream), _) => {
                enqueue_waits(stream, waits, device);
                Answer::Go
            }
            (None, _) => Answer::HostWait(waits),
        }
    }

    /// A launch was let through.
    pub(crate) fn launched(&mut self, kernel: Option<KernelId>, writes: &Side) {
        if let (Some(engine), Some(kernel)) = (&mut self.engine, kernel) {
            engine.launched(kernel, writes);
            self.history.push(writes.clone());
        }
    }

    /// Stages one chunk: one critical section.
    pub(crate) fn stage_one(&mut self, device: &mut Device) -> bool {
        let Some((copy, ticket)) = self.engine.as_mut().and_then(Engine::stage) else {
            return false;
        };
        issue_aside(copy, device);
        let ticket = Ticket(ticket.0 + self.aside_base);
        device.enqueue_lane(Lane::Aside, LaneOp::Event(ticket));
        true
    }

    /// Orders and issues one copy-out: one critical section.
    pub(crate) fn issue_copy(&mut self, device: &mut Device) -> bool {
        let Some(engine) = &mut self.engine else {
            return false;
        };
        let Some(CopyOut {
            extent,
            source,
            slot,
            ticket,
        }) = engine.next_copy()
        else {
            return false;
        };
        let from = match source {
            Source::Original => vram(extent),
            Source::Pool(offset) => Place::Pool(offset as usize),
        };
        let to = Place::Ring {
            slot: slot.0 as usize,
        };
        let copy = LaneOp::Copy {
            from,
            to,
            len: extent.len() as usize,
            done: 0,
        };
        device.enqueue_lane(Lane::Out, copy);
        let ticket = Ticket(ticket.0 + self.out_base);
        device.enqueue_lane(Lane::Out, LaneOp::Event(ticket));
        self.copying.push_back(Delivery {
            slot,
            extent,
            ticket,
        });
        true
    }

    /// Notices one copy that arrived.
    pub(crate) fn notice_arrival(&mut self, device: &Device) -> bool {
        let Some(engine) = &mut self.engine else {
            return false;
        };
        let arrived = |d: &mut Delivery| d.ticket <= device.out.passed;
        let Some(delivery) = self.copying.pop_front_if(arrived) else {
            return false;
        };
        if engine.is_aborted() {
            return true;
        }
        engine.copy_done(delivery.slot);
        self.inbox.push(delivery);
        if self.mutation == Some(Mutation::EarlySlotFree) {
            engine.slot_free(delivery.slot).expect("the slot is full");
        }
        true
    }

    /// Notices how far the aside lane is.
    pub(crate) fn notice_asides(&mut self, device: &Device) -> bool {
        let Some(engine) = &mut self.engine else {
            return false;
        };
        let aside = &device.aside;
        let passed = match self.mutation {
            Some(Mutation::EarlyAsideDone) => aside.recorded,
            _ => aside.passed,
        };
        let Some(passed) = passed.0.checked_sub(self.aside_base) else {
            return false;
        };
        engine.aside_done(Ticket(passed));
        let news = passed > self.asides_noticed;
        self.asides_noticed = passed;
        news
    }

    /// The controller stores one chunk, whichever it gets to first.
    pub(crate) fn store_one(&mut self, random: &mut Random, device: &Device) -> bool {
        let Some(engine) = self.engine.as_mut().filter(|_| !self.inbox.is_empty()) else {
            return false;
        };
        let at = random.below(self.inbox.len() as u64) as usize;
        let Delivery { slot, extent, .. } = self.inbox.swap_remove(at);
        let bytes = device.ring[slot.0 as usize][..extent.len() as usize].to_vec();
        let at_cut = self.validation.of(extent);
        if at_cut.is_some_and(|at_cut| at_cut != fingerprint(0, &bytes)) {
            self.missed.push(extent);
        }
        self.image.push((extent, bytes));
        if self.mutation != Some(Mutation::EarlySlotFree) {
            engine.slot_free(slot).expect("the slot is full");
        }
        true
    }

    /// Whether every chunk has been stored.
    pub(crate) fn finished(&self) -> bool {
        self.inbox.is_empty() && self.engine.as_ref().is_some_and(Engine::finished)
    }

    /// Ends the checkpoint, finished or aborted.
    pub(crate) fn end(&mut self) -> Engine {
        self.copying.clear();
        self.inbox.clear();
        self.engine.take().expect("a checkpoint is under way")
    }
}

pub(crate) fn enqueue_waits(stream: usize, waits: Waits, device: &mut Device) {
    for (lane, wait) in [(Lane::Aside, waits.aside), (Lane::Out, waits.out)] {
        if let Some(ticket) = wait {
            device.enqueue(stream, Op::WaitLane(lane, ticket));
        }
    }
}

/// Continues a fingerprint, which begins with 0, by these bytes.
fn fingerprint(sum: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(sum, |sum, byte| mix(sum ^ u64::from(*byte)))
}

fn issue_aside(copy: CopyAside, device: &mut Device) {
    let copy = LaneOp::Copy {
        from: vram(copy.extent),
        to: Place::Pool(copy.pool_offset as usize),
        len: copy.extent.len() as usize,
        done: 0,
    };
    device.enqueue_lane(Lane::Aside, copy);
}

fn vram(extent: Extent) -> Place {
    Place::Vram(extent.start() as usize)
}
