//! The agent's own in-order stream on a device, and the events that mark points in it.

use std::collections::VecDeque;
use strobe_engine::Ticket;
use strobe_hip::{EVENT_DISABLE_TIMING, Event, Status, Stream, next};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Lane {
    stream: Stream,
    /// Points not known to be passed, oldest first.
    marks: VecDeque<(Ticket, Event)>,
    free: Vec<Event>,
    passed: Ticket,
}

impl Lane {
    /// A stream with a hardware queue of its own, which waits for none of the program's: HIP pools
    /// queues, but never one with a mask of compute units. The mask names all of them.
    pub(crate) fn create_with_own_queue() -> Result<Lane, Status> {
        let mask = [u32::MAX; 8];
        let mut stream = Stream::NULL;
        // SAFETY: reads the mask, writes to a local.
        let status = unsafe {
            next::hipExtStreamCreateWithCUMask(&mut stream, mask.len() as u32, mask.as_ptr())
        };
        status.ok()?;
        Ok(Lane::on(stream))
    }

    fn on(stream: Stream) -> Lane {
        Lane {
            stream,
            marks: VecDeque::new(),
            free: Vec::new(),
            passed: Ticket(0),
        }
    }

    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }

    /// Forgets all points: the next checkpoint counts its tickets anew.
    pub(crate) fn start_over(&mut self) {
        self.free
            .extend(self.marks.drain(..).map(|(_, event)| event));
        self.passed = Ticket(0);
    }

    /// Everything issued so far is `ticket`.
    pub(crate) fn mark(&mut self, ticket: Ticket) -> Result<(), Status> {
        let event = match self.free.pop() {
            Some(event) => event,
            None => {
                let mut event = Event::default();
                // SAFETY: writes to a local.
                unsafe { next::hipEventCreateWithFlags(&mut event, EVENT_DISABLE_TIMING) }.ok()?;
                event
            }
        };
        // SAFETY: our event, our stream.
        let recorded = unsafe { next::hipEventRecord(event, self.stream) };
        self.marks.push_back((ticket, event));
        recorded.ok()
    }

    /// Makes `stream` wait for `ticket`, unless it is known to be passed.
    pub(crate) fn make_wait(&self, stream: Stream, ticket: Ticket) -> Result<(), Status> {
        match self.marks.iter().find(|(mark, _)| *mark >= ticket) {
            // SAFETY: our event; the stream is ours or in use by the calling thread.
            Some((_, event)) => unsafe { next::hipStreamWaitEvent(stream, *event, 0) }.ok(),
            None => Ok(()),
        }
    }

    /// The latest point that has been passed.
    pub(crate) fn poll(&mut self) -> Result<Ticket, Status> {
        while let Some((ticket, event)) = self.marks.front().copied() {
            // SAFETY: our event.
            match unsafe { next::hipEventQuery(event) } {
                Status::SUCCESS => {
                    self.passed = ticket;
                    self.free.push(event);
                    self.marks.pop_front();
                }
                Status::NOT_READY => break,
                error => return Err(error),
            }
        }
        Ok(self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_that_is_used_again_has_passed_nothing() {
        let mut lane = Lane::on(Stream(1));
        lane.marks.push_back((Ticket(1), Event(7)));
        lane.passed = Ticket(3);
        lane.start_over();
        assert_eq!(lane.poll(), Ok(Ticket(0)));
        assert_eq!(lane.free, [Event(7)], "its event is used again");
    }
}
