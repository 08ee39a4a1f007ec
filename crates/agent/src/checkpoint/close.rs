//! The gate is closed and the GPU comes to rest: it is waited for, or stopped.

use crate::agent::Agent;
use crate::call::gate::{Empty, GATE};
use crate::checkpoint::drain::{self, NotDrained};
use crate::checkpoint::lead::{self, Bounded};
use crate::checkpoint::phases::phase;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::rest::Rest;
use crate::checkpoint::watch::Watch;
use crate::device::resources::Resources;
use crate::refused::nothing_refused;
use crate::wire::page::{now_ns, set_phase, verdict};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_extent::Extent;
use strobe_proto::page::{AgentPage, Goal, Phase, Verdict};
use strobe_proto::{Begin, CheckpointMode};

/// How much longer than a deadline an answer of HIP may take that says what was so at the deadline.
const GRACE: Duration = Duration::from_millis(100);
/// Pause after a gate that could not be drained, times the number of the attempt.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);
/// How long work may take that it is waited for before it is stopped in the middle, where either will do: about what a
/// bounded lead leaves.
const SHORT: Duration = Duration::from_millis(30);
/// Bytes that a fast link copies in a nanosecond (PCIe 4.0 with 16 lanes: about 25), of what has no room inside the device.
const LINK_BYTES_PER_NS: u64 = 25;
/// Between two looks at what has to end first, and at the others while the program stands still.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
const LOOK_AGAIN_DRAINED: Duration = Duration::from_micros(200);
/// How long a thread may take to begin a call that is let through the closed gate.
const PASSAGE: Duration = Duration::from_millis(100);
/// How long an armed agent waits for the dump to begin.
const ARMED_PATIENCE: Duration = Duration::from_secs(300);

/// Closes the gate and brings the GPU to rest; opens it and tries again when that takes too long. Where
/// others are saved with this process it goes on only when their GPUs are at rest, too. The program's lead is bounded
/// until it is closed.
pub(super) fn close_and_rest(
    agent: &'static Agent,
    begin: &Begin,
    lead: Bounded,
) -> Result<Rest, Refusal> {
    let page = agent.page;
    let mut attempt = 1;
    let mut lead = Some(lead);
    loop {
        phase!(agent, "armed", || wait_for_dump(agent, lead.as_mut()))?;
        set_phase(page, Phase::Closing);
        page.attempts.fetch_add(1, Ordering::Relaxed);
        let patience = Duration::from_millis(begin.drain_timeout_ms.into());
        let mut come_to_rest = || {
            let is_stuck = lead.as_ref().is_some_and(Bounded::is_stuck);
            let short = if is_stuck { Duration::ZERO } else { SHORT };
            let come_to_rest = |deadline| {
                let come_to_rest = || come_to_rest(agent, begin, short, deadline);
                phase!(agent, "drain", come_to_rest)
            };
            let mut rest = come_to_rest(close(agent, patience, lead.take())?)?;
            while wait_for_others(agent)? == Proceed::OneCall {
                drop(rest);
                GATE.let_pass(PASSAGE);
                rest = come_to_rest(Instant::now() + patience)?;
            }
            Ok(rest)
        };
        let why = match come_to_rest() {
            Ok(rest) => return Ok(rest),
            Err(why) => why,
        };
        if GATE.is_closed() {
            let closed = page.gate_closed_ns.load(Ordering::Relaxed);
            let held = now_ns().saturating_sub(closed);
            agent.held_in_vain_ns.fetch_add(held, Ordering::Relaxed);
        }
        GATE.open();
        set_phase(page, Phase::Armed);
        if attempt == begin.drain_attempts || verdict(page) == Verdict::Aborted {
            return Err(why);
        }
        let mut watch = Watch::new(page);
        let resume = Instant::now() + BETWEEN_ATTEMPTS * attempt;
        while Instant::now() < resume {
            watch.look(agent)?;
            agent.drain_ring(usize::MAX);
            std::thread::sleep(LOOK_AGAIN);
        }
        attempt += 1;
    }
}

