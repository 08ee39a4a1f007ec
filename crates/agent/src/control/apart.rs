//! A thread that has no descriptors, directory and umask in common with the program.
//!
//! A program counts on the numbers that it gets: after `close(0)` the next file that it opens is 0, and none that it closes
//! comes back as ours. What a disk makes wait, waits here. CRIU takes descriptors of one thread for those of all, so nothing
//! may run here at a cut. Where the program has a filter of seccomp, which may kill who asks to leave, it does not.

use crate::call::thread::mark_own_thread;
use crate::control::own_thread::{OwnThread, without_signals};
use crate::fault::guarded;
use crossbeam::channel::{self, Receiver};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, umask};
use std::time::Instant;
use strobe_proto::page::FILES_THREAD;

/// How often it is looked at before anybody sleeps.
const SOON: usize = 50;

/// See the module's documentation. One at a time.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    last: Option<OwnThread>,
}

impl Apart {
    /// Begins `body`, where the one before is over by `deadline`, and the kernel lets us; what it answers.
    pub(crate) fn start<R: Send + 'static>(
        &mut self,
        deadline: Instant,
        body: impl FnOnce() -> R + Send + 'static,
    ) -> Option<Receiver<R>> {
        if !self.is_over_by(deadline) {
            return None;
        }
        let (answer, answered) = channel::bounded(1);
        let run = move || {
            mark_own_thread();
            if let Some(Some(value)) = guarded(|| (is_filtered() || leave()).then(body)) {
                // Nobody listens any more when it took too long.
                let _ = answer.send(value);
            }
        };
        let thread = std::thread::Builder::new().name(FILES_THREAD.into());
        let started = without_signals(|| thread.spawn(run));
        self.last = Some(OwnThread::new(started.ok()?));
        Some(answered)
    }

    /// What has answered is over soon.
    pub(crate) fn is_over_by(&mut self, deadline: Instant) -> bool {
        for _ in 0..SOON {
            self.last = self.joined_by(Instant::now());
            if self.last.is_none() {
                return true;
            }
            std::thread::yield_now();
        }
        self.last = self.joined_by(deadline);
        self.last.is_none()
    }

    /// The thread, if it is not over by then.
    fn joined_by(&mut self, deadline: Instant) -> Option<OwnThread> {
        self.last.take()?.join(deadline, || false).err()
    }
}

/// Whether a filter of the program's sees what is asked of the kernel: it knows nothing of us, and may kill.
pub(crate) fn is_filtered() -> bool {
    // SAFETY: asks for a number.
    (unsafe { libc::prctl(libc::PR_GET_SECCOMP) }) != 0
}

/// Whether the calling thread has left what it had in common with the others.
fn leave() -> bool {
    // SAFETY: of the descriptors only those of a table that is this thread's alone are closed.
    let left = unsafe {
        let flags = libc::CLOSE_RANGE_UNSHARE;
        libc::syscall(libc::SYS_close_range, 0, u32::MAX, flags)
    };
    let is_apart = left == 0 && unshare(CloneFlags::CLONE_FS).is_ok();
    if is_apart {
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
    }
    is_apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn it_has_descriptors_and_a_umask_of_its_own() {
        let ours = File::open("/dev/null").expect("it opens");
        let number = ours.as_raw_fd();
        let mut apart = Apart::default();
        let body = || {
            let mask = umask(Mode::empty());
            (
                File::open("/dev/zero").map(|file| file.as_raw_fd()).ok(),
                mask.bits(),
            )
        };
        let answered = apart.start(after(60), body).expect("it starts");
        let (first, mask) = answered.recv().expect("it answers");
        assert_eq!((first, mask), (Some(0), 0o077));
        assert!(apart.is_over_by(after(60)));
        let link = std::fs::read_link(format!("/proc/self/fd/{number}")).expect("it is open");
        assert_eq!(link.as_os_str(), "/dev/null");
    }

    #[test]
    fn none_begins_before_the_last_is_over() {
        let mut apart = Apart::default();
        let (release, released) = channel::bounded::<()>(0);
        let waits = move || {
            let _ = released.recv();
        };
        apart.start(after(60), waits).expect("it starts");
        assert!(apart.start(Instant::now(), || 7).is_none());
        drop(release);
        let answered = apart.start(after(60), || 7).expect("it starts");
        assert_eq!(answered.recv(), Ok(7));
    }
}
