//! A process beside CRIU that fills buffer objects while CRIU restores all the rest.
//!
//! ```text
//!   CRIU               init: start ---------------> RESUME_DEVICES_LATE: wait --> let go
//!   filler                 [ threads wait ]   fill ...................... done
//!   restored process       RESTORE_EXT_FILE: hand over | memory, threads, ...
//! ```
//!
//! RESTORE_EXT_FILE makes a process's buffer objects, hands the driver's exports of their contents over, and
//! returns. Nothing of the tree is let go before all of it is filled; what fails is said by CRIU's main process,
//! in the sentence that the filler found.
//!
//! Why a process, and not a thread of CRIU's: CRIU forks with `clone`, which leaves locks of the C library as they
//! are (a child of a thread that allocates may wait for ever); it enters namespaces by calls that are refused to
//! a process with several threads; it has plugins called before it forks in version 4.2 only; and a process can
//! be ended at any moment, whatever its threads wait for. What must hold:
//!
//! - It is a child that CRIU does not see: one that ends without a signal (`clone` without SIGCHLD) is not found
//!   by `waitpid` without `__WALL`. CRIU waits with that, for anybody, while it stops threads at the end
//!   of a restore; so the filler does not end by itself, but when we end it and wait for it.
//! - It ends with CRIU (`PR_SET_PDEATHSIG`), and ends the processes that have asked it to fill theirs: nobody else
//!   holds them any more.
//! - Its numbers and its threads' are none of the program's ([`Numbers`]): it is there while CRIU makes processes
//!   and threads of given numbers. So all threads are made before CRIU makes the first.
//! - A restored process finds it by a socket among the files that CRIU hands down to all processes
//!   (`--inherit-fd`), which works in whatever namespaces they are. (Names of abstract sockets are of a network
//!   namespace, and all other descriptors are closed in them.)
//! - What comes from there is of another process: it is bounded and checked.
//!
//! Streamed images are read in one order, by the process itself.
//!
//! Where contents may be filled on demand, what cannot wait is filled before anything runs, and the filler outlives CRIU
//! ([`supply`]).

mod end;
mod numbers;
mod process;
mod request;
mod supply;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use strobe_proto::amdgpu::KfdDeviceEntry;
use strobe_proto::frame::Message;
use strobe_proto::{DeferredFill, Filled};

use self::end::kill;
use self::numbers::Numbers;
use self::process::Setup;
use crate::fill::rings::Engine;
use crate::host::{self, Level};
use crate::images::Images;
use crate::options::Options;
use crate::restore_error::{FillerError, RestoreError};
use strobe_program::signals::without_signals;

pub(crate) use self::request::hand_over;

/// By which a restored process asks CRIU for the socket. Files have other names.
const SOCKET: &std::ffi::CStr = c"strobe: buffer objects to fill";
/// Longest sentence on a failure.
const SENTENCE_LIMIT: usize = 64 << 10;
/// Longest answer: a sentence, or a line for each process.
const ANSWER_LIMIT: usize = 256 << 10;
/// Times that the kernel may give a number which is the program's.
const ATTEMPTS: usize = 1000;

/// The filler, as CRIU's main process has it. Restored processes have a copy of this, and never touch it:
/// its descriptors are not open there.
#[derive(Debug)]
pub(crate) struct Filler {
    process: OwnedFd,
    control: OwnedFd,
    /// What it said in the end.
    outcome: Option<Result<Vec<DeferredFill>, String>>,
}

