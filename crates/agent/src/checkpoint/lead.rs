//! The program's lead over its GPU, bounded while a checkpoint is about to begin.
//!
//! A cut waits for all that was given to the GPU before it, and a program may be seconds ahead. So from the moment
//! when it is prepared on, calls pass as the GPU gets on, a few milliseconds ahead of it: it always has something to
//! do, and the cut waits for that alone. Who waits for what the program does not know of (a kernel that polls memory
//! which another call writes) must not wait for ever: then nothing is bounded any more.

mod markers;
pub(crate) mod marking;
mod window;

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::watch::Watch;
use crate::device::queues;
use markers::Markers;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_hip::Status;
use strobe_proto::{Begin, Cut};
use window::Window;

/// Between two looks at the markers: a part of any lead that is worth to be bounded.
const LOOK_AGAIN: Duration = Duration::from_micros(250);
/// Between two looks at whether it is short.
const IS_SHORT_AGAIN: Duration = Duration::from_millis(1);
/// How long the dump waits for what the GPU has to do already.
const PATIENCE: Duration = Duration::from_secs(2);
/// A GPU that has begun with nothing new for so long is in the middle of something long, or has nothing to do.
const STUCK: Duration = Duration::from_millis(100);

/// While it lives calls pass the gate only as the GPU gets on, unless that cannot be told.
pub(super) struct Bounded {
    agent: &'static Agent,
    /// How far the GPU had come, and when it came there.
    progress: (u64, Instant),
}

impl Bounded {
    /// As `begin` asks for it. Does not wait for the GPU.
    pub(super) fn new(agent: &'static Agent, begin: &Begin) -> Bounded {
        let lead = &agent.lead;
        let bound = Duration::from_millis(begin.run_ahead_ms.into());
        lead.over.store(false, Ordering::Release);
        lead.is_short.store(bound.is_zero(), Ordering::Release);
        lead.take_held();
        if !bound.is_zero() {
            let deadline = Instant::now() + PATIENCE;
            let keeps = move || keep(agent, bound);
            if agent.control.supervisor.start(deadline, keeps).is_err() {
                lead.is_short.store(true, Ordering::Release);
            }
        }
        let progress = (queues::progress(), Instant::now());
        Bounded { agent, progress }
    }

    /// Waits until the lead is as short as it shall be, or that takes too long, or cannot be told. Where the work can be
    /// stopped in the middle it does not wait for a GPU that does not get on.
    pub(super) fn wait_until_short(&mut self, cut: Cut) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut watch = Watch::new(self.agent.page);
        let lead = &self.agent.lead;
        let is_short = || lead.is_short.load(Ordering::Acquire);
        while !is_short() && Instant::now() < deadline {
            if self.is_stuck() && cut != Cut::Drain {
                break;
            }
            watch.look(self.agent)?;
            self.agent.drain_ring(usize::MAX);
            std::thread::sleep(IS_SHORT_AGAIN);
        }
        Ok(())
    }

    /// Whether the GPU has begun with nothing new for a while. To be asked again and again.
    pub(super) fn is_stuck(&mut self) -> bool {
        let now = queues::progress();
        if now != self.progress.0 {
            self.progress = (now, Instant::now());
        }
        self.progress.1.elapsed() >= STUCK
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        self.agent.lead.over.store(true, Ordering::Release);
        GATE.meter_no_more();
    }
}

/// Lets calls pass as the GPU gets on, until the gate is not metered any more.
fn keep(agent: &'static Agent, bound: Duration) {
    let mut markers = Markers::default();
    let mut window = Window::new(bound);
    GATE.meter();
    while GATE.is_metered() && !agent.lead.over.load(Ordering::Acquire) {
        if let Err(why) = look(agent, bound, &mut markers, &mut window) {
            tracing::debug!("the lead is not bounded: {why}");
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    GATE.meter_no_more();
    // Or it is as it is.
    agent.lead.is_short.store(true, Ordering::Release);
    let in_the_way = agent.lead.in_the_way.lock();
    // A reset or the exit has taken them, or is about to.
    if agent.control.given_up().is_none() {
        markers.destroy();
    }
    drop(in_the_way);
}

/// Why the lead cannot be told.
#[derive(Debug, thiserror::Error)]
enum Unknown {
    #[error("the program captures a stream, or resets a device")]
    InTheWay,
    #[error("the checkpoint is given up")]
    GivenUp,
    #[error("HIP answers {0:?}")]
    Hip(Status),
}

fn look(
    agent: &'static Agent,
    bound: Duration,
    markers: &mut Markers,
    window: &mut Window,
) -> Result<(), Unknown> {
    let in_the_way = agent.lead.in_the_way.lock();
    if *in_the_way > 0 || agent.captures.may_be_any() {
        return Err(Unknown::InTheWay);
    }
    if agent.control.given_up().is_some() {
        return Err(Unknown::GivenUp);
    }
    let calls = GATE.metered();
    let through = markers.come_through().map_err(Unknown::Hip)?;
    markers.make(agent, calls).map_err(Unknown::Hip)?;
    drop(in_the_way);
    let is_idle = markers.are_none();
    if is_idle || through.is_some_and(|(_, lead)| lead <= bound * 2) {
        agent.lead.is_short.store(true, Ordering::Release);
    }
    let through = through.map(|(before, _)| before);
    GATE.allow(window.look(Instant::now(), calls, through, is_idle));
    Ok(())
}
