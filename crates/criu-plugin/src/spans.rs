//! The phases of a dump, for the record of its checkpoint.

use std::mem;

use strobe_proto::Span;

use crate::hand_over::now_ns;

/// Processes and GPUs make more than there are names.
const MOST: usize = 256;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    over: Vec<Span>,
    frozen_ns: Option<u64>,
    stopped_ns: Option<u64>,
}

impl Spans {
    /// A phase that began then is over.
    pub(crate) fn ended(&mut self, name: &str, start_ns: u64) {
        self.took(name, start_ns, now_ns());
    }

    /// A phase, from then to then.
    pub(crate) fn took(&mut self, name: &str, start_ns: u64, end_ns: u64) {
        if self.over.len() < MOST {
            self.over.push(Span {
                name: name.into(),
                start_ns,
                end_ns,
            });
        }
    }

    /// CRIU has frozen all processes since the cut was seen; called of each.
    pub(crate) fn frozen(&mut self, cut_seen_ns: u64) {
        if self.frozen_ns.is_none() {
            self.ended("freeze", cut_seen_ns);
            self.frozen_ns = Some(now_ns());
        }
    }

    /// Queues of a process are stopped from now on.
    pub(crate) fn stopped(&mut self) {
        self.stopped_ns.get_or_insert_with(now_ns);
    }

    /// All queues run again.
    pub(crate) fn resumed(&mut self) {
        if let Some(stopped) = self.stopped_ns.take() {
            self.ended("queues stopped", stopped);
        }
    }

    /// The dump ends: all of them.
    pub(crate) fn take(&mut self) -> Vec<Span> {
        if let Some(frozen) = self.frozen_ns.take() {
            self.ended("frozen", frozen);
        }
        mem::take(&mut self.over)
    }
}
