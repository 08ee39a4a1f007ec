//! Whether the command that asked for the checkpoint is still there.

use crate::wire::page::start_time;
use std::io;
use std::sync::atomic::Ordering;
use strobe_proto::page::AgentPage;
use strobe_proto::start_time::is_same_start;

/// Whether the process that sent the current request is still there.
pub(crate) fn controller_lives(page: &AgentPage) -> bool {
    let pid = page.controller_pid.load(Ordering::Relaxed);
    let start = page.controller_start.load(Ordering::Relaxed);
    pid != 0 && start_time(pid).is_some_and(|now| is_same_start(now, start))
}

/// Whether there is a process of the controller's number. It may be another one by now, but opens no
/// file to find out.
pub(crate) fn controller_is_there(page: &AgentPage) -> bool {
    let pid = page.controller_pid.load(Ordering::Relaxed);
    let Ok(pid @ 1..) = libc::pid_t::try_from(pid) else {
        return false;
    };
    // SAFETY: signal 0 only asks.
    let there = unsafe { libc::kill(pid, 0) } == 0;
    there || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::page::create;

    #[test]
    fn the_controller_is_looked_for_without_a_file() {
        let page = create().unwrap();
        page.controller_pid
            .store(std::process::id(), Ordering::Relaxed);
        assert!(controller_is_there(page));
        for nobody in [0, i32::MAX as u32, u32::MAX] {
            page.controller_pid.store(nobody, Ordering::Relaxed);
            assert!(!controller_is_there(page), "{nobody}");
        }
    }
}
