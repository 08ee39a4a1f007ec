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
//! between packets. Restored by CRIU onto another device, they see its generation, drop what they
//! know of queues and read its tables.

mod access;
mod dispatch;
mod job;
mod memory;
mod offers;
mod packet_processor;
mod pool;
mod process;
mod queue;
mod runner;

use std::sync::Mutex;

use pool::Pool;

/// The pool of this process; that of the parent means nothing after fork.
static POOL: Mutex<Option<&'static Pool>> = Mutex::new(None);

fn current() -> Option<&'static Pool> {
    let pid = std::process::id();
    POOL.lock().ok()?.filter(|pool| pool.pid() == pid)
}

/// Makes sure that this process has an engine.
pub(crate) fn start() {
    let pid = std::process::id();
    let Ok(mut pool) = POOL.lock() else { return };
    if pool.is_none_or(|pool| pool.pid() != pid) {
        *pool = Pool::launch(pid);
    }
}

/// Makes a change of a queue's percentage take effect.
pub(crate) fn share(queue: u32) {
    if let Some(pool) = current() {
        pool.share(queue);
    }
}

/// Stops a queue for good; returns when no thread touches it any more. A kernel that does not end
/// is evicted.
pub(crate) fn retire(queue: u32) {
    if let Some(pool) = current() {
        pool.retire(queue);
    }
}
