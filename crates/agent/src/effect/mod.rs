//! What calls do: one function for each effect that the list of HIP's functions names. They run
//! before the real call, with its arguments.
//!
//! All of them take pointers as HIP takes them, and read through them only what HIP itself is about
//! to read.

#![allow(
    clippy::missing_safety_doc,
    reason = "one contract for all, stated above"
)]

mod code;
mod copy;
mod graph;
mod launch;
mod memory;
mod stream;

pub use code::*;
pub use copy::*;
pub use graph::*;
pub use launch::*;
pub use memory::*;
pub use stream::*;

use crate::attach::with_agent;
use crate::call::{After, Call};

/// Changes the state of the GPU or of the runtime, but no tracked memory.
#[inline]
pub unsafe fn submit() -> Call {
    with_agent(|_| After::Nothing)
}
