//! The DAG of small programs: what is ordered, what is not, and what is predicted.

use std::collections::BTreeSet;

use strobe_extent::{Access, Extent, Reason, Side, StreamId};
use strobe_graph::{
    Edge, Event, LaunchGraph, Moment, Operation, Sequence, Window, WindowError, WorkKind,
};

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);
/// After all that was announced.
const LATER: Moment = Moment(u64::MAX);
const NAMES: [&str; 5] = ["zero", "one", "two", "three", "four"];

fn e(start: u64, len: u64) -> Extent {
    Extent::with_len(start, len).unwrap()
}

fn kernel(stream: StreamId, signature: u64, reads: Side, writes: Side) -> Operation {
    let access = Access { reads, writes };
    Operation {
        kind: WorkKind::Kernel,
        name: NAMES[signature as usize % NAMES.len()],
        stream: Some(stream),
        signature,
        access: access.into(),
        is_hull: false,
    }
}

/// A kernel that writes the 16 bytes at `start`.
fn writer(stream: StreamId, start: u64) -> Operation {
    kernel(stream, start, Side::none(), e(start, 16).into())
}

/// Whether one operation is over before another starts.
fn before(graph: &LaunchGraph, earlier: Sequence, later: Sequence) -> bool {
    let mut found = BTreeSet::new();
    let mut todo = vec![later];
    while let Some(at) = todo.pop() {
        let direct = graph.predecessors(at).into_iter();
        todo.extend(
            direct
                .map(|(direct, _)| direct)
                .filter(|direct| found.insert(*direct)),
        );
    }
    found.contains(&earlier)
}

fn window(graph: &LaunchGraph) -> Window {
    Window::join(graph.pieces()).expect("its own pieces")
}

fn races(graph: &LaunchGraph) -> Vec<(Sequence, Sequence)> {
    let races = window(graph).races(100);
    let pair = |race: &strobe_graph::Race| (Sequence(race.first), Sequence(race.second));
    races.iter().map(pair).collect()
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
    assert!(before(&graph, a1, a3) && !before(&graph, a3, a1));
    assert!(!before(&graph, a1, b1) && !before(&graph, b1, a2));
    assert_eq!(graph.predecessors(a3), [(a2, Edge::SameStream)]);
    // Both write, and nothing orders them; the others touch different bytes.
    assert_eq!(races(&graph), [(a1, b1)]);
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
    assert!(before(&graph, a1, b1) && !before(&graph, a2, b1));
    assert_eq!(races(&graph), [], "the reader waits for the writer");
    // Recorded again: it stands for the later point, and only for who waits from now on.
    graph.record(event, A);
    graph.wait(B, event);
    let b2 = graph.push(writer(B, 0x40));
    assert!(before(&graph, a2, b2) && !before(&graph, a2, b1));
}

/// A stream waits until memory has a value.
fn value_wait(stream: StreamId) -> Operation {
    Operation {
        kind: WorkKind::Synchronisation,
        ..kernel(stream, 0, Side::none(), Side::none())
    }
}

#[test]
fn what_is_behind_a_wait_for_a_value_may_be_in_order() {
    let (mut graph, event) = (graph(), Event(7));
    let c = StreamId(3);
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    let wait = graph.push(value_wait(B));
    let b2 = graph.push(writer(B, 0x10));
    let a2 = graph.push(writer(A, 0x10));
    assert_eq!(graph.predecessors(wait), [(b1, Edge::SameStream)]);
    assert_eq!(graph.predecessors(b2), [(wait, Edge::SameStream)]);
    assert!(!before(&graph, a1, b2) && !before(&graph, b2, a2));
    // Before the wait nothing has changed; behind it, whoever writes the value may come after both of A.
    assert_eq!(races(&graph), [(a1, b1)]);
    // So it is with what waits for what is behind.
    graph.record(event, B);
    graph.wait(c, event);
    graph.push(writer(c, 0x20));
    graph.push(writer(A, 0x20));
    assert_eq!(races(&graph), [(a1, b1)]);
    // Of two that are behind the same wait neither comes before its value.
    let b3 = graph.push(writer(B, 0x30));
    let c2 = graph.push(writer(c, 0x30));
    assert_eq!(races(&graph), [(a1, b1), (b3, c2)]);
    graph.synchronise(B, LATER);
    let (a4, b4) = (graph.push(writer(A, 0x40)), graph.push(writer(B, 0x40)));
    assert_eq!(races(&graph), [(a1, b1), (b3, c2), (a4, b4)]);
}

