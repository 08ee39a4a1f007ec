//! Events of ours behind what the program's streams have to do.
//!
//! Work on the legacy default stream waits for that of blocking streams, and theirs for it: a marker there would
//! order what the program has not. So it gets one only where the program has no blocking stream; else those have
//! them alone. The own streams of threads cannot be named.

use crate::agent::Agent;
use crate::seen::observed::RawStream;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use strobe_hip::{Event, Status, next};

/// `hipEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;
/// That are under way at once. More would tell no more.
const MOST: usize = 64;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Markers {
    under_way: VecDeque<Marker>,
    spare: Vec<Event>,
}

#[derive(Debug)]
struct Marker {
    /// Calls of the program before it.
    calls: u32,
    made: Instant,
    /// One for each stream that had something to do.
    events: Vec<Event>,
}

impl Markers {
    /// Of those that have come through since it was last asked, the last: the calls before it, and how long it took.
    pub(super) fn come_through(&mut self) -> Result<Option<(u32, Duration)>, Status> {
        let mut last = None;
        while let Some(marker) = self.under_way.front_mut() {
            while let Some(&event) = marker.events.last() {
                // SAFETY: an event of ours that was recorded.
                match unsafe { next::hipEventQuery(event) } {
                    Status::SUCCESS => self.spare.extend(marker.events.pop()),
                    Status::NOT_READY => return Ok(last),
                    error => return Err(error),
                }
            }
            last = Some((marker.calls, marker.made.elapsed()));
            self.under_way.pop_front();
        }
        Ok(last)
    }

    pub(super) fn are_none(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Makes one behind all there is to do, unless nothing has come since the last: the program has made `calls`.
    /// Nobody captures a stream.
    pub(super) fn make(&mut self, agent: &Agent, calls: u32) -> Result<(), Status> {
        let last = self.under_way.back();
        if self.under_way.len() >= MOST || last.is_some_and(|last| last.calls == calls) {
            return Ok(());
        }
        // While they are looked at nobody destroys one.
        let streams = agent.streams.read();
        let no_blocking = !streams.iter().any(|stream| stream.blocking);
        let legacy = no_blocking.then_some(RawStream::LEGACY);
        let mut events = Vec::new();
        let mut mark = |stream: RawStream| {
            // SAFETY: a live stream of the program.
            match unsafe { next::hipStreamQuery(stream.handle()) } {
                Status::SUCCESS => return Ok(()),
                Status::NOT_READY => {}
                error => return Err(error),
            }
            let event = self.spare.pop().map_or_else(create, Ok)?;
            events.push(event);
            // SAFETY: an event of ours, and a live stream that nobody captures.
            unsafe { next::hipEventRecord(event, stream.handle()) }.ok()
        };
        let mut all = streams.iter().map(|stream| stream.raw).chain(legacy);
        let marked = all.try_for_each(&mut mark);
        drop(streams);
        if !events.is_empty() {
            let made = Instant::now();
            self.under_way.push_back(Marker {
                calls,
                made,
                events,
            });
        }
        marked
    }

    /// Gives them back; those under way go when they have come through.
    pub(super) fn destroy(self) {
        let under_way = self.under_way.into_iter().flat_map(|marker| marker.events);
        for event in self.spare.into_iter().chain(under_way) {
            // SAFETY: events of ours that nobody else knows.
            let _ = unsafe { next::hipEventDestroy(event) };
        }
    }
}

fn create() -> Result<Event, Status> {
    let mut event = Event(0);
    // SAFETY: writes to a local.
    unsafe { next::hipEventCreateWithFlags(&mut event, DISABLE_TIMING) }.ok()?;
    Ok(event)
}
