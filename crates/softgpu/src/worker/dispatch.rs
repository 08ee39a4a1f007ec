//! Runs the workgroups of one kernel dispatch, on the queue's thread and on idle helpers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::access;
use super::aql::Times;
use super::memory::read;
use super::pool::Pool;
use super::queue::QueueState;
use crate::clock;
use crate::device::event;
use crate::space::{Snapshot, View};
use crate::wave::{
    AccessLog, ComputeUnit, Control, Descriptor, Dispatch, HELD, Host, Packet, Stop,
};

/// A dispatch packet and where it stands.
pub(super) struct Run<'a> {
    pub(super) pool: &'static Pool,
    pub(super) slot: usize,
    pub(super) queue: &'a QueueState,
    pub(super) packet: &'a [u8; 64],
    pub(super) address: u64,
    pub(super) queue_address: u64,
    pub(super) index: u64,
}

impl Run<'_> {
    /// Runs all workgroups to their end.
    pub(super) fn execute(&self, space: &Snapshot, unit: &mut ComputeUnit) -> Result<Times, Stop> {
        let packet = Packet::parse(self.packet);
        let begin = Instant::now();
        let start = clock::ticks();
        let fault = |addr: u64| Stop::Fault {
            addr,
            write: false,
            pc: 0,
        };
        let descriptor =
            read::<64>(space, packet.kernel_object).ok_or(fault(packet.kernel_object))?;
        let dispatch = Dispatch {
            packet,
            descriptor: Descriptor::parse(&descriptor),
            packet_address: self.address,
            queue_address: self.queue_address,
            dispatch_id: self.index,
        };
        let [x, y, z] = dispatch.workgroups().map(u64::from);
        let log = access::path(self.pool.device()).is_some();
        let job = Arc::new(Job {
            dispatch,
            slot: self.slot,
            doorbell: self.queue.doorbell(),
            total: x * y * z,
            next: AtomicU64::new(0),
            log,
            held: AtomicU32::new(0),
            end: Mutex::default(),
            changed: Condvar::new(),
        });
        self.queue.runs(Some(&job));
        if job.total > 1 {
            self.pool.helpers().offer(&job);
        }
        job.work(self.pool, unit);
        let (stop, accesses) = job.join();
        self.pool.helpers().withdraw(&job);
        self.queue.runs(None);
        if let Some(stop) = stop {
            return Err(stop);
        }
        if log {
            access::record(
                self.pool.device(),
                space,
                self.queue_address,
                &dispatch,
                accesses,
            );
        }
        let floor = Duration::from_nanos(self.pool.device().header().kernel_floor_ns);
        std::thread::sleep(floor.saturating_sub(begin.elapsed()));
        Ok(Some((start, clock::ticks())))
    }
}

/// The workgroups of one dispatch, taken in order by whoever is free.
#[derive(Debug)]
pub(super) struct Job {
    dispatch: Dispatch,
    slot: usize,
    doorbell: usize,
    total: u64,
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
    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes workgroups until there are none or one stopped.
    pub(super) fn work(&self, pool: &'static Pool, unit: &mut ComputeUnit) {
        self.lock().workers += 1;
        let mut accesses = self.log.then(AccessLog::new);
        let result = self.run(pool, unit, accesses.as_mut());
        let mut end = self.lock();
        end.workers -= 1;
        if let Err(stop) = result {
            // The others take no more workgroups; the first reason is the one reported.
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
        pool: &'static Pool,
        unit: &mut ComputeUnit,
        mut log: Option<&mut AccessLog>,
    ) -> Result<(), Stop> {
        let device = pool.device();
        let word = &device.state().live[self.slot].evict[self.doorbell];
        let host = Interrupts {
            pool,
            slot: self.slot,
            held: &self.held,
        };
        let control = Control {
            word,
            generation: word.load(Ordering::Acquire) & !HELD,
            host: &host,
        };
        let view = View {
            space: pool.space(),
            slot: self.slot,
        };
        let [x, y, _] = self.dispatch.workgroups().map(u64::from);
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.total {
                return Ok(());
            }
            let id = [index % x, index / x % y, index / (x * y)].map(|id| id as u32);
            unit.run_workgroup(
                &self.dispatch,
                pool.program(),
                &view,
                id,
                &control,
                log.as_deref_mut(),
            )?;
        }
    }

    /// Waits for the helpers that are still inside.
    fn join(&self) -> (Option<Stop>, AccessLog) {
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

    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.total
    }
}

/// What a wave can ask for.
struct Interrupts<'a> {
    pool: &'static Pool,
    slot: usize,
    held: &'a AtomicU32,
}

impl Host for Interrupts<'_> {
    fn interrupt(&self, m0: u32) {
        let device = self.pool.device();
        let id = m0 & 0xff;
        if id == 0 || !event::mark(device, self.slot, id) {
            event::mark_all(device, self.slot);
        }
        event::wake(device, self.slot);
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

/// Dispatches that idle threads can help with.
#[derive(Debug)]
pub(super) struct Helpers {
    offers: Mutex<VecDeque<Arc<Job>>>,
    changed: Condvar,
}

impl Helpers {
    pub(super) fn new() -> Self {
        Self {
            offers: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, job: &Arc<Job>) {
        self.lock().push_back(Arc::clone(job));
        self.changed.notify_all();
    }

    fn withdraw(&self, job: &Arc<Job>) {
        self.lock().retain(|offer| !Arc::ptr_eq(offer, job));
    }

    /// Waits for a dispatch with workgroups left. The caller is counted as a worker of it only once
    /// it calls [`Job::work`]; a job that ended meanwhile has none left to take.
    pub(super) fn next(&self) -> Arc<Job> {
        let mut offers = self.lock();
        loop {
            if let Some(job) = offers.iter().find(|job| job.has_more()) {
                return Arc::clone(job);
            }
            offers = self
                .changed
                .wait(offers)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
