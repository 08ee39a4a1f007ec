//! The lock of the tables.
//!
//! It is held for the time of one table change, never while waiting. Its owner may have died (the
//! lock is stolen: each change leaves the tables usable at every step) or may be frozen by a
//! debugger (then the caller fails after [`PATIENCE`], so that CRIU never hangs on it). Which of
//! these it is, the kernel says: the time that passes says nothing, because on a loaded machine an
//! owner that runs may not have its turn for longer than any caller should wait for a frozen one.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use thiserror::Error;

use super::condition::{Condition, Owner};
use super::tables::{State, Tables};
use crate::futex;
use crate::report::report;

/// How long an owner is stopped, seen at every look and without having run between them, before the caller gives up.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long anyone waits at all: the kernel does not call all that never run again stopped (a frozen
/// control group's threads sleep).
const LIMIT: Duration = Duration::from_secs(60);
const SLICE: Duration = Duration::from_millis(5);

/// The tables cannot be had.
#[derive(Debug, Error)]
#[error("the state lock is held by {0}, which does not run")]
pub(crate) struct LockError(Owner);

impl From<LockError> for Errno {
    fn from(error: LockError) -> Self {
        report(&format!("{error}"));
        Errno::EAGAIN
    }
}

/// The tables, exclusively.
pub(crate) struct Locked<'a> {
    state: &'a State,
}

impl State {
    pub(crate) fn lock(&self) -> Result<Locked<'_>, LockError> {
        self.lock_seeing(false)
    }

    /// The same, of a process from which no PID namespace is hidden.
    pub(crate) fn lock_seeing_all(&self) -> Result<Locked<'_>, LockError> {
        self.lock_seeing(true)
    }

    fn lock_seeing(&self, sees_all: bool) -> Result<Locked<'_>, LockError> {
        let own = Owner::own().word();
        let start = Instant::now();
        let mut stopped: Option<((u64, u64), Instant)> = None;
        loop {
            let owner =
                match self
                    .lock
                    .compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed)
                {
                    Ok(_) => return Ok(Locked { state: self }),
                    Err(owner) => owner,
                };
            if start.elapsed() < SLICE {
                // Nearly always it is free in a moment.
                self.await_release();
                continue;
            }
            let of = Owner::of_word(owner);
            stopped = match of.condition(sees_all) {
                Condition::Gone => {
                    let stolen = self.lock.compare_exchange(
                        owner,
                        own,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    );
                    if stolen.is_ok() {
                        return Ok(Locked { state: self });
                    }
                    None
                }
                Condition::Stopped { ran } => match stopped {
                    Some((same, since)) if same == (owner, ran) => Some((same, since)),
                    _ => Some(((owner, ran), Instant::now())),
                },
                Condition::Running => None,
            };
            let given_up = stopped.is_some_and(|(_, since)| since.elapsed() > PATIENCE);
            if given_up || start.elapsed() > LIMIT {
                return Err(LockError(of));
            }
            self.await_release();
        }
    }

    fn await_release(&self) {
        let seen = self.lock_wake.load(Ordering::Relaxed);
        if self.lock.load(Ordering::Relaxed) != 0 {
            futex::wait(&self.lock_wake, seen, SLICE);
        }
    }
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

    /// A child that takes the lock and holds it while `body` runs.
    fn holder(device: &Device, body: fn()) -> nix::unistd::Pid {
        // SAFETY: the child takes the lock, which is in shared memory, runs `body` and ends.
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
                let tables = device.lock();
                body();
                drop(tables);
                // SAFETY: ends this process without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
        }
    }

    fn forever() {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Longer than anyone waits for a frozen owner, as a thread that others keep from running.
    fn slowly() {
        let start = Instant::now();
        while start.elapsed() < 5 * super::PATIENCE {
            std::hint::spin_loop();
        }
    }

    /// The same in sleep, as a thread that waits for a page of memory.
    fn asleep() {
        std::thread::sleep(5 * super::PATIENCE);
    }

    #[test]
    fn an_owner_that_runs_is_waited_for() {
        for body in [slowly as fn(), asleep] {
            let device = Device::anonymous();
            let child = holder(&device, body);
            if let Err(error) = device.lock() {
                panic!("{error}");
            }
            waitpid(child, None).expect("wait");
        }
    }

    #[test]
    fn an_owner_that_is_stopped_for_a_moment_is_waited_for() {
        let device = Device::anonymous();
        let child = holder(&device, slowly);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    kill(child, Signal::SIGSTOP).expect("stop");
                    std::thread::sleep(Duration::from_millis(20));
                    kill(child, Signal::SIGCONT).expect("go on");
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            if let Err(error) = device.lock() {
                panic!("{error}");
            }
        });
        waitpid(child, None).expect("wait");
    }

    #[test]
    fn an_owner_that_was_killed_is_replaced_before_anyone_asks_for_its_status() {
        let device = Device::anonymous();
        let child = holder(&device, forever);
        kill(child, Signal::SIGKILL).expect("kill");
        if let Err(error) = device.lock() {
            panic!("{error}");
        }
        waitpid(child, None).expect("wait");
    }

    #[test]
    fn a_frozen_owner_is_reported_and_a_dead_one_replaced() {
        let device = Device::anonymous();
        let child = holder(&device, forever);
        kill(child, Signal::SIGSTOP).expect("stop");
        let start = Instant::now();
        let error = device.lock().err().expect("the owner is alive");
        assert!(error.to_string().contains(&child.to_string()), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5), "CRIU would hang");
        kill(child, Signal::SIGKILL).expect("kill");
        waitpid(child, None).expect("wait");
        assert!(device.lock().is_ok(), "a dead owner keeps the lock");
    }

    #[test]
    fn an_owner_that_sleeps_in_the_hands_of_a_tracer_is_reported() {
        let device = Device::anonymous();
        let child = holder(&device, forever);
        // SAFETY: the child runs on undisturbed; the request takes no pointers.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, child.as_raw(), 0, 0) };
        assert_eq!(seized, 0, "{}", nix::errno::Errno::last());
        let start = Instant::now();
        let error = device.lock().err().expect("the owner is alive");
        assert!(error.to_string().contains(&child.to_string()), "{error}");
        assert!(start.elapsed() < super::LIMIT / 4, "CRIU would hang");
        kill(child, Signal::SIGKILL).expect("kill");
        waitpid(child, None).expect("wait");
    }
}
