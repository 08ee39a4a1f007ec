//! What may still be written when something is learned of memory.

use std::collections::BTreeSet;

use strobe_extent::{Access, Extent, Reason, Side, StreamId};
use strobe_graph::{Event, LaunchGraph, Moment, Operation, Sequence, WorkKind};

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);
/// After all that was announced.
const LATER: Moment = Moment(u64::MAX);
const NON_BLOCKING: StreamId = StreamId(3);

/// A place for each number.
fn place(number: u64) -> Extent {
    Extent::with_len(0x1000 + 16 * number, 16).unwrap()
}

fn operation(stream: Option<StreamId>, writes: Side) -> Operation {
    let reads = Side::none();
    Operation {
        kind: WorkKind::Kernel,
        name: "kernel",
        stream,
        signature: 0,
        access: Access { reads, writes }.into(),
        is_hull: false,
    }
}

fn writer(stream: StreamId, at: u64) -> Operation {
    operation(Some(stream), place(at).into())
}

fn graph() -> LaunchGraph {
    let mut graph = LaunchGraph::new(1000);
    graph.create_non_blocking(NON_BLOCKING);
    graph
}

#[test]
fn what_was_enqueued_may_be_written_until_the_host_has_waited_for_it() {
    let mut graph = graph();
    graph.push(writer(A, 1));
    graph.push(writer(A, 2));
    graph.push(writer(B, 3));
    let open =
        |graph: &LaunchGraph| [1, 2, 3, 4].map(|at| graph.may_yet_be_written(place(at), None));
    assert_eq!(open(&graph), [true, true, true, false]);
    graph.synchronise(A, LATER);
    assert_eq!(open(&graph), [false, false, true, false]);
    graph.record(Event(1), B);
    graph.push(operation(Some(B), Side::Unknown(Reason::NotAnalysed)));
    assert_eq!(open(&graph), [true; 4], "it may write anything");
    graph.synchronise_event(Event(1), LATER);
    assert_eq!(open(&graph), [true; 4]);
    graph.synchronise_all(LATER);
    assert_eq!(open(&graph), [false; 4]);
    graph.push(writer(A, 1));
    graph.drained();
    assert_eq!(open(&graph), [false; 4]);
}

#[test]
fn what_a_launch_comes_after_does_not_write_once_it_has_begun() {
    let mut graph = graph();
    graph.push(writer(A, 1));
    graph.record(Event(1), A);
    graph.push(writer(A, 2));
    graph.wait(B, Event(1));
    graph.push(writer(B, 3));
    let open =
        |graph: &LaunchGraph| [1, 2, 3].map(|at| graph.may_yet_be_written(place(at), Some(B)));
    assert_eq!(open(&graph), [false, true, false]);
    // What comes later on a stream comes after all of this.
    graph.push(writer(B, 3));
    assert_eq!(open(&graph), [false, true, false]);
    graph.synchronise(A, LATER);
    assert_eq!(open(&graph), [false; 3]);
}

#[test]
fn the_default_stream_waits_for_blocking_streams_only() {
    let mut graph = graph();
    graph.push(writer(A, 1));
    graph.push(writer(NON_BLOCKING, 2));
    graph.push(writer(StreamId::LEGACY, 3));
    let open =
        |graph: &LaunchGraph, once| [1, 2, 3].map(|at| graph.may_yet_be_written(place(at), once));
    assert_eq!(open(&graph, Some(StreamId::LEGACY)), [false, true, false]);
    assert_eq!(open(&graph, None), [true; 3]);
    graph.push(writer(B, 4));
    assert_eq!(open(&graph, Some(B)), [false, true, false]);
    graph.push(writer(NON_BLOCKING, 2));
    assert_eq!(open(&graph, Some(NON_BLOCKING)), [true, false, true]);
    // A copy that is over when its call returns.
    graph.push(writer(StreamId::LEGACY, 3));
    graph.reach(Moment(7));
    graph.push(writer(StreamId::LEGACY, 3));
    graph.is_copied(StreamId::LEGACY, Moment(7));
    assert_eq!(open(&graph, None), [false, true, false]);
}

#[test]
fn a_copy_that_is_over_says_nothing_of_what_came_after_it() {
    let mut graph = LaunchGraph::new(4);
    graph.reach(Moment(1));
    graph.push(writer(A, 1));
    graph.reach(Moment(2));
    graph.push(writer(A, 2));
    graph.is_copied(A, Moment(1));
    let open = |graph: &LaunchGraph| [1, 2].map(|at| graph.may_yet_be_written(place(at), None));
    assert_eq!(open(&graph), [false, true]);
    // The copy itself is forgotten, or was missed.
    for at in 3..7 {
        graph.reach(Moment(at));
        graph.push(writer(A, 2));
    }
    graph.is_copied(A, Moment(2));
    assert!(open(&graph)[1]);
    graph.resume(&[]);
    graph.reach(Moment(7));
    graph.push(writer(A, 2));
    graph.is_copied(A, Moment(6));
    assert!(open(&graph)[1]);
}

#[test]
fn what_is_forgotten_may_be_under_way() {
    let mut graph = LaunchGraph::new(4);
    graph.push(writer(A, 1));
    graph.push(operation(Some(B), Side::none()));
    for _ in 0..8 {
        graph.push(writer(NON_BLOCKING, 2));
    }
    graph.synchronise(NON_BLOCKING, LATER);
    assert!(graph.may_yet_be_written(place(3), None));
    graph.synchronise(A, LATER);
    let open = graph.may_yet_be_written(place(3), None);
    assert!(!open, "what is left has written nothing");
}

