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
mod launch;
mod memory;
mod stream;

pub use code::*;
pub use copy::*;
pub use launch::*;
pub use memory::*;
pub use stream::*;

use crate::agent::{Agent, GATE, agent};
use crate::call::Call;

/// The agent, and the call past the gate. `None` where nothing is traced.
#[inline]
fn begin() -> Option<(&'static Agent, Call)> {
    let agent = agent()?;
    Some((agent, Call::inside(GATE.enter())))
}

/// Changes the state of the GPU or of the runtime, but no tracked memory.
#[inline]
pub unsafe fn submit() -> Call {
    begin().map(|(_, call)| call).unwrap_or_default()
}