impl Filler {
    /// Starts it, for these images. `None` where the CRIU has no means to tell restored processes of it, or is not
    /// in a state in which it can be copied.
    pub(crate) fn start(
        images: &Images,
        present: &[KfdDeviceEntry],
        options: &Options,
    ) -> Result<Option<Self>, RestoreError> {
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if !host::hands_files_down() || threads != 1 {
            return Ok(None);
        }
        let gpus = present.iter().filter(|node| node.gpu_id != 0);
        let engine = |gpu| Engine::new(gpu, present, options.staging).map(Arc::new);
        let engines = gpus.map(|node| engine(node.gpu_id));
        let engines: Vec<_> = engines.collect::<Result<_, _>>()?;
        let numbers = Numbers::of_program(images).map_err(FillerError::Start)?;
        let pair = || {
            let flags = SockFlag::SOCK_CLOEXEC;
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)
                .map_err(|error| FillerError::Start(error.into()))
        };
        let (control, of_filler) = pair()?;
        let (requests, of_processes) = pair()?;
        let images = images.try_clone().map_err(FillerError::Start)?;
        let mut setup = Some(Setup {
            images,
            engines,
            control: of_filler,
            requests,
            numbers,
            on_demand: options.on_demand,
        });
        let process = without_signals(|| spawn(&mut setup)).map_err(FillerError::Start)?;
        // Its own end of the socket is open in it alone, so that its end is seen.
        drop(setup);
        let filler = Self {
            process,
            control,
            outcome: None,
        };
        host::hand_down(of_processes, SOCKET).map_err(FillerError::Start)?;
        // All its threads are there.
        match receive(&filler.control, &mut [0; 1]) {
            Ok(1) => Ok(Some(filler)),
            _ => Err(FillerError::Ended.into()),
        }
    }

    /// Waits until all buffer objects are filled of all processes, which CRIU has made by now; those whose tracked memory
    /// is still being filled then are named. Else the filler ends now; after a failure with CRIU, so that nothing runs
    /// which is not filled, whatever becomes of CRIU.
    pub(crate) fn wait(&mut self) -> Result<&[DeferredFill], RestoreError> {
        if self.outcome.is_none() {
            let outcome = self.ask();
            match &outcome {
                Ok(deferred) if deferred.is_empty() => {
                    self.end();
                    host::log(Level::Info, "all buffer objects are filled");
                }
                Ok(_) => host::log(Level::Info, "the rest is filled on demand"),
                Err(_) => {}
            }
            self.outcome = Some(outcome);
        }
        match &self.outcome {
            Some(Err(sentence)) => Err(RestoreError::Fill(sentence.clone())),
            Some(Ok(deferred)) => Ok(deferred),
            None => Ok(&[]),
        }
    }

    fn ask(&self) -> Result<Vec<DeferredFill>, String> {
        let gone = |_| FillerError::Ended.to_string();
        send(self.control.as_raw_fd(), &[0], MsgFlags::MSG_NOSIGNAL).map_err(gone)?;
        let mut said = vec![0; ANSWER_LIMIT];
        let len = receive(&self.control, &mut said).map_err(gone)?;
        let filled = match &said[..len] {
            [] => Err(FillerError::Ended.to_string()),
            bytes => Filled::decode(bytes).map_err(|_| FillerError::Ended.to_string()),
        }?;
        match filled.is_well {
            true => Ok(filled.deferred),
            false => Err(filled.failure),
        }
    }

    /// Whether it has ended by itself.
    fn is_gone(&self) -> bool {
        let mut process = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        poll(&mut process, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Ends it at once, and waits for its end.
    fn end(&self) {
        kill(self.process.as_fd());
        let process = self.process.as_raw_fd();
        let none = std::ptr::null_mut::<libc::siginfo_t>();
        // SAFETY: it takes a descriptor of ours and no memory. Where it has ended and CRIU has waited for it, it fails.
        unsafe {
            libc::waitid(
                libc::P_PIDFD,
                process as libc::id_t,
                none,
                libc::WEXITED | libc::__WALL,
            );
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        // CRIU may have found its end first, and know nothing of it.
        if self.outcome.is_none() && self.is_gone() {
            host::log(Level::Error, &FillerError::Ended.to_string());
        }
        if !matches!(&self.outcome, Some(Ok(deferred)) if !deferred.is_empty()) {
            self.end();
        }
    }
}

/// Waits for a message, whatever signals CRIU handles meanwhile.
fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> nix::Result<usize> {
    loop {
        match recv(socket.as_raw_fd(), bytes, MsgFlags::empty()) {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// Makes the process, and returns where CRIU goes on; a descriptor of the process. Its number is none of the
/// program's.
fn spawn(setup: &mut Option<Setup>) -> io::Result<OwnedFd> {
    let parent = nix::unistd::getpid();
    for _ in 0..ATTEMPTS {
        let mut process: RawFd = -1;
        // No signal to the parent at its end.
        let flags = libc::CLONE_PIDFD as libc::c_long;
        // SAFETY: like fork, with no stack of its own and the descriptor of the child written to a live variable.
        // This process has one thread, as was looked, so that no lock of its libraries is held by another; the
        // child does not return from here.
        let number = unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut process, 0, 0) };
        match number {
            -1 => return Err(io::Error::last_os_error()),
            0 => process::run(setup.take(), parent),
            _ => {}
        }
        // SAFETY: the kernel has made it for us.
        let process = unsafe { OwnedFd::from_raw_fd(process) };
        let is_free = setup
            .as_ref()
            .is_some_and(|setup| !setup.numbers.has(number as u32));
        if is_free {
            return Ok(process);
        }
        // It has ended itself by that number.
        let none = std::ptr::null_mut::<libc::siginfo_t>();
        let id = process.as_raw_fd() as libc::id_t;
        // SAFETY: it takes a descriptor of ours and no memory.
        unsafe { libc::waitid(libc::P_PIDFD, id, none, libc::WEXITED | libc::__WALL) };
    }
    Err(Errno::EAGAIN.into())
}
