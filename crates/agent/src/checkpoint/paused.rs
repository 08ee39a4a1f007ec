//! Queues that a dump has left stopped.
//!
//! CRIU's plugin stops them, and lets them run when CRIU ends. When CRIU is killed, the command that
//! started it does that. When that is dead too nobody is left but we, and the driver takes the request
//! from the process itself, if it has CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. A program without
//! those stands still until the next checkpoint, or until `strobe release`.

use crate::device::gpu::driver;
use std::os::fd::AsFd;
use strobe_kfd::client::compute;

/// Lets the queues of this process run.
pub(crate) fn let_queues_run() {
    let Ok(kfd) = driver() else {
        return;
    };
    // It is refused where nothing was stopped, which is the rule, and without those capabilities.
    let _ = compute::unpause(kfd.as_fd());
}
