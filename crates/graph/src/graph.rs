//! The DAG and how it grows.

use crate::buffers::Buffers;
use crate::period::period;
use crate::{Edge, Epoch, Event, Kind, Operation, Prediction, Sequence, Stream};
use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::{Dfs, EdgeRef, Reversed};
use std::collections::{HashMap, HashSet, VecDeque};
use strobe_extent::{Access, Extent, Side};

/// The operations of a window of the program's past, in the order enqueued, with happens-before
/// edges. Methods are called in the order in which the program made its calls.
#[derive(Debug)]
pub struct LaunchGraph {
    graph: StableDiGraph<Node, Edge>,
    /// The window, oldest first; sequence numbers ascend by one.
    window: VecDeque<NodeIndex>,
    limit: usize,
    next: Sequence,
    streams: HashMap<Stream, StreamState>,
    /// What each event stands for; `None`: nothing that could still be waited for.
    events: HashMap<Event, Option<Sequence>>,
    /// The latest operation that the host waited for.
    host: Option<Sequence>,
    buffers: Buffers,
    counts: Counts,
}

#[derive(Debug)]
struct Node {
    sequence: Sequence,
    operation: Operation,
}

#[derive(Debug, Default)]
struct StreamState {
    non_blocking: bool,
    tail: Option<Sequence>,
    /// What the next operation has to wait for.
    waits: Vec<(Sequence, Edge)>,
}

/// Counts since the start; operations that were forgotten are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels.
    pub kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Memsets.
    pub memsets: u64,
    /// Operations of the host.
    pub host: u64,
    /// Times the host waited.
    pub synchronisations: u64,
    /// Kernels whose writes are known.
    pub exact_writes: u64,
    /// Happens-before edges.
    pub edges: u64,
}

impl LaunchGraph {
    /// An empty graph that remembers the latest `limit` operations, at least one.
    pub fn new(limit: usize) -> LaunchGraph {
        LaunchGraph {
            graph: StableDiGraph::new(),
            window: VecDeque::new(),
            limit: limit.max(1),
            next: Sequence(0),
            streams: HashMap::new(),
            events: HashMap::new(),
            host: None,
            buffers: Buffers::default(),
            counts: Counts::default(),
        }
    }

    /// A buffer was allocated.
    pub fn allocate(&mut self, extent: Extent) -> Epoch {
        self.buffers.insert(extent, self.next)
    }

    /// The buffer that starts at `start` was freed; its epoch, if there was one.
    pub fn free(&mut self, start: u64) -> Option<Epoch> {
        self.buffers.remove(start).map(|buffer| buffer.epoch)
    }

    /// The epoch of the buffer that holds `address`.
    pub fn epoch_at(&self, address: u64) -> Option<Epoch> {
        self.buffers.at(address).map(|buffer| buffer.epoch)
    }

    /// How many buffers are live.
    pub fn live_buffers(&self) -> usize {
        self.buffers.len()
    }

    /// A stream was created that does not synchronise with the legacy default stream.
    pub fn create_non_blocking(&mut self, stream: Stream) {
        self.streams.entry(stream).or_default().non_blocking = true;
    }

    /// A stream was destroyed.
    pub fn destroy_stream(&mut self, stream: Stream) {
        self.streams.remove(&stream);
    }

    /// An operation was enqueued, or done by the host where it names no stream.
    pub fn push(&mut self, operation: Operation) -> Sequence {
        let sequence = self.next;
        self.next.0 += 1;
        self.count(&operation);
        let mut before = Vec::new();
        if let Some(stream) = operation.stream {
            before = self.enter_stream(stream, sequence);
        }
        // What came after the host's wait on the same stream has that edge already.
        let later = |host: &Sequence| {
            before
                .iter()
                .any(|b| b.1 == Edge::SameStream && b.0 > *host)
        };
        let host = self.host.filter(|host| !later(host));
        before.extend(host.map(|host| (host, Edge::Host)));
        let node = self.graph.add_node(Node {
            sequence,
            operation,
        });
        self.window.push_back(node);
        let mut sources = HashSet::new();
        for (earlier, edge) in before {
            // A source that was forgotten needs no edge.
            if let Some(source) = self.node(earlier).filter(|source| sources.insert(*source)) {
                self.graph.add_edge(source, node, edge);
                self.counts.edges += 1;
            }
        }
        while self.window.len() > self.limit {
            let oldest = self
                .window
                .pop_front()
                .expect("the window is longer than its limit");
            self.graph.remove_node(oldest);
        }
        sequence
    }

    /// `event` was recorded on `stream`.
    pub fn record(&mut self, event: Event, stream: Stream) {
        let tail = self.streams.get(&stream).and_then(|state| state.tail);
        self.events.insert(event, tail);
    }

    /// `event` was destroyed.
    pub fn destroy_event(&mut self, event: Event) {
        self.events.remove(&event);
    }

    /// What is enqueued on `stream` from now on waits for `event`.
    pub fn wait(&mut self, stream: Stream, event: Event) {
        if let Some(Some(recorded)) = self.events.get(&event) {
            let waits = &mut self.streams.entry(stream).or_default().waits;
            // Bounded: a stream that only ever waits needs the latest of each.
            if !waits.contains(&(*recorded, Edge::Event)) && waits.len() < self.limit {
                waits.push((*recorded, Edge::Event));
            }
        }
    }

    /// The host waited for `stream`.
    pub fn synchronise(&mut self, stream: Stream) {
        let tail = self.streams.get(&stream).and_then(|state| state.tail);
        self.host_waits(tail.into_iter().collect());
    }

