//! One dispatch's work, and how whoever is free does it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strobe_kfd::aql::RESERVED;

use super::drill;
use super::memory::word64;
use super::occupancy;
use super::process::Process;
use super::save_area::SaveArea;
use crate::clock;
use crate::device::{Device, event, eviction};
use crate::precedence::Precedence;
use crate::space::View;
use crate::target::Model;
use crate::wave::{AccessLog, ComputeUnit, Control, Dispatch, Host, Native, Stop};

/// Instructions of a workgroup's turn, which few workgroups take. Those that spin for one another come round the sooner, the
/// shorter it is; each turn that is given away costs a save.
const TURN: u64 = 1 << 17;
/// Bytes of workgroups that are put away, where they need not fit into the save area.
const MOST_PUT_AWAY: u64 = 1 << 30;
/// How long one waits that has nobody to give its turn to.
const IDLE: Duration = Duration::from_micros(50);

/// A workgroup that was begun, by its number, as it was saved.
pub(super) type Saved = (u64, Vec<u8>);

/// The workgroups of one dispatch, or the pieces of what is done in their place, taken in order by whoever is
/// free.
#[derive(Debug)]
pub(super) struct Job {
    dispatch: Dispatch,
    native: Option<Native>,
    slot: usize,
    gpu: usize,
    /// The word of the queue that it is from.
    evict: &'static AtomicU32,
    /// Where it can be saved; none: it has to run to its end, unless the queue goes.
    area: Option<SaveArea>,
    pub total: u64,
    /// Workgroups that are on the GPU at once, at most.
    resident: u64,
    /// It goes on with some that were begun.
    was_evicted: bool,
    /// Of those that were not begun.
    next: AtomicU64,
    /// Saved workgroups: which nobody has gone on with yet, which have given others their turn, or which were evicted.
    waiting: AtomicUsize,
    log: bool,
    end: Mutex<End>,
    changed: Condvar,
}

/// How a job began, when it was evicted before.
#[derive(Debug, Default)]
pub(super) struct Begun {
    pub next: u64,
    pub saved: Vec<Saved>,
}

#[derive(Debug, Default)]
struct End {
    /// Threads that work on it.
    workers: u32,
    /// Nobody takes part any more.
    is_closed: bool,
    stop: Option<Stop>,
    accesses: AccessLog,
    /// The next one first. Whoever does not fit into the save area goes on, and may wait for any of the others, those
    /// that were evicted included.
    waiting: VecDeque<Saved>,
    /// What they take of the save area.
    bytes: u64,
}

/// What became of a job.
pub(super) enum Outcome {
    Done,
    Stopped(Stop),
    /// It was evicted.
    Unfinished(Begun),
}

enum Work {
    Fresh(u64),
    Saved(Saved),
}

