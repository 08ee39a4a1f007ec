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
    /// In the launch log; more than one, if older launches count as this one.
    pub numbers: Vec<u64>,
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
        if launch.tables.is_empty() {
            return;
        }
        self.launches.push_back(launch);
        if self.launches.len() > LAUNCHES
            && let Some(oldest) = self.launches.pop_front()
        {
            let mut others = self.launches.iter_mut();
            match others.find(|other| other.stream == oldest.stream) {
                Some(next) => {
                    next.tables.union_with(&oldest.tables);
                    next.numbers.extend(oldest.numbers);
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
