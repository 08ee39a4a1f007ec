//! The course of one checkpoint, on the control thread.
//!
//! ```text
//! Preparing -> Armed -> Closing -> Cut -> Copying -> Idle
//!     |          |         |        |        |
//!     +----------+---------+--------+--------+--> Refused (gate open, the program goes on)
//!                                   +-> Idle (aborted by the plugin, or restored from the image)
//! ```
//!
//! Whatever happens, the gate is open and nothing is held back when this returns.

pub(crate) mod course;
mod cut;
mod deliver;
mod drain;
mod paused;
mod progress;
pub(crate) mod refusal;
pub(crate) mod saving;
mod set_aside;
pub(crate) mod supervise;

use crate::agent::{Agent, GATE, nothing_refused, nothing_refused_is_linked};
use crate::checkpoint::cut::Cut;
use crate::checkpoint::drain::NotDrained;
use crate::checkpoint::refusal::{Refusal, lost, unreachable};
use crate::device::resources::Resources;
use crate::seen::observed::RawStream;
use crate::wire::connection::Connection;
use crate::wire::controller::{controller_is_there, controller_lives};
use crate::wire::page::{is_another_process, now_ns, refuse, set_phase, start_time, verdict};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_hip::next;
use strobe_proto::page::{AgentPage, Phase, Verdict};
use strobe_proto::{Begin, Mode, Prepared, Validate, from_agent, to_agent};

/// How long HIP may take to make the resources.
const PREPARE_PATIENCE: Duration = Duration::from_secs(10);
/// How long giving back waits for who makes the resources.
const SPARE_PATIENCE: Duration = Duration::from_secs(1);
/// How long an armed agent waits for the dump to begin.
const ARMED_PATIENCE: Duration = Duration::from_secs(300);
/// How long a cut may last. CRIU writes the program's whole host memory in this time.
const CUT_PATIENCE: Duration = Duration::from_secs(1800);
/// How much longer than a deadline an answer of HIP may take that says what was so at the deadline.
const GRACE: Duration = Duration::from_millis(100);
/// How often the page is looked at while the program goes on, and while it stands still.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
const LOOK_AGAIN_AT_CUT: Duration = Duration::from_micros(500);
/// Between looks at whether the controller lives.
const LIVENESS: Duration = Duration::from_millis(10);
/// Pause after a gate that could not be drained, times the number of the attempt.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);
/// Bytes of the pinned ring, about; it is never less than this many slots.
const RING_BYTES: u64 = 32 << 20;
const RING_SLOTS: (u64, u64) = (4, 64);
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 4096..=256 << 20;
const ATTEMPTS: std::ops::RangeInclusive<u32> = 1..=100;
const DRAIN_MS: std::ops::RangeInclusive<u32> = 1..=600_000;
const HOLD_MS: std::ops::RangeInclusive<u32> = 1..=3_600_000;

/// Takes the checkpoint that the page asks for.
pub(crate) fn run(agent: &'static Agent) {
    let page = agent.page;
    page.verdict
        .store(Verdict::Pending as u32, Ordering::Release);
    page.gate_request.store(0, Ordering::Release);
    page.answer_len.store(0, Ordering::Relaxed);
    page.attempts.store(0, Ordering::Relaxed);
    set_phase(page, Phase::Preparing);
    agent.control.begin_checkpoint();
    match course(agent) {
        Ok(()) => set_phase(page, Phase::Idle),
        Err(why) => {
            // Wherever it ended: nothing stays borrowed.
            let_go(agent);
            refuse(page, &why.to_string());
        }
    }
}

fn course(agent: &'static Agent) -> Result<(), Refusal> {
    let Some(begin) = prepare(agent)? else {
        return Ok(());
    };
    set_phase(agent.page, Phase::Armed);
    wait_for_dump(agent)?;
    set_phase(agent.page, Phase::Closing);
    close_and_drain(agent, &begin)?;
    // From here on the gate is closed and empty and the GPU idle.
    agent.page.drained_ns.store(now_ns(), Ordering::Relaxed);
    let cut = match Cut::take(agent, &begin) {
        Ok(cut) => cut,
        Err(why) => {
            GATE.open();
            return Err(why);
        }
    };
    let page = agent.page;
    let hand_over = cut.hand_over(agent, &begin);
    page.hand_over
        .store(hand_over.as_ptr() as u64, Ordering::Relaxed);
    page.hand_over_len
        .store(hand_over.len() as u64, Ordering::Relaxed);
    set_phase(page, Phase::Cut);
    let verdict = wait_for_verdict(agent);
    page.hand_over_len.store(0, Ordering::Relaxed);
    drop(hand_over);
    match verdict {
        Ok(Verdict::Dumped) => deliver::run(agent, &begin, cut),
        Ok(Verdict::Restored) => {
            restored(agent);
            Ok(())
        }
        Ok(Verdict::Aborted | Verdict::Pending) => {
            open(agent);
            let_go(agent);
            Ok(())
        }
        Err(why) => {
            // Before the gate: what passes it would wait for them.
            paused::let_queues_run();
            open(agent);
            let_go(agent);
            Err(why)
        }
    }
}

