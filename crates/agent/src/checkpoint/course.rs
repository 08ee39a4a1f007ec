//! What becomes of the program's calls: off-checkpoint they leave records, and from the cut to the
//! last saved chunk they apply their own observations and keep the cut's content from being
//! overwritten. In a restored program they do so until all memory is there, and wait for what they touch.

use crate::call::gate::{GATE, thread_id};
use crate::checkpoint::progress::Since;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::saving::Saving;
use crate::device::word::Word;
use crate::loading::memory::Memory;
use crate::seen::captures::{Captures, RelaxedCapture};
use crate::seen::observed::RawStream;
use crate::seen::trace::{Effect, Trace};
use crate::wire::page::now_ns;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use strobe_engine::{Needed, Proceed, Waits, Writer};
use strobe_extent::{Access, ChunkIndex, Extent, StreamId};
use strobe_proto::HeldBy;

/// How long a held-back thread sleeps between two looks at a lane.
const LOOK_AGAIN: Duration = Duration::from_micros(50);
/// How long the program's freeing of memory waits for copies that nobody wants any more.
const FREE_PATIENCE: Duration = Duration::from_secs(5);
/// How long a blocked thread sleeps when nobody wakes it.
const BLOCKED_LOOK_AGAIN: Duration = Duration::from_millis(20);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// Whether the state is not [`State::Recording`]: all that the launch path looks at. Set with the state,
    /// by [`Course::keep`], [`Course::load`] and [`Course::record`] only. Orders nothing: a call comes through the gate, whose
    /// opening it sees with all that was stored before, and the state itself has its lock.
    attends: AtomicBool,
    state: Mutex<State>,
    /// A copy or memory has arrived, or that is over.
    changed: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Recording,
    Keeping(Box<Saving>),
    Loading(Box<Memory>),
}

impl State {
    fn saving(&mut self) -> Option<&mut Saving> {
        match self {
            State::Keeping(saving) => Some(saving),
            State::Recording | State::Loading(_) => None,
        }
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        match self {
            State::Loading(memory) => Some(memory),
            State::Recording | State::Keeping(_) => None,
        }
    }
}

impl Course {
    /// Whether calls keep the cut's content, or wait for memory. Changes to "yes" only while the gate is closed and
    /// empty.
    #[inline]
    pub(crate) fn attends(&self) -> bool {
        self.attends.load(Ordering::Relaxed)
    }

    /// From now on the cut's content is kept, and footprints must be right.
    pub(crate) fn keep(&self, trace: &Mutex<Trace>, saving: Saving) {
        let mut state = self.state.lock();
        *state = State::Keeping(Box::new(saving));
        trace.lock().must_be_right(true);
        self.attends.store(true, Ordering::Relaxed);
    }

    /// From now on memory is away, and calls wait for what they touch.
    pub(crate) fn load(&self, trace: &Mutex<Trace>, memory: Memory) {
        let mut state = self.state.lock();
        *state = State::Loading(Box::new(memory));
        trace.lock().must_be_right(true);
        self.attends.store(true, Ordering::Relaxed);
    }

    /// Nothing is kept any more, or waited for; what is left to release.
    pub(crate) fn record(&self, trace: &Mutex<Trace>) -> Option<Box<Saving>> {
        let mut state = self.state.lock();
        self.attends.store(false, Ordering::Relaxed);
        trace.lock().must_be_right(false);
        let before = std::mem::take(&mut *state);
        drop(state);
        self.changed.notify_all();
        match before {
            State::Recording | State::Loading(_) => None,
            State::Keeping(saving) => Some(saving),
        }
    }

    /// Whether memory is away.
    pub(crate) fn is_loading(&self) -> bool {
        self.state.lock().memory().is_some()
    }

    /// A chunk is filled: its bytes, and how many are left. Whoever waits is to be told.
    pub(crate) fn arrived(&self, chunk: ChunkIndex) -> io::Result<(Extent, u64)> {
        let mut state = self.state.lock();
        let memory = state.memory().ok_or(io::ErrorKind::InvalidInput)?;
        memory.arrived(chunk)
    }

    /// Whether all that is needed is there.
    pub(crate) fn has_arrived(&self, needed: &Needed) -> bool {
        let mut state = self.state.lock();
        state.memory().is_none_or(|memory| memory.is_there(needed))
    }

    /// Somebody waits for all memory.
    pub(crate) fn want_all(&self) {
        if let Some(memory) = self.state.lock().memory() {
            memory.want_all();
        }
    }

