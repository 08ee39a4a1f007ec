//! What the lanes were given to copy and when that was seen to have ended: kept where a checkpoint is traced.
//!
//! A copy has ended before it is seen, by as much as the next look takes to come. That it began when it was ordered is
//! not said: a lane does one thing after the other.

use crate::wire::page::now_ns;
use std::collections::VecDeque;
use strobe_engine::{CopyOut, Ticket};
use strobe_extent::Extent;
use strobe_proto::{ByteRange, TraceEvent, TraceKind};

/// Events that are kept.
const MOST: usize = 16 << 10;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct CopyLog {
    events: Vec<TraceEvent>,
    left_out: u64,
    /// Copies inside the device that have no ticket yet: how many, and how many bytes.
    open: Aside,
    /// Those that have one.
    asides: VecDeque<(Aside, Ticket)>,
    outs: VecDeque<(CopyOut, u64)>,
    /// By slot, what has arrived and when.
    arrived: Vec<Option<(Extent, u64)>>,
}

/// Copies of one ticket: a launch may need hundreds.
#[derive(Clone, Copy, Debug, Default)]
struct Aside {
    began_ns: u64,
    /// Where the first chunk is.
    start: u64,
    chunks: u32,
    bytes: u64,
}

impl CopyLog {
    pub(crate) fn keep(&mut self, event: TraceEvent) {
        match self.events.len() < MOST {
            true => self.events.push(event),
            false => self.left_out += 1,
        }
    }

    pub(crate) fn aside(&mut self, extent: Extent) {
        if self.open.chunks == 0 {
            self.open.began_ns = now_ns();
            self.open.start = extent.start();
        }
        self.open.chunks += 1;
        self.open.bytes += extent.len();
    }

    /// All those before are this.
    pub(crate) fn mark_aside(&mut self, mark: Ticket) {
        self.asides
            .push_back((std::mem::take(&mut self.open), mark));
    }

    pub(crate) fn out(&mut self, copy: CopyOut) {
        self.outs.push_back((copy, now_ns()));
    }

    /// The lanes have passed these points.
    pub(crate) fn passed(&mut self, aside: Ticket, out: Ticket) {
        let now = now_ns();
        let copied = |kind: TraceKind, extent: ByteRange, start_ns| TraceEvent {
            kind: kind.into(),
            start_ns,
            end_ns: now,
            extent: Some(extent),
            ..TraceEvent::default()
        };
        while let Some((of, _)) = self.asides.pop_front_if(|(_, ticket)| *ticket <= aside) {
            let extent = ByteRange {
                start: of.start,
                len: of.bytes,
            };
            self.keep(TraceEvent {
                chunks: of.chunks,
                ..copied(TraceKind::Aside, extent, of.began_ns)
            });
        }
        while let Some((copy, began)) = self.outs.pop_front_if(|(copy, _)| copy.ticket <= out) {
            let slot = copy.slot.0 as usize;
            self.keep(TraceEvent {
                lane: copy.slot.0,
                ..copied(TraceKind::Copy, copy.extent.into(), began)
            });
            if self.arrived.len() <= slot {
                self.arrived.resize(slot + 1, None);
            }
            self.arrived[slot] = Some((copy.extent, now));
        }
    }

    /// The controller has taken what was in this slot.
    pub(crate) fn stored(&mut self, slot: u32) {
        let arrived = self.arrived.get_mut(slot as usize).and_then(Option::take);
        if let Some((extent, start_ns)) = arrived {
            self.keep(TraceEvent {
                kind: TraceKind::Store.into(),
                start_ns,
                end_ns: now_ns(),
                extent: Some(extent.into()),
                lane: slot,
                ..TraceEvent::default()
            });
        }
    }

    /// All events, and how many others there were.
    pub(crate) fn take(&mut self) -> (Vec<TraceEvent>, u64) {
        (std::mem::take(&mut self.events), self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_engine::{Origin, RingSlot, Source};

    #[test]
    fn copies_end_where_their_points_are_passed_and_slots_when_they_are_stored() {
        let mut log = CopyLog::default();
        let extent = |start| Extent::with_len(start, 8).expect("an extent");
        log.aside(extent(0));
        log.aside(extent(8));
        log.mark_aside(Ticket(1));
        log.aside(extent(16));
        log.out(CopyOut {
            extent: extent(0),
            source: Source::Original,
            slot: RingSlot(3),
            ticket: Ticket(1),
            origin: Origin::Turn,
        });
        log.stored(3);
        log.passed(Ticket(1), Ticket(1));
        log.stored(3);
        log.stored(99);
        let (events, left_out) = log.take();
        let kinds: Vec<_> = events
            .iter()
            .map(|event| (event.kind(), event.lane, event.chunks))
            .collect();
        let [aside, copy, store] = [TraceKind::Aside, TraceKind::Copy, TraceKind::Store];
        assert_eq!(kinds, [(aside, 0, 2), (copy, 3, 0), (store, 3, 0)]);
        assert!(events.iter().all(|event| event.start_ns <= event.end_ns));
        assert_eq!(events[0].extent.map(|extent| extent.len), Some(16));
        assert_eq!(left_out, 0);
    }
}
