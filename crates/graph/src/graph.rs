//! The DAG and how it grows.

use crate::operation::{Edge, Event, Moment, Operation, Sequence, WorkKind};
use crate::order::Order;
use crate::period::{last_time, period};
use crate::prediction::Prediction;
use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use strobe_extent::{Access, Extent, ExtentMap, Side, StreamId, Strided};

/// The operations of a window of the program's past, in the order enqueued, with happens-before
/// edges. Methods are called in the order in which the program made its calls.
///
/// All threads of the program count as one host: what one of them waited for is taken to be over for
/// the others, too. The edges say so of all that was enqueued when the wait had ended, which is what is shown; what
/// decides about content ([`LaunchGraph::may_yet_be_written`]) of what was announced when it began.
#[derive(Debug)]
pub struct LaunchGraph {
    graph: StableDiGraph<Node, Edge>,
    /// The window, oldest first; sequence numbers ascend by one.
    window: VecDeque<NodeIndex>,
    limit: usize,
    next: Sequence,
    streams: HashMap<StreamId, StreamState>,
    /// What each event stands for.
    events: HashMap<Event, Vec<Sequence>>,
    /// The latest wait of the host.
    host: Option<Sequence>,
    /// What it has waited for, as far as it is remembered.
    waited: BTreeSet<Sequence>,
    /// Live buffers, with the first operation that could have meant them: an address means another
    /// buffer after a free.
    buffers: ExtentMap<Sequence>,
    /// Changes of `buffers`.
    changes: u64,
    order: Order,
    /// When what is pushed was announced.
    now: Moment,
    /// When the last operation that is not in the window was.
    forgotten: Moment,
    /// When what is pushed was seen; see [`LaunchGraph::see`].
    seen_ns: u64,
}

#[derive(Debug)]
struct Node {
    sequence: Sequence,
    operation: Operation,
    /// The operation before it in its stream.
    before: Option<Sequence>,
    announced: Moment,
    seen_ns: u64,
}