#[test]
fn a_wait_for_a_value_that_was_forgotten_counts_while_its_stream_has_others() {
    let mut graph = LaunchGraph::new(6);
    for start in [0, 0x10, 0x20] {
        graph.push(value_wait(B));
        graph.push(writer(B, start));
        graph.push(writer(A, start));
    }
    graph.push(writer(A, 0x100));
    // The oldest is a write behind the second wait, which is not there any more.
    let window = window(&graph);
    assert_eq!(window.operations()[0].stream, Some(B.0));
    assert_eq!(window.races(100), []);
}

#[test]
fn the_host_orders_what_it_waited_for() {
    let mut graph = graph();
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    graph.synchronise(A, LATER);
    let b2 = graph.push(writer(B, 0x10));
    let b3 = graph.push(writer(StreamId(3), 0x10));
    assert!(before(&graph, a1, b2) && before(&graph, a1, b3));
    assert!(!before(&graph, b1, b3));
    graph.synchronise_all(LATER);
    let b4 = graph.push(writer(StreamId(4), 0));
    assert!(
        [a1, b1, b2, b3]
            .iter()
            .all(|earlier| before(&graph, *earlier, b4))
    );
}

#[test]
fn what_comes_after_is_known_before_it_is_enqueued() {
    let mut graph = graph();
    let non_blocking = StreamId(3);
    graph.create_non_blocking(non_blocking);
    let streams = [A, B, non_blocking, StreamId::LEGACY];
    let mut earlier = Vec::new();
    for round in 0..64_u64 {
        let stream = streams[(round * 7 / 3 % 4) as usize];
        match round % 11 {
            3 => graph.record(Event(1), streams[(round % 4) as usize]),
            5 | 8 => graph.wait(stream, Event(1)),
            7 => graph.synchronise(streams[(round / 3 % 4) as usize], LATER),
            _ => {}
        }
        let known: Vec<bool> = earlier
            .iter()
            .map(|(of, earlier)| graph.comes_after(stream, *of, *earlier))
            .collect();
        let next = graph.push(writer(stream, 0));
        for ((_, earlier), known) in earlier.iter().zip(known) {
            assert_eq!(
                known,
                before(&graph, *earlier, next),
                "{earlier:?} {next:?}"
            );
        }
        earlier.push((stream, next));
    }
}

#[test]
fn the_legacy_stream_joins_blocking_streams_only() {
    let mut graph = graph();
    graph.create_non_blocking(B);
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0));
    let legacy = graph.push(writer(StreamId::LEGACY, 0));
    let a2 = graph.push(writer(A, 0));
    let b2 = graph.push(writer(B, 0));
    assert!(before(&graph, a1, legacy) && before(&graph, legacy, a2));
    assert!(!before(&graph, b1, legacy) && !before(&graph, legacy, b2));
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
        graph.synchronise_all(LATER);
    }
}

#[test]
fn a_loop_predicts_its_next_round() {
    let mut graph = graph();
    graph.push(kernel(A, 99, Side::none(), e(0x800, 0x100).into()));
    train(&mut graph, 5);
    let prediction = graph.predict();
    assert_eq!(graph.period(), Some(5));
    assert_eq!(
        prediction.copy_order(),
        [e(0x400, 0x100), e(0x500, 0x80), e(0, 0x100)],
        "each byte once, in the order of the next round, without what only the set-up wrote"
    );
}