/// Talks to the controller and makes what the checkpoint needs; nothing where none is asked for.
fn prepare(agent: &'static Agent) -> Result<Option<Begin>, Refusal> {
    let mut connection = Connection::open(agent.page).map_err(unreachable)?;
    let begin = match connection.receive().map_err(lost)? {
        to_agent::Body::Begin(begin) => begin,
        to_agent::Body::ShowLaunches(_) => {
            show_launches(agent, &mut connection)?;
            return Ok(None);
        }
        _ => return Err(Refusal::WrongOrder),
    };
    let mut watch = Watch::new(agent.page);
    let prepared = check(&begin)
        .and_then(|()| watch.look(agent))
        .and_then(|()| used_nothing_refused(agent))
        .and_then(|()| make_resources(agent, &begin));
    let answer = match &prepared {
        Ok(()) => {
            let (allocations, tracked_bytes) = agent.device.registry.totals();
            from_agent::Body::Prepared(Prepared {
                tracked_bytes,
                allocations,
            })
        }
        Err(why) => from_agent::Body::Refused(strobe_proto::Refused {
            reason: why.to_string(),
        }),
    };
    connection.send(answer).map_err(lost)?;
    prepared?;
    show_launches(agent, &mut connection)?;
    Ok(Some(begin))
}

/// What the program has launched so far. Its threads do not wait meanwhile: they leave records.
fn show_launches(agent: &Agent, connection: &mut Connection) -> Result<(), Refusal> {
    agent.drain_ring(usize::MAX);
    let pieces = agent.trace.lock().pieces();
    pieces.into_iter().try_for_each(|piece| {
        let sent = connection.send(from_agent::Body::Launches(piece));
        sent.map_err(lost)
    })
}

fn check(begin: &Begin) -> Result<(), Refusal> {
    let asks_sense = begin.chunk_bytes.is_power_of_two()
        && CHUNK_BYTES.contains(&begin.chunk_bytes)
        && ATTEMPTS.contains(&begin.drain_attempts)
        && DRAIN_MS.contains(&begin.drain_timeout_ms)
        && HOLD_MS.contains(&begin.max_hold_ms)
        && begin.mode() != Mode::Unspecified
        && begin.validate() != Validate::Unspecified;
    if !asks_sense {
        return Err(Refusal::Nonsense(format!("{begin:?}")));
    }
    Ok(())
}

/// Whatever is done by functions that are not modelled is in no image. They do not pass the gate, so
/// this is asked before the work begins, at the cut, and when all is delivered.
pub(crate) fn used_nothing_refused(agent: &'static Agent) -> Result<(), Refusal> {
    let deadline = Instant::now() + PREPARE_PATIENCE;
    let linked = agent
        .control
        .supervisor
        .run(deadline, nothing_refused_is_linked);
    linked.unwrap_or(Err(Refusal::LinkerDoesNotAnswer))?;
    nothing_refused()
}

fn make_resources(agent: &'static Agent, begin: &Begin) -> Result<(), Refusal> {
    let chunk_bytes = begin.chunk_bytes;
    let pool_bytes = match begin.mode() {
        Mode::Cow => begin.aside_bytes,
        _ => 0,
    };
    let made = agent
        .control
        .supervisor
        .run(Instant::now() + PREPARE_PATIENCE, move || {
            let devices = device_count()?;
            if devices != 1 {
                return Err(Refusal::SeveralGpus(devices));
            }
            agent.device.find_target();
            let mut spare = agent.device.spare.lock();
            let made = Resources::make(&agent.device, spare.take(), pool_bytes, chunk_bytes)?;
            *spare = Some(made);
            Ok(())
        });
    made.unwrap_or_else(|_| Err(hangs(agent)))
}

