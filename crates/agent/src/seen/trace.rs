//! The trace: everything observed, applied in the order of the calls.
//!
//! Off-checkpoint the control thread applies records some milliseconds later; from the cut until
//! the last chunk is saved the calling threads apply theirs themselves. Either way allocations and
//! tables are those of the point in the trace that has been reached, whatever happens meanwhile.

use crate::seen::kernel::Kernel;
use crate::seen::launch_log::LaunchLog;
use crate::seen::numbers::Numbers;
use crate::seen::observed::{Launch, Observed, RawStream, Span, Synchronised, Transfer, Turn};
use crate::seen::reach;
use crate::seen::relied::{Relied, Relying};
use crate::seen::tables::{LeftBy, Look, Tables};
use crate::seen::user_cache::UserCache;
use crate::wire::page::now_ns;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use strobe_extent::{Access, Extent, Reason, Side, StreamId};
use strobe_footprint::{LaunchMemo, LaunchMemory, StoredPointers};
use strobe_graph::{Event, LaunchGraph, Moment, Operation, Sequence, WorkKind};
use strobe_proto::LaunchWindow;

/// Operations that the graph remembers: some rounds of a training loop.
const GRAPH_OPERATIONS: usize = 8192;
/// Bytes for launches whose footprints are remembered: some ten thousand.
const LAUNCHED: usize = 16 << 20;

/// Why what changes a table may write anything.
const TABLE_CHANGED: Reason =
    Reason::Other("it changes a table that a launch under way may follow");
/// Why what is under way may write anything.
const NOT_REMEMBERED: Reason = Reason::Other("what is under way is not all remembered");
const TABLE_IS_MAPPED: Reason =
    Reason::Other("a launch under way follows a table that the CPU can write");

/// Launches so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub launches: u64,
    /// Launches whose writes are known.
    pub exact: u64,
    /// Launches that may write anything.
    pub conservative: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Trace {
    tables: Tables,
    graph: LaunchGraph,
    /// Launches that are right while tables stay what they are.
    relied: Relied,
    /// Of each stream the last launch that was taken to follow a table as it is which the CPU can write. ([`Tables`] says
    /// when that is right enough.)
    followed_mapped: HashMap<StreamId, Sequence>,
    /// What launches have touched.
    launched: LaunchMemo,
    streams: Numbers<RawStream>,
    events: Numbers<u64>,
    /// The kernel launched last on each stream.
    last: HashMap<RawStream, &'static str>,
    latest: Option<&'static str>,
    counts: Counts,
    /// Kernels that may write anything, and why.
    unresolved: BTreeMap<&'static str, Reason>,
    log: Option<LaunchLog>,
    /// What earlier runs have learned.
    cache: Arc<Mutex<UserCache>>,
    /// Kernels that were analysed, and are not in the cache yet.
    pub uncached: Vec<&'static Kernel>,
}

/// What has been learned from one observation: who may write what.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// The stream it was enqueued on, if any.
    pub stream: Option<StreamId>,
    access: Arc<Access>,
    /// What was launched, if it was a kernel that is known by name.
    pub kernel: Option<&'static Kernel>,
}

/// What is known of memory when a launch on a stream begins.
struct Known<'a> {
    graph: &'a LaunchGraph,
    tables: &'a Tables,
    stream: StreamId,
    /// What was asked for and is known.
    relied: RefCell<Vec<Extent>>,
    /// What was asked for and is not known.
    wanted: RefCell<Vec<Extent>>,
}

impl LaunchMemory for Known<'_> {
    fn allocation(&self, address: u64) -> Option<Extent> {
        self.graph.buffer_at(address)
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.graph.touches_buffer(extent)
    }

    fn known_bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let comes_after =
            |LeftBy { stream, sequence }| self.graph.comes_after(self.stream, stream, sequence);
        let known = self.tables.known(address, len, comes_after);
        if let Ok(extent) = Extent::with_len(address, len as u64) {
            let asked = match known.is_some() {
                true => &self.relied,
                false => &self.wanted,
            };
            asked.borrow_mut().push(extent);
        }
        known
    }

    fn allocations_epoch(&self) -> Option<u64> {
        Some(self.graph.buffer_changes())
    }
}

