//! The filler itself: one thread that listens, and the rings of all GPUs.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::unistd::{Pid, getpid, getppid, gettid};
use strobe_proto::frame::Message;
use strobe_proto::{DeferredFill, Filled};

use super::end::kill;
use super::numbers::Numbers;
use super::request::Caller;
use super::supply::{self, Supply};
use super::{ATTEMPTS, SENTENCE_LIMIT};
use crate::fill::Fill;
use crate::fill::rings::Engine;
use crate::images::Images;
use crate::restore_error::{FillerError, RestoreError};

/// As `ps` names it.
const NAME: &std::ffi::CStr = c"strobe-fill";
/// What the kernel sends it when CRIU has ended.
const CRIU_HAS_ENDED: Signal = Signal::SIGTERM;

/// With what it begins.
pub(super) struct Setup {
    pub(super) images: Images,
    pub(super) engines: Vec<Arc<Engine>>,
    pub(super) control: OwnedFd,
    pub(super) requests: OwnedFd,
    pub(super) numbers: Numbers,
    /// Some is filled while the program runs.
    pub(super) on_demand: bool,
}

/// What a copy of CRIU's process does, all signals blocked, instead of what that goes on with.
pub(super) fn run(setup: Option<Setup>, criu: Pid) -> ! {
    let body = || {
        let setup = setup.ok_or(io::ErrorKind::NotFound)?;
        prctl::set_name(NAME)?;
        prctl::set_pdeathsig(CRIU_HAS_ENDED)?;
        // It may have ended before that; and a number of the program's is left to it.
        if getppid() != criu || setup.numbers.has(getpid().as_raw().cast_unsigned()) {
            return Ok(());
        }
        serve(setup, criu)
    };
    let is_well = matches!(catch_unwind(AssertUnwindSafe(body)), Ok(Ok(())));
    // SAFETY: it does not return. What CRIU has registered for its own end is not run.
    unsafe { libc::_exit(i32::from(!is_well)) }
}

/// All fills, and what became of them.
struct Filling {
    callers: Vec<Caller>,
    /// Each with a descriptor of the process.
    fills: Vec<(OwnedFd, Arc<Fill>)>,
    /// Processes that could not be begun with.
    failed: Vec<OwnedFd>,
    error: Option<String>,
}

fn serve(setup: Setup, criu: Pid) -> io::Result<()> {
    let mut mask = SigSet::empty();
    mask.add(CRIU_HAS_ENDED);
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let (mut progress, ended) = io::pipe()?;
    let ended = Arc::new(ended);
    for engine in &setup.engines {
        for _ in 0..engine.rings() {
            start_ring(engine, &ended, &setup.numbers)?;
        }
    }
    send(setup.control.as_raw_fd(), &[0], MsgFlags::MSG_NOSIGNAL)?;
    let mut filling = Filling {
        callers: Vec::new(),
        fills: Vec::new(),
        failed: Vec::new(),
        error: None,
    };
    let mut is_asked = false;
    loop {
        let ready = {
            let fixed = [
                signals.as_fd(),
                setup.requests.as_fd(),
                progress.as_fd(),
                setup.control.as_fd(),
            ];
            let callers = filling.callers.iter().map(|caller| caller.socket.as_fd());
            wait_for_any(fixed.into_iter().chain(callers))?
        };
        if ready[0] {
            while let Ok(Some(_)) = signals.read_signal() {}
            if getppid() != criu {
                filling.abandon();
                return Ok(());
            }
        }
        if ready[2] {
            // How many have ended is asked of the fills.
            let _ = progress.read(&mut [0; 1024])?;
        }
        // From behind: places stay what they were.
        for place in (0..filling.callers.len()).rev().filter(|at| ready[4 + at]) {
            filling.listen(place, &setup);
        }
        if ready[1] {
            match Caller::accept(setup.requests.as_fd()) {
                Ok(caller) => filling.callers.push(caller),
                Err(error) => filling.fail(error.to_string()),
            }
        }
        if ready[3] {
            // Whose other end is gone, it is with CRIU, of whose end there is a signal.
            recv(setup.control.as_raw_fd(), &mut [0; 1], MsgFlags::empty())?;
        }
        if ready[3] && !is_asked {
            is_asked = true;
            // CRIU has made all processes: nobody is in the middle of it who is not dead.
            if !filling.callers.is_empty() {
                filling.fail(FillerError::Cut.to_string());
            }
        }
        if is_asked && filling.is_done() {
            let (supplies, deferred) = filling.open_supplies();
            filling.answer(setup.control.as_fd(), deferred)?;
            if !supplies.is_empty() && filling.error.is_none() {
                return supply::run(supplies, &signals, &mut progress, criu);
            }
            while getppid() == criu {
                wait_for_any([signals.as_fd()].into_iter())?;
                signals.read_signal()?;
            }
            // Those that are filled may run.
            if filling.error.is_some() {
                filling.abandon();
            }
            return Ok(());
        }
    }
}