fn device_count() -> Result<i32, Refusal> {
    let mut count = 0;
    // SAFETY: writes to a local.
    let status = unsafe { next::hipGetDeviceCount(&mut count) };
    let what = "counting GPUs";
    let counted = status.ok().map(|()| count);
    counted.map_err(|status| Refusal::Hip { what, status })
}

/// HIP does not come back: something on the GPU does not end.
fn hangs(agent: &Agent) -> Refusal {
    agent.drain_ring(usize::MAX);
    let kernel = agent.trace.lock().latest_kernel();
    kernel.map_or(Refusal::HipDoesNotAnswer, Refusal::WorkDoesNotEnd)
}

fn wait_for_dump(agent: &'static Agent) -> Result<(), Refusal> {
    let page = agent.page;
    let deadline = Instant::now() + ARMED_PATIENCE;
    let mut watch = Watch::new(page);
    while page.gate_request.load(Ordering::Acquire) == 0 {
        if verdict(page) == Verdict::Aborted {
            return Err(Refusal::NoDump);
        }
        if Instant::now() >= deadline {
            return Err(Refusal::LateDump);
        }
        watch.look(agent)?;
        agent.drain_ring(usize::MAX);
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Closes the gate and waits for an idle GPU; opens it and tries again when that takes too long.
fn close_and_drain(agent: &'static Agent, begin: &Begin) -> Result<(), Refusal> {
    let page = agent.page;
    let mut why = Refusal::HipDoesNotAnswer;
    for attempt in 1..=begin.drain_attempts {
        page.attempts.store(attempt, Ordering::Relaxed);
        let patience = Duration::from_millis(begin.drain_timeout_ms.into());
        match attempt_drain(agent, patience) {
            Ok(()) => return Ok(()),
            Err(reason) => why = reason,
        }
        GATE.open();
        let mut watch = Watch::new(page);
        let resume = Instant::now() + BETWEEN_ATTEMPTS * attempt;
        while Instant::now() < resume {
            watch.look(agent)?;
            agent.drain_ring(usize::MAX);
            std::thread::sleep(LOOK_AGAIN);
        }
    }
    Err(why)
}

/// One attempt. The gate is closed afterwards, whatever the result.
fn attempt_drain(agent: &'static Agent, patience: Duration) -> Result<(), Refusal> {
    let deadline = Instant::now() + patience;
    while is_capturing(agent, deadline)? {
        if Instant::now() >= deadline {
            return Err(Refusal::CaptureDoesNotEnd);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    GATE.close();
    agent.page.gate_closed_ns.store(now_ns(), Ordering::Relaxed);
    let given_up = || agent.control.given_up();
    // Who is inside may wait for this to be given up.
    let emptied = GATE.wait_until_empty(deadline, || given_up().is_some());
    // Once it is empty nobody begins a reset of the device any more; one may have been inside.
    if let Some(why) = given_up() {
        return Err(why);
    }
    if let Err(thread) = emptied {
        // Nothing can be asked of HIP: that thread may hold its locks.
        agent.drain_ring(usize::MAX);
        let kernel = agent.trace.lock().latest_kernel();
        return Err(Refusal::CallDoesNotReturn { thread, kernel });
    }
    if is_capturing(agent, deadline)? {
        return Err(Refusal::CaptureHasBegun);
    }
    nothing_refused()?;
    let streams = agent.streams.read().clone();
    // The call itself ends at the deadline where it can.
    let drained = agent
        .control
        .supervisor
        .run(deadline + GRACE, move || drain::wait(streams, 1, deadline));
    match drained {
        Ok(Ok(())) => Ok(()),
        Ok(Err(NotDrained::Busy(stream))) => {
            agent.drain_ring(usize::MAX);
            let kernel = agent.trace.lock().last_kernel(RawStream(stream as u64));
            Err(kernel.map_or(Refusal::StreamStaysBusy, Refusal::KernelDoesNotEnd))
        }
        Ok(Err(NotDrained::Failed(what, status))) => Err(Refusal::Hip { what, status }),
        Err(_) => Err(hangs(agent)),
    }
}

/// Whether HIP captures a stream. Asked at the deadline, too: the answer is what the refusal says.
fn is_capturing(agent: &'static Agent, deadline: Instant) -> Result<bool, Refusal> {
    if !agent.captures.may_be_any() {
        return Ok(false);
    }
    let asked = agent
        .control
        .supervisor
        .run(deadline + GRACE, || agent.captures.is_any());
    asked.map_err(|_| hangs(agent))
}

/// Slots of the pinned ring.
pub(crate) fn ring_slots(chunk_bytes: u64) -> u32 {
    (RING_BYTES / chunk_bytes).clamp(RING_SLOTS.0, RING_SLOTS.1) as u32
}

fn wait_for_verdict(agent: &Agent) -> Result<Verdict, Refusal> {
    let page = agent.page;
    let deadline = Instant::now() + CUT_PATIENCE;
    let mut watch = Watch::new(page);
    loop {
        match verdict(page) {
            Verdict::Pending => {}
            decided => return Ok(decided),
        }
        if let Err(why) = watch.look_at_cut(agent) {
            // It may have been written by who then went away.
            if verdict(page) == Verdict::Restored {
                return Ok(Verdict::Restored);
            }
            if agent.control.given_up().is_none() && is_another_process(page) {
                end_what_came_back_in_part();
            }
            return Err(why);
        }
        if Instant::now() >= deadline {
            return Err(Refusal::DumpDoesNotEnd);
        }
        std::thread::sleep(LOOK_AGAIN_AT_CUT);
    }
}

/// A restore that died has let this process go before its queues and memory were all there: nothing
/// it would compute is right, and whoever started the restore may have died too. Without a word: the
/// program's files are as they were, and `strobe restore`, if it is there, says what happened.
fn end_what_came_back_in_part() {
    // SAFETY: no pointers; ends this process.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

/// This process came out of an image and believes that it is at the cut.
fn restored(agent: &'static Agent) {
    let page = agent.page;
    page.pid.store(std::process::id(), Ordering::Relaxed);
    if let Some(start) = start_time(std::process::id()) {
        page.start_time.store(start, Ordering::Relaxed);
    }
    let_go(agent);
    open(agent);
}

/// Opens the gate.
pub(crate) fn open(agent: &Agent) {
    agent.page.opened_ns.store(now_ns(), Ordering::Relaxed);
    GATE.open();
}

/// Nothing is kept any more; the pool is given back. What was under way comes to its end first,
/// because the pool and the program's memory are in use until then.
pub(crate) fn let_go(agent: &'static Agent) {
    if agent.device.course.with(|saving| saving.is_saved()) == Some(false) {
        agent.device.course.give_up(&Refusal::Over);
    }
    agent.device.course.notify();
    if agent.control.is_exiting() {
        // HIP is about to be torn down; what is left goes with the process.
        agent.device.course.record(&agent.trace);
        return;
    }
    let deadline = Instant::now() + PREPARE_PATIENCE;
    while !agent.device.course.is_idle() {
        if Instant::now() >= deadline {
            // It goes on alone, and the next checkpoint waits for it.
            let _ = agent.control.supervisor.run(deadline, move || {
                while !agent.device.course.is_idle() {
                    std::thread::sleep(LOOK_AGAIN);
                }
                give_back(agent);
            });
            return;
        }
        std::thread::sleep(LOOK_AGAIN_AT_CUT);
    }
    give_back(agent);
}

/// Nothing of ours is under way. None of this asks HIP for anything: behind a kernel that does not
/// end, it would not answer.
fn give_back(agent: &Agent) {
    let saved = agent.device.course.record(&agent.trace);
    let saved = saved.map(|saving| saving.into_resources());
    // Who makes resources has the lock, and may wait for HIP.
    let Some(mut spare) = agent.device.spare.try_lock_for(SPARE_PATIENCE) else {
        return;
    };
    if saved.is_some() {
        *spare = saved;
    }
    if let Some(resources) = spare.as_mut() {
        resources.let_go();
    }
}

/// Looks at reasons to give up, now and then.
pub(crate) struct Watch {
    page: &'static AgentPage,
    next: Instant,
}

impl Watch {
    pub(crate) fn new(page: &'static AgentPage) -> Watch {
        Watch {
            page,
            next: Instant::now(),
        }
    }

    pub(crate) fn look(&mut self, agent: &Agent) -> Result<(), Refusal> {
        self.look_by(agent, controller_lives)
    }

    /// Without opening a file: the freeze comes at any moment, and CRIU would save it as the
    /// program's.
    fn look_at_cut(&mut self, agent: &Agent) -> Result<(), Refusal> {
        self.look_by(agent, controller_is_there)
    }

    fn look_by(&mut self, agent: &Agent, lives: fn(&AgentPage) -> bool) -> Result<(), Refusal> {
        if let Some(why) = agent.control.given_up() {
            return Err(why);
        }
        let now = Instant::now();
        if now >= self.next {
            self.next = now + LIVENESS;
            if !lives(self.page) {
                return Err(Refusal::ControllerGone);
            }
        }
        Ok(())
    }
}
