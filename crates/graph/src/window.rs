//! The DAG as it is shown: on its way to the command, in a checkpoint, and there.

use crate::graph::LaunchGraph;
use crate::operation::{Edge, WorkKind};
use std::collections::{BTreeSet, HashSet};
use strobe_extent::{Extent, ExtentSet, Side};
use strobe_proto::{
    ByteRange, LaunchWindow, LaunchedOperation, OperationKind, OrderedBy, Predecessor, Touched,
};

/// Operations and extents of a piece: it stays far below what a control message may have.
const PIECE: usize = 256;
const EXTENTS: usize = 64;

impl LaunchGraph {
    /// Everything that is remembered, in pieces; at least one.
    pub fn pieces(&self) -> Vec<LaunchWindow> {
        let operations: Vec<LaunchedOperation> = self
            .operations()
            .map(|(sequence, operation)| LaunchedOperation {
                sequence: sequence.0,
                kind: OperationKind::from(operation.kind).into(),
                name: operation.name.to_owned(),
                stream: operation.stream.map(|stream| stream.0),
                reads: Some(touched(&operation.access.reads, operation.is_hull)),
                writes: Some(touched(&operation.access.writes, operation.is_hull)),
                after: self
                    .predecessors(sequence)
                    .into_iter()
                    .map(|(earlier, edge)| Predecessor {
                        sequence: earlier.0,
                        by: OrderedBy::from(edge).into(),
                    })
                    .collect(),
                seen_ns: self.seen_ns(sequence).unwrap_or_default(),
            })
            .collect();
        let mut pieces: Vec<LaunchWindow> = operations
            .chunks(PIECE)
            .map(|operations| LaunchWindow {
                operations: operations.to_vec(),
                ..LaunchWindow::default()
            })
            .collect();
        let buffers: Vec<ByteRange> = self.buffers().map(ByteRange::from).collect();
        let mut rest = buffers.chunks(PIECE * EXTENTS);
        let last = LaunchWindow {
            is_last: true,
            buffers: rest.next().unwrap_or_default().to_vec(),
            period: self.period().map(|period| period as u64),
            ..LaunchWindow::default()
        };
        pieces.extend(rest.map(|buffers| LaunchWindow {
            buffers: buffers.to_vec(),
            ..LaunchWindow::default()
        }));
        pieces.push(last);
        pieces
    }
}

fn touched(side: &Side, is_hull: bool) -> Touched {
    let all = match side {
        Side::Unknown(reason) => {
            return Touched {
                unknown: reason.to_string(),
                ..Touched::default()
            };
        }
        Side::Known(all) => all,
    };
    let is_wide = all
        .patterns()
        .iter()
        .any(|one| one.blocks() > EXTENTS as u64);
    let extents: Vec<Extent> = all.flat(EXTENTS as u64).iter().collect();
    let is_long = extents.len() > EXTENTS;
    let shown = match (&extents[..], is_long) {
        ([first, .., last], true) => Extent::new(first.start(), last.end()).into_iter().collect(),
        _ => extents,
    };
    Touched {
        is_hull: (is_hull || is_wide || is_long) && !shown.is_empty(),
        extents: shown.into_iter().map(ByteRange::from).collect(),
        unknown: String::new(),
    }
}

impl From<WorkKind> for OperationKind {
    fn from(kind: WorkKind) -> OperationKind {
        match kind {
            WorkKind::Kernel => OperationKind::Kernel,
            WorkKind::Copy => OperationKind::Copy,
            WorkKind::Memset => OperationKind::Memset,
            WorkKind::Host => OperationKind::Host,
            WorkKind::Graph => OperationKind::Graph,
            WorkKind::Synchronisation => OperationKind::Synchronisation,
        }
    }
}

impl From<Edge> for OrderedBy {
    fn from(edge: Edge) -> OrderedBy {
        match edge {
            Edge::SameStream => OrderedBy::Stream,
            Edge::Event => OrderedBy::Event,
            Edge::Legacy => OrderedBy::Legacy,
            Edge::Host => OrderedBy::Host,
        }
    }
}

/// The window of a program, checked.
#[derive(Clone, Debug, Default)]
pub struct Window {
    all: LaunchWindow,
}

/// Why pieces make no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum WindowError {
    #[error("operation {0} is not where it should be")]
    Order(u64),
    #[error("operation {0} waits for one that comes later, or is not there")]
    Predecessor(u64),
    #[error("operation {0} is of no known kind, or touches what is no memory")]
    Content(u64),
}

/// Two operations of which one writes what the other touches, and nothing orders them: the earlier one
/// enqueued first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// Sequence number of the one enqueued first.
    pub first: u64,
    /// That of the other.
    pub second: u64,
    /// Some of the bytes that both touch.
    pub extent: Extent,
}

impl Window {
    /// Joins pieces. They may come from anywhere.
    pub fn join(pieces: impl IntoIterator<Item = LaunchWindow>) -> Result<Window, WindowError> {
        let mut all = LaunchWindow::default();
        for piece in pieces {
            all.operations.extend(piece.operations);
            all.buffers.extend(piece.buffers);
            all.period = all.period.or(piece.period);
        }
        all.is_last = true;
        let first = all.operations.first().map_or(0, |first| first.sequence);
        for (at, operation) in all.operations.iter().enumerate() {
            let sequence = operation.sequence;
            if first.checked_add(at as u64) != Some(sequence) {
                return Err(WindowError::Order(sequence));
            }
            let is_before = |earlier: &Predecessor| (first..sequence).contains(&earlier.sequence);
            if !operation.after.iter().all(is_before) {
                return Err(WindowError::Predecessor(sequence));
            }
            let sides = [&operation.reads, &operation.writes];
            let are_extents = sides
                .into_iter()
                .flatten()
                .all(|side| side.extents.iter().all(|e| Extent::try_from(*e).is_ok()));
            if !are_extents || operation.kind() == OperationKind::Unspecified {
                return Err(WindowError::Content(sequence));
            }
        }
        Ok(Window { all })
    }

