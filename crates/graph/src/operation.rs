//! The nodes and edges of the DAG.

use std::sync::Arc;
use strobe_extent::{Access, StreamId};

/// The place of an operation in the order in which operations were enqueued, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// A moment of the program: what is announced later has one that is not smaller. Who waits had one when it began
/// to, and then waits for what was announced before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// Of a wait that nobody can say began before anything.
    pub const UNKNOWN: Moment = Moment(0);
}

/// An event of the program; never reused, even when HIP reuses a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event(pub u64);

/// What kind of operation a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// A kernel.
    Kernel,
    /// A copy in any direction.
    Copy,
    /// A memset.
    Memset,
    /// Something the host does to device memory, or a function of the host that a stream waits for.
    Host,
    /// A graph, whatever its nodes do.
    Graph,
    /// The host waiting for an operation, a stream, an event or for everything; on a stream: the stream
    /// waiting until memory has a value.
    Synchronisation,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it is.
    pub kind: WorkKind,
    /// A kernel's, as its code object names it; else what the field calls it.
    pub name: &'static str,
    /// Where it was enqueued; `None` for what the host does itself.
    pub stream: Option<StreamId>,
    /// What identifies it when a loop comes round again: function and launch geometry, but no
    /// argument that changes from round to round.
    pub signature: u64,
    /// What it may touch; of launches that are the same, one for all.
    pub access: Arc<Access>,
    /// Of what lies between the first and the last byte of each extent not all is touched.
    pub is_hull: bool,
}

/// Why one operation happens before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// Enqueued earlier on the same stream.
    SameStream,
    /// Recorded in an event that the later one waits for.
    Event,
    /// One of the two is on the legacy default stream.
    Legacy,
    /// The host waited for the earlier one before it went on.
    Host,
}
