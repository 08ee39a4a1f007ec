//! The control thread: reads the trace, and answers the controller.
//!
//! It starts with the first GPU call, takes no signals, and only ever connects out. Until somebody
//! asks for a checkpoint it looks at the agent page now and then.

pub(crate) mod apart;
pub(crate) mod own_thread;
pub(crate) mod shared;

use crate::agent::{Agent, existing};
use crate::call::gate::GATE;
use crate::call::thread::{hip_is_up, mark_own_thread};
use crate::checkpoint;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::supervise::prepare_own_thread;
use crate::control::own_thread::{OwnThread, without_signals};
use crate::fault::{self, guarded};
use crate::wire::page::{refuse, set_phase};
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_log::Wanted;
use strobe_proto::page::Phase;

/// How often the page is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long a call of HIP may have taken for the program's exit to wait for it: what compiles takes seconds
/// on a busy machine, and crashes when the compiler's objects are destroyed meanwhile.
const CALL_PATIENCE: Duration = Duration::from_secs(30);
/// How long the exit then waits for the thread itself, which only a silent controller holds up.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the cache of footprints may keep a checkpoint or an exit.
const CACHE_PATIENCE: Duration = Duration::from_millis(200);

/// The exit that came first. Held while it waits for our threads.
static FIRST_EXIT: Mutex<Option<FirstExit>> = Mutex::new(None);

/// What one exit has waited for, those that come after it do, too.
struct FirstExit {
    /// The kernel's number of its thread.
    thread: libc::pid_t,
    waited: Duration,
}

/// Starts the thread, once.
pub(crate) fn start(agent: &'static Agent) {
    let shared = &agent.control;
    if shared.started.swap(true, Ordering::AcqRel) {
        return;
    }
    // The environment is the program's: it may change as soon as this call is over.
    let phases = Wanted::from_environment();
    let started = without_signals(|| {
        std::thread::Builder::new()
            .name("strobe-agent".into())
            .spawn(move || {
                let phases = phases.of_guest(|| fault::ProgramStderr);
                let run = || tracing::dispatcher::with_default(&phases, || run(agent));
                if guarded(run).is_none() {
                    fail_open(agent);
                }
            })
    });
    match started {
        Ok(thread) => *shared.thread.lock() = Some(OwnThread::new(thread)),
        Err(error) => {
            fault::turn_off(&format!("no control thread: {error}"));
            return;
        }
    }
    // For exits that nobody announces (err(3)). Handlers run last in, first out: ours, of the first GPU call, comes before
    // those that HIP registered when it was loaded.
    // SAFETY: the handler does not unwind.
    unsafe { libc::atexit(at_exit) };
}

/// The program is about to exit: no thread of ours is in HIP when this returns, and none will be. A handler of a signal
/// that exits, too, comes after it: what it would wait for is this thread's.
///
/// Threads that exit while another does leave as long after it as they came: all would have waited here for the same, and a
/// C library before 2.41 crashes where two run its handlers at once (glibc's bug 31997).
pub fn before_exit() {
    without_signals(|| guarded(end));
}

/// Where there is an agent. With signals blocked: their handlers may exit.
fn end() -> Option<&'static Agent> {
    if crate::wire::page::state() != crate::wire::page::State::Live {
        return None;
    }
    let agent = existing()?;
    agent.control.exiting.store(true, Ordering::Release);
    let came = Instant::now();
    // SAFETY: asks the kernel for a number.
    let own = unsafe { libc::gettid() };
    let Some(mut first) = FIRST_EXIT.try_lock_for(CALL_PATIENCE + EXIT_PATIENCE) else {
        return Some(agent);
    };
    match &*first {
        None => {
            wait_for_own_threads(agent);
            *first = Some(FirstExit {
                thread: own,
                waited: came.elapsed(),
            });
        }
        // It exits again in one of its handlers.
        Some(known) if known.thread == own => {}
        Some(known) => {
            let leaves = came + known.waited;
            drop(first);
            std::thread::sleep(leaves.saturating_duration_since(Instant::now()));
        }
    }
    Some(agent)
}

