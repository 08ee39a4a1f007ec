//! What was done for a checkpoint, and when: kept with it, for who asks later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use strobe_proto::{
    Course, Cut, HeldBack, ModeChoice, ProcessCourse, RoundTaken, Span, Spans, TraceEvent, Traced,
};

use strobe_program::clock::{MonotonicClock, now_ns};

/// Events of one process; more are not taken from an agent, which keeps fewer.
const MOST_EVENTS: usize = 1 << 16;

/// The command's own phases.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    began_ns: u64,
    over: Arc<Mutex<Spans>>,
}

impl Timeline {
    /// It begins now.
    pub(crate) fn begin() -> Self {
        Self {
            began_ns: now_ns(),
            over: Arc::default(),
        }
    }

    /// Does this as the phase `name`.
    pub(crate) fn time<R>(&self, name: &str, does: impl FnOnce() -> R) -> R {
        let start_ns = now_ns();
        let done = does();
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.add(name, start_ns, now_ns());
        done
    }

    /// The phases that are over.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.clone().into()
    }

    /// For the manifest.
    pub(crate) fn course(
        &self,
        cut: Cut,
        criu: Vec<Span>,
        processes: Vec<ProcessCourse>,
        rounds: Vec<RoundTaken>,
        choice: Option<ModeChoice>,
    ) -> Course {
        Course {
            spans: self.spans(),
            processes,
            criu,
            began_ns: self.began_ns,
            cut: cut.into(),
            rounds,
            choice,
        }
    }
}

/// What one agent has sent of it, on our clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfProcess {
    pub(crate) course: ProcessCourse,
    pub(crate) events: Vec<TraceEvent>,
    pub(crate) left_out: u64,
}

impl OfProcess {
    /// More events; whether an agent can have as many.
    pub(crate) fn add(&mut self, traced: Traced) -> bool {
        self.left_out = self.left_out.saturating_add(traced.left_out);
        self.events.extend(traced.events);
        self.events.len() <= MOST_EVENTS
    }

    /// What an agent of the process `pid` has said has moments of its clock.
    pub(crate) fn on_our_clock(mut self, pid: u32) -> Self {
        let clock = MonotonicClock::of(pid);
        self.course.pid = pid;
        let spans = self.course.spans.iter_mut();
        let spans = spans.map(|span| (&mut span.start_ns, &mut span.end_ns));
        let events = self.events.iter_mut();
        let events = events.map(|event| (&mut event.start_ns, &mut event.end_ns));
        for (start, end) in spans.chain(events) {
            *start = clock.here(*start);
            *end = clock.here(*end).max(*start);
        }
        self
    }
}

/// Of all processes: calls that were held back, by what held them.
pub(crate) fn held_in_all(processes: &[ProcessCourse]) -> Vec<HeldBack> {
    let mut all: Vec<HeldBack> = Vec::new();
    // A manifest may name as many causes as it has room for.
    let mut known = HashMap::new();
    for held in processes.iter().flat_map(|process| &process.held) {
        let at = *known.entry(held.cause).or_insert(all.len());
        match all.get_mut(at) {
            None => all.push(*held),
            Some(sum) => {
                sum.calls = sum.calls.saturating_add(held.calls);
                sum.ns = sum.ns.saturating_add(held.ns);
                sum.longest_ns = sum.longest_ns.max(held.longest_ns);
            }
        }
    }
    all
}
