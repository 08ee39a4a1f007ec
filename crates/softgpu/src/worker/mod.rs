//! The GPU's engines: threads inside the program.
//!
//! Why inside: nearly all memory that a GPU of this kind uses (queues, signals, arguments, pinned
//! buffers) is private memory of the program. One thread polls the doorbells; a queue with work is
//! given to a runner of its own, so that queues wait for each other like on hardware; helpers share
//! the workgroups of one dispatch.
//!
//! What must hold: the threads keep nothing that the device does not have. A packet is counted as
//! resident in the device state from before it is looked at to after its last effect, and while the
//! count is not zero the process cannot be checkpointed; so a checkpoint only ever meets threads
//! that execute nothing. Restored by CRIU onto another device, they see its generation, drop what they
//! know of queues and read its tables.
//!
//! Work-groups of a dispatch may wait for one another, as many as a GPU runs at once ([`occupancy`]), and there are
//! fewer threads than that. So they take turns: a work-group that has run for long, or whose waves all sleep, is saved as
//! if it was evicted, and the thread goes on with another one.
//!
//! A dispatch that is not over is evicted, whoever wants its queue to stand still: CRIU, a percentage of 0, a fault
//! plan. There is one way: the queue's word ([`crate::device::eviction`]) has its waves let go between two instructions;
//! each workgroup that was begun is saved ([`crate::wave::ComputeUnit::save`]) in the queue's save area, in memory of the
//! program, how far the dispatch is in its control stack, which the driver hands out and takes back with the queue
//! ([`control_stack`]); and its packet stays at the head. Whoever serves the queue next goes on with the saved workgroups,
//! then with those that were not begun. What the host does in place of known kernels goes to the end of a piece, and
//! what waits for the time model has its rest noted. A destroyed queue's waves let go in the same way, and are saved
//! nowhere. Workgroups that do not fit into the save area, of a queue that has none for instance, run to their end;
//! a kernel that has none is then not stopped, and whoever wanted that is told so.

mod access;
mod control_stack;
mod dispatch;
mod drill;
mod exception;
mod given;
mod job;
mod memory;
mod occupancy;
mod offers;
mod packet_processor;
mod pool;
mod process;
mod queue;
mod runner;
mod save_area;

use std::sync::Mutex;

use crate::device::Device;
use pool::Pool;

/// The threads of a process that are a device's engines; those of the parent mean nothing after fork.
#[derive(Debug, Default)]
pub(crate) struct Engines(Mutex<Option<&'static Pool>>);

impl Engines {
    fn current(&self) -> Option<&'static Pool> {
        let pid = std::process::id();
        self.0.lock().ok()?.filter(|pool| pool.pid() == pid)
    }

    /// Makes sure that they run in this process.
    pub(crate) fn start(&self, device: &'static Device) {
        let pid = std::process::id();
        let Ok(mut pool) = self.0.lock() else { return };
        if pool.is_none_or(|pool| pool.pid() != pid) {
            *pool = Some(Pool::launch(device, pid));
        }
    }

    /// Makes a change of a queue's percentage take effect.
    /// False if what it executes cannot be stopped.
    pub(crate) fn share(&self, queue: u32) -> bool {
        self.current().is_none_or(|pool| pool.share(queue))
    }

    /// Stops a queue for good; returns when no thread touches it any more. A kernel that does not end
    /// is evicted.
    pub(crate) fn retire(&self, queue: u32) {
        if let Some(pool) = self.current() {
            pool.retire(queue);
        }
    }
}
