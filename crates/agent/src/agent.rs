//! The one agent of the process.

use crate::checkpoint::phases::Phases;
use crate::control::shared::Shared;
use crate::device::state::DeviceState;
use crate::fault;
use crate::loading::memory::EVERYTHING;
use crate::seen::captures::{self, Captures};
use crate::seen::graphs::Graphs;
use crate::seen::handles::Handles;
use crate::seen::module::Modules;
use crate::seen::observed::{Observed, RawStream};
use crate::seen::ring::Ring;
use crate::seen::trace::Trace;
use crate::seen::user_cache::UserCache;
use crate::wire::page;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use strobe_graph::Moment;
use strobe_proto::page::AgentPage;

/// Units of 64 bytes in the ring of records: 8192 usual launches.
const RING_UNITS: usize = 1 << 14;

/// Bytes of stack that suffice for a footprint (and more than any was seen to take), and those of the
/// stack that is made where there are fewer.
const ENOUGH_STACK: usize = 256 << 10;
const NEW_STACK: usize = 2 << 20;

static AGENT: OnceLock<Option<Agent>> = OnceLock::new();

/// What the program's threads and the control thread share. Locks are taken in the order `course`
/// of the device, `trace`, `cache`, `spare` of the device, and none is held across a call of the program's own.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) page: &'static AgentPage,
    pub(crate) ring: Ring,
    /// Observations that came in beside the ring: with its position the moment.
    beside_ring: AtomicU64,
    /// The GPU that the program uses.
    pub(crate) device: DeviceState,
    pub(crate) modules: Modules,
    pub(crate) cache: Arc<Mutex<UserCache>>,
    pub(crate) trace: Mutex<Trace>,
    /// Streams that the program has created.
    pub(crate) streams: RwLock<Vec<RawStream>>,
    /// Nanoseconds for which the gate was closed in this checkpoint, and no cut came of it.
    pub(crate) held_in_vain_ns: AtomicU64,
    /// Of the checkpoint that is under way.
    pub(crate) phases: Phases,
    /// Whether a thread has used a stream of its own.
    pub(crate) per_thread_streams: AtomicBool,
    pub(crate) captures: Captures,
    pub(crate) graphs: Graphs,
    pub(crate) handles: Handles,
    pub(crate) control: Shared,
}

/// The agent, if it has been made.
#[inline]
pub(crate) fn existing() -> Option<&'static Agent> {
    AGENT.get()?.as_ref()
}

/// Makes it, once.
pub(crate) fn make() -> Option<&'static Agent> {
    let agent = AGENT.get_or_init(|| match page::create() {
        Ok(page) => Some(Agent::new(page)),
        Err(error) => {
            fault::turn_off(&format!("no agent page: {error}"));
            None
        }
    });
    agent.as_ref()
}

impl Agent {
    fn new(page: &'static AgentPage) -> Agent {
        let cache = Arc::new(Mutex::new(UserCache::of_user()));
        Agent {
            page,
            ring: Ring::new(RING_UNITS),
            beside_ring: AtomicU64::new(0),
            device: DeviceState::default(),
            modules: Modules::new(Arc::clone(&cache)),
            trace: Mutex::new(Trace::new(Arc::clone(&cache))),
            cache,
            streams: RwLock::default(),
            held_in_vain_ns: AtomicU64::new(0),
            phases: Phases::default(),
            per_thread_streams: AtomicBool::new(false),
            captures: Captures::default(),
            graphs: Graphs::default(),
            handles: Handles::default(),
            control: Shared::default(),
        }
    }

    /// A call is about to do this. `stream` is where the device waits; without one, the thread does.
    #[inline]
    pub(crate) fn observe(&self, observed: &Observed<'_>, stream: Option<RawStream>) {
        if self.captures.may_be_any() {
            self.observe_beside_captures(observed, stream);
        } else {
            self.note(observed, stream);
        }
    }

    #[cold]
    fn observe_beside_captures(&self, observed: &Observed<'_>, stream: Option<RawStream>) {
        let own = observed.stream();
        match own.or(stream) {
            Some(on) if self.is_captured(on) => {
                if own.is_some() {
                    self.observe_captured(observed);
                } else if let Observed::RecordEvent { event, .. } = *observed {
                    // It orders nothing that has happened, and no longer what it did.
                    self.note(&Observed::DestroyEvent { event }, None);
                }
            }
            Some(_) => self.note(observed, stream),
            None => {
                if matches!(observed, Observed::Anything { .. }) {
                    self.graphs.record(observed);
                }
                self.note(observed, stream);
            }
        }
    }