#[test]
fn what_the_last_round_did_is_known_of_a_loop() {
    let mut graph = graph();
    graph.push(kernel(A, 99, Side::none(), e(0x800, 0x100).into()));
    assert!(graph.last_round().is_none());
    for (step, ns) in [0, 100, 200].into_iter().enumerate() {
        graph.see(ns);
        train(&mut graph, 1);
        assert_eq!(graph.last_round().is_some(), step > 0);
    }
    graph.see(250);
    graph.push(kernel(A, 1, e(0, 0x100).into(), e(0x400, 0x100).into()));
    let round = graph.last_round().expect("a loop");
    let seen: Vec<u64> = round.iter().map(|(seen_ns, _)| *seen_ns).collect();
    assert_eq!(seen, [250, 200, 200, 200, 200], "the latest first");
    let writes = |at| {
        let mut sides = round.iter().map(|(_, access)| &access.writes);
        sides.any(|side| side.overlaps(e(at, 1)))
    };
    for (at, is_written) in [(0, true), (0x57f, true), (0x580, false), (0x800, false)] {
        assert_eq!(writes(at), is_written, "{at:#x}");
    }
}

#[test]
fn in_the_middle_of_a_round_its_end_comes_first() {
    let mut graph = graph();
    train(&mut graph, 4);
    graph.push(kernel(A, 1, e(0, 0x100).into(), e(0x400, 0x100).into()));
    let prediction = graph.predict();
    assert_eq!(graph.period(), Some(5));
    assert_eq!(
        prediction.copy_order(),
        [e(0x480, 0x100), e(0, 0x100), e(0x400, 0x80)]
    );
}

#[test]
fn after_what_comes_now_and_then_the_round_is_known_all_the_same() {
    let mut graph = graph();
    train(&mut graph, 3);
    graph.push(kernel(A, 99, Side::none(), e(0x800, 0x100).into()));
    graph.push(kernel(A, 1, e(0, 0x100).into(), e(0x400, 0x100).into()));
    graph.push(kernel(A, 2, e(0x400, 0x100).into(), Side::none()));
    assert_eq!(graph.period(), None);
    assert_eq!(
        graph.predict().copy_order(),
        [
            e(0x480, 0x100),
            e(0, 0x100),
            e(0x800, 0x100),
            e(0x400, 0x80)
        ],
        "what followed last time"
    );
}

#[test]
fn without_a_loop_the_latest_writes_come_first() {
    let mut graph = graph();
    for start in [0x30, 0x10, 0x20] {
        graph.push(writer(A, start));
    }
    let prediction = graph.predict();
    assert_eq!(graph.period(), None);
    assert_eq!(
        prediction.copy_order(),
        [e(0x20, 16), e(0x10, 16), e(0x30, 16)]
    );
}

#[test]
fn a_new_buffer_does_not_inherit_the_writes_of_its_address() {
    let mut graph = LaunchGraph::new(100);
    graph.allocate(e(0x1000, 0x100));
    graph.allocate(e(0x2000, 0x100));
    graph.push(writer(A, 0x1000));
    graph.push(writer(A, 0x2000));
    assert_eq!(graph.free(0x1000), Some(e(0x1000, 0x100)));
    assert_eq!(graph.free(0x1000), None);
    assert_eq!(
        graph.predict().copy_order(),
        [e(0x2000, 16)],
        "a freed buffer needs no copy"
    );
    graph.allocate(e(0x1000, 0x40));
    assert_eq!(graph.buffer_at(0x103f), Some(e(0x1000, 0x40)));
    assert_eq!(graph.buffer_at(0x1040), None);
    assert_eq!(graph.predict().copy_order(), [e(0x2000, 16)]);
    graph.push(writer(A, 0x1000));
    assert_eq!(graph.predict().copy_order(), [e(0x1000, 16), e(0x2000, 16)]);
    assert_eq!(graph.buffers().count(), 2);
    // After a loss all that is known is what lives.
    graph.resume(&[e(0x2000, 0x100)]);
    let lives: Vec<Extent> = graph.buffers().collect();
    assert_eq!(lives, [e(0x2000, 0x100)]);
    assert_eq!(graph.predict().copy_order(), []);
}