#[test]
fn of_what_was_enqueued_nobody_knows_where_only_a_wait_for_all_is_the_end() {
    let mut graph = graph();
    graph.push(operation(None, place(1).into()));
    graph.push(writer(A, 2));
    for stream in [A, StreamId::LEGACY] {
        graph.synchronise(stream, LATER);
        assert!(graph.may_yet_be_written(place(1), None));
        assert!(graph.may_yet_be_written(place(1), Some(A)));
    }
    assert!(!graph.may_yet_be_written(place(2), None));
    graph.synchronise_all(LATER);
    assert!(!graph.may_yet_be_written(place(1), None));
}

#[test]
fn after_a_loss_anything_may_be_under_way_and_no_stream_is_known_to_be_blocking() {
    let mut graph = graph();
    graph.resume(&[]);
    graph.push(writer(A, 1));
    graph.synchronise(A, LATER);
    assert!(graph.may_yet_be_written(place(1), None));
    graph.synchronise_all(LATER);
    assert!(!graph.may_yet_be_written(place(1), None));
    graph.push(writer(A, 1));
    graph.reach(Moment(7));
    graph.push(writer(StreamId::LEGACY, 2));
    graph.is_copied(StreamId::LEGACY, Moment(7));
    assert!(graph.may_yet_be_written(place(1), None));
    assert!(!graph.may_yet_be_written(place(2), None));
}

#[test]
fn a_stream_that_was_destroyed_may_still_write() {
    let mut graph = graph();
    graph.push(writer(A, 1));
    graph.destroy_stream(A);
    assert!(graph.may_yet_be_written(place(1), None));
    assert!(!graph.may_yet_be_written(place(0), None));
    for number in 0..1000 {
        let stream = StreamId(100 + number);
        graph.push(writer(stream, 1));
        graph.destroy_stream(stream);
    }
    assert!(
        graph.may_yet_be_written(place(0), None),
        "there are too many"
    );
    graph.synchronise_all(LATER);
    assert!(!graph.may_yet_be_written(place(1), None));
    assert!(graph.is_over(A, Sequence(0)));
}

#[test]
fn after_a_call_that_failed_nothing_is_ordered_but_streams() {
    let mut graph = graph();
    graph.push(writer(A, 1));
    graph.synchronise(A, LATER);
    graph.record(Event(1), A);
    graph.wait(B, Event(1));
    graph.doubt_order();
    graph.push(writer(B, 2));
    graph.push(writer(B, 3));
    let open = [1, 2, 3].map(|at| graph.may_yet_be_written(place(at), Some(B)));
    assert_eq!(open, [true, false, false]);
    graph.synchronise(A, LATER);
    assert!(!graph.may_yet_be_written(place(1), Some(B)));
}

#[test]
fn a_wait_is_for_what_was_announced_before_it_began() {
    let mut graph = LaunchGraph::new(6);
    for at in 1..=3 {
        graph.reach(Moment(at));
        graph.record(Event(at), A);
        graph.push(writer(A, at));
    }
    let open = |graph: &LaunchGraph| [1, 2, 3].map(|at| graph.may_yet_be_written(place(at), None));
    graph.synchronise_event(Event(2), Moment(2));
    assert_eq!(open(&graph), [true; 3], "it may have been recorded again");
    graph.synchronise_event(Event(2), Moment(3));
    assert_eq!(open(&graph), [false, true, true]);
    for synchronise in [
        |graph: &mut LaunchGraph, since| graph.synchronise(A, since),
        LaunchGraph::synchronise_all,
    ] {
        synchronise(&mut graph, Moment::UNKNOWN);
        synchronise(&mut graph, Moment(3));
        assert_eq!(open(&graph), [false, false, true]);
    }
    // Of what is forgotten it is known when the last was announced.
    graph.reach(Moment(4));
    for _ in 0..8 {
        graph.push(writer(B, 0));
    }
    graph.reach(Moment(5));
    for _ in 0..8 {
        graph.push(operation(Some(B), Side::none()));
    }
    graph.synchronise(A, Moment(4));
    assert!(open(&graph)[2]);
    graph.synchronise(A, Moment(6));
    graph.synchronise(B, Moment(6));
    assert_eq!(open(&graph), [false; 3]);
}

/// Whether one operation is over before another begins, as the DAG says.
fn before(graph: &LaunchGraph, earlier: Sequence, later: Sequence) -> bool {
    let mut found = BTreeSet::new();
    let mut todo = vec![later];
    while let Some(at) = todo.pop() {
        let direct = graph.predecessors(at).into_iter().map(|(direct, _)| direct);
        todo.extend(direct.filter(|direct| found.insert(*direct)));
    }
    found.contains(&earlier)
}

#[test]
fn order_and_dag_agree_about_drawn_programs() {
    let mut state = 1_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..200 {
        let mut graph = graph();
        let streams = [A, B, NON_BLOCKING, StreamId::LEGACY];
        let mut pushed: Vec<Sequence> = Vec::new();
        for _ in 0..40 {
            let stream = streams[draw(4) as usize];
            let event = Event(draw(2));
            match draw(12) {
                0 | 1 => graph.record(event, stream),
                2 | 3 => graph.wait(stream, event),
                4 => graph.synchronise(stream, LATER),
                5 => graph.synchronise_event(event, LATER),
                6 if draw(4) == 0 => graph.synchronise_all(LATER),
                _ => {
                    let now = Moment(1 + pushed.len() as u64);
                    graph.reach(now);
                    let next = graph.push(writer(stream, pushed.len() as u64));
                    for (at, earlier) in pushed.iter().enumerate() {
                        let open = graph.may_yet_be_written(place(at as u64), Some(stream));
                        assert_eq!(open, !before(&graph, *earlier, next), "{at}");
                    }
                    pushed.push(next);
                    if draw(8) == 0 {
                        graph.synchronise_last();
                        graph.is_copied(stream, now);
                    }
                }
            }
        }
    }
}
