//! The phases of a dump, for the record of its checkpoint.

use std::mem;

use strobe_program::clock::now_ns;
use strobe_proto::{Span, Spans};

/// Those that are over, and when those began that several hooks are of.
#[derive(Debug, Default)]
pub(crate) struct DumpSpans {
    over: Spans,
    frozen_ns: Option<u64>,
    stopped_ns: Option<u64>,
}

impl DumpSpans {
    /// A phase that began then is over.
    pub(crate) fn ended(&mut self, name: &str, start_ns: u64) {
        self.over.add(name, start_ns, now_ns());
    }

    /// The cut was waited for from then on, and seen.
    pub(crate) fn cut_seen(&mut self, began_ns: u64, seen_ns: u64) {
        self.over.add("wait for the cut", began_ns, seen_ns);
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
        mem::take(&mut self.over).into()
    }
}
