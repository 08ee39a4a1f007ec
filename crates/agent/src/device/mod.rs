//! One GPU of the program: what it is, what the program has on it, and what the agent has there.
//!
//! The agent's own way to it is below HIP: memory, code and queues that HIP does not know. HIP shares
//! its queues among the program's streams, makes streams wait for one another, waits for the whole
//! device when memory is freed, and holds locks meanwhile. Whatever the agent asked of it during a
//! checkpoint could wait for the program, and the program for the agent. Nothing in here does: the
//! runtime below HIP allocates without waiting, and the queues carry work of ours only.

pub(crate) mod code;
pub(crate) mod error;
pub(crate) mod fingerprints;
pub(crate) mod give_way;
pub(crate) mod gpu;
pub(crate) mod handle;
pub(crate) mod hsa;
pub(crate) mod lane;
pub(crate) mod last_copies;
pub(crate) mod link;
pub mod mapped;
pub(crate) mod memory;
mod objects;
pub(crate) mod queue;
pub mod queues;
pub(crate) mod read_back;
pub(crate) mod reading;
pub(crate) mod resources;
pub(crate) mod sdma;
pub(crate) mod state;
pub(crate) mod tickets;
pub(crate) mod word;