    /// The calling thread is about to touch this, or to have the device touch it: waits until it is there. During a
    /// checkpoint it is noted what is used first.
    pub(crate) fn before_touch(&self, access: &Access) {
        if access.reads.is_none() && access.writes.is_none() {
            return;
        }
        let mut state = self.state.lock();
        let memory = match &mut *state {
            State::Recording => return,
            State::Keeping(saving) => return saving.touched(access),
            State::Loading(memory) => memory,
        };
        let needed = memory.need(access);
        // When all is there the state is another.
        while state
            .memory()
            .is_some_and(|memory| !memory.is_there(&needed))
        {
            self.changed.wait_for(&mut state, BLOCKED_LOOK_AGAIN);
        }
    }

    /// Looks at what is kept, if anything is.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut Saving) -> R) -> Option<R> {
        self.state.lock().saving().map(look)
    }

    /// Whoever is blocked looks again.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Nothing is held back any more, and nothing will be delivered.
    pub(crate) fn give_up(&self, why: &Refusal) {
        self.with(|saving| saving.give_up(why));
        self.notify();
    }

    /// Whether no copy of ours is under way.
    pub(crate) fn is_idle(&self) -> bool {
        let now = Instant::now();
        self.with(|saving| saving.resources.wait_until_idle(now))
            .unwrap_or(true)
    }

    /// What the effect says is about to be written, in a stream or (without one) by the calling
    /// thread, which returns when the cut's content of it is safe or nobody wants it any more. A
    /// stream that cannot wait has its thread wait.
    pub(crate) fn before_write(
        &self,
        captures: &Captures,
        stream: Option<(StreamId, RawStream)>,
        effect: &Effect,
    ) {
        let writes = effect.writes();
        let writer = stream.map_or(Writer::Host, |(id, _)| Writer::Stream(id));
        // Who waits on the device.
        let waiter = stream
            .map(|(_, raw)| raw)
            .filter(|raw| Word::can_hold(raw.handle()));
        let relaxed = RelaxedCapture::begin(captures);
        let mut held = Held::default();
        let came_ns = now_ns();
        let mut state = self.state.lock();
        let waits = loop {
            let Some(saving) = state.saving() else {
                break Waits::default();
            };
            match saving.before_write(writer, writes, waiter) {
                Proceed::After(waits) => {
                    saving.launches += u64::from(stream.is_some());
                    saving.let_through(effect);
                    break waits;
                }
                Proceed::Blocked => {
                    held.look(saving, HeldBy::Room);
                    self.changed.wait_for(&mut state, BLOCKED_LOOK_AGAIN);
                }
            }
        };
        if waiter.is_none() && !waits.is_empty() {
            let by = match waits.out {
                Some(_) => HeldBy::Link,
                None => HeldBy::Aside,
            };
            while let Some(saving) = state.saving()
                && !saving.has_passed(waits)
            {
                held.look(saving, by);
                MutexGuard::unlocked(&mut state, || std::thread::sleep(LOOK_AGAIN));
            }
        }
        // First, so that the call is seen to have lasted for as long.
        held.end();
        if let Some(saving) = state.saving() {
            saving.called(effect, came_ns);
        }
        drop(state);
        relaxed.end();
    }

    /// Memory is about to go: waits for the copies that still read it after the checkpoint was given
    /// up. They wait for nothing, so that is soon; but where the device has no room for them, the
    /// program goes first.
    pub(crate) fn before_free(&self) {
        let (deadline, since_ns) = (Instant::now() + FREE_PATIENCE, now_ns());
        let is_read = |saving: &mut Saving| {
            saving.failed().is_some() && !saving.resources.wait_until_idle(Instant::now())
        };
        let mut waited = false;
        while Instant::now() < deadline && self.with(is_read) == Some(true) {
            waited = true;
            std::thread::sleep(LOOK_AGAIN);
        }
        if waited {
            GATE.held.add(HeldBy::Free, thread_id(), since_ns);
        }
    }
}

/// How long a thread of the program has been held back, and by what.
#[derive(Default)]
struct Held {
    /// As the patience with it has it.
    since: Option<Since>,
    /// By what it is held now, and since when.
    now: Option<(HeldBy, u64)>,
}

impl Held {
    /// The thread waits. Gives up when that has been too long.
    fn look(&mut self, saving: &mut Saving, by: HeldBy) {
        if self.now.is_some_and(|(before, _)| before != by) {
            self.note();
        }
        self.now.get_or_insert_with(|| (by, now_ns()));
        let since = *self.since.get_or_insert_with(|| saving.call_waits());
        saving.look_at_call(since);
    }

    fn note(&mut self) {
        if let Some((by, since_ns)) = self.now.take() {
            GATE.add_held_back(by, since_ns);
        }
    }

    fn end(mut self) {
        self.note();
    }
}
