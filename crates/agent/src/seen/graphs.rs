//! What HIP's graphs do: the operations that were recorded into them while streams were captured.
//!
//! Where several captures are under way at once, each graph is taken to do what was recorded in all of
//! them since its own began, so nobody need know which branch belongs to which. A graph that was built
//! or changed by hand is not known here, and neither is what is instantiated from it: it may do anything.

use crate::seen::observed::{Observed, RawStream};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use strobe_hip::{Graph, GraphExec};

/// Bytes of records that are kept for the captures under way; with more, none of them is known.
const MOST: usize = 64 << 20;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Graphs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// What was recorded since the oldest capture under way began.
    records: VecDeque<Arc<[u8]>>,
    bytes: usize,
    /// How many there were before those.
    before: u64,
    /// The captures under way, by the stream that each began on: how many records there were.
    captures: Vec<(RawStream, u64)>,
    graphs: HashMap<Graph, Arc<Recording>>,
    execs: HashMap<GraphExec, Arc<Recording>>,
}

/// Operations in the order of their calls.
#[derive(Debug)]
pub(crate) struct Recording(Vec<Arc<[u8]>>);

impl Recording {
    /// The operations, as a launch on `stream` does them.
    pub(crate) fn on(&self, stream: RawStream) -> impl Iterator<Item = Observed<'_>> {
        // SAFETY: written by `Graphs::record`.
        let read = self
            .0
            .iter()
            .filter_map(|record| unsafe { Observed::read(record) });
        read.map(move |observed| observed.on(stream))
    }
}

impl Known {
    /// The capture on `stream` is over; how many records there were when it began.
    fn end(&mut self, stream: RawStream) -> Option<u64> {
        let at = self.captures.iter().position(|(on, _)| *on == stream)?;
        Some(self.captures.swap_remove(at).1)
    }

    /// Records of before the oldest capture are nobody's.
    fn prune(&mut self) {
        let next = self.before + self.records.len() as u64;
        let oldest = self.captures.iter().map(|(_, began)| *began).min();
        let old = oldest.unwrap_or(next) - self.before;
        let gone = self.records.drain(..old as usize);
        self.bytes -= gone.map(|record| record.len()).sum::<usize>();
        self.before += old;
    }
}

impl Graphs {
    /// HIP has begun a capture on `stream`.
    pub(crate) fn began(&self, stream: RawStream) {
        let mut known = self.0.lock();
        known.end(stream);
        let next = known.before + known.records.len() as u64;
        known.captures.push((stream, next));
        known.prune();
    }

    /// This was recorded into whatever is captured.
    pub(crate) fn record(&self, observed: &Observed<'_>) {
        let mut record = vec![0; observed.record_len()];
        observed.write(&mut record);
        let mut known = self.0.lock();
        if known.bytes + record.len() > MOST {
            known.captures.clear();
            known.prune();
        }
        if !known.captures.is_empty() {
            known.bytes += record.len();
            known.records.push_back(record.into());
        }
    }

    /// The capture on `stream` has ended in `graph`. Where nothing was recorded, nothing was understood.
    pub(crate) fn captured(&self, stream: RawStream, graph: Graph) {
        let mut known = self.0.lock();
        let began = known.end(stream).map(|began| began - known.before);
        let recorded = began.map_or(Vec::new(), |began| {
            known.records.range(began as usize..).cloned().collect()
        });
        match recorded.is_empty() {
            false => known.graphs.insert(graph, Arc::new(Recording(recorded))),
            true => known.graphs.remove(&graph),
        };
        known.prune();
    }

    /// The capture on `stream` is over, and is no graph.
    pub(crate) fn nothing_captured(&self, stream: RawStream) {
        let mut known = self.0.lock();
        known.end(stream);
        known.prune();
    }

    /// `exec` does from now on what `graph` says.
    pub(crate) fn instantiated(&self, exec: GraphExec, graph: Graph) {
        let mut known = self.0.lock();
        match known.graphs.get(&graph).cloned() {
            Some(recording) => known.execs.insert(exec, recording),
            None => known.execs.remove(&exec),
        };
    }

    /// `graph` is changed by hand. It may be one that is being captured: HIP says of a capture which graph
    /// it goes into. So none of those is known either.
    pub(crate) fn changed(&self, graph: Graph) {
        let mut known = self.0.lock();
        known.graphs.remove(&graph);
        known.captures.clear();
        known.prune();
    }

    /// `graph` goes.
    pub(crate) fn forget(&self, graph: Graph) {
        self.0.lock().graphs.remove(&graph);
    }

    /// `exec` is changed, or goes.
    pub(crate) fn forget_exec(&self, exec: GraphExec) {
        self.0.lock().execs.remove(&exec);
    }

