//! The launch DAG: what the program has enqueued, what happens before what, and what it will
//! probably write next.
//!
//! Built by a background thread from launch records, off the launch path, and bounded: the oldest
//! operations are forgotten. A prediction only decides in which order chunks are copied. But what may still
//! be under way must be right, and errs on the side of more: by that it is decided which content of memory
//! is known, and so what a launch that follows pointers may write.

#![forbid(unsafe_code)]

mod graph;
mod lost_work;
mod operation;
mod order;
mod period;
mod prediction;
mod window;

pub use graph::LaunchGraph;
pub use lost_work::LostWork;
pub use operation::{Edge, Event, Moment, Operation, Sequence, WorkKind};
pub use prediction::Prediction;
pub use window::{Race, Window, WindowError};
