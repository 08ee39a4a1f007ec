//! The end of an environment whose keeper was killed.
//!
//! Programs in an environment lead sessions of their own and hold the device by their mappings, so
//! they would go on after `kill -9` of the keeper, on a device that nobody can reach any more. A
//! process beside the keeper hears of its death by the end of a pipe, and kills what is in the
//! environment's namespace. Until then it is the device's caretaker.
//!
//! What must hold: an environment that is given up in order leaves its programs alone, because a
//! program that was restored in it goes on after the command that restored it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, setsid};

use super::caretaker::Caretaker;
use crate::device::Device;

/// For killed processes to go away; one in an uninterruptible wait may not.
const PATIENCE: Duration = Duration::from_secs(30);
/// Milliseconds, of the caretaker.
const ROUND: u8 = 100;
const PERIOD: Duration = Duration::from_millis(2);

/// The guard, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    keeper: io::PipeWriter,
    pid: Pid,
}

impl Guard {
    pub(super) fn start<'a>(
        namespace: &OwnedFd,
        state: &File,
        memory: impl Iterator<Item = &'a File>,
    ) -> io::Result<Self> {
        let (reader, keeper) = io::pipe()?;
        // SAFETY: the child is alone in its process, takes no lock of the parent's other threads
        // but the allocator's, which the C library makes usable after fork, and never returns.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self { keeper, pid: child }),
            ForkResult::Child => {
                drop(keeper);
                let device = Device::of(state, memory);
                let caretaker = device.map(|device| Caretaker::new(Box::leak(Box::new(device))));
                let watch = AssertUnwindSafe(|| watch(reader, namespace, caretaker));
                let _ = std::panic::catch_unwind(watch);
                // SAFETY: ends this process without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only when the guard is gone already.
        let _ = self.keeper.write_all(b"k");
        let _ = waitpid(self.pid, None);
    }
}

fn watch(mut keeper: io::PipeReader, namespace: &OwnedFd, mut caretaker: Option<Caretaker>) {
    // What is sent to the keeper's group or terminal is not meant for its guard.
    let _ = setsid();
    close_all_but([keeper.as_raw_fd(), namespace.as_raw_fd()]);
    let mut word = [0];
    loop {
        let mut waited = [PollFd::new(keeper.as_fd(), PollFlags::POLLIN)];
        if let Some(caretaker) = &mut caretaker
            && poll(&mut waited, PollTimeout::from(ROUND)) == Ok(0)
        {
            caretaker.look();
            continue;
        }
        match keeper.read(&mut word) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
    let start = Instant::now();
    while kill_members(namespace) > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(PERIOD);
    }
}

/// Lets go of the standard files, whose readers wait for their end.
fn close_all_but(mut kept: [i32; 2]) {
    kept.sort_unstable();
    let mut first = 0;
    for number in kept.map(i32::cast_unsigned).into_iter().chain([u32::MAX]) {
        if first < number {
            // SAFETY: no pointers; nothing in this process uses the descriptors any more.
            unsafe { libc::syscall(libc::SYS_close_range, first, number - 1, 0) };
        }
        first = number.saturating_add(1);
    }
}

/// Kills all processes of the namespace; how many there were. The namespace's descriptor keeps its
/// number from being given to a later one.
fn kill_members(namespace: &OwnedFd) -> usize {
    let (Ok(namespace), Ok(processes)) = (fstat(namespace), fs::read_dir("/proc")) else {
        return 0;
    };
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut members = 0;
    for number in numbers {
        // Opened first: if the number changes hands after it, the signal goes nowhere.
        // SAFETY: no pointers.
        let process = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) } as i32;
        if process < 0 {
            continue;
        }
        // SAFETY: opened above, and given to nobody.
        let process = unsafe { OwnedFd::from_raw_fd(process) };
        let is_member = fs::metadata(format!("/proc/{number}/ns/mnt"))
            .is_ok_and(|own| (own.dev(), own.ino()) == (namespace.st_dev, namespace.st_ino));
        if is_member {
            members += 1;
            kill(&process);
        }
    }
    members
}

fn kill(process: &OwnedFd) {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: nothing is passed beside the signal. The process may have ended just now.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            nothing,
            0,
        )
    };
}