    /// The host waited for `event`.
    pub fn synchronise_event(&mut self, event: Event) {
        let recorded = self.events.get(&event).copied().flatten();
        self.host_waits(recorded.into_iter().collect());
    }

    /// The host waited for the device.
    pub fn synchronise_all(&mut self) {
        let tails = self
            .streams
            .values()
            .filter_map(|state| state.tail)
            .collect();
        self.host_waits(tails);
    }

    /// The operation with this number, unless it was forgotten.
    pub fn operation(&self, sequence: Sequence) -> Option<&Operation> {
        Some(&self.graph[self.node(sequence)?].operation)
    }

    /// The direct predecessors of an operation, and why they are.
    pub fn predecessors(&self, sequence: Sequence) -> Vec<(Sequence, Edge)> {
        let Some(node) = self.node(sequence) else {
            return Vec::new();
        };
        let edges = self.graph.edges_directed(node, Direction::Incoming);
        let mut found: Vec<(Sequence, Edge)> = edges
            .map(|edge| (self.graph[edge.source()].sequence, *edge.weight()))
            .collect();
        found.sort_unstable();
        found
    }

    /// Whether `earlier` is over before `later` starts, as far as the window shows.
    pub fn happens_before(&self, earlier: Sequence, later: Sequence) -> bool {
        let (Some(source), Some(target)) = (self.node(earlier), self.node(later)) else {
            return false;
        };
        if earlier >= later {
            return false;
        }
        let back = Reversed(&self.graph);
        let mut search = Dfs::new(back, target);
        while let Some(node) = search.next(back) {
            if node == source {
                return true;
            }
        }
        false
    }

    /// Whether the result depends on the order of two operations and nothing orders them.
    pub fn races(&self, a: Sequence, b: Sequence) -> bool {
        let (Some(first), Some(second)) = (self.operation(a), self.operation(b)) else {
            return false;
        };
        a != b && first.access.conflicts(&second.access) && !self.happens_before(a.min(b), a.max(b))
    }

    /// What will be written next, judged from the past: in a loop, what the last round wrote from
    /// this point on; else what was written most recently. Writes to buffers that have since been
    /// freed count for nothing, even where a new buffer has taken their address.
    pub fn predict(&self) -> Prediction {
        let past: Vec<&Node> = self
            .window
            .iter()
            .map(|node| &self.graph[*node])
            .filter(|node| node.operation.kind != Kind::Synchronisation)
            .collect();
        let signatures: Vec<u64> = past.iter().map(|node| node.operation.signature).collect();
        let period = period(&signatures);
        let mut prediction = Prediction::new(period);
        match period {
            Some(period) => {
                let round = &past[past.len() - period..];
                self.note_writes(round.iter().copied(), &mut prediction);
            }
            None => self.note_writes(past.iter().rev().copied(), &mut prediction),
        }
        prediction
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn note_writes<'a>(
        &self,
        operations: impl Iterator<Item = &'a Node>,
        prediction: &mut Prediction,
    ) {
        for (distance, node) in operations.enumerate() {
            let Side::Extents(writes) = &node.operation.access.writes else {
                continue;
            };
            for part in writes.iter() {
                for live in self.buffers.same_epoch(part, node.sequence) {
                    prediction.note(live, distance as u64);
                }
            }
        }
    }

    /// Makes `sequence` the tail of its stream; what it waits for there.
    fn enter_stream(&mut self, stream: Stream, sequence: Sequence) -> Vec<(Sequence, Edge)> {
        let state = self.streams.entry(stream).or_default();
        let mut before = std::mem::take(&mut state.waits);
        before.extend(
            state
                .tail
                .replace(sequence)
                .map(|tail| (tail, Edge::SameStream)),
        );
        let blocking = !state.non_blocking;
        if stream == Stream::LEGACY {
            let others = self
                .streams
                .iter()
                .filter(|(s, o)| **s != stream && !o.non_blocking);
            before.extend(others.filter_map(|(_, o)| Some((o.tail?, Edge::Legacy))));
        } else if blocking {
            let legacy = self
                .streams
                .get(&Stream::LEGACY)
                .and_then(|legacy| legacy.tail);
            before.extend(legacy.map(|tail| (tail, Edge::Legacy)));
        }
        before
    }

    fn host_waits(&mut self, tails: Vec<Sequence>) {
        let node = self.push(Operation {
            kind: Kind::Synchronisation,
            stream: None,
            signature: 0,
            access: Access::none(),
        });
        let target = self.node(node).expect("it was pushed just now");
        for tail in tails {
            if let Some(source) = self.node(tail) {
                self.graph.add_edge(source, target, Edge::Host);
                self.counts.edges += 1;
            }
        }
        self.host = Some(node);
    }

    fn node(&self, sequence: Sequence) -> Option<NodeIndex> {
        let first = self.next.0 - self.window.len() as u64;
        let at = sequence.0.checked_sub(first)?;
        self.window.get(usize::try_from(at).ok()?).copied()
    }

    fn count(&mut self, operation: &Operation) {
        let counts = &mut self.counts;
        match operation.kind {
            Kind::Kernel => {
                counts.kernels += 1;
                counts.exact_writes += u64::from(!operation.access.writes.is_unknown());
            }
            Kind::Copy => counts.copies += 1,
            Kind::Memset => counts.memsets += 1,
            Kind::Host => counts.host += 1,
            Kind::Synchronisation => counts.synchronisations += 1,
        }
    }
}
