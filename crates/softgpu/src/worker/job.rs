//! One dispatch's work, and how whoever is free does it.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::drill;
use super::process::Process;
use super::save_area::SaveArea;
use crate::clock;
use crate::device::{Device, event, eviction};
use crate::precedence::Precedence;
use crate::space::View;
use crate::wave::{AccessLog, ComputeUnit, Control, Dispatch, Host, Native, Stop};

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
    /// Of those that were not begun.
    next: AtomicU64,
    /// Saved workgroups that nobody has gone on with yet.
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
    waiting: Vec<Saved>,
    evicted: Vec<Saved>,
    /// What both take of the save area.
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
                waiting: begun.saved,
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
        let host = Interrupts {
            device: process.device,
            slot: self.slot,
        };
        let control = Control {
            word: self.evict,
            reasons: self.reasons(),
            host: &host,
        };
        let to_the_end = Control {
            reasons: eviction::GONE,
            ..control
        };
        let view = View {
            space: &side.space,
            slot: self.slot,
        };
        let (dispatch, program) = (&self.dispatch, &side.program);
        let [x, y, _] = dispatch.workgroups().map(u64::from);
        loop {
            if control.evicts() {
                return self.is_to_be_saved();
            }
            let Some(work) = self.take() else {
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
            let mut log = log.as_deref_mut();
            let mut ended = match &work {
                Work::Fresh(_) => {
                    unit.run_workgroup(dispatch, program, &view, id, &control, log.as_deref_mut())
                }
                Work::Saved((_, saved)) => {
                    unit.restore(dispatch, id, saved)?;
                    unit.go_on(dispatch, program, &view, id, &control, log.as_deref_mut())
                }
            };
            if ended == Err(Stop::Evicted) {
                self.is_to_be_saved()?;
                let is_kept = self.keep(index, unit.save(dispatch, id));
                if unit.is_spent() {
                    if is_kept {
                        process.device.note_drill();
                        self.evict.fetch_or(eviction::DRILLED, Ordering::SeqCst);
                    }
                    drill::go_on(process.device, unit);
                }
                if is_kept {
                    return Ok(());
                }
                // Whoever wants it away waits.
                ended = unit.go_on(dispatch, program, &view, id, &to_the_end, log);
            }
            ended?;
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

    /// Those first that were begun.
    fn take(&self) -> Option<Work> {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let mut end = self.lock();
            if let Some(saved) = end.waiting.pop() {
                self.waiting.store(end.waiting.len(), Ordering::Relaxed);
                end.bytes -= SaveArea::taken_by(saved.1.len());
                return Some(Work::Saved(saved));
            }
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.total).then_some(Work::Fresh(index))
    }

    /// Keeps a workgroup that was evicted, if there is room for it.
    fn keep(&self, index: u64, saved: Vec<u8>) -> bool {
        let Some(area) = &self.area else { return false };
        let mut end = self.lock();
        let bytes = end.bytes + SaveArea::taken_by(saved.len());
        let groups = end.waiting.len() + end.evicted.len() + 1;
        let has_room = area.has_room(groups, bytes);
        if has_room {
            end.bytes = bytes;
            end.evicted.push((index, saved));
        }
        has_room
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
        let mut saved = std::mem::take(&mut end.evicted);
        saved.append(&mut end.waiting);
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
}
