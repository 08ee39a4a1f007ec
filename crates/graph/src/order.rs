//! What is over when something begins, however much the DAG has forgotten.
//!
//! The operations of a stream are over in their order, so all that is over of it is said by the last of them:
//! a [`Past`] has one for each stream.

use crate::operation::{Event, Moment, Sequence};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use strobe_extent::StreamId;

/// In place of the stream of what was enqueued nobody knows where: nothing orders it but a wait for everything.
const NOBODYS: StreamId = StreamId(u64::MAX);
/// Streams that were destroyed with work that nobody has waited for. Of more, nobody knows what they do.
const DESTROYED: usize = 64;

/// Of each stream the operation up to which all is over.
#[derive(Clone, Debug, Default)]
struct Past(HashMap<StreamId, Sequence>);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// What the host has waited for: over for all that is enqueued from now on.
    host: Past,
    streams: HashMap<StreamId, Stream>,
    /// What is over when an event is, and when it was recorded.
    events: HashMap<Event, (Past, Moment)>,
    /// Calls were missed: of no stream is it known whether it is a blocking one.
    is_after_loss: bool,
}

/// What is known of a stream beside what the host has waited for.
#[derive(Debug, Default)]
struct Stream {
    non_blocking: bool,
    is_destroyed: bool,
    tail: Option<Sequence>,
    /// What is over when the tail begins, of other streams.
    past: Past,
    /// What has to be over besides when the next operation begins.
    waits: Past,
    /// The latest operation that the DAG does not hold any more and that may have written something.
    forgotten: Option<Sequence>,
}

/// Operations of a stream that may be under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// The last of them.
    pub tail: Sequence,
    /// The last operation before them.
    pub over: Option<Sequence>,
    /// As of the stream.
    pub forgotten: Option<Sequence>,
}

impl Past {
    fn of(&self, stream: StreamId) -> Option<Sequence> {
        self.0.get(&stream).copied()
    }

    fn has(&self, stream: StreamId, sequence: Sequence) -> bool {
        self.of(stream) >= Some(sequence)
    }

    fn add(&mut self, stream: StreamId, up_to: Sequence) {
        let known = self.0.entry(stream).or_insert(up_to);
        *known = up_to.max(*known);
    }

    fn add_all(&mut self, other: &Past) {
        other.0.iter().for_each(|(of, up_to)| self.add(*of, *up_to));
    }
}

impl Order {
    /// What is known when calls were missed, the last of them before `next`: nothing.
    pub(crate) fn after_loss(next: Sequence) -> Order {
        let missed = Stream {
            non_blocking: true,
            tail: Some(next),
            forgotten: Some(next),
            ..Stream::default()
        };
        Order {
            streams: HashMap::from([(NOBODYS, missed)]),
            is_after_loss: true,
            ..Order::default()
        }
    }

    pub(crate) fn create_non_blocking(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_default().non_blocking = true;
    }

    /// What it was given may still be under way.
    pub(crate) fn destroy_stream(&mut self, stream: StreamId) {
        let Entry::Occupied(mut found) = self.streams.entry(stream) else {
            return;
        };
        found.get_mut().is_destroyed = true;
        self.drop_destroyed();
        let destroyed = self.streams.iter().filter(|(_, s)| s.is_destroyed);
        if destroyed.clone().count() > DESTROYED
            && let Some(latest) = destroyed.filter_map(|(_, stream)| stream.tail).max()
        {
            let nobodys = self.stream(NOBODYS);
            nobodys.tail = nobodys.tail.max(Some(latest));
            nobodys.forgotten = nobodys.forgotten.max(Some(latest));
            self.streams.retain(|_, stream| !stream.is_destroyed);
        }
    }

    /// `sequence` was enqueued; what it is enqueued behind.
    pub(crate) fn push(
        &mut self,
        stream: Option<StreamId>,
        sequence: Sequence,
    ) -> Option<Sequence> {
        let id = stream.unwrap_or(NOBODYS);
        let joins = self.joins(id);
        let stream = self.stream(id);
        let before = stream.tail.replace(sequence);
        if joins.0.is_empty() && stream.waits.0.is_empty() {
            return before;
        }
        let mut past = std::mem::take(&mut stream.past);
        past.add_all(&std::mem::take(&mut stream.waits));
        past.add_all(&joins);
        past.0
            .retain(|of, up_to| self.streams.contains_key(of) && !self.host.has(*of, *up_to));
        self.stream(id).past = past;
        before
    }

    /// The DAG does not hold this any more, which may have written something.
    pub(crate) fn forget(&mut self, stream: Option<StreamId>, sequence: Sequence) {
        if let Some(stream) = self.streams.get_mut(&stream.unwrap_or(NOBODYS)) {
            stream.forgotten = stream.forgotten.max(Some(sequence));
        }
    }

    pub(crate) fn record(&mut self, event: Event, stream: StreamId, now: Moment) {
        let past = self.up_to_tail(stream);
        self.events.insert(event, (past, now));
    }

    pub(crate) fn destroy_event(&mut self, event: Event) {
        self.events.remove(&event);
    }

    pub(crate) fn wait(&mut self, stream: StreamId, event: Event) {
        if let Some((recorded, _)) = self.events.get(&event) {
            let stream = self.streams.entry(stream).or_default();
            stream.waits.add_all(recorded);
        }
    }

    /// The host waited for an event that was recorded before it began to.
    pub(crate) fn host_waits_for_event(&mut self, event: Event, since: Moment) {
        if let Some((recorded, _)) = self.events.get(&event).filter(|(_, at)| *at < since) {
            self.host.add_all(recorded);
        }
    }