impl Trace {
    #[allow(clippy::new_without_default, reason = "an empty trace is a decision")]
    pub(crate) fn new(cache: Arc<Mutex<UserCache>>) -> Trace {
        Trace {
            tables: Tables::default(),
            graph: LaunchGraph::new(GRAPH_OPERATIONS),
            relied: Relied::default(),
            followed_mapped: HashMap::new(),
            launched: LaunchMemo::new(LAUNCHED),
            streams: Numbers::default(),
            events: Numbers::default(),
            last: HashMap::new(),
            latest: None,
            counts: Counts::default(),
            unresolved: BTreeMap::new(),
            log: LaunchLog::from_environment(),
            cache,
            uncached: Vec::new(),
        }
    }

    /// What is applied next was announced then.
    pub(crate) fn reach(&mut self, now: Moment) {
        self.graph.reach(now);
    }

    /// What is applied next is seen now.
    pub(crate) fn see(&mut self) {
        self.graph.see(now_ns());
    }

    /// Applies one observation.
    pub(crate) fn apply(&mut self, observed: &Observed<'_>) -> Effect {
        match *observed {
            Observed::Launch(launch) => self.launch(&launch),
            Observed::Transfer(transfer) => self.transfer(&transfer),
            Observed::Anything { stream, is_graph } => {
                let (kind, name) = match is_graph {
                    true => (WorkKind::Graph, "graph"),
                    false => (WorkKind::Kernel, "(unknown)"),
                };
                let access = Access::unknown(Reason::NotAnalysed);
                self.operation(stream, operation(kind, name, access))
            }
            Observed::Callback { stream } => {
                let callback = operation(WorkKind::Host, "callback", Access::none());
                self.operation(Some(stream), callback)
            }
            Observed::InTurn { stream, what } => {
                let (kind, name) = match what {
                    Turn::ValueWait => (WorkKind::Synchronisation, "waits for a value"),
                    Turn::Prefetch => (WorkKind::Copy, "prefetch"),
                    Turn::Attach => (WorkKind::Host, "attach"),
                };
                self.operation(Some(stream), operation(kind, name, Access::none()))
            }
            Observed::Content {
                address,
                mapped,
                bytes,
            } => {
                self.found(address, bytes, mapped);
                Effect::none()
            }
            Observed::Allocate { start, len } => {
                if let Ok(extent) = Extent::with_len(start, len) {
                    self.graph.allocate(extent);
                    self.logged(|log| log.allocate(extent));
                }
                Effect::none()
            }
            Observed::Free { start } => {
                self.logged(|log| log.free(start));
                let freed = self.graph.free(start);
                if let Some(buffer) = freed {
                    self.tables.freed(buffer);
                }
                Effect::of_writes(freed.map_or(Side::none(), Side::from))
            }
            Observed::CreateStream {
                stream,
                non_blocking,
            } => {
                self.forget_stream(stream);
                if non_blocking {
                    let stream = self.stream(stream);
                    self.graph.create_non_blocking(stream);
                }
                Effect::none()
            }
            Observed::DestroyStream { stream } => {
                self.forget_stream(stream);
                Effect::none()
            }
            Observed::RecordEvent { event, stream } => {
                let (event, stream) = (Event(self.events.of(event)), self.stream(stream));
                self.graph.record(event, stream);
                Effect::none()
            }
            Observed::WaitEvent { stream, event } => {
                let (event, stream) = (Event(self.events.of(event)), self.stream(stream));
                self.graph.wait(stream, event);
                Effect::none()
            }
            Observed::DestroyEvent { event } => {
                if let Some(number) = self.events.live.remove(&event) {
                    self.graph.destroy_event(Event(number));
                }
                Effect::none()
            }
            Observed::Synchronise { what, since } => {
                match what {
                    Synchronised::Stream(stream) => {
                        let stream = self.stream(stream);
                        self.graph.synchronise(stream, since);
                    }
                    Synchronised::Event(event) => {
                        let event = Event(self.events.of(event));
                        self.graph.synchronise_event(event, since);
                    }
                    Synchronised::Device => self.graph.synchronise_all(since),
                    Synchronised::Copy(stream) => {
                        let stream = self.stream(stream);
                        self.graph.is_copied(stream, since);
                    }
                }
                Effect::none()
            }
            Observed::Failed => {
                let graph = &self.graph;
                self.tables
                    .doubt_launches(|left| graph.is_over(left.stream, left.sequence));
                self.graph.doubt_order();
                Effect::none()
            }
            Observed::Reset => {
                self.logged(LaunchLog::reset);
                self.tables.clear();
                // They begin to count anew together.
                self.graph = LaunchGraph::new(GRAPH_OPERATIONS);
                self.relied.clear();
                self.followed_mapped.clear();
                self.launched = LaunchMemo::new(LAUNCHED);
                self.streams.live.clear();
                self.events.live.clear();
                self.last.clear();
                Effect::none()
            }
        }
    }

