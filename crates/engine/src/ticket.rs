//! Tickets: points in the agent's own in-order streams.

/// One of the two in-order streams of the agent on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Copies from tracked memory into the pool.
    Aside,
    /// Copies from tracked memory or the pool into the ring.
    Out,
}

/// A point in a lane: everything that was issued on it up to the copies of this ticket. Tickets of
/// a lane are handed out in the order in which their copies are issued, from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What a writer has to wait for, at most one point of each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Wait for this point of [`Lane::Aside`].
    pub aside: Option<Ticket>,
    /// Wait for this point of [`Lane::Out`].
    pub out: Option<Ticket>,
}

impl Waits {
    /// Whether there is nothing to wait for.
    pub fn is_empty(&self) -> bool {
        self.aside.is_none() && self.out.is_none()
    }

    /// How many waits there are.
    pub fn count(&self) -> u64 {
        u64::from(self.aside.is_some()) + u64::from(self.out.is_some())
    }

    /// Also wait for `ticket`; of one lane the later point is enough.
    pub(crate) fn add(&mut self, lane: Lane, ticket: Ticket) {
        let wait = self.lane_mut(lane);
        *wait = (*wait).max(Some(ticket));
    }

    /// Drops the wait for a point of `lane` at or before `passed`.
    pub(crate) fn skip_passed(&mut self, lane: Lane, passed: Ticket) {
        let wait = self.lane_mut(lane);
        *wait = wait.filter(|ticket| *ticket > passed);
    }

    fn lane_mut(&mut self, lane: Lane) -> &mut Option<Ticket> {
        match lane {
            Lane::Aside => &mut self.aside,
            Lane::Out => &mut self.out,
        }
    }
}
