//! One dispatch's work, and how whoever is free does it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::process::Process;
use crate::clock;
use crate::device::{Device, event};
use crate::space::View;
use crate::wave::{AccessLog, ComputeUnit, Control, Dispatch, HELD, Host, Native, Stop};

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
    pub total: u64,
    next: AtomicU64,
    log: bool,
    /// Threads whose waves are held where they are.
    held: AtomicU32,
    end: Mutex<End>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct End {
    /// Threads that work on it.
    workers: u32,
    stop: Option<Stop>,
    accesses: AccessLog,
}

impl Job {
    /// All work of a dispatch on a GPU, from the queue whose waves let go or hold by the word
    /// `evict`; `log` says whether the accesses of its workgroups are wanted.
    pub(super) fn new(
        dispatch: Dispatch,
        native: Option<Native>,
        (slot, gpu): (usize, usize),
        evict: &'static AtomicU32,
        log: bool,
    ) -> Self {
        let total = native.as_ref().map_or_else(
            || dispatch.workgroups().map(u64::from).iter().product(),
            Native::pieces,
        );
        Self {
            dispatch,
            native,
            slot,
            gpu,
            evict,
            total,
            next: AtomicU64::new(0),
            log,
            held: AtomicU32::new(0),
            end: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes work until there is none or some stopped.
    pub(super) fn work(&self, process: &Process, unit: &mut ComputeUnit) {
        self.lock().workers += 1;
        let mut accesses = self.log.then(AccessLog::new);
        let result = self.run(process, unit, accesses.as_mut());
        let mut end = self.lock();
        end.workers -= 1;
        if let Err(stop) = result {
            // The others take no more; the first reason is the one reported.
            self.next.store(self.total, Ordering::Relaxed);
            end.stop.get_or_insert(stop);
        }
        if let Some(accesses) = accesses {
            end.accesses.absorb(accesses);
        }
        drop(end);
        self.changed.notify_all();
    }

    fn run(
        &self,
        process: &Process,
        unit: &mut ComputeUnit,
        mut log: Option<&mut AccessLog>,
    ) -> Result<(), Stop> {
        let (word, side) = (self.evict, process.on(self.gpu));
        let host = Interrupts {
            device: process.device,
            slot: self.slot,
            held: &self.held,
        };
        let control = Control {
            word,
            generation: word.load(Ordering::Acquire) & !HELD,
            host: &host,
        };
        let view = View {
            space: &side.space,
            slot: self.slot,
        };
        let [x, y, _] = self.dispatch.workgroups().map(u64::from);
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.total {
                return Ok(());
            }
            if let Some(native) = &self.native {
                native.run(index, &view, &control)?;
                continue;
            }
            let id = [index % x, index / x % y, index / (x * y)].map(|id| id as u32);
            unit.run_workgroup(
                &self.dispatch,
                &side.program,
                &view,
                id,
                &control,
                log.as_deref_mut(),
            )?;
        }
    }

    /// Waits for the helpers that are still inside.
    pub(super) fn join(&self) -> (Option<Stop>, AccessLog) {
        let mut end = self.lock();
        while end.workers > 0 {
            end = self
                .changed
                .wait(end)
                .unwrap_or_else(PoisonError::into_inner);
        }
        (end.stop.take(), std::mem::take(&mut end.accesses))
    }

    /// Whether no thread executes anything of it, given that its waves were told to hold: whoever
    /// comes to work on it after this was asked is held before the first instruction.
    pub(super) fn is_held(&self) -> bool {
        let end = self.lock();
        self.held.load(Ordering::SeqCst) >= end.workers
    }

    /// Whether there is work left.
    pub(super) fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.total
    }
}

/// What a wave can ask for.
struct Interrupts<'a> {
    device: &'a Device,
    slot: usize,
    held: &'a AtomicU32,
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

    fn held(&self, begins: bool) {
        if begins {
            self.held.fetch_add(1, Ordering::SeqCst);
        } else {
            self.held.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
