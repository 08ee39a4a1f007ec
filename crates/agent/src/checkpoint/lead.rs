//! The program's lead over its GPU, bounded while a checkpoint is about to begin.
//!
//! A program may be seconds ahead. So from the moment when a checkpoint is prepared on, calls pass as the GPU gets on, a
//! few milliseconds ahead of it: it always has something to do, and the cut has to do with that alone. How far it is, its
//! queues say ([`queues::positions`]); HIP is not asked, for it may hold who asks until a kernel ends. Who waits for what the
//! program does not know of (a kernel that polls memory which another call writes) must not wait for ever: then nothing
//! is bounded any more.

mod window;

use crate::agent::Agent;
use crate::call::gate::GATE;
use crate::checkpoint::refusal::Refusal;
use crate::checkpoint::watch::Watch;
use crate::device::queues::{self, Positions};
use std::time::{Duration, Instant};
use strobe_proto::{Begin, Cut};
use window::{Look, Window};

/// Between two looks: a part of any lead that is worth to be bounded.
pub(super) const LOOK_AGAIN: Duration = Duration::from_micros(250);
/// How long the dump waits for what the GPU has to do already.
const PATIENCE: Duration = Duration::from_secs(2);
/// A GPU that has begun with nothing new for so long is in the middle of something long, or has nothing to do.
const STUCK: Duration = Duration::from_millis(100);

/// While it lives calls pass the gate only as the GPU gets on.
pub(super) struct Bounded {
    bound: Duration,
    window: Window,
    /// At the first look, and at the last one.
    first: Positions,
    last: Positions,
    /// When the GPU has begun with something last.
    began: Instant,
    is_short: bool,
}

impl Bounded {
    /// As `begin` asks for it.
    pub(super) fn new(begin: &Begin) -> Bounded {
        let bound = Duration::from_millis(begin.run_ahead_ms.into());
        if !bound.is_zero() {
            GATE.meter();
        }
        let now = queues::positions();
        Bounded {
            bound,
            window: Window::new(bound),
            first: now,
            last: now,
            began: Instant::now(),
            is_short: bound.is_zero(),
        }
    }

    /// Waits until the lead is as short as it shall be, or that takes too long. Where the work can be stopped in the
    /// middle it does not wait for a GPU that does not get on.
    pub(super) fn wait_until_short(
        &mut self,
        agent: &'static Agent,
        cut: Cut,
    ) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut watch = Watch::new(agent.page);
        while !self.is_short && Instant::now() < deadline {
            if self.is_stuck() && cut != Cut::Drain {
                break;
            }
            watch.look(agent)?;
            agent.drain_ring(usize::MAX);
            std::thread::sleep(LOOK_AGAIN);
            self.look();
        }
        Ok(())
    }

    /// Whether the GPU has begun with nothing new for a while.
    pub(super) fn is_stuck(&self) -> bool {
        self.began.elapsed() >= STUCK
    }

    /// Allows calls as the GPU has got on. To be called again and again.
    pub(super) fn look(&mut self) {
        let (now, time) = (queues::positions(), Instant::now());
        let (began, wrote) = (now.read != self.last.read, now.written != self.last.written);
        if began {
            self.began = time;
        }
        self.last = now;
        if self.bound.is_zero() {
            return;
        }
        let calls = GATE.metered();
        let waiting = self.waiting(calls);
        let ahead = self.window.ahead(waiting);
        self.is_short |= ahead.is_some_and(|ahead| ahead <= self.bound * 2);
        let look = Look {
            calls,
            waiting,
            began,
            wrote,
        };
        GATE.allow(self.window.look(time, look));
    }

    /// How many calls the packets are of that the GPU has not begun with. Of a call there may be none, or several.
    fn waiting(&self, calls: u32) -> u32 {
        let packets = self.last.written.saturating_sub(self.last.read);
        let written = self.last.written.saturating_sub(self.first.written);
        let of_a_packet = f64::from(calls.max(1)) / written.max(1) as f64;
        (packets as f64 * of_a_packet.min(1.0)).ceil() as u32
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        GATE.meter_no_more();
    }
}