    /// Records were lost: `live` is what is allocated, and nothing else is known any more.
    pub(crate) fn resume_after_loss(&mut self, live: &[Extent], lost: u64) {
        self.counts.launches += lost;
        self.counts.conservative += lost;
        self.tables.clear();
        self.relied.clear();
        self.graph.resume(live);
        self.logged(|log| log.lost(lost));
    }

    /// Whether a launch log is kept.
    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Writes the launch log as far as it goes.
    pub(crate) fn flush_log(&mut self) {
        self.logged(LaunchLog::flush);
    }

    #[inline]
    fn logged(&mut self, write: impl FnOnce(&mut LaunchLog)) {
        if let Some(log) = &mut self.log {
            write(log);
        }
    }

    /// Nothing is under way: reads the tables again.
    pub(crate) fn look_up_tables(&mut self, look: Look) {
        self.graph.drained();
        self.tables.look_up_again(look);
    }

    /// Tables that are not known and should be, with no more than so many bytes.
    pub(crate) fn unknown_tables(&self, most: u64) -> Vec<Extent> {
        self.tables.unknown(most)
    }

    /// This is at `address` now; `mapped` says whether the CPU can reach it.
    pub(crate) fn found(&mut self, address: u64, content: &[u8], mapped: bool) {
        self.learn(address, content, mapped, None);
    }

    /// How many operations may be under way, and what they may touch yet.
    pub(crate) fn under_way(&self) -> (u64, Access) {
        let anything = Access::unknown;
        let Some(operations) = self.graph.under_way() else {
            return (0, anything(NOT_REMEMBERED));
        };
        let count = operations.len() as u64;
        let is_under_way =
            |(stream, last): (&StreamId, &Sequence)| !self.graph.is_over(*stream, *last);
        if self.followed_mapped.iter().any(is_under_way) {
            return (count, anything(TABLE_IS_MAPPED));
        }
        let mut access = Access::none();
        for (_, operation) in operations {
            access.union_with(&operation.access);
        }
        (count, access)
    }

    /// From which operation on writes may still come; nothing where that is not remembered.
    pub(crate) fn first_not_over(&self) -> Option<Sequence> {
        self.graph.first_not_over()
    }

    /// What the operations from this one on write; nothing where that is not remembered.
    pub(crate) fn writes_from(&self, first: Sequence) -> Option<Side> {
        self.graph.writes_from(first)
    }

    /// From now on, or no longer, the content of an image depends on footprints.
    pub(crate) fn must_be_right(&mut self, must: bool) {
        self.tables.must_be_right(must);
    }

    /// Extents in the order in which they are expected to be written.
    pub(crate) fn copy_order(&self) -> Vec<Extent> {
        self.graph.predict().copy_order()
    }

    /// The last round of the loop that the program is in, backwards: when each operation was seen, and what it touches.
    pub(crate) fn last_round(&self) -> Option<Vec<(u64, Arc<Access>)>> {
        self.graph.last_round()
    }

    /// What is remembered of the launches, for whoever asks.
    pub(crate) fn pieces(&self) -> Vec<LaunchWindow> {
        self.graph.pieces()
    }

