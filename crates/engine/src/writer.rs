//! Who writes, and what it has already waited for.

use crate::ticket::{Lane, Ticket, Waits};
use std::collections::HashMap;
use strobe_extent::StreamId;

/// Names a kernel, as the driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId(pub u64);

/// Who is about to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// An operation enqueued on a stream: the stream waits, the thread does not.
    Stream(StreamId),
    /// An operation that takes effect at the call (a free, a copy by the CPU): the thread waits.
    Host,
}

/// The furthest point of each lane that each stream has been told to wait for.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    streams: HashMap<StreamId, (Ticket, Ticket)>,
}

impl Waited {
    /// Leaves out of `waits` what `writer` has waited for, and remembers the rest.
    pub(crate) fn reduce(&mut self, writer: Writer, mut waits: Waits) -> Waits {
        let Writer::Stream(stream) = writer else {
            return waits;
        };
        if waits.is_empty() {
            return waits;
        }
        let (aside, out) = self.streams.entry(stream).or_default();
        waits.skip_passed(Lane::Aside, *aside);
        waits.skip_passed(Lane::Out, *out);
        *aside = waits.aside.unwrap_or(*aside);
        *out = waits.out.unwrap_or(*out);
        waits
    }
}
