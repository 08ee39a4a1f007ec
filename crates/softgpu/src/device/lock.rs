//! The lock of the tables.
//!
//! It is held for the time of one table change, never while waiting. Its owner may have died (the
//! lock is stolen: each change leaves the tables usable at every step) or may be frozen by a
//! debugger (then the caller fails after [`PATIENCE`], so that CRIU never hangs on it).

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::{State, Tables};
use crate::futex;

const PATIENCE: Duration = Duration::from_millis(200);
const SLICE: Duration = Duration::from_millis(5);

/// The tables cannot be had.
#[derive(Debug, Error)]
#[error("the state lock is held by thread {tid} of process {pid}, which does not run")]
pub(crate) struct LockError {
    pid: u32,
    tid: u32,
}

/// The tables, exclusively.
pub(crate) struct Locked<'a> {
    state: &'a State,
}

impl State {
    pub(crate) fn lock(&self) -> Result<Locked<'_>, LockError> {
        let own = identity();
        let start = Instant::now();
        loop {
            let owner =
                match self
                    .lock
                    .compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed)
                {
                    Ok(_) => return Ok(Locked { state: self }),
                    Err(owner) => owner,
                };
            let (pid, tid) = ((owner >> 32) as u32, owner as u32);
            if !is_alive(pid, tid)
                && self
                    .lock
                    .compare_exchange(owner, own, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Ok(Locked { state: self });
            }
            if start.elapsed() > PATIENCE {
                return Err(LockError { pid, tid });
            }
            let seen = self.lock_wake.load(Ordering::Relaxed);
            if self.lock.load(Ordering::Relaxed) != 0 {
                futex::wait(&self.lock_wake, seen, SLICE);
            }
        }
    }
}

fn identity() -> u64 {
    let (pid, tid) = (nix::unistd::getpid(), nix::unistd::gettid());
    u64::from(pid.as_raw().cast_unsigned()) << 32 | u64::from(tid.as_raw().cast_unsigned())
}

fn is_alive(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only checks; no pointers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
    result == 0 || nix::errno::Errno::last() != nix::errno::Errno::ESRCH
}

impl Deref for Locked<'_> {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        // SAFETY: the lock word makes this thread the only one that touches the tables.
        unsafe { &*self.state.tables.get() }
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Tables {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { &mut *self.state.tables.get() }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.state.lock.store(0, Ordering::Release);
        self.state.lock_wake.fetch_add(1, Ordering::Relaxed);
        futex::wake_one(&self.state.lock_wake);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::waitpid;
    use nix::unistd::{ForkResult, fork};

    use super::super::Device;

    #[test]
    fn one_thread_at_a_time_has_the_tables() {
        let device = Device::anonymous();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        device.lock().expect("the lock").next_fence += 1;
                    }
                });
            }
        });
        assert_eq!(device.lock().expect("the lock").next_fence, 4000);
    }

    /// A child that takes the lock and never gives it back.
    fn holder(device: &Device) -> nix::unistd::Pid {
        // SAFETY: the child takes the lock, which is in shared memory, and sleeps.
        match unsafe { fork() }.expect("fork") {
            ForkResult::Parent { child } => {
                while device
                    .state()
                    .lock
                    .load(std::sync::atomic::Ordering::Relaxed)
                    == 0
                {
                    std::thread::yield_now();
                }
                child
            }
            ForkResult::Child => {
                let _tables = device.lock();
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }

    #[test]
    fn a_frozen_owner_is_reported_and_a_dead_one_replaced() {
        let device = Device::anonymous();
        let child = holder(&device);
        kill(child, Signal::SIGSTOP).expect("stop");
        let start = Instant::now();
        let error = device.lock().err().expect("the owner is alive");
        assert!(error.to_string().contains(&child.to_string()), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5), "CRIU would hang");
        kill(child, Signal::SIGKILL).expect("kill");
        waitpid(child, None).expect("wait");
        assert!(device.lock().is_ok(), "a dead owner keeps the lock");
    }
}
