//! Failing open: a fault in our code turns tracing off, and the program goes on.

use parking_lot::Mutex;
use std::ffi::c_int;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use strobe_log::{FileId, Stderr};

static OFF: AtomicBool = AtomicBool::new(false);
/// Whether the program would compute on memory that is away if nobody held it back.
static FATAL: AtomicBool = AtomicBool::new(false);

/// Whether a fault has turned the agent off.
#[inline]
pub(crate) fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Runs our own code inside a call of the program. `None` after a panic, which turns the agent off.
/// HIP is never called in here by way of the program's call: unwinding that is not ours passes by. Nor does a thread that is
/// cancelled end in here, where we hold locks, and where its unwinding would be taken for a panic.
#[inline]
pub(crate) fn guarded<R>(ours: impl FnOnce() -> R) -> Option<R> {
    let _uncancelled = Uncancelled::begin();
    match catch_unwind(AssertUnwindSafe(ours)) {
        Ok(result) => Some(result),
        Err(_) => {
            OFF.store(true, Ordering::SeqCst);
            end_if_fatal();
            None
        }
    }
}

/// While it lives, `pthread_cancel` of this thread waits.
struct Uncancelled {
    before: c_int,
}

/// `PTHREAD_CANCEL_DISABLE` of glibc's pthread.h.
const CANCEL_DISABLE: c_int = 1;

// A thread that may be cancelled anywhere unwinds out of the call.
unsafe extern "C-unwind" {
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

impl Uncancelled {
    #[inline]
    fn begin() -> Self {
        let mut before = 0;
        // It fails for states that do not exist.
        let _ = pthread_setcancelstate(CANCEL_DISABLE, Some(&mut before));
        Self { before }
    }
}

impl Drop for Uncancelled {
    #[inline]
    fn drop(&mut self) {
        let _ = pthread_setcancelstate(self.before, None);
    }
}

/// Turns the agent off, saying why once.
pub(crate) fn turn_off(why: &str) {
    if !OFF.swap(true, Ordering::SeqCst) {
        say(&format!(
            "strobe: {why}; tracing is off, the program goes on\n"
        ));
        end_if_fatal();
    }
}

/// From now on, or no longer, the program does not go on after a fault of ours.
pub(crate) fn must_not_fail(must: bool) {
    FATAL.store(must, Ordering::SeqCst);
}

fn end_if_fatal() {
    if FATAL.load(Ordering::SeqCst) {
        say("strobe: but for its memory, which is not all loaded: it is ended\n");
        kill_program();
    }
}

/// Ends this process at once.
pub(crate) fn kill_program() -> ! {
    loop {
        // SAFETY: no pointers.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

/// The program's stderr as it was at its first call of HIP, which a compiled program makes before
/// `main`: what is descriptor 2 later may be any file of the program's, the GPU's driver included, and
/// gets none of our lines.
static STDERR: Mutex<Option<FileId>> = Mutex::new(None);

/// Takes note of the program's stderr.
pub fn note_stderr() {
    *STDERR.lock() = FileId::of_stderr();
}

/// Whether descriptor 2 is still the stderr of the beginning.
pub(crate) fn has_stderr() -> bool {
    // Not waited for: a forked child may have it locked for good.
    let noted = STDERR.try_lock().and_then(|noted| *noted);
    noted.is_some() && noted == FileId::of_stderr()
}

/// One line on stderr, in one write, without the standard library's locks.
pub(crate) fn say(line: &str) {
    // A failed write changes nothing.
    let _ = ProgramStderr.write(line.as_bytes());
}

/// The same for whoever formats lines of its own: a write is a line. One that would have to wait for a
/// reader of the program's is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramStderr;

impl Write for ProgramStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !has_stderr() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Stderr.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes our panics (the hook belongs to this shared object only) say one line.
pub(crate) fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let mut line = [0u8; 512];
            let mut rest = line.as_mut_slice();
            let message = info.payload_as_str().unwrap_or("no message");
            let place = info.location().map_or(("?", 0), |l| (l.file(), l.line()));
            // A message that is too long is cut off; the line still ends.
            let _ = write!(
                rest,
                "strobe: internal error at {}:{}: {message}; tracing is off, the program goes on",
                place.0, place.1
            );
            let len = 512 - rest.len();
            line[len.min(511)] = b'\n';
            say(std::str::from_utf8(&line[..(len + 1).min(512)])
                .unwrap_or("strobe: internal error\n"));
        }));
    });
}