#[test]
fn unknown_writes_predict_nothing_and_say_why() {
    let mut graph = graph();
    let unknown = Side::Unknown(Reason::NotAnalysed);
    graph.push(kernel(A, 1, Side::none(), unknown));
    graph.push(kernel(B, 2, e(0, 4).into(), Side::none()));
    assert_eq!(races(&graph), [], "nobody knows");
    assert_eq!(graph.predict().copy_order(), []);
    let window = window(&graph);
    let writes = window.operations()[0].writes.as_ref().expect("a side");
    assert_eq!(writes.unknown, Reason::NotAnalysed.to_string());
}

#[test]
fn what_waits_for_the_default_stream_waits_for_all_that_this_one_waits_for() {
    let mut graph = graph();
    graph.create_non_blocking(B);
    let a1 = graph.push(writer(A, 0));
    let b1 = graph.push(writer(B, 0x10));
    // Nothing was enqueued on it, but it stands behind the others.
    graph.record(Event(1), StreamId::LEGACY);
    graph.wait(B, Event(1));
    let b2 = graph.push(writer(B, 0));
    assert!(before(&graph, a1, b2) && before(&graph, b1, b2));
    assert_eq!(races(&graph), []);
    let legacy = graph.push(writer(StreamId::LEGACY, 0x20));
    // A stream on which nothing came after the default stream's work waits for that, too.
    graph.synchronise(A, LATER);
    let b3 = graph.push(writer(B, 0x20));
    assert!(before(&graph, legacy, b3));
}

#[test]
fn asking_again_whether_it_is_over_makes_the_graph_forget_nothing() {
    let mut graph = LaunchGraph::new(8);
    let (a1, b1) = (graph.push(writer(A, 0)), graph.push(writer(B, 0x10)));
    graph.record(Event(1), A);
    for _ in 0..100 {
        graph.synchronise_event(Event(1), LATER);
        graph.synchronise(B, LATER);
        graph.synchronise_all(LATER);
    }
    let a2 = graph.push(writer(A, 0x10));
    assert!(before(&graph, a1, a2) && before(&graph, b1, a2));
    // The two kernels, a wait for each, and the last one.
    assert_eq!(graph.operations().count(), 5);
    graph.synchronise(A, LATER);
    let b2 = graph.push(writer(B, 0x10));
    assert!(before(&graph, a2, b2), "that is new");
}