impl Job {
    /// All work of a dispatch on a GPU, from the queue whose waves let go by the word `evict`; `log` says whether the
    /// accesses of its workgroups are wanted.
    pub(super) fn new(
        model: &Model,
        dispatch: Dispatch,
        native: Option<Native>,
        (slot, gpu): (usize, usize),
        (evict, area): (&'static AtomicU32, Option<SaveArea>),
        begun: Begun,
        log: bool,
    ) -> Self {
        let total = native
            .as_ref()
            .map_or_else(|| dispatch.groups(), Native::pieces);
        let taken = begun.saved.iter();
        let bytes = taken
            .map(|(_, saved)| SaveArea::taken_by(saved.len()))
            .sum();
        Self {
            resident: occupancy::groups(model, &dispatch),
            was_evicted: !begun.saved.is_empty(),
            dispatch,
            native,
            slot,
            gpu,
            evict,
            area,
            total,
            next: AtomicU64::new(begun.next),
            waiting: AtomicUsize::new(begun.saved.len()),
            log,
            end: Mutex::new(End {
                waiting: begun.saved.into(),
                bytes,
                ..End::default()
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes work until there is none, some stopped, or all have to let go.
    pub(super) fn work(&self, process: &Process, unit: &mut ComputeUnit) {
        let mut end = self.lock();
        if end.is_closed {
            return;
        }
        end.workers += 1;
        drop(end);
        let native = self.native.as_ref();
        let precedence = native.map(|_| Precedence::take(process.device));
        let mut accesses = self.log.then(AccessLog::new);
        let result = self.run(process, unit, accesses.as_mut());
        // Before it counts as done: then the process may be saved.
        drop(precedence);
        let mut end = self.lock();
        end.workers -= 1;
        if let Err(stop) = result {
            // The others take no more; the first reason is the one reported.
            self.next.store(self.total, Ordering::Relaxed);
            self.waiting.store(0, Ordering::Relaxed);
            end.waiting.clear();
            end.stop.get_or_insert(stop);
        }
        if let Some(accesses) = accesses {
            end.accesses.absorb(accesses);
        }
        drop(end);
        self.changed.notify_all();
    }

    /// For which reasons its waves let go.
    fn reasons(&self) -> u32 {
        if self.area.is_some() {
            u32::MAX
        } else {
            eviction::GONE
        }
    }

    fn run(
        &self,
        process: &Process,
        unit: &mut ComputeUnit,
        mut log: Option<&mut AccessLog>,
    ) -> Result<(), Stop> {
        let side = process.on(self.gpu);
        let space = side.space.snapshot(self.slot).ok();
        // With the queue, in memory of the program: it is saved with it, and each queue has its own.
        let barrier = self.dispatch.queue_address.wrapping_add(RESERVED);
        let host = Interrupts {
            device: process.device,
            slot: self.slot,
            grid_barrier: space.as_deref().and_then(|space| word64(space, barrier)),
        };
        let control = Control {
            word: self.evict,
            reasons: self.reasons(),
            host: &host,
        };
        let view = View {
            space: &side.space,
            slot: self.slot,
        };
        let (dispatch, program) = (&self.dispatch, &side.program);
        let [x, y, _] = dispatch.workgroups().map(u64::from);
        unit.take_turns((self.total > 1).then_some(TURN));
        // However often it is evicted, all are begun.
        let mut gave_way = self.was_evicted;
        loop {
            if control.evicts() {
                self.is_to_be_saved()?;
                if self.has_room_for_all() {
                    return Ok(());
                }
            }
            let Some(work) = self.take(gave_way) else {
                return Ok(());
            };
            let index = match &work {
                Work::Fresh(index) | Work::Saved((index, _)) => *index,
            };
            if let Some(native) = &self.native {
                native.run(index, &view)?;
                continue;
            }
            let id = [index % x, index / x % y, index / (x * y)].map(|id| id as u32);
            let mut ended = match &work {
                Work::Fresh(_) => {
                    let log = log.as_deref_mut();
                    unit.run_workgroup(dispatch, program, &view, id, &control, log)
                }
                Work::Saved((_, saved)) => {
                    unit.restore(dispatch, id, saved)?;
                    let log = log.as_deref_mut();
                    unit.go_on(dispatch, program, &view, id, &control, log)
                }
            };
            let mut control = control;
            gave_way = loop {
                match ended {
                    Err(Stop::Evicted) => {
                        self.is_to_be_saved()?;
                        let is_spent = unit.is_spent();
                        match self.keep(index, unit.save(dispatch, id)) {
                            Ok(()) => {
                                if is_spent {
                                    process.device.note_drill();
                                    self.evict.fetch_or(eviction::DRILLED, Ordering::SeqCst);
                                    drill::go_on(process.device, unit);
                                }
                                return Ok(());
                            }
                            Err(saved) if is_spent => {
                                drill::go_on(process.device, unit);
                                // It may come to this before its turn is ever over.
                                if self.gives_way() && self.park(index, saved, false) {
                                    break true;
                                }
                            }
                            Err(_) => {}
                        }
                        // Whoever wants it away waits.
                        control.reasons = eviction::GONE;
                    }
                    Err(Stop::TurnOver { idle }) => {
                        let saved = || unit.save(dispatch, id);
                        if self.gives_way() && self.park(index, saved(), control.evicts()) {
                            break true;
                        }
                        if idle {
                            std::thread::sleep(IDLE);
                        }
                    }
                    ended => {
                        ended?;
                        break false;
                    }
                }
                let log = log.as_deref_mut();
                ended = unit.go_on(dispatch, program, &view, id, &control, log);
            };
        }
    }

    /// Whether what lets go is to be saved: not when the queue goes.
    fn is_to_be_saved(&self) -> Result<(), Stop> {
        if self.evict.load(Ordering::Acquire) & eviction::GONE == 0 {
            Ok(())
        } else {
            Err(Stop::Evicted)
        }
    }

    /// Whether somebody wants the turn of a workgroup that is under way.
    fn gives_way(&self) -> bool {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let end = self.lock();
        self.begins_more(&end, end.workers)
    }

    /// Whether there is room on the GPU for a workgroup that was not begun, where so many workers have one in their hands.
    fn begins_more(&self, end: &End, workers: u32) -> bool {
        let begun = end.waiting.len() as u64 + u64::from(workers);
        self.next.load(Ordering::Relaxed) < self.total && begun < self.resident
    }

    /// Puts away a workgroup that gives others its turn. Room in the save area it needs only where the queue is to be
    /// evicted: the runtime's is for registers and LDS, and private memory lies elsewhere on hardware.
    fn park(&self, index: u64, saved: Vec<u8>, is_to_go: bool) -> bool {
        let mut end = self.lock();
        if !self.fits(&mut end, saved.len()) {
            let bytes = end.bytes + SaveArea::taken_by(saved.len());
            if is_to_go || bytes > MOST_PUT_AWAY {
                return false;
            }
            end.bytes = bytes;
        }
        self.put_away(&mut end, (index, saved));
        true
    }

    fn put_away(&self, end: &mut End, saved: Saved) {
        end.waiting.push_back(saved);
        self.waiting.store(end.waiting.len(), Ordering::Relaxed);
    }

    /// Whether all that is put away can be saved.
    fn has_room_for_all(&self) -> bool {
        let end = self.lock();
        let area = self.area.as_ref();
        area.is_none_or(|area| area.has_room(end.waiting.len(), end.bytes))
    }

    /// Those first that were begun; unless one has just given its turn, which it may need another one for.
    fn take(&self, gave_way: bool) -> Option<Work> {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let mut end = self.lock();
            // Its own is put away already.
            let is_fresh = gave_way && self.begins_more(&end, end.workers.saturating_sub(1));
            if !is_fresh && let Some(saved) = end.waiting.pop_front() {
                self.waiting.store(end.waiting.len(), Ordering::Relaxed);
                end.bytes -= SaveArea::taken_by(saved.1.len());
                return Some(Work::Saved(saved));
            }
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if index < self.total {
            return Some(Work::Fresh(index));
        }
        // Others were as fast to begin the last one.
        let is_waiting = gave_way && self.waiting.load(Ordering::Relaxed) > 0;
        if is_waiting { self.take(false) } else { None }
    }

    /// Takes note of the room that a workgroup needs to be saved; false if there is none.
    fn fits(&self, end: &mut End, len: usize) -> bool {
        let bytes = end.bytes + SaveArea::taken_by(len);
        let groups = end.waiting.len() + 1;
        let fits = self.area.is_none_or(|area| area.has_room(groups, bytes));
        if fits {
            end.bytes = bytes;
        }
        fits
    }

    /// Keeps a workgroup that was evicted; gives it back where there is no room for it.
    fn keep(&self, index: u64, saved: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut end = self.lock();
        if self.area.is_none() || !self.fits(&mut end, saved.len()) {
            return Err(saved);
        }
        self.put_away(&mut end, (index, saved));
        Ok(())
    }

    /// Waits for the helpers that are still inside; nobody comes in any more.
    pub(super) fn join(&self) -> (Outcome, AccessLog) {
        let mut end = self.lock();
        while end.workers > 0 {
            end = self
                .changed
                .wait(end)
                .unwrap_or_else(PoisonError::into_inner);
        }
        end.is_closed = true;
        let accesses = std::mem::take(&mut end.accesses);
        // Whoever has had no turn goes first.
        let saved: Vec<Saved> = end.waiting.drain(..).collect();
        let next = self.next.load(Ordering::Relaxed).min(self.total);
        let outcome = match end.stop.take() {
            Some(stop) => Outcome::Stopped(stop),
            None if next == self.total && saved.is_empty() => Outcome::Done,
            None => Outcome::Unfinished(Begun { next, saved }),
        };
        (outcome, accesses)
    }

    /// Whether there is work left for whoever comes.
    pub(super) fn has_more(&self) -> bool {
        let is_left = self.waiting.load(Ordering::Relaxed) > 0
            || self.next.load(Ordering::Relaxed) < self.total;
        is_left && self.evict.load(Ordering::Relaxed) & self.reasons() == 0
    }
}

/// What a wave can ask for.
struct Interrupts<'a> {
    device: &'a Device,
    slot: usize,
    grid_barrier: Option<&'a AtomicU64>,
}

impl Host for Interrupts<'_> {
    fn interrupt(&self, m0: u32) {
        let id = m0 & 0xff;
        if id == 0 || !event::mark(self.device, self.slot, id) {
            event::mark_all(self.device, self.slot);
        }
        event::wake(self.device, self.slot);
    }

    fn ticks(&self) -> u64 {
        clock::ticks()
    }

    fn grid_barrier(&self) -> Option<&AtomicU64> {
        self.grid_barrier
    }
}