/// Waits until the dump begins.
fn wait_for_dump(agent: &'static Agent, mut lead: Option<&mut Bounded>) -> Result<(), Refusal> {
    let page = agent.page;
    let deadline = Instant::now() + ARMED_PATIENCE;
    let mut watch = Watch::new(page);
    while goal(page) == Goal::Open {
        if verdict(page) == Verdict::Aborted {
            return Err(Refusal::NoDump);
        }
        if Instant::now() >= deadline {
            return Err(Refusal::LateDump);
        }
        watch.look(agent)?;
        agent.drain_ring(usize::MAX);
        let look_again = match &mut lead {
            Some(lead) => {
                lead.look();
                lead::LOOK_AGAIN
            }
            None => LOOK_AGAIN,
        };
        std::thread::sleep(look_again);
    }
    Ok(())
}

/// What comes after the work has ended.
#[derive(PartialEq, Eq)]
enum Proceed {
    ToTheCut,
    /// Another process needs something of this one before its own work can end.
    OneCall,
}

/// Waits until the GPUs of all others that are saved with this process are at rest. Without an end of its
/// own: one that opened its gate now would go on while the others take their cuts.
fn wait_for_others(agent: &'static Agent) -> Result<Proceed, Refusal> {
    let page = agent.page;
    let mut watch = Watch::new(page);
    while goal(page) != Goal::Cut {
        set_phase(page, Phase::Drained);
        if goal(page) == Goal::Pass {
            // In this order: who sees it taken sees that the work has not ended.
            set_phase(page, Phase::Closing);
            let (pass, taken) = (Goal::Pass as u32, Goal::Drained as u32);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let word = &page.gate_request;
            // Where another goal stands there by now, that is reached afterwards.
            let _ = word.compare_exchange(pass, taken, order.0, order.1);
            return Ok(Proceed::OneCall);
        }
        if verdict(page) == Verdict::Aborted {
            return Err(Refusal::NoDump);
        }
        watch.look_at_cut(agent)?;
        std::thread::sleep(LOOK_AGAIN_DRAINED);
    }
    Ok(Proceed::ToTheCut)
}

fn goal(page: &AgentPage) -> Goal {
    Goal::from_word(page.gate_request.load(Ordering::Acquire))
}

