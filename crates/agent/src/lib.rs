//! The agent: what runs inside the program.
//!
//! `libstrobe.so` wraps HIP's functions; each wrapper calls [`enter`] with the effect of the call
//! (see [`effect`]), then HIP, then [`leave`]. Off-checkpoint a launch costs a record in a ring,
//! which the control thread turns into the launch DAG. During a checkpoint calls pass a gate, and
//! what they are about to write is kept first.
//!
//! What must hold: the program cannot see us. Calls of HIP on its threads happen only before its own
//! call, which sets the thread's last error anew; everything else happens on threads of ours. A
//! fault here turns tracing off and nothing else; a forked child passes everything through.

mod agent;
mod attach;
mod call;
mod checkpoint;
pub mod children;
mod control;
mod descriptor;
mod device;
pub mod effect;
mod fault;
pub mod given;
pub mod journal;
pub mod kernel;
mod loading;
mod readable;
mod refused;
mod seen;
mod wire;

pub use call::{Call, CallOutcome, enter, gives_way, leave, left_out};
pub use control::before_exit;
pub use device::{mapped, queues};
pub use fault::note_stderr;
pub use loading::before_anything;
pub use loading::guard::handles_segv;
pub use refused::{RefusedFunctions, watch_refused};
pub use wire::page;