#[derive(Debug, Default)]
struct StreamState {
    non_blocking: bool,
    tail: Option<Sequence>,
    /// What the next operation has to wait for.
    waits: Vec<(Sequence, Edge)>,
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
            waited: BTreeSet::new(),
            buffers: ExtentMap::default(),
            changes: 0,
            order: Order::default(),
            now: Moment::default(),
            forgotten: Moment::default(),
            seen_ns: 0,
        }
    }

    /// What comes next was announced then.
    pub fn reach(&mut self, now: Moment) {
        self.now = now;
    }

    /// What comes next is seen at this time, in nanoseconds of a clock of the caller's.
    pub fn see(&mut self, ns: u64) {
        self.seen_ns = ns;
    }

    /// A buffer was allocated; whatever lay there is gone.
    pub fn allocate(&mut self, extent: Extent) {
        self.changes += 1;
        self.buffers.insert(extent, self.next);
    }

    /// The buffer that starts at `start` was freed; what it was.
    pub fn free(&mut self, start: u64) -> Option<Extent> {
        self.changes += 1;
        self.buffers.remove(start).map(|(extent, _)| extent)
    }

    /// Calls were missed: all that is known is which buffers live.
    pub fn resume(&mut self, live: &[Extent]) {
        let (next, limit, changes) = (self.next, self.limit, self.changes);
        let (now, seen_ns) = (self.now, self.seen_ns);
        *self = LaunchGraph::new(limit);
        (self.now, self.forgotten, self.seen_ns) = (now, now, seen_ns);
        (self.next, self.changes) = (next, changes + 1);
        self.order = Order::after_loss(next);
        live.iter().for_each(|extent| self.allocate(*extent));
    }

    /// The buffer that holds `address`.
    pub fn buffer_at(&self, address: u64) -> Option<Extent> {
        self.buffers.at(address).map(|(extent, _)| extent)
    }

    /// Whether some byte of `extent` is in a buffer.
    pub fn touches_buffer(&self, extent: Extent) -> bool {
        self.buffers.touches(extent.start(), extent.len())
    }

    /// How often buffers have come or gone: while it is the same, they are.
    pub fn buffer_changes(&self) -> u64 {
        self.changes
    }

    /// The live buffers, in address order.
    pub fn buffers(&self) -> impl Iterator<Item = Extent> + '_ {
        self.buffers.iter().map(|(extent, _)| extent)
    }

    /// A stream was created that does not synchronise with the legacy default stream.
    pub fn create_non_blocking(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_default().non_blocking = true;
        self.order.create_non_blocking(stream);
    }

    /// A stream was destroyed.
    pub fn destroy_stream(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
        self.order.destroy_stream(stream);
    }

    /// An operation was enqueued, or done by the host where it names no stream.
    pub fn push(&mut self, operation: Operation) -> Sequence {
        let sequence = self.next;
        self.next.0 += 1;
        let mut before = Vec::new();
        if let Some(stream) = operation.stream {
            before = self.enter_stream(stream, sequence);
        }
        // What the host does itself and writes nothing is in nobody's way.
        let is_enqueued = operation.stream.is_some() || !operation.access.writes.is_none();
        let before_it = is_enqueued.then(|| self.order.push(operation.stream, sequence));
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
            before: before_it.flatten(),
            announced: self.now,
            seen_ns: self.seen_ns,
        });
        self.window.push_back(node);
        let mut sources = HashSet::new();
        for (earlier, edge) in before {
            // A source that was forgotten needs no edge.
            if let Some(source) = self.node(earlier).filter(|source| sources.insert(*source)) {
                self.graph.add_edge(source, node, edge);
            }
        }
        while self.window.len() > self.limit {
            let oldest = self
                .window
                .pop_front()
                .expect("the window is longer than its limit");
            if let Some(node) = self.graph.remove_node(oldest) {
                self.forgotten = node.announced.max(self.forgotten);
                if !node.operation.access.writes.is_none() {
                    self.order.forget(node.operation.stream, node.sequence);
                }
            }
        }
        sequence
    }

    /// An operation of a stream may touch something else than was thought when it was enqueued.
    pub fn correct(&mut self, stream: StreamId, sequence: Sequence, access: Arc<Access>) {
        match self.node(sequence) {
            Some(node) => self.graph[node].operation.access = access,
            None => self.order.forget(Some(stream), sequence),
        }
    }

    /// `event` was recorded on `stream`.
    pub fn record(&mut self, event: Event, stream: StreamId) {
        let tails = self.tails(stream);
        self.events.insert(event, tails);
        self.order.record(event, stream, self.now);
    }

    /// `event` was destroyed.
    pub fn destroy_event(&mut self, event: Event) {
        self.events.remove(&event);
        self.order.destroy_event(event);
    }

    /// What is enqueued on `stream` from now on waits for `event`.
    pub fn wait(&mut self, stream: StreamId, event: Event) {
        let waits = &mut self.streams.entry(stream).or_default().waits;
        for recorded in self.events.get(&event).into_iter().flatten() {
            // Bounded: a stream that only ever waits needs the latest of each.
            if !waits.contains(&(*recorded, Edge::Event)) && waits.len() < self.limit {
                waits.push((*recorded, Edge::Event));
            }
        }
        self.order.wait(stream, event);
    }

    /// The host waited for `stream`.
    pub fn synchronise(&mut self, stream: StreamId, since: Moment) {
        let tails = self.tails(stream);
        self.host_waits(&tails);
        let tails = self.order.tails(Some(stream));
        self.are_over(tails, since);
    }

    /// The host waited for `event`.
    pub fn synchronise_event(&mut self, event: Event, since: Moment) {
        let recorded = self.events.get(&event).cloned().unwrap_or_default();
        self.host_waits(&recorded);
        self.order.host_waits_for_event(event, since);
    }

    /// The host waits for the operation that came last; when it has, [`LaunchGraph::is_copied`].
    pub fn synchronise_last(&mut self) {
        let last = self.next.0.checked_sub(1).map(Sequence);
        self.host_waits(last.as_slice());
    }

    /// The host waited for a copy on `stream`, announced at `since` or later: so the first operation there
    /// from then on is over, whichever it is.
    pub fn is_copied(&mut self, stream: StreamId, since: Moment) {
        if since <= self.forgotten {
            return;
        }
        let on_stream = self.on_stream(self.order.tail(stream));
        let later = on_stream.take_while(|node| node.announced >= since);
        if let Some(first) = later.last().map(|node| node.sequence) {
            self.order.is_over_up_to(stream, first);
        }
    }

    /// The host waited for the device.
    pub fn synchronise_all(&mut self, since: Moment) {
        let tails: Vec<Sequence> = self
            .streams
            .values()
            .filter_map(|state| state.tail)
            .collect();
        self.host_waits(&tails);
        let tails = self.order.tails(None);
        self.are_over(tails, since);
    }

    /// Nothing is under way, though the program has not waited for it.
    pub fn drained(&mut self) {
        for (stream, tail) in self.order.tails(None) {
            self.order.is_over_up_to(stream, tail);
        }
        self.order.drop_destroyed();
    }

    /// A call has failed: of what it said it waits for, or makes wait, nothing is known.
    pub fn doubt_order(&mut self) {
        self.order.doubt();
    }

    /// The operations, oldest first.
    pub fn operations(&self) -> impl Iterator<Item = (Sequence, &Operation)> + '_ {
        let nodes = self.window.iter().map(|node| &self.graph[*node]);
        nodes.map(|node| (node.sequence, &node.operation))
    }

    /// When an operation was seen, where it is remembered.
    pub fn seen_ns(&self, sequence: Sequence) -> Option<u64> {
        Some(self.graph[self.node(sequence)?].seen_ns)
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

    /// Whether an operation of the stream `of` is over when what is enqueued next on `stream` begins.
    pub fn comes_after(&self, stream: StreamId, of: StreamId, earlier: Sequence) -> bool {
        self.order.comes_after(stream, of, earlier)
    }

    /// Whether an operation of the stream `of` is over.
    pub fn is_over(&self, of: StreamId, earlier: Sequence) -> bool {
        self.order.is_over(of, earlier)
    }

    /// Whether something that was enqueued may write a byte of `extent` from now on; with a stream: once its
    /// last operation has begun.
    pub fn may_yet_be_written(&self, extent: Extent, once: Option<StreamId>) -> bool {
        self.order.open(once).any(|open| {
            let is_open = |sequence: &Sequence| Some(*sequence) > open.over;
            let on_stream = self.on_stream(Some(open.tail));
            let mut operations = on_stream.take_while(|node| is_open(&node.sequence));
            open.forgotten.is_some_and(|forgotten| is_open(&forgotten))
                || operations.any(|node| node.operation.access.writes.overlaps(extent))
        })
    }

    /// What was enqueued and may be under way now, the latest of each stream first; nothing where it is not all
    /// remembered.
    pub fn under_way(&self) -> Option<Vec<(Sequence, &Operation)>> {
        let mut all = Vec::new();
        for open in self.order.open(None) {
            let is_open = |sequence: Sequence| Some(sequence) > open.over;
            if open.forgotten.is_some_and(is_open) {
                return None;
            }
            let operations = self.on_stream(Some(open.tail));
            let operations = operations.take_while(|node| is_open(node.sequence));
            all.extend(operations.map(|node| (node.sequence, &node.operation)));
        }
        Some(all)
    }

    /// The first operation that may be under way or is yet to come; nothing where that is not remembered.
    pub fn first_not_over(&self) -> Option<Sequence> {
        let under_way = self.under_way()?;
        let first = under_way.iter().map(|(sequence, _)| *sequence).min();
        Some(first.unwrap_or(self.next))
    }

    /// What the operations from `first` on write, all together; nothing where they are not all remembered.
    pub fn writes_from(&self, first: Sequence) -> Option<Side> {
        let nodes = self.window.iter().map(|node| &self.graph[*node]);
        let mut nodes = nodes.skip_while(|node| node.sequence < first).peekable();
        if nodes.peek().map_or(self.next, |node| node.sequence) != first {
            return None;
        }
        let mut writes = Side::none();
        nodes.for_each(|node| writes.union_with(&node.operation.access.writes));
        Some(writes)
    }

    /// What will be written next, judged from the past: in a loop, what the last round wrote from this point on. Else what
    /// was written since the program was last where it is now, as far as that can be told; then what was written most
    /// recently. Writes to buffers that have since been freed count for nothing, even where a new buffer has taken their
    /// address.
    pub fn predict(&self) -> Prediction {
        let (past, signatures) = self.past();
        let mut prediction = Prediction::default();
        let period = period(&signatures);
        if let Some(ago) = period.or_else(|| last_time(&signatures)) {
            let since = &past[past.len() - ago..];
            self.note_writes(since.iter().copied(), &mut prediction);
        }
        if period.is_none() {
            self.note_writes(past.iter().rev().copied(), &mut prediction);
        }
        prediction
    }

    /// Operations in a round of the loop that the program seems to be in; waits of the host not counted.
    pub fn period(&self) -> Option<usize> {
        period(&self.past().1)
    }

    /// The last round of the loop that the program seems to be in, from its end on backwards: when each operation was seen,
    /// and what it touches.
    pub fn last_round(&self) -> Option<Vec<(u64, Arc<Access>)>> {
        let (past, signatures) = self.past();
        let round = past.iter().rev().take(period(&signatures)?);
        Some(
            round
                .map(|node| (node.seen_ns, Arc::clone(&node.operation.access)))
                .collect(),
        )
    }

    /// What the program did, and by what each of it is known again.
    fn past(&self) -> (Vec<&Node>, Vec<u64>) {
        let past: Vec<&Node> = self
            .window
            .iter()
            .map(|node| &self.graph[*node])
            .filter(|node| node.operation.kind != WorkKind::Synchronisation)
            .collect();
        let signatures = past.iter().map(|node| node.operation.signature).collect();
        (past, signatures)
    }

    fn note_writes<'a>(
        &self,
        operations: impl Iterator<Item = &'a Node>,
        prediction: &mut Prediction,
    ) {
        for node in operations {
            let Side::Known(writes) = &node.operation.access.writes else {
                continue;
            };
            // It is about an order: of a pattern its hull says enough.
            let patterns = writes.patterns().iter().map(Strided::hull);
            for part in writes.extents().iter().chain(patterns) {
                for (buffer, born) in self.buffers.overlapping(part) {
                    if let (true, Some(live)) = (*born <= node.sequence, buffer.intersect(part)) {
                        prediction.note(live);
                    }
                }
            }
        }
    }

    /// Makes `sequence` the tail of its stream; what it waits for there.
    fn enter_stream(&mut self, stream: StreamId, sequence: Sequence) -> Vec<(Sequence, Edge)> {
        let before = self.before_next(stream);
        let state = self.streams.entry(stream).or_default();
        state.waits.clear();
        state.tail = Some(sequence);
        before
    }

    /// What the next operation on a stream waits for there.
    fn before_next(&self, stream: StreamId) -> Vec<(Sequence, Edge)> {
        let state = self.streams.get(&stream);
        let mut before = state.map_or_else(Vec::new, |state| state.waits.clone());
        let tail = state.and_then(|state| state.tail);
        before.extend(tail.map(|tail| (tail, Edge::SameStream)));
        if stream == StreamId::LEGACY {
            let others = self
                .streams
                .iter()
                .filter(|(s, o)| **s != stream && !o.non_blocking);
            before.extend(others.filter_map(|(_, o)| Some((o.tail?, Edge::Legacy))));
        } else if !state.is_some_and(|state| state.non_blocking) {
            let legacy = self
                .streams
                .get(&StreamId::LEGACY)
                .and_then(|legacy| legacy.tail);
            before.extend(legacy.map(|tail| (tail, Edge::Legacy)));
        }
        before
    }

    /// What has to be over for all that was enqueued on a stream to be: its last operation, and what that
    /// stream waits for by itself.
    fn tails(&self, stream: StreamId) -> Vec<Sequence> {
        let tail_of = |stream| self.streams.get(&stream).and_then(|state| state.tail);
        if stream == StreamId::LEGACY {
            let blocking = self.streams.values().filter(|state| !state.non_blocking);
            return blocking.filter_map(|state| state.tail).collect();
        }
        let blocks = !self.streams.get(&stream).is_some_and(|s| s.non_blocking);
        let tail = tail_of(stream);
        let legacy = tail_of(StreamId::LEGACY).filter(|legacy| blocks && Some(*legacy) > tail);
        tail.into_iter().chain(legacy).collect()
    }

    /// A program may ask again and again whether something is over: only what is new makes a node.
    fn host_waits(&mut self, tails: &[Sequence]) {
        let mut new = tails.to_vec();
        new.retain(|tail| self.waited.insert(*tail));
        if new.is_empty() {
            return;
        }
        let node = self.push(Operation {
            kind: WorkKind::Synchronisation,
            name: "host waits",
            stream: None,
            signature: 0,
            access: Arc::new(Access::none()),
            is_hull: false,
        });
        let target = self.node(node).expect("it was pushed just now");
        for tail in new {
            if let Some(source) = self.node(tail) {
                self.graph.add_edge(source, target, Edge::Host);
            }
        }
        self.host = Some(node);
        let first = Sequence(self.next.0 - self.window.len() as u64);
        self.waited = self.waited.split_off(&first);
    }

    /// Of streams by their tails, all that was announced before `since` is over.
    fn are_over(&mut self, tails: Vec<(StreamId, Sequence)>, since: Moment) {
        for (stream, tail) in tails {
            let later = self
                .on_stream(Some(tail))
                .take_while(|node| node.announced >= since);
            let last = match later.last() {
                None => Some(tail),
                Some(first_later) => first_later.before,
            };
            let is_before = |last: &Sequence| {
                self.at(*last).map_or(self.forgotten, |node| node.announced) < since
            };
            if let Some(last) = last.filter(is_before) {
                self.order.is_over_up_to(stream, last);
            }
        }
        self.order.drop_destroyed();
    }

    /// What is remembered of a stream, from an operation of it on backwards.
    fn on_stream(&self, from: Option<Sequence>) -> impl Iterator<Item = &Node> {
        let from = from.and_then(|from| self.at(from));
        std::iter::successors(from, |node| self.at(node.before?))
    }

    fn at(&self, sequence: Sequence) -> Option<&Node> {
        self.node(sequence).map(|node| &self.graph[node])
    }

    fn node(&self, sequence: Sequence) -> Option<NodeIndex> {
        let first = self.next.0 - self.window.len() as u64;
        let at = sequence.0.checked_sub(first)?;
        self.window.get(usize::try_from(at).ok()?).copied()
    }
}