/// Closes the gate when the program is in no capture; until when the GPU is to come to rest.
fn close(
    agent: &'static Agent,
    patience: Duration,
    lead: Option<Bounded>,
) -> Result<Instant, Refusal> {
    let deadline = Instant::now() + patience;
    while is_capturing(agent, deadline)? {
        if Instant::now() >= deadline {
            return Err(Refusal::CaptureDoesNotEnd);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    GATE.close();
    agent.page.gate_closed_ns.store(now_ns(), Ordering::Relaxed);
    drop(lead);
    Ok(deadline)
}

/// Behind the closed gate: waits for an idle GPU, or stops it, as the controller wants it; where either will do, after
/// `short`.
fn come_to_rest(
    agent: &'static Agent,
    begin: &Begin,
    short: Duration,
    deadline: Instant,
) -> Result<Rest, Refusal> {
    if begin.cut() == strobe_proto::Cut::Drain {
        return drain(agent, deadline);
    }
    // Whether a thread's own stream is idle cannot be asked without waiting for it.
    let may_drain =
        begin.cut() == strobe_proto::Cut::Auto && !agent.per_thread_streams.load(Ordering::Relaxed);
    if may_drain {
        match drain(agent, deadline.min(Instant::now() + short)) {
            Err(why) if why.is_of_patience() => {}
            drained => return drained,
        }
    }
    match stop(agent, deadline) {
        Err(Refusal::NotStopped(why)) if begin.cut() == strobe_proto::Cut::Auto => {
            tracing::debug!("the queues cannot be stopped: {why}");
            drain(agent, deadline)
        }
        Ok(mut rest) if may_drain && begin.mode() == CheckpointMode::Cow => {
            agent.drain_ring(usize::MAX);
            rest.look(agent);
            let overflow = rest.bytes_to_set_aside(agent, begin.chunk_bytes)?;
            let overflow = overflow.saturating_sub(pool_bytes(agent));
            if overflow == 0 {
                return Ok(rest);
            }
            drop(rest);
            // It may take as long as what it saves.
            let patience = Duration::from_nanos(overflow / LINK_BYTES_PER_NS);
            match drain(agent, deadline.min(Instant::now() + patience)) {
                Err(why) if why.is_of_patience() => stop(agent, deadline.max(Instant::now())),
                drained => drained,
            }
        }
        stopped => stopped,
    }
}

/// What has room inside the device to be saved in.
fn pool_bytes(agent: &Agent) -> u64 {
    let spare = agent.device.spare.lock();
    let pool = spare.as_ref().and_then(Resources::pool);
    pool.map_or(0, Extent::len)
}

/// Stops the GPU in the middle of what it does.
fn stop(agent: &'static Agent, deadline: Instant) -> Result<Rest, Refusal> {
    // Who is inside and waits for the GPU may go on to.
    wait_until(agent, Empty::OfWork, deadline)?;
    if is_capturing(agent, deadline)? {
        return Err(Refusal::CaptureHasBegun);
    }
    nothing_refused()?;
    let rest = Rest::stop().map_err(|why| Refusal::NotStopped(Arc::new(why)))?;
    agent.page.drained_ns.store(now_ns(), Ordering::Relaxed);
    Ok(rest)
}

/// Waits until the closed gate is empty.
fn wait_until(agent: &'static Agent, empty: Empty, deadline: Instant) -> Result<(), Refusal> {
    let given_up = || agent.control.given_up();
    // Who is inside may wait for this to be given up.
    let emptied = GATE.wait_until(empty, deadline, || given_up().is_some());
    // Once it is empty nobody begins a reset of the device any more; one may have been inside.
    if let Some(why) = given_up() {
        return Err(why);
    }
    emptied.map_err(|thread| {
        // Nothing can be asked of HIP: that thread may hold its locks.
        agent.drain_ring(usize::MAX);
        let kernel = agent.trace.lock().latest_kernel();
        Refusal::CallDoesNotReturn { thread, kernel }
    })
}

/// Waits for an idle GPU behind the closed gate.
fn drain(agent: &'static Agent, deadline: Instant) -> Result<Rest, Refusal> {
    wait_until(agent, Empty::Quite, deadline)?;
    if is_capturing(agent, deadline)? {
        return Err(Refusal::CaptureHasBegun);
    }
    nothing_refused()?;
    let streams = agent.streams.read().clone();
    // The call itself ends at the deadline where it can.
    let drained = agent.control.supervisor.run(deadline + GRACE, move || {
        drain::wait(streams, deadline, || agent.control.is_exiting())
    });
    if agent.control.is_exiting() {
        return Err(Refusal::Exiting);
    }
    match drained {
        Ok(Ok(())) => {
            agent.page.drained_ns.store(now_ns(), Ordering::Relaxed);
            Ok(Rest::idle())
        }
        Ok(Err(NotDrained::Busy(stream))) => {
            agent.drain_ring(usize::MAX);
            let kernel = agent.trace.lock().last_kernel(stream);
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

/// HIP does not come back: something on the GPU does not end, or the program exits.
pub(super) fn hangs(agent: &Agent) -> Refusal {
    if agent.control.is_exiting() {
        return Refusal::Exiting;
    }
    agent.drain_ring(usize::MAX);
    let kernel = agent.trace.lock().latest_kernel();
    kernel.map_or(Refusal::HipDoesNotAnswer, Refusal::WorkDoesNotEnd)
}