    /// The kernel launched last on `stream`.
    pub(crate) fn last_kernel(&self, stream: RawStream) -> Option<&'static str> {
        self.last.get(&stream).copied()
    }

    /// The kernel launched last on any stream.
    pub(crate) fn latest_kernel(&self) -> Option<&'static str> {
        self.latest
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The kernels whose launches may write anything, and why the latest one did.
    pub(crate) fn unresolved(&self) -> impl Iterator<Item = (&'static str, Reason)> + '_ {
        self.unresolved
            .iter()
            .map(|(name, reason)| (*name, *reason))
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Effect {
        let kernel = launch.kernel;
        self.last.insert(launch.stream, &kernel.name);
        self.latest = Some(&kernel.name);
        let stream = self.stream(launch.stream);
        let known = Known {
            graph: &self.graph,
            tables: &self.tables,
            stream,
            relied: RefCell::default(),
            wanted: RefCell::default(),
        };
        let at_launch = |kernarg| strobe_footprint::Launch {
            kernarg,
            grid: launch.items,
            block: launch.block,
            dynamic_lds: launch.lds,
        };
        let mut stored = Vec::new();
        let access = match (launch.kernarg, kernel.footprint(&self.cache)) {
            _ if kernel.is_distrusted() => anything(Reason::Distrusted),
            (Ok(kernarg), Some(footprint)) => {
                let at_launch = at_launch(kernarg);
                if !launch.is_captured {
                    stored = footprint.stored(&at_launch, &known);
                }
                self.launched.evaluate(footprint, &at_launch, &known)
            }
            (Err(reason), _) => anything(reason),
            (_, None) => anything(Reason::NotAnalysed),
        };
        self.uncached
            .extend(kernel.take_uncached().then_some(kernel));
        let Known { relied, wanted, .. } = known;
        for extent in wanted.into_inner() {
            self.tables.want(extent);
        }
        self.counts.launches += 1;
        let number = self.counts.launches;
        self.logged(|log| log.launch(number, launch, &access));
        match access.writes.reason() {
            Some(reason) => {
                self.counts.conservative += 1;
                self.unresolved.insert(&kernel.name, reason);
            }
            None => self.counts.exact += 1,
        }
        let held_for = self.written(Some(stream), &access);
        let mut hasher = DefaultHasher::new();
        (&kernel.name, launch.items, launch.block).hash(&mut hasher);
        let sequence = self.graph.push(Operation {
            kind: WorkKind::Kernel,
            name: &kernel.name,
            stream: Some(stream),
            signature: hasher.finish(),
            access: Arc::clone(&access),
            is_hull: false,
        });
        let relied = relied.into_inner();
        if relied.iter().any(|table| self.tables.is_mapped(*table)) {
            self.followed_mapped.insert(stream, sequence);
        }
        if !relied.is_empty() {
            self.relied.add(Relying {
                stream,
                sequence,
                logged: self.log.iter().map(|_| number).collect(),
                tables: relied.into_iter().collect(),
            });
        }
        let left_by = Some(LeftBy { stream, sequence });
        for StoredPointers { start, content } in stored {
            self.learn(start, &content, reach::is_mapped(start), left_by);
        }
        Effect {
            stream: Some(stream),
            access: held_for,
            kernel: Some(kernel),
        }
    }

    /// Something is enqueued next; what it may touch, with those launches that it may lead elsewhere.
    fn written(&mut self, stream: Option<StreamId>, access: &Arc<Access>) -> Arc<Access> {
        self.tables.written(&access.writes);
        let changed = self.relied.changed(&self.graph, stream, &access.writes);
        if changed.is_empty() {
            return Arc::clone(access);
        }
        let anything = anything(TABLE_CHANGED);
        self.tables.written(&anything.writes);
        for launch in changed {
            for number in launch.logged {
                self.logged(|log| log.doubt(number));
            }
            let access = Arc::clone(&anything);
            self.graph.correct(launch.stream, launch.sequence, access);
        }
        anything
    }

    /// Takes in what the latest launch leaves, or what is there now.
    fn learn(&mut self, address: u64, content: &[u8], mapped: bool, left_by: Option<LeftBy>) {
        let stays = Extent::with_len(address, content.len() as u64).is_ok_and(|extent| {
            let once = left_by.map(|left_by| left_by.stream);
            !self.graph.may_yet_be_written(extent, once)
        });
        self.tables.learn(address, content, stays, mapped, left_by);
    }

    fn transfer(&mut self, transfer: &Transfer) -> Effect {
        let side =
            |span: Span| Extent::with_len(span.start, span.len).map_or(Side::none(), Side::from);
        let (kind, name) = match (transfer.is_memset, transfer.stream) {
            (_, None) => (WorkKind::Host, "write"),
            (true, _) => (WorkKind::Memset, "memset"),
            (false, _) => (WorkKind::Copy, "copy"),
        };
        let access = Access {
            reads: side(transfer.reads),
            writes: side(transfer.writes),
        };
        let bytes = transfer.writes.len.max(transfer.reads.len);
        let moved = Operation {
            signature: bytes,
            is_hull: transfer.is_hull,
            ..operation(kind, name, access)
        };
        let effect = self.operation(transfer.stream, moved);
        if transfer.waits {
            self.graph.synchronise_last();
        }
        effect
    }

    fn operation(&mut self, stream: Option<RawStream>, operation: Operation) -> Effect {
        let mut access = Arc::clone(&operation.access);
        let stream = stream.map(|stream| self.stream(stream));
        if !access.writes.is_none() {
            self.logged(|log| log.write(&access.writes));
            access = self.written(stream, &access);
        }
        self.graph.push(Operation {
            stream,
            ..operation
        });
        Effect {
            stream,
            access,
            kernel: None,
        }
    }

    /// The number of a stream, never used twice.
    fn stream(&mut self, stream: RawStream) -> StreamId {
        match stream {
            RawStream::LEGACY => StreamId::LEGACY,
            stream => StreamId(self.streams.of(stream)),
        }
    }

    fn forget_stream(&mut self, stream: RawStream) {
        if let Some(number) = self.streams.live.remove(&stream) {
            self.graph.destroy_stream(StreamId(number));
            let graph = &self.graph;
            self.followed_mapped
                .retain(|stream, last| !graph.is_over(*stream, *last));
        }
        self.last.remove(&stream);
    }
}

/// Of the host's, until it has a stream.
fn operation(kind: WorkKind, name: &'static str, access: Access) -> Operation {
    Operation {
        kind,
        name,
        stream: None,
        signature: 0,
        access: Arc::new(access),
        is_hull: false,
    }
}

fn anything(reason: Reason) -> Arc<Access> {
    Arc::new(Access::unknown(reason))
}

impl Effect {
    fn none() -> Effect {
        Effect::of_writes(Side::none())
    }

    /// Of the calling thread.
    fn of_writes(writes: Side) -> Effect {
        let reads = Side::none();
        Effect {
            stream: None,
            access: Arc::new(Access { reads, writes }),
            kernel: None,
        }
    }

    pub(crate) fn writes(&self) -> &Side {
        &self.access.writes
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::course::Course;

    fn launch(name: &str) -> Observed<'static> {
        Observed::Launch(Launch {
            kernel: Box::leak(Box::new(Kernel::unknown(name))),
            stream: RawStream(0x55),
            items: [1; 3],
            block: [1; 3],
            lds: 0,
            kernarg: Ok(&[]),
            is_captured: false,
        })
    }

    #[test]
    fn a_launch_that_may_write_anything_makes_tables_unknown() {
        let mut trace = Trace::new(Arc::default());
        let content = Observed::Content {
            address: 0x1000,
            mapped: false,
            bytes: &[1, 2],
        };
        trace.apply(&content);
        assert!(trace.tables.known(0x1000, 2, |_| true).is_some());
        let effect = trace.apply(&launch("k"));
        assert!(effect.writes().is_unknown());
        assert!(trace.tables.known(0x1000, 2, |_| true).is_none());
        assert_eq!(trace.last_kernel(RawStream(0x55)), Some("k"));
        let counts = Counts {
            launches: 1,
            exact: 0,
            conservative: 1,
        };
        assert_eq!(trace.counts(), counts);
    }

    #[test]
    fn content_that_an_earlier_operation_may_overwrite_is_not_known() {
        const HELD: RawStream = RawStream(0x77);
        let memset = Observed::Transfer(Transfer {
            stream: Some(HELD),
            writes: Span {
                start: 0x1000,
                len: 8,
            },
            reads: Span::NONE,
            is_memset: true,
            is_hull: false,
            waits: false,
        });
        let anything = Observed::Anything {
            stream: Some(HELD),
            is_graph: true,
        };
        for (enqueued, elsewhere) in [(memset, true), (anything, false)] {
            let mut trace = Trace::new(Arc::default());
            let learned = |trace: &mut Trace, address| {
                trace.apply(&Observed::Content {
                    address,
                    mapped: false,
                    bytes: &[1, 2],
                });
                trace.tables.known(address, 2, |_| true).is_some()
            };
            trace.apply(&Observed::CreateStream {
                stream: HELD,
                non_blocking: true,
            });
            trace.apply(&enqueued);
            assert!(!learned(&mut trace, 0x1004));
            assert_eq!(learned(&mut trace, 0x1008), elsewhere);
            let unknown = trace.unknown_tables(100);
            assert!(!unknown.is_empty(), "it is read at the next cut");
            let (what, since) = (Synchronised::Stream(HELD), Moment(1));
            trace.apply(&Observed::Synchronise { what, since });
            assert!(trace.tables.known(0x1004, 2, |_| true).is_none());
            assert!(learned(&mut trace, 0x1004), "it has been waited for");
            trace.apply(&enqueued);
            trace.look_up_tables(reach::AT_REST);
            assert!(learned(&mut trace, 0x1004), "it was drained");
        }
    }

    #[test]
    fn what_a_call_that_failed_would_have_left_is_not_known() {
        let mut trace = Trace::new(Arc::default());
        let left_by = Some(LeftBy {
            stream: StreamId(1),
            sequence: Sequence(0),
        });
        trace.apply(&launch("k"));
        trace.tables.learn(0x1000, &[1, 2], true, false, left_by);
        trace.tables.learn(0x2000, &[1, 2], true, false, None);
        trace.apply(&Observed::Failed);
        let is_known = |address| trace.tables.known(address, 2, |_| true).is_some();
        assert!(!is_known(0x1000));
        assert!(is_known(0x2000), "it came from the host");
    }

    #[test]
    fn when_nothing_is_kept_any_more_tables_are_believed_again() {
        let trace = Mutex::new(Trace::new(Arc::default()));
        trace.lock().apply(&Observed::Content {
            address: 0x1000,
            mapped: true,
            bytes: &[1, 2],
        });
        let is_known = || trace.lock().tables.known(0x1000, 2, |_| true).is_some();
        trace.lock().must_be_right(true);
        assert!(!is_known());
        assert!(Course::default().record(&trace).is_none());
        assert!(is_known());
    }

    #[test]
    fn a_stream_that_takes_over_a_handle_is_another_stream() {
        let mut trace = Trace::new(Arc::default());
        let before = trace.apply(&launch("k")).stream;
        assert_eq!(trace.apply(&launch("k")).stream, before);
        let stream = RawStream(0x55);
        trace.apply(&Observed::DestroyStream { stream });
        let non_blocking = false;
        trace.apply(&Observed::CreateStream {
            stream,
            non_blocking,
        });
        assert_ne!(trace.apply(&launch("k")).stream, before);
        let null = Observed::Transfer(Transfer {
            stream: Some(RawStream(0)),
            writes: Span { start: 1, len: 1 },
            reads: Span::NONE,
            is_memset: true,
            is_hull: false,
            waits: false,
        });
        assert_eq!(trace.apply(&null).stream, Some(StreamId(0)));
    }

    #[test]
    fn what_touches_nothing_tracked_takes_its_turn() {
        let mut trace = Trace::new(Arc::default());
        let stream = RawStream(0x55);
        for what in Turn::ALL {
            trace.apply(&Observed::InTurn { stream, what });
        }
        let effect = trace.apply(&Observed::Transfer(Transfer {
            stream: Some(stream),
            writes: Span::NONE,
            reads: Span::NONE,
            is_memset: false,
            is_hull: false,
            waits: true,
        }));
        assert!(effect.writes().is_none());
        let pieces = trace.pieces();
        let shown: Vec<_> = pieces.iter().flat_map(|piece| &piece.operations).collect();
        let names = shown.iter().map(|operation| operation.name.as_str());
        let expected = [
            "waits for a value",
            "prefetch",
            "attach",
            "copy",
            "host waits",
        ];
        assert!(names.eq(expected), "{shown:?}");
        for pair in shown.windows(2) {
            let after = pair[1].after.iter().map(|earlier| earlier.sequence);
            assert!(after.eq([pair[0].sequence]), "{pair:?}");
        }
    }

    #[test]
    fn a_free_writes_the_buffer_it_frees() {
        let mut trace = Trace::new(Arc::default());
        let (start, len) = (0x1000, 0x100);
        trace.apply(&Observed::Allocate { start, len });
        let freed = trace.apply(&Observed::Free { start });
        assert_eq!(
            *freed.writes(),
            Extent::with_len(start, len).unwrap().into()
        );
        assert!(trace.apply(&Observed::Free { start }).writes().is_none());
    }
}