    /// The same on a stream that is captured. Whether a call goes into the graph, or happens now, depends on
    /// the call and on HIP's version: HIP 5.2 captures launches of stubs and most copies, and runs launches of
    /// module functions, values written by streams and launches of graphs at once. So it counts as both, and
    /// the thread waits: a wait of the stream might be captured.
    pub(crate) fn observe_captured(&self, observed: &Observed<'_>) {
        self.graphs.record(observed);
        self.note(observed, None);
    }

    /// What happens now. Off-checkpoint that is a record; during a checkpoint it goes on when the cut's
    /// content is safe, and after a restore when what it touches is there.
    #[inline]
    pub(crate) fn note(&self, observed: &Observed<'_>, stream: Option<RawStream>) {
        if self.device.course.attends() {
            self.observe_now(observed, stream);
        } else {
            self.ring
                .push(observed.record_len(), |bytes| observed.write(bytes));
        }
    }

    /// Analyses kernels and evaluates footprints in the program's thread, whose stack may be as small
    /// as 16 KiB.
    #[cold]
    pub(crate) fn observe_now(&self, observed: &Observed<'_>, stream: Option<RawStream>) {
        stacker::maybe_grow(ENOUGH_STACK, NEW_STACK, || self.take_in(observed, stream));
    }

    fn take_in(&self, observed: &Observed<'_>, stream: Option<RawStream>) {
        let effect = {
            let mut trace = self.trace.lock();
            trace.reach(self.next_moment());
            trace.see();
            trace.apply(observed)
        };
        let course = &self.device.course;
        match observed {
            // What the device looks at then, no observation says.
            Observed::InTurn { .. } => course.before_touch(&EVERYTHING),
            _ => course.before_touch(effect.access()),
        }
        if !effect.writes().is_none() || effect.kernel.is_some() {
            let writer = stream.and_then(|stream| Some((effect.stream?, stream)));
            self.device
                .course
                .before_write(&self.captures, writer, &effect);
        }
        if matches!(observed, Observed::Free { .. }) {
            self.device.course.before_free();
        }
    }

    /// Applies the records that have come in. Returns how many there were.
    pub(crate) fn drain_ring(&self, most: usize) -> usize {
        let mut trace = self.trace.lock();
        trace.see();
        let beside = self.beside_ring.load(Ordering::Acquire);
        let count = self.ring.drain(most, |position, bytes| {
            // SAFETY: only `observe` and the launch path push, and what they push is a record.
            if let Some(observed) = unsafe { Observed::read(bytes) } {
                // Not before it was pushed: that number only grows.
                trace.reach(Moment(position + beside));
                trace.apply(&observed);
            }
        });
        let lost = self.ring.take_dropped();
        if lost > 0 {
            trace.reach(self.next_moment());
            trace.resume_after_loss(&self.device.registry.extents(), lost);
        }
        let counts = trace.counts();
        trace.flush_log();
        drop(trace);
        let page = self.page;
        page.launches.store(counts.launches, Ordering::Relaxed);
        page.footprints_exact.store(counts.exact, Ordering::Relaxed);
        page.footprints_conservative
            .store(counts.conservative, Ordering::Relaxed);
        let (allocations, bytes) = self.device.registry.totals();
        page.allocations.store(allocations, Ordering::Relaxed);
        page.tracked_bytes.store(bytes, Ordering::Relaxed);
        count
    }

    /// Before the moment of all that will be observed, and after that of all that was.
    pub(crate) fn moment(&self) -> Moment {
        Moment(self.ring.position() + self.beside_ring.load(Ordering::Acquire))
    }

    /// That of something that is observed beside the ring.
    fn next_moment(&self) -> Moment {
        let beside = self.beside_ring.fetch_add(1, Ordering::AcqRel);
        Moment(self.ring.position() + beside)
    }

    /// Whether what is enqueued on a stream may be recorded into a graph.
    #[inline]
    pub(crate) fn is_captured(&self, stream: RawStream) -> bool {
        // The legacy stream cannot be captured, and must not be asked while others are.
        self.captures.may_be_any() && stream != RawStream::LEGACY && captures::is_capturing(stream)
    }
}