fn wait_for_own_threads(agent: &Agent) {
    // In this order: the thread may wait for the call.
    agent.control.supervisor.end(CALL_PATIENCE);
    let thread = agent.control.thread.lock().take();
    let deadline = Instant::now() + EXIT_PATIENCE;
    // One that is not over by then is left alone.
    // While memory arrives it is in no call of HIP, and goes on: what runs at the exit may need that memory.
    let is_loading = || agent.device.course.is_loading();
    let _ = thread.map(|thread| thread.join(deadline, is_loading));
}

extern "C" fn at_exit() {
    guarded(|| {
        let Some(agent) = without_signals(end) else {
            return;
        };
        let reports = Wanted::from_environment().phases();
        if reports || agent.trace.lock().has_log() {
            agent.drain_ring(usize::MAX);
        }
        if reports {
            report(agent);
        }
    });
}

/// What was traced, and what could not be resolved.
fn report(agent: &Agent) {
    let trace = agent.trace.lock();
    for (kernel, reason) in trace.unresolved() {
        fault::say(&format!("strobe: {kernel} may write anything: {reason}\n"));
    }
    let counts = trace.counts();
    drop(trace);
    fault::say(&format!(
        "strobe: pid {} launches {} exact {} conservative {} checkpoints {}\n",
        std::process::id(),
        counts.launches,
        counts.exact,
        counts.conservative,
        agent.page.checkpoints.load(Ordering::Relaxed),
    ));
}

fn run(agent: &'static Agent) {
    mark_own_thread();
    // SAFETY: asks for a number.
    let number = unsafe { libc::gettid() };
    let number = u64::from(number.unsigned_abs());
    agent.page.control_thread.store(number, Ordering::Relaxed);
    while !agent.control.exiting.load(Ordering::Acquire) && !fault::is_off() {
        agent.drain_ring(usize::MAX);
        if !hip_is_up() {
            std::thread::sleep(LOOK_AGAIN);
            continue;
        }
        let request = agent.page.request.load(Ordering::Acquire);
        if agent.control.taken_up.swap(request, Ordering::AcqRel) != request {
            prepare_own_thread();
            leave_cache_alone(agent);
            checkpoint::run::run(agent);
        } else {
            fill_cache(agent);
            std::thread::sleep(LOOK_AGAIN);
        }
    }
    if fault::is_off() {
        fail_open(agent);
    }
    close_cache(agent);
}

/// Footprints that were found, for later runs.
fn fill_cache(agent: &Agent) {
    let uncached = {
        let mut trace = agent.trace.lock();
        match trace.uncached.is_empty() || !agent.cache.lock().is_idle() {
            true => return,
            false => std::mem::take(&mut trace.uncached),
        }
    };
    let some = uncached.iter().filter_map(|kernel| kernel.to_cache());
    let some = some.collect();
    agent.cache.lock().store(some);
}

/// No file of the cache is open when this returns, unless a disk does not answer.
fn leave_cache_alone(agent: &Agent) {
    let deadline = Instant::now() + CACHE_PATIENCE;
    while !agent.cache.lock().is_at_rest() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The program exits: what was learned last is kept, too, if that is done in time.
fn close_cache(agent: &Agent) {
    let deadline = Instant::now() + CACHE_PATIENCE;
    let is_idle = || agent.cache.lock().is_idle();
    let wait = || {
        while !is_idle() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait();
    fill_cache(agent);
    wait();
    agent.cache.lock().give_up();
}

/// Lets the program go on without us.
fn fail_open(agent: &Agent) {
    agent.device.course.give_up(&Refusal::Failed);
    agent.device.course.record(&agent.trace);
    GATE.open();
    let phase = agent.page.phase.load(Ordering::Acquire);
    if phase == Phase::Idle as u32 {
        set_phase(agent.page, Phase::Idle);
    } else {
        refuse(agent.page, &Refusal::Failed.to_string());
    }
}