    /// As one message.
    pub fn message(&self) -> &LaunchWindow {
        &self.all
    }

    /// The operations, oldest first.
    pub fn operations(&self) -> &[LaunchedOperation] {
        &self.all.operations
    }

    /// Operations in a round of the loop that the program seems to be in; waits of the host not counted.
    pub fn period(&self) -> Option<usize> {
        self.all.period.and_then(|period| period.try_into().ok())
    }

    /// The latest operations, at most so many, and what orders them among each other.
    pub fn latest(&self, most: usize) -> Window {
        let mut all = self.all.clone();
        all.operations
            .drain(..all.operations.len().saturating_sub(most));
        let first = all.operations.first().map_or(0, |first| first.sequence);
        for operation in &mut all.operations {
            operation.after.retain(|earlier| earlier.sequence >= first);
        }
        Window { all }
    }

    /// Races, `limit` at most; of those that come again round by round (the same names, streams and
    /// bytes) the first. What may touch anything races with nothing here, nor does what is shown as a hull.
    ///
    /// Who writes the value that a stream waits for is not known. It may come after anything but what is
    /// behind the wait; so that may be in order with what is behind, and does not race with it.
    pub fn races(&self, limit: usize) -> Vec<Race> {
        let operations = self.operations();
        let before = Ancestors::of(operations);
        let waits = before.places(value_waits(operations));
        let sides: Vec<[ExtentSet; 2]> = operations
            .iter()
            .map(|operation| [set(&operation.reads), set(&operation.writes)])
            .collect();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (second, later) in operations.iter().enumerate() {
            for (first, earlier) in operations[..second].iter().enumerate() {
                let ([reads, writes], [later_reads, later_writes]) =
                    (&sides[first], &sides[second]);
                let is_harmless = writes.is_empty() && later_writes.is_empty();
                if is_harmless || before.contains(first, second) {
                    continue;
                }
                let common = [
                    (writes, later_writes),
                    (writes, later_reads),
                    (reads, later_writes),
                ]
                .into_iter()
                .find_map(|(one, other)| one.intersect(other).iter().next());
                let Some(extent) = common else { continue };
                if before.differ(&waits, first, second) {
                    continue;
                }
                let one = (earlier.name.as_str(), earlier.stream);
                let other = (later.name.as_str(), later.stream);
                let is_new = seen.insert((one.min(other), one.max(other), extent));
                if is_new {
                    found.push(Race {
                        first: earlier.sequence,
                        second: later.sequence,
                        extent,
                    });
                }
                if found.len() == limit {
                    return found;
                }
            }
        }
        found
    }
}

fn set(side: &Option<Touched>) -> ExtentSet {
    let known = side.iter().filter(|side| !side.is_hull);
    known
        .flat_map(|side| &side.extents)
        .filter_map(|range| Extent::try_from(*range).ok())
        .collect()
}

/// Where the waits for values are. A stream that has one will have had others, which are forgotten: there
/// the first that is known of it stands for them.
fn value_waits(operations: &[LaunchedOperation]) -> BTreeSet<usize> {
    let is_wait = |operation: &LaunchedOperation| {
        operation.kind() == OperationKind::Synchronisation && operation.stream.is_some()
    };
    let waits = operations
        .iter()
        .enumerate()
        .filter(|(_, one)| is_wait(one));
    let mut found: BTreeSet<usize> = waits.map(|(at, _)| at).collect();
    if operations.first().is_some_and(|first| first.sequence > 0) {
        let streams: HashSet<_> = found.iter().map(|at| operations[*at].stream).collect();
        let first_of = |stream| operations.iter().position(|one| one.stream == stream);
        found.extend(streams.into_iter().filter_map(first_of));
    }
    found
}

/// Which operations are over before which others start: a bit for each two.
struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    fn of(operations: &[LaunchedOperation]) -> Ancestors {
        let words = operations.len().div_ceil(64);
        let mut bits = vec![0; words * operations.len()];
        let base = operations.first().map_or(0, |first| first.sequence);
        for (at, operation) in operations.iter().enumerate() {
            let (earlier, own) = bits.split_at_mut(at * words);
            for predecessor in &operation.after {
                // Checked when the window was joined.
                let source = (predecessor.sequence - base) as usize;
                let theirs = &earlier[source * words..][..words];
                own.iter_mut()
                    .zip(theirs)
                    .for_each(|(own, its)| *own |= its);
                own[source / 64] |= 1 << (source % 64);
            }
        }
        Ancestors { words, bits }
    }

    /// A bit for each of these.
    fn places(&self, some: BTreeSet<usize>) -> Vec<u64> {
        let mut bits = vec![0; self.words];
        some.into_iter()
            .for_each(|at| bits[at / 64] |= 1 << (at % 64));
        bits
    }

    /// Whether one of `some` comes before one of the two, or is it, and not before the other.
    fn differ(&self, some: &[u64], one: usize, other: usize) -> bool {
        let up_to = |last: usize, word: usize| {
            let own = u64::from(last / 64 == word) << (last % 64);
            self.bits[last * self.words + word] | own
        };
        let mut words = some.iter().enumerate();
        words.any(|(word, some)| (up_to(one, word) ^ up_to(other, word)) & some != 0)
    }

    fn contains(&self, earlier: usize, later: usize) -> bool {
        self.bits[later * self.words + earlier / 64] >> (earlier % 64) & 1 == 1
    }
}
