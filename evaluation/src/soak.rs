//! Checkpoint, kill and restore cycles at random moments over many programs.
//!
//! A cycle is drawn from one seed ([`Plan`]): a device, and one to three checkpoints with what
//! follows each. At the end of a cycle what the program wrote, and its exit code, are those of a run
//! that nothing interrupted, bit for bit, or the cycle was refused by a name that its program
//! expects ([`programs`]). Everything else is a failure: another output, a hang, a refusal that
//! nobody expects, a checkpoint that cannot be restored.
//!
//! Each cycle runs in a process namespace of its own, so that the process numbers a restore wants
//! are free, and that nothing of it is left when it ends.

pub mod comparison;
pub mod cycle;
pub mod outcome;
pub mod plan;
pub mod programs;
pub mod random;
pub mod reference;
pub mod schedule;
pub mod summary;

pub use outcome::{CycleOutcome, CycleVerdict, Figures};
pub use plan::Plan;
pub use programs::SoakProgram;
pub use reference::Reference;
