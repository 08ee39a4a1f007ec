//! The DAG of small programs: what is ordered, what is not, and what is predicted.

use strobe_extent::{Access, Extent, Reason, Side};
use strobe_graph::{Edge, Event, Kind, LaunchGraph, Operation, Sequence, Stream};

const A: Stream = Stream(1);
const B: Stream = Stream(2);

fn e(start: u64, len: u64) -> Extent {
    Extent::with_len(start, len).unwrap()
}

fn kernel(stream: Stream, signature: u64, reads: Side, writes: Side) -> Operation {
    let access = Access { reads, writes };
    Operation {
        kind: Kind::Kernel,
        stream: Some(stream),
        signature,
        access,
    }
}

/// A kernel that writes the 16 bytes at `start`.
fn writer(stream: Stream, start: u64) -> Operation {
    kernel(stream, start, Side::none(), e(start, 16).into())
}

/// A graph with one buffer from 0 to 0x1000.
fn graph() -> LaunchGraph {
    let mut graph = LaunchGraph::new(1000);
    graph.allocate(e(0, 0x1000));
    graph
}

#[test]
fn a_stream_is_in_order_and_two_are_not() {
    let mut graph = graph();
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    let a2 = graph.push(writer(A, 0x10));
    let a3 = graph.push(writer(A, 0x20));
    assert!(graph.happens_before(a1, a3) && !graph.happens_before(a3, a1));
    assert!(!graph.happens_before(a1, b1) && !graph.happens_before(b1, a2));
    assert_eq!(graph.predecessors(a3), [(a2, Edge::SameStream)]);
    assert!(
        graph.races(a1, b1) && graph.races(b1, a1),
        "both write, and nothing orders them"
    );
    assert!(!graph.races(b1, a2), "they touch different bytes");
}

#[test]
fn an_event_orders_what_was_recorded_before_what_waits() {
    let (mut graph, event) = (graph(), Event(7));
    graph.wait(B, event);
    let b0 = graph.push(writer(B, 0x30));
    assert_eq!(
        graph.predecessors(b0),
        [],
        "an event that was never recorded orders nothing"
    );
    let a1 = graph.push(writer(A, 0));
    graph.record(event, A);
    let a2 = graph.push(writer(A, 0x10));
    graph.wait(B, event);
    let b1 = graph.push(kernel(B, 1, e(0, 4).into(), Side::none()));
    assert_eq!(
        graph.predecessors(b1),
        [(b0, Edge::SameStream), (a1, Edge::Event)]
    );
    assert!(graph.happens_before(a1, b1) && !graph.happens_before(a2, b1));
    assert!(!graph.races(a1, b1), "the reader waits for the writer");
    // Recorded again: it stands for the later point, and only for who waits from now on.
    graph.record(event, A);
    graph.wait(B, event);
    let b2 = graph.push(writer(B, 0x40));
    assert!(graph.happens_before(a2, b2) && !graph.happens_before(a2, b1));
}

#[test]
fn the_host_orders_what_it_waited_for() {
    let mut graph = graph();
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    graph.synchronise(A);
    let b2 = graph.push(writer(B, 0x10));
    let b3 = graph.push(writer(Stream(3), 0x10));
    assert!(graph.happens_before(a1, b2) && graph.happens_before(a1, b3));
    assert!(!graph.happens_before(b1, b3));
    graph.synchronise_all();
    let b4 = graph.push(writer(Stream(4), 0));
    assert!(
        [a1, b1, b2, b3]
            .iter()
            .all(|earlier| graph.happens_before(*earlier, b4))
    );
}

#[test]
fn the_legacy_stream_joins_blocking_streams_only() {
    let mut graph = graph();
    graph.create_non_blocking(B);
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    let legacy = graph.push(writer(Stream::LEGACY, 0));
    let a2 = graph.push(writer(A, 0));
    let b2 = graph.push(writer(B, 0));
    assert!(graph.happens_before(a1, legacy) && graph.happens_before(legacy, a2));
    assert!(!graph.happens_before(b1, legacy) && !graph.happens_before(legacy, b2));
}

/// Two streams, an event, five kernels a step, of which two write nothing.
fn train(graph: &mut LaunchGraph, steps: usize) {
    for _ in 0..steps {
        graph.push(kernel(A, 1, e(0, 0x100).into(), e(0x400, 0x100).into()));
        graph.push(kernel(A, 2, e(0x400, 0x100).into(), Side::none()));
        graph.record(Event(1), A);
        graph.wait(B, Event(1));
        graph.push(kernel(B, 3, Side::none(), e(0x480, 0x100).into()));
        graph.push(kernel(B, 2, Side::none(), Side::none()));
        graph.push(kernel(A, 4, e(0x400, 0x100).into(), e(0, 0x100).into()));
        graph.synchronise_all();
    }
}