#[test]
fn a_window_is_what_the_graph_remembers() {
    let mut graph = LaunchGraph::new(1000);
    (0..70).for_each(|at| graph.allocate(e(0x1000 * at, 0x1000)));
    train(&mut graph, 150);
    let scattered: Side = (0..100)
        .map(|at| e(at * 0x20, 4))
        .collect::<strobe_extent::ExtentSet>()
        .into();
    let last = graph.push(kernel(B, 7, Side::none(), scattered));
    let pieces = graph.pieces();
    assert!(pieces.len() > 3 && pieces.last().expect("one").is_last);
    let window = Window::join(pieces.clone()).expect("its own pieces");
    assert_eq!(
        (window.operations().len(), window.message().buffers.len()),
        (900 + 1, 70)
    );
    let operation = window.operations().last().expect("many");
    assert_eq!((operation.sequence, operation.stream), (last.0, Some(B.0)));
    let writes = operation.writes.as_ref().expect("a side");
    assert!(writes.is_hull && writes.extents.len() == 1);
    assert_eq!(
        (writes.extents[0].start, writes.extents[0].len),
        (0, 99 * 0x20 + 4)
    );
    // Kernels of two streams that touch the same bytes, once each two.
    let found = window.races(100);
    let named = |sequence: u64| {
        let at = sequence - window.operations()[0].sequence;
        window.operations()[at as usize].name.as_str()
    };
    let pairs: Vec<(&str, &str)> = found
        .iter()
        .map(|r| (named(r.first), named(r.second)))
        .collect();
    assert!(pairs.contains(&("three", "four")), "{pairs:?}");
    assert_eq!(window.races(1).len(), 1);
    // The end of it orders what is left.
    let latest = window.latest(3);
    assert_eq!(latest.operations().len(), 3);
    assert!(latest.operations()[0].after.is_empty());
    assert!(
        window.latest(5000).operations().len() == 901 && window.latest(0).operations().is_empty()
    );
    // A piece that is lost, twice there, or made up.
    let join = |change: &dyn Fn(&mut Vec<strobe_proto::LaunchWindow>)| {
        let mut changed = pieces.clone();
        change(&mut changed);
        Window::join(changed).expect_err("it makes no sense")
    };
    assert_eq!(join(&|all| drop(all.remove(1))), WindowError::Order(512));
    assert_eq!(
        join(&|all| all.insert(1, all[0].clone())),
        WindowError::Order(0)
    );
    let later =
        |all: &mut Vec<strobe_proto::LaunchWindow>| all[0].operations[5].after[0].sequence = 5;
    assert_eq!(join(&later), WindowError::Predecessor(5));
    assert_eq!(
        join(&|all| all[0].operations[2].kind = 99),
        WindowError::Content(2)
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
    assert!(!before(&graph, first, late));
    assert_eq!(
        graph.predecessors(late),
        [],
        "what was forgotten orders nothing"
    );
    let remembered: Vec<u64> = graph.operations().map(|(sequence, _)| sequence.0).collect();
    assert_eq!(remembered, (late.0 - 7..=late.0).collect::<Vec<u64>>());
}

#[test]
fn whatever_changes_the_buffers_is_counted() {
    let mut graph = LaunchGraph::new(8);
    let mut seen = vec![graph.buffer_changes()];
    let mut note = |graph: &LaunchGraph| {
        let changes = graph.buffer_changes();
        assert!(!seen.contains(&changes));
        seen.push(changes);
    };
    graph.allocate(e(0, 16));
    note(&graph);
    graph.free(0);
    note(&graph);
    graph.resume(&[]);
    note(&graph);
    graph.resume(&[e(0, 16)]);
    note(&graph);
    let before = graph.buffer_changes();
    graph.push(kernel(StreamId(1), 0, Side::none(), e(0, 4).into()));
    assert_eq!(graph.buffer_changes(), before, "a launch allocates nothing");
}

#[test]
fn what_is_written_from_a_point_on_is_known_while_it_is_remembered() {
    let mut graph = LaunchGraph::new(4);
    assert_eq!(
        graph.first_not_over(),
        Some(Sequence(0)),
        "what comes first"
    );
    let first = graph.push(writer(A, 0x100));
    let second = graph.push(writer(B, 0x200));
    graph.synchronise(A, LATER);
    // The wait is an operation, too.
    assert_eq!(graph.first_not_over(), Some(second));
    let third = graph.push(writer(A, 0x300));
    let from = |graph: &LaunchGraph, first| graph.writes_from(first);
    let is = |side: &Side, written: [bool; 3]| {
        let touched = [0x100, 0x200, 0x300].map(|start| side.overlaps(e(start, 16)));
        assert_eq!(touched, written);
    };
    is(&from(&graph, first).unwrap(), [true, true, true]);
    is(&from(&graph, second).unwrap(), [false, true, true]);
    is(&from(&graph, third).unwrap(), [false, false, true]);
    let next = Sequence(third.0 + 1);
    is(&from(&graph, next).unwrap(), [false, false, false]);
    // The window has room for four.
    graph.push(writer(A, 0x400));
    assert!(from(&graph, first).is_none());
    is(&from(&graph, second).unwrap(), [false, true, true]);
    graph.resume(&[]);
    assert!(from(&graph, second).is_none(), "calls were missed");
    assert_eq!(graph.first_not_over(), None);
}