    /// Some graph is changed: nobody knows which, nor whether its instances are.
    pub(crate) fn forget_all(&self) {
        let mut known = self.0.lock();
        known.graphs.clear();
        known.execs.clear();
        known.captures.clear();
        known.prune();
    }

    /// What a launch of `exec` does, if that is known.
    pub(crate) fn of(&self, exec: GraphExec) -> Option<Arc<Recording>> {
        self.0.lock().execs.get(&exec).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::observed::{Span, Transfer};

    fn memset(start: u64) -> Observed<'static> {
        Observed::Transfer(Transfer {
            stream: Some(RawStream(1)),
            writes: Span { start, len: 4 },
            reads: Span::NONE,
            is_memset: true,
            is_hull: false,
            waits: false,
        })
    }

    fn shown(graphs: &Graphs, exec: GraphExec) -> Option<Vec<(Option<RawStream>, u64)>> {
        let recording = graphs.of(exec)?;
        let shown = recording.on(RawStream(9)).map(|observed| match observed {
            Observed::Transfer(transfer) => (transfer.stream, transfer.writes.start),
            other => panic!("{other:?}"),
        });
        Some(shown.collect())
    }

    const ONE: RawStream = RawStream(1);
    const TWO: RawStream = RawStream(2);

    #[test]
    fn an_instance_does_what_was_captured_until_somebody_changes_it() {
        let (graphs, on) = (Graphs::default(), Some(RawStream(9)));
        let ([a, b], [x, y]) = ([Graph(1), Graph(2)], [GraphExec(1), GraphExec(2)]);
        graphs.began(ONE);
        graphs.record(&memset(1));
        graphs.began(TWO);
        graphs.record(&memset(2));
        graphs.captured(ONE, a);
        graphs.record(&memset(3));
        graphs.captured(TWO, b);
        graphs.instantiated(x, a);
        graphs.instantiated(y, b);
        // What was captured beside them counts too.
        assert_eq!(shown(&graphs, x), Some(vec![(on, 1), (on, 2)]));
        assert_eq!(shown(&graphs, y), Some(vec![(on, 2), (on, 3)]));
        graphs.forget(a);
        assert!(shown(&graphs, x).is_some(), "it has its own copy");
        graphs.instantiated(x, a);
        assert_eq!(shown(&graphs, x), None);
        graphs.record(&memset(4));
        graphs.began(ONE);
        graphs.record(&memset(5));
        graphs.captured(ONE, a);
        graphs.instantiated(x, a);
        assert_eq!(shown(&graphs, x), Some(vec![(on, 5)]));
        graphs.forget_exec(x);
        assert_eq!(shown(&graphs, x), None);
        graphs.forget_all();
        assert_eq!(shown(&graphs, y), None);
    }

    #[test]
    fn a_graph_that_is_changed_while_it_is_captured_is_not_known() {
        for change in [
            |graphs: &Graphs| graphs.changed(Graph(1)),
            Graphs::forget_all,
        ] {
            let graphs = Graphs::default();
            graphs.began(ONE);
            graphs.record(&memset(1));
            change(&graphs);
            graphs.record(&memset(2));
            graphs.captured(ONE, Graph(1));
            graphs.instantiated(GraphExec(1), Graph(1));
            assert_eq!(shown(&graphs, GraphExec(1)), None);
        }
    }

    #[test]
    fn nothing_recorded_is_not_known() {
        let graphs = Graphs::default();
        graphs.record(&memset(1));
        graphs.captured(ONE, Graph(1));
        graphs.began(TWO);
        graphs.record(&memset(1));
        graphs.nothing_captured(TWO);
        graphs.captured(TWO, Graph(1));
        graphs.instantiated(GraphExec(1), Graph(1));
        assert_eq!(shown(&graphs, GraphExec(1)), None);
    }

    #[test]
    fn a_capture_that_is_too_long_is_not_known_and_the_next_one_is() {
        let graphs = Graphs::default();
        let content = vec![0; MOST / 2];
        let long = Observed::Content {
            address: 1,
            mapped: false,
            bytes: &content,
        };
        graphs.began(ONE);
        for _ in 0..3 {
            graphs.record(&long);
        }
        graphs.captured(ONE, Graph(1));
        graphs.began(ONE);
        graphs.record(&memset(7));
        graphs.captured(ONE, Graph(2));
        for number in [1, 2] {
            graphs.instantiated(GraphExec(number), Graph(number));
        }
        assert_eq!(shown(&graphs, GraphExec(1)), None);
        assert_eq!(
            shown(&graphs, GraphExec(2)),
            Some(vec![(Some(RawStream(9)), 7)])
        );
    }
}
