//! The launch DAG: what the program has enqueued, what happens before what, and what it will
//! probably write next.
//!
//! Built by a background thread from launch records, off the launch path, and bounded: the oldest
//! operations are forgotten. Nothing here is needed for a checkpoint to be right; a prediction only
//! decides in which order chunks are copied.

#![forbid(unsafe_code)]

mod graph;
mod operation;
mod period;
mod prediction;
mod window;

pub use graph::LaunchGraph;
pub use operation::{Edge, Event, Operation, Sequence, WorkKind};
pub use prediction::Prediction;
pub use window::{Race, Window, WindowError};