/// Which of these have something to say.
fn wait_for_any<'f>(files: impl Iterator<Item = BorrowedFd<'f>>) -> io::Result<Vec<bool>> {
    let mut files: Vec<PollFd<'_>> = files
        .map(|file| PollFd::new(file, PollFlags::POLLIN))
        .collect();
    poll(&mut files, PollTimeout::NONE)?;
    Ok(files
        .iter()
        .map(|file| file.any().unwrap_or(true))
        .collect())
}

/// Starts a thread whose number is none of the program's.
fn start_ring(
    engine: &Arc<Engine>,
    ended: &Arc<io::PipeWriter>,
    numbers: &Numbers,
) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        let (engine, ended, numbers) = (Arc::clone(engine), Arc::clone(ended), numbers.clone());
        let (say, said) = sync_channel(1);
        let ring = move || {
            let is_free = !numbers.has(gettid().as_raw().cast_unsigned());
            // It waits for that.
            let _ = say.send(is_free);
            if is_free {
                // The pipe's other end is there as long as this process, which reads it.
                engine.serve(|| drop((&*ended).write(&[0])));
            }
        };
        thread::Builder::new().spawn(ring)?;
        if said.recv() == Ok(true) {
            return Ok(());
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

impl Filling {
    fn fail(&mut self, sentence: String) {
        self.error.get_or_insert(sentence);
    }

    /// Takes what a caller says.
    fn listen(&mut self, place: usize, setup: &Setup) {
        let taken = self.callers[place].take(&setup.images);
        let begun = match taken {
            Ok(None) => return,
            Ok(Some(request)) => Fill::begin(
                &setup.images,
                request,
                setup.on_demand,
                |gpu, units, waiting| {
                    let engine = setup.engines.iter().find(|engine| engine.gpu() == gpu);
                    let engine = engine.ok_or(RestoreError::UnknownGpu(gpu))?;
                    engine.add(units);
                    waiting
                        .into_iter()
                        .for_each(|rest| engine.add_waiting(rest));
                    Ok(())
                },
            ),
            Err(error) => {
                self.callers[place].refuse(&error);
                Err(error)
            }
        };
        let caller = self.callers.remove(place);
        match begun {
            Ok(fill) => self.fills.push((caller.process, fill)),
            Err(error) => {
                self.failed.push(caller.process);
                self.fail(error.to_string());
            }
        }
    }

    /// Whether all fills have ended; notes why one has failed.
    fn is_done(&mut self) -> bool {
        let mut is_done = true;
        let mut failed = None;
        for (_, fill) in &self.fills {
            match fill.outcome() {
                None => is_done = false,
                Some(Ok(())) => {}
                Some(Err(error)) => failed = failed.or(Some(error.to_string())),
            }
        }
        failed.into_iter().for_each(|sentence| self.fail(sentence));
        is_done
    }

    /// Listens for the agents of those whose memory goes on being filled. What has failed by now is said here.
    fn open_supplies(&mut self) -> (Vec<Supply>, Vec<DeferredFill>) {
        let fills = self.fills.iter();
        let failed = fills
            .clone()
            .filter_map(|(_, fill)| fill.deferred()?.error());
        let failed: Vec<String> = failed.collect();
        let opened = fills.map(|(process, fill)| Supply::open(process.as_fd(), fill));
        let opened: io::Result<Vec<_>> = opened.collect();
        let opened = opened.unwrap_or_else(|error| {
            self.fail(FillerError::Listen(error).to_string());
            Vec::new()
        });
        failed.into_iter().for_each(|sentence| self.fail(sentence));
        opened.into_iter().flatten().unzip()
    }

    fn answer(&self, control: BorrowedFd<'_>, deferred: Vec<DeferredFill>) -> io::Result<()> {
        let mut failure = self.error.clone().unwrap_or_default();
        failure.truncate(failure.floor_char_boundary(SENTENCE_LIMIT));
        let is_well = self.error.is_none();
        let answer = Filled {
            is_well,
            failure,
            deferred,
        };
        let answer = answer.encode_to_vec();
        send(control.as_raw_fd(), &answer, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }

    /// Ends the processes that have asked, filled or not: CRIU is gone, and nobody waits before they run.
    fn abandon(&self) {
        let callers = self.callers.iter().map(|caller| &caller.process);
        let fills = self.fills.iter().map(|(process, _)| process);
        for process in callers.chain(fills).chain(&self.failed) {
            kill(process.as_fd());
        }
    }
}
