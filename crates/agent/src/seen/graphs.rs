//! What HIP's graphs do: the operations that were recorded into them while streams were captured.
//!
//! Where several captures are under way at once, each graph is taken to do what was recorded in all of
//! them, so nobody need know which branch belongs to which. A graph that was built or changed by hand
//! is not known here, and neither is what is instantiated from it: it may do anything.

use crate::seen::observed::{Observed, RawStream};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use strobe_hip::{Graph, GraphExec};

/// Bytes of records that are kept of a graph; one that has more is not known.
const MOST: usize = 64 << 20;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Graphs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// What was captured since nothing was captured.
    captured: Recording,
    graphs: HashMap<Graph, Arc<Recording>>,
    execs: HashMap<GraphExec, Arc<Recording>>,
}

/// Operations in the order of their calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    records: Vec<Box<[u8]>>,
    bytes: usize,
}

impl Recording {
    fn push(&mut self, observed: &Observed<'_>) {
        let mut record = vec![0; observed.record_len()].into_boxed_slice();
        self.bytes += record.len();
        if self.bytes > MOST {
            self.records.clear();
            return;
        }
        observed.write(&mut record);
        self.records.push(record);
    }

    /// Nothing at all is nothing that was understood.
    fn is_known(&self) -> bool {
        !self.records.is_empty() && self.bytes <= MOST
    }

    /// The operations, as a launch on `stream` does them.
    pub(crate) fn on(&self, stream: RawStream) -> impl Iterator<Item = Observed<'_>> {
        let records = self.records.iter();
        // SAFETY: written by `push`.
        let read = records.filter_map(|record| unsafe { Observed::read(record) });
        read.map(move |observed| observed.on(stream))
    }
}

impl Graphs {
    /// This was recorded into whatever is captured.
    pub(crate) fn record(&self, observed: &Observed<'_>) {
        self.0.lock().captured.push(observed);
    }

    /// A capture has ended in `graph`; `was_last`: none is under way any more.
    pub(crate) fn captured(&self, graph: Graph, was_last: bool) {
        let mut known = self.0.lock();
        let recording = match was_last {
            true => std::mem::take(&mut known.captured),
            false => known.captured.clone(),
        };
        match recording.is_known() {
            true => known.graphs.insert(graph, Arc::new(recording)),
            false => known.graphs.remove(&graph),
        };
    }

    /// Whatever was captured is no graph, and nothing is captured any more.
    pub(crate) fn nothing_is_captured(&self) {
        self.0.lock().captured = Recording::default();
    }

    /// `exec` does from now on what `graph` says.
    pub(crate) fn instantiated(&self, exec: GraphExec, graph: Graph) {
        let mut known = self.0.lock();
        match known.graphs.get(&graph).cloned() {
            Some(recording) => known.execs.insert(exec, recording),
            None => known.execs.remove(&exec),
        };
    }

    /// `graph` is changed, or goes.
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

    #[test]
    fn an_instance_does_what_was_captured_until_somebody_changes_it() {
        let (graphs, on) = (Graphs::default(), Some(RawStream(9)));
        let ([a, b], [x, y]) = ([Graph(1), Graph(2)], [GraphExec(1), GraphExec(2)]);
        graphs.record(&memset(1));
        graphs.captured(a, false);
        graphs.record(&memset(2));
        graphs.captured(b, true);
        graphs.instantiated(x, a);
        graphs.instantiated(y, b);
        assert_eq!(shown(&graphs, x), Some(vec![(on, 1)]));
        // What was captured beside it counts too.
        assert_eq!(shown(&graphs, y), Some(vec![(on, 1), (on, 2)]));
        graphs.forget(a);
        assert!(shown(&graphs, x).is_some(), "it has its own copy");
        graphs.instantiated(x, a);
        assert_eq!(shown(&graphs, x), None);
        graphs.record(&memset(3));
        graphs.captured(a, true);
        graphs.instantiated(x, a);
        assert_eq!(shown(&graphs, x), Some(vec![(on, 3)]));
        graphs.forget_exec(x);
        assert_eq!(shown(&graphs, x), None);
        graphs.forget_all();
        assert_eq!(shown(&graphs, y), None);
    }

    #[test]
    fn nothing_recorded_is_not_known() {
        let graphs = Graphs::default();
        graphs.record(&memset(1));
        graphs.nothing_is_captured();
        graphs.captured(Graph(1), true);
        graphs.instantiated(GraphExec(1), Graph(1));
        assert_eq!(shown(&graphs, GraphExec(1)), None);
    }
}