    /// The host has waited for an operation of a stream.
    pub(crate) fn is_over_up_to(&mut self, of: StreamId, sequence: Sequence) {
        if let Some(stream) = self.streams.get_mut(&of) {
            self.host.add(of, sequence);
            // Of others before it nothing is remembered.
            if stream.tail == Some(sequence) {
                self.host.add_all(&std::mem::take(&mut stream.past));
            }
        }
    }

    pub(crate) fn tail(&self, stream: StreamId) -> Option<Sequence> {
        self.streams.get(&stream)?.tail
    }

    /// The last operations of a stream and of those that it waits for by itself, or of all, as far as the
    /// host has not waited for them.
    pub(crate) fn tails(&self, stream: Option<StreamId>) -> Vec<(StreamId, Sequence)> {
        let mut tails = Vec::new();
        let mut add = |of: StreamId, state: &Stream| {
            let open = state.tail.filter(|tail| !self.host.has(of, *tail));
            tails.extend(open.map(|tail| (of, tail)));
        };
        match stream {
            None => self.streams.iter().for_each(|(of, state)| add(*of, state)),
            Some(stream) => {
                if let Some(state) = self.streams.get(&stream) {
                    add(stream, state);
                }
                self.blocking_with(stream, add);
            }
        }
        tails
    }

    /// What was announced may not have happened, and nobody has waited for it.
    pub(crate) fn doubt(&mut self) {
        self.host.0.clear();
        self.events.clear();
        for stream in self.streams.values_mut() {
            stream.past.0.clear();
            stream.waits.0.clear();
        }
    }

    /// Whether the host has waited for an operation of a stream. HIP has, where it destroyed the stream.
    pub(crate) fn is_over(&self, of: StreamId, sequence: Sequence) -> bool {
        self.host.has(of, sequence) || !self.streams.contains_key(&of)
    }

    /// Whether an operation of a stream is over when what is enqueued next on another begins.
    pub(crate) fn comes_after(&self, stream: StreamId, of: StreamId, sequence: Sequence) -> bool {
        if stream == of || self.is_over(of, sequence) {
            return true;
        }
        let waits = |state: &Stream| state.past.has(of, sequence) || state.waits.has(of, sequence);
        let mut comes_after = self.streams.get(&stream).is_some_and(waits);
        self.blocking_with(stream, |other, state| {
            let is_there = other == of && state.tail >= Some(sequence);
            comes_after |= is_there || state.past.has(of, sequence);
        });
        comes_after
    }

    /// What may be under way when the last operation of a stream begins; without one, now.
    pub(crate) fn open(&self, when: Option<StreamId>) -> impl Iterator<Item = Open> + '_ {
        let own = when.and_then(|stream| self.streams.get(&stream));
        let others = self
            .streams
            .iter()
            .filter(move |(id, _)| when != Some(**id));
        others.filter_map(move |(id, stream)| {
            let over = own.and_then(|own| own.past.of(*id));
            let (over, tail) = (over.max(self.host.of(*id)), stream.tail?);
            (Some(tail) > over).then_some(Open {
                tail,
                over,
                forgotten: stream.forgotten,
            })
        })
    }

    fn stream(&mut self, stream: StreamId) -> &mut Stream {
        let new = || Stream {
            non_blocking: stream == NOBODYS,
            ..Stream::default()
        };
        self.streams.entry(stream).or_insert_with(new)
    }

    /// The streams that `stream` waits for by itself: the legacy stream for all that are blocking, and
    /// those for it.
    fn blocking_with(&self, stream: StreamId, mut each: impl FnMut(StreamId, &Stream)) {
        let is_non_blocking = |state: &Stream| state.non_blocking;
        if self.is_after_loss {
            return;
        }
        if stream == StreamId::LEGACY {
            let others = self
                .streams
                .iter()
                .filter(|(id, other)| **id != stream && !other.non_blocking);
            others.for_each(|(id, other)| each(*id, other));
        } else if !self.streams.get(&stream).is_some_and(is_non_blocking)
            && let Some(legacy) = self.streams.get(&StreamId::LEGACY)
        {
            each(StreamId::LEGACY, legacy);
        }
    }

    /// What is over, because a stream waits for others by itself, when its next operation begins, as far as
    /// that is new.
    fn joins(&self, stream: StreamId) -> Past {
        let past = self.streams.get(&stream).map(|own| &own.past);
        let mut joins = Past::default();
        self.blocking_with(stream, |of, other| {
            if let Some(tail) = other.tail
                && !past.is_some_and(|past| past.has(of, tail))
                && !self.host.has(of, tail)
            {
                joins.add_all(&other.past);
                joins.add(of, tail);
            }
        });
        joins
    }

    /// What is over when all is that was enqueued on a stream.
    fn up_to_tail(&self, stream: StreamId) -> Past {
        let mut past = Past::default();
        let mut add = |of: StreamId, state: &Stream| {
            if let Some(tail) = state.tail
                && !self.host.has(of, tail)
            {
                past.add_all(&state.past);
                past.add(of, tail);
            }
        };
        if let Some(state) = self.streams.get(&stream) {
            add(stream, state);
        }
        self.blocking_with(stream, add);
        past
    }

    /// Of streams that are no more only what may be under way counts.
    pub(crate) fn drop_destroyed(&mut self) {
        let host = &mut self.host;
        self.streams.retain(|id, stream| {
            let over = stream.tail.is_none_or(|tail| host.has(*id, tail));
            let is_gone = stream.is_destroyed && over;
            if is_gone {
                host.0.remove(id);
            }
            !is_gone
        });
    }
}