#[test]
fn a_loop_predicts_its_next_round() {
    let mut graph = graph();
    graph.push(kernel(A, 99, Side::none(), e(0x800, 0x100).into()));
    train(&mut graph, 5);
    let prediction = graph.predict();
    assert_eq!(prediction.period(), Some(5));
    assert_eq!(
        prediction.copy_order(),
        [e(0x400, 0x100), e(0x500, 0x80), e(0, 0x100)],
        "each byte once, in the order of the next round"
    );
    assert_eq!(prediction.next_write(e(0x400, 1)), Some(0));
    assert_eq!(
        prediction.next_write(e(0x4f0, 0x20)),
        Some(0),
        "its first byte comes first"
    );
    assert_eq!(prediction.next_write(e(0x500, 1)), Some(2));
    assert_eq!(prediction.next_write(e(0x10, 1)), Some(4));
    assert_eq!(
        prediction.next_write(e(0x800, 1)),
        None,
        "only the set-up wrote it"
    );
}

#[test]
fn in_the_middle_of_a_round_its_end_comes_first() {
    let mut graph = graph();
    train(&mut graph, 4);
    graph.push(kernel(A, 1, e(0, 0x100).into(), e(0x400, 0x100).into()));
    let prediction = graph.predict();
    assert_eq!(prediction.period(), Some(5));
    assert_eq!(
        prediction.copy_order(),
        [e(0x480, 0x100), e(0, 0x100), e(0x400, 0x80)]
    );
}

#[test]
fn without_a_loop_the_latest_writes_come_first() {
    let mut graph = graph();
    for start in [0x30, 0x10, 0x20] {
        graph.push(writer(A, start));
    }
    let prediction = graph.predict();
    assert_eq!(prediction.period(), None);
    assert_eq!(
        prediction.copy_order(),
        [e(0x20, 16), e(0x10, 16), e(0x30, 16)]
    );
}

#[test]
fn a_new_buffer_does_not_inherit_the_writes_of_its_address() {
    let mut graph = LaunchGraph::new(100);
    let first = graph.allocate(e(0x1000, 0x100));
    graph.allocate(e(0x2000, 0x100));
    graph.push(writer(A, 0x1000));
    graph.push(writer(A, 0x2000));
    assert_eq!(graph.free(0x1000), Some(first));
    assert_eq!(graph.free(0x1000), None);
    assert_eq!(
        graph.predict().copy_order(),
        [e(0x2000, 16)],
        "a freed buffer needs no copy"
    );
    let second = graph.allocate(e(0x1000, 0x40));
    assert_ne!(first, second);
    assert_eq!(graph.epoch_at(0x103f), Some(second));
    assert_eq!(graph.epoch_at(0x1040), None);
    assert_eq!(graph.predict().copy_order(), [e(0x2000, 16)]);
    graph.push(writer(A, 0x1000));
    assert_eq!(graph.predict().copy_order(), [e(0x1000, 16), e(0x2000, 16)]);
    assert_eq!(graph.live_buffers(), 2);
}

#[test]
fn unknown_writes_predict_nothing_and_race_with_everything() {
    let mut graph = graph();
    let unknown = Side::Unknown(Reason::NotAnalysed);
    let a1 = graph.push(kernel(A, 1, Side::none(), unknown));
    let b1 = graph.push(kernel(B, 2, e(0, 4).into(), Side::none()));
    assert!(graph.races(a1, b1));
    assert_eq!(graph.predict().copy_order(), []);
    assert_eq!(
        (graph.counts().kernels, graph.counts().exact_writes),
        (2, 1)
    );
}

#[test]
fn the_past_is_bounded() {
    let mut graph = LaunchGraph::new(8);
    graph.allocate(e(0, 0x1000));
    let first = graph.push(writer(A, 0));
    graph.record(Event(1), A);
    for _ in 0..100 {
        graph.push(writer(A, 0x10));
    }
    graph.wait(B, Event(1));
    let late = graph.push(writer(B, 0x20));
    assert!(graph.operation(first).is_none() && !graph.happens_before(first, late));
    assert_eq!(
        graph.predecessors(late),
        [],
        "what was forgotten orders nothing"
    );
    assert!(graph.operation(Sequence(late.0 - 7)).is_some());
    assert!(graph.operation(Sequence(late.0 - 8)).is_none());
    assert!(graph.operation(Sequence(late.0 + 1)).is_none());
    assert_eq!(graph.counts().kernels, 102);
}
