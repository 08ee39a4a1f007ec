//! Launches that may be under way, and the tables that their footprints rely on.
//!
//! A table may be changed after a launch that follows it was enqueued and before it runs: by work that is enqueued
//! later, on another stream, that nothing orders behind the launch (which itself may be waiting for the host). Then that
//! launch goes where the new content leads, and from there on it may write anything. So it has to be found out when the
//! later work is enqueued, which is held up until what it, and thereby the launch, may overwrite is saved.

use std::collections::VecDeque;

use strobe_extent::{ExtentSet, Side, StreamId};
use strobe_graph::{LaunchGraph, Sequence};

/// Launches told apart; the tables of older ones count as those of the next of their stream.
const LAUNCHES: usize = 256;

/// A launch.
#[derive(Debug)]
pub(crate) struct Relying {
    pub stream: StreamId,
    pub sequence: Sequence,
    /// Its number in the launch log, if one is kept, and those of older launches that count as this one.
    pub logged: Vec<u64>,
    /// Those that its footprint is right with, if they stay what they are until it is over.
    pub tables: ExtentSet,
}

/// In the order of the calls.
#[derive(Debug, Default)]
pub(crate) struct Relied {
    launches: VecDeque<Relying>,
}

impl Relied {
    /// A launch was enqueued.
    pub(crate) fn add(&mut self, launch: Relying) {
        self.launches.push_back(launch);
        if self.launches.len() > LAUNCHES
            && let Some(oldest) = self.launches.pop_front()
        {
            let mut others = self.launches.iter_mut();
            match others.find(|other| other.stream == oldest.stream) {
                Some(next) => {
                    next.tables.union_with(&oldest.tables);
                    next.logged.extend(oldest.logged);
                }
                // The only one of its stream: another's turn.
                None => self.launches.push_back(oldest),
            }
        }
    }

    /// Something that may write `writes` is enqueued next on a stream, or done by the host. If it may change a table that a
    /// launch follows and nothing orders it behind that, that launch may write anything, so any other's tables, too: then
    /// all that may be under way, and they rely on nothing any more.
    pub(crate) fn changed(
        &mut self,
        graph: &LaunchGraph,
        by: Option<StreamId>,
        writes: &Side,
    ) -> Vec<Relying> {
        self.launches
            .retain(|launch| !graph.is_over(launch.stream, launch.sequence));
        let is_changed = self.launches.iter().any(|launch| {
            let mut tables = launch.tables.iter();
            let is_behind = |by| graph.comes_after(by, launch.stream, launch.sequence);
            tables.any(|table| writes.overlaps(table)) && !by.is_some_and(is_behind)
        });
        match is_changed {
            true => std::mem::take(&mut self.launches).into(),
            false => Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.launches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use strobe_extent::{Access, Extent};
    use strobe_graph::{Event, Moment, Operation, WorkKind};

    const HELD: StreamId = StreamId(1);
    const OTHER: StreamId = StreamId(2);

    fn side(start: u64) -> Side {
        Extent::with_len(start, 8).unwrap().into()
    }

    /// Launches on a stream that nobody waits for, each with a table of its own.
    fn launches(count: u64) -> (LaunchGraph, Relied) {
        let (mut graph, mut relied) = (LaunchGraph::new(8), Relied::default());
        for stream in [HELD, OTHER] {
            graph.create_non_blocking(stream);
        }
        for number in 0..count {
            let sequence = graph.push(Operation {
                kind: WorkKind::Kernel,
                name: "follow",
                stream: Some(HELD),
                signature: 0,
                access: Arc::new(Access::none()),
                is_hull: false,
            });
            relied.add(Relying {
                stream: HELD,
                sequence,
                logged: vec![number],
                tables: [Extent::with_len(64 * number, 8).unwrap()]
                    .into_iter()
                    .collect(),
            });
        }
        (graph, relied)
    }

    fn doubted(changed: Vec<Relying>) -> Vec<u64> {
        changed
            .into_iter()
            .flat_map(|launch| launch.logged)
            .collect()
    }

    #[test]
    fn what_changes_a_table_of_one_launch_doubts_all_that_it_may_lead_elsewhere() {
        let (graph, mut relied) = launches(3);
        assert!(
            relied.changed(&graph, Some(OTHER), &side(8)).is_empty(),
            "beside a table"
        );
        assert!(
            relied.changed(&graph, Some(HELD), &side(0)).is_empty(),
            "behind them"
        );
        assert_eq!(
            doubted(relied.changed(&graph, Some(OTHER), &side(0))),
            [0, 1, 2]
        );
        assert!(
            relied.changed(&graph, Some(OTHER), &side(0)).is_empty(),
            "once"
        );
        let (graph, mut relied) = launches(1);
        assert_eq!(
            doubted(relied.changed(&graph, None, &side(0))),
            [0],
            "the host"
        );
    }

    #[test]
    fn what_comes_after_a_launch_changes_nothing_for_it() {
        let (mut graph, mut relied) = launches(2);
        graph.record(Event(7), HELD);
        graph.wait(OTHER, Event(7));
        assert!(
            relied.changed(&graph, Some(OTHER), &side(0)).is_empty(),
            "by an event"
        );
        graph.synchronise(HELD, Moment(1));
        assert!(
            relied.changed(&graph, None, &side(0)).is_empty(),
            "it is over"
        );
    }

    #[test]
    fn no_launch_is_forgotten_however_many_there_are() {
        let count = 3 * LAUNCHES as u64;
        let (graph, mut relied) = launches(count);
        assert_eq!(relied.launches.len(), LAUNCHES);
        let mut doubted = doubted(relied.changed(&graph, Some(OTHER), &side(0)));
        doubted.sort_unstable();
        assert_eq!(doubted, (0..count).collect::<Vec<_>>());
    }
}
