//! The threads of one process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::drill;
use super::offers::Offers;
use super::process::Process;
use super::queue::QueueState;
use super::runner::Runner;
use crate::device::Device;
use crate::device::eviction::GONE;
use crate::report::report;

/// How long the poller sleeps, by how long nothing has happened.
const POLL: [(Duration, Duration); 4] = [
    (Duration::from_millis(3), Duration::from_micros(20)),
    (Duration::from_millis(300), Duration::from_micros(100)),
    (Duration::from_secs(5), Duration::from_micros(500)),
    (Duration::MAX, Duration::from_millis(2)),
];
/// How long the destruction of a queue waits for the packet it is executing before its waves have to
/// let go.
const RETIRE_LIMIT: Duration = Duration::from_millis(200);
/// How long the loss of its share waits for that, of a queue that has nowhere to save them.
const SHARE_LIMIT: Duration = Duration::from_secs(5);

/// The threads of one process, and what they share. Never freed: threads borrow it.
#[derive(Debug)]
pub(super) struct Pool {
    process: Process,
    queues: Mutex<Queues>,
    ready: Mutex<VecDeque<Arc<QueueState>>>,
    ready_signal: Condvar,
    idle_runners: AtomicUsize,
    runners: AtomicUsize,
    offers: Offers,
}

/// The queues as last read from the tables.
#[derive(Debug, Default)]
struct Queues {
    tenancy: u64,
    epoch: u32,
    list: Vec<Arc<QueueState>>,
}

impl Pool {
    /// Starts the poller; runners and helpers come with the first work.
    pub(super) fn launch(device: &'static Device, pid: u32) -> &'static Self {
        let pool: &'static Self = Box::leak(Box::new(Self {
            process: Process::new(device, pid),
            queues: Mutex::default(),
            ready: Mutex::default(),
            ready_signal: Condvar::new(),
            idle_runners: AtomicUsize::new(0),
            runners: AtomicUsize::new(0),
            offers: Offers::new(),
        }));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        spawn("softgpu-poll", move || pool.poll());
        for _ in 1..cores.min(32) {
            spawn("softgpu-help", move || pool.help());
        }
        pool
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid
    }

    fn lock_queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the queue table again when it has changed.
    fn refresh(&self, queues: &mut Queues) {
        if self.process.slot().is_none() {
            queues.list.clear();
            if !self.process.find_slot() {
                // Restored memory on a device that does not know the process.
                return;
            }
        }
        let Some((slot, tenancy)) = self.process.slot() else {
            return;
        };
        if queues.tenancy != tenancy {
            queues.list.clear();
            queues.tenancy = tenancy;
            queues.epoch = 0;
        }
        let epoch = self.process.device.state().live[slot]
            .queue_epoch
            .load(Ordering::Acquire);
        if queues.epoch == epoch {
            return;
        }
        let Ok(tables) = self.process.device.lock() else {
            return;
        };
        let old = std::mem::take(&mut queues.list);
        queues.list = tables
            .queues_of(slot)
            .map(|queue| {
                let known = old.iter().find(|known| known.is(queue));
                if let Some(known) = known {
                    known.set_share(queue.percentage);
                }
                let stack = tables.control_stack(queue);
                let has_begun = stack.is_some_and(|stack| !stack.content().is_empty());
                let new = || Arc::new(QueueState::new(*queue, tenancy, has_begun));
                known.map_or_else(new, Arc::clone)
            })
            .collect();
        queues.epoch = epoch;
    }

    fn poll(&'static self) {
        // SAFETY: no pointers; the finest timer resolution for this thread's short sleeps.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        let mut last = Instant::now();
        loop {
            if self.pass() {
                last = Instant::now();
            }
            let idle = last.elapsed();
            let sleep = POLL
                .iter()
                .find(|(limit, _)| idle < *limit)
                .map_or(POLL[3].1, |(_, sleep)| *sleep);
            std::thread::sleep(sleep);
        }
    }

    /// Gives every queue that has work to a runner; whether there was any.
    fn pass(&'static self) -> bool {
        let mut queues = self.lock_queues();
        self.refresh(&mut queues);
        let Some((slot, _)) = self.process.slot() else {
            return false;
        };
        if self.process.device.state().live[slot].is_paused() {
            return false;
        }
        let mut found = false;
        for queue in &queues.list {
            if queue.is_busy() {
                found = true;
                continue;
            }
            let Ok(space) = self.process.on(queue.gpu()).space.snapshot(slot) else {
                continue;
            };
            if queue.has_work(self.process.device, slot, &space) && queue.claim() {
                found = true;
                self.hand_over(Arc::clone(queue));
            }
        }
        found
    }

    fn hand_over(&'static self, queue: Arc<QueueState>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push_back(queue);
        if self.idle_runners.load(Ordering::Acquire) < ready.len() {
            let number = self.runners.fetch_add(1, Ordering::Relaxed);
            spawn(&format!("softgpu-run{number}"), move || self.run());
        }
        drop(ready);
        self.ready_signal.notify_one();
    }

    fn run(&'static self) {
        let mut runner = Runner::new(&self.process, &self.offers);
        loop {
            let queue = {
                let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
                self.idle_runners.fetch_add(1, Ordering::AcqRel);
                while ready.is_empty() {
                    ready = self
                        .ready_signal
                        .wait(ready)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                self.idle_runners.fetch_sub(1, Ordering::AcqRel);
                ready.pop_front()
            };
            if let Some(queue) = queue {
                runner.serve(&queue);
                queue.release();
            }
        }
    }

    fn help(&'static self) {
        let mut unit = drill::unit(self.process.device);
        loop {
            self.offers.next().work(&self.process, &mut unit);
        }
    }

    /// The queue as the tables have it now; it may be too young to have been seen.
    fn find(&self, id: u32) -> Option<Arc<QueueState>> {
        let mut queues = self.lock_queues();
        self.refresh(&mut queues);
        queues.list.iter().find(|queue| queue.id() == id).cloned()
    }

    /// Takes note of a queue's new share. When it has none, nothing of it is executed on return: a kernel that it was
    /// executing is saved. False if it does not let go.
    pub(super) fn share(&self, id: u32) -> bool {
        let Some(queue) = self.find(id) else {
            return true;
        };
        let start = Instant::now();
        while !queue.has_share() && queue.is_busy() {
            if start.elapsed() > SHARE_LIMIT {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    }

    pub(super) fn retire(&self, id: u32) {
        let Some(queue) = self.find(id) else { return };
        queue.stop();
        let start = Instant::now();
        while queue.is_busy() {
            if start.elapsed() > RETIRE_LIMIT
                && let Some((slot, _)) = self.process.slot()
            {
                // A kernel that does not end by itself: the program gave it up.
                let word = queue.evict(self.process.device, slot);
                word.fetch_or(GONE, Ordering::AcqRel);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Starts a thread that takes no signals and cannot unwind into the program.
fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut old = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are live; the first is filled before it is read. A new thread inherits the
    // mask, so it never runs a handler of the program.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
    }
    let started = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body);
    // SAFETY: `old` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut()) };
    if let Err(error) = started {
        report(&format!("cannot start the thread {name}: {error}"));
    }
}
