//! The agent's own way to the GPU, below HIP: memory, code and queues that HIP does not know.
//!
//! HIP shares its queues among the program's streams, makes streams wait for one another, waits for
//! the whole device when memory is freed, and holds locks meanwhile. Whatever the agent asked of it
//! during a checkpoint could wait for the program, and the program for the agent. Nothing in here
//! does: the runtime below HIP allocates without waiting, and the queues carry work of ours only.

pub(crate) mod code;
pub(crate) mod gpu;
pub(crate) mod memory;
pub(crate) mod queue;
pub(crate) mod sdma;

/// The driver, as this process has it. Not to be kept: an open descriptor would go into a dump.
fn driver() -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kfd")
}
