//! Copies into the pinned ring, over the link to the host.
//!
//! HIP cannot be asked for them: whatever follows an asynchronous copy on its stream, an event
//! included, makes the calling thread spin until the copy has arrived, and we would hold the lock of
//! the checkpoint meanwhile. The HSA runtime below HIP starts a copy and returns; its signals can be
//! asked. The link stays busy as long as a second copy waits in the engine's queue.
//!
//! The runtime has one such queue for each direction and takes the direction from the processors
//! that it is told, not from the addresses. A copy of the program's to the host waits in its queue
//! for the kernels before it, and so does everything behind it: there the link stood idle for five
//! sixths of the time. So ours take the queue of the other direction, where copies seldom wait.

use crate::hsa::{Hsa, HsaError, Processor, Signal};
use std::collections::VecDeque;
use std::time::Duration;
use strobe_engine::Ticket;

/// Copies under way at a time. The program's own copies queue up behind them.
pub(crate) const UNDER_WAY: usize = 3;
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Link {
    hsa: &'static Hsa,
    free: Vec<Signal>,
    /// Oldest first.
    under_way: VecDeque<(Ticket, Signal)>,
    passed: Ticket,
    /// Of the device's memory, and of the ring.
    owners: Option<(Processor, Processor)>,
}

impl Link {
    pub(crate) fn create() -> Result<Link, String> {
        let hsa = Hsa::get().ok_or("the HSA runtime is not there")?;
        let signals: Result<Vec<Signal>, HsaError> =
            (0..UNDER_WAY).map(|_| hsa.new_signal()).collect();
        Ok(Link {
            hsa,
            free: signals.map_err(|error| error.to_string())?,
            under_way: VecDeque::new(),
            passed: Ticket(0),
            owners: None,
        })
    }

    /// Forgets all copies, which have arrived: the next checkpoint counts its tickets anew.
    pub(crate) fn start_over(&mut self) {
        let signals = self.under_way.drain(..).map(|(_, signal)| signal);
        self.free.extend(signals);
        self.passed = Ticket(0);
        self.owners = None;
    }

    /// Whether another copy may be started.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Starts a copy from device memory to the ring, which is `ticket`.
    ///
    /// # Safety
    /// Both ranges stay valid until the copy has arrived; nothing else writes the source or touches
    /// the destination until then.
    pub(crate) unsafe fn start(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        ticket: Ticket,
    ) -> Result<(), HsaError> {
        let (device, host) = match self.owners {
            Some(owners) => owners,
            None => *self
                .owners
                .insert((self.hsa.owner(from)?, self.hsa.owner(to)?)),
        };
        let signal = match self.free.pop() {
            Some(signal) => signal,
            None => self.hsa.new_signal()?,
        };
        // SAFETY: the ranges are the caller's promise; a free signal belongs to no copy. Both
        // processors can access pinned memory and the device's.
        let started = unsafe {
            self.hsa
                .start_copy((to, device), (from, host), bytes, signal)
        };
        match started {
            Ok(()) => self.under_way.push_back((ticket, signal)),
            Err(_) => self.free.push(signal),
        }
        started
    }

    /// The latest ticket of which everything has arrived; an error when a copy has failed.
    pub(crate) fn poll(&mut self) -> Result<Ticket, String> {
        while let Some((ticket, signal)) = self.under_way.front().copied() {
            match self.hsa.value(signal) {
                1.. => break,
                0 => {
                    self.passed = ticket;
                    self.free.push(signal);
                    self.under_way.pop_front();
                }
                ..0 => return Err("the device has failed to copy".into()),
            }
        }
        Ok(self.passed)
    }

    /// Waits for a copy.
    pub(crate) fn wait_for(&mut self, ticket: Ticket) -> Result<(), String> {
        while self.poll()? < ticket {
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Waits until no copy uses ring or pool any more.
    pub(crate) fn wait_until_idle(&self) {
        let uses = |(_, signal): &(Ticket, Signal)| self.hsa.value(*signal) > 0;
        while self.under_way.iter().any(uses) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hsa::fake;

    fn link() -> Link {
        Link {
            hsa: fake::runtime(),
            free: (0..UNDER_WAY).map(|_| fake::signal()).collect(),
            under_way: VecDeque::new(),
            passed: Ticket(0),
            owners: None,
        }
    }

    fn start(link: &mut Link, ticket: u64) -> Signal {
        // SAFETY: the runtime is none and copies nothing.
        unsafe { link.start(0x2000, 0x1000, 16, Ticket(ticket)) }.unwrap();
        link.under_way.back().unwrap().1
    }

    #[test]
    fn a_ticket_is_passed_when_all_before_it_have_arrived() {
        let mut link = link();
        let signals: Vec<Signal> = (1..=3).map(|ticket| start(&mut link, ticket)).collect();
        assert!(!link.has_room());
        fake::set(signals[1], 0);
        assert_eq!(link.poll(), Ok(Ticket(0)), "the first has not arrived");
        fake::set(signals[0], 0);
        assert_eq!(link.poll(), Ok(Ticket(2)));
        assert!(link.has_room());
        fake::set(signals[2], 0);
        link.wait_until_idle();
        assert_eq!(link.wait_for(Ticket(3)), Ok(()));
        link.start_over();
        assert_eq!(link.poll(), Ok(Ticket(0)));
        assert_eq!(link.free.len(), UNDER_WAY);
    }

    #[test]
    fn a_copy_that_failed_is_noticed_and_holds_nobody_up() {
        let mut link = link();
        let signal = start(&mut link, 1);
        fake::set(signal, -1);
        assert!(link.poll().is_err() && link.wait_for(Ticket(1)).is_err());
        link.wait_until_idle();
    }
}
