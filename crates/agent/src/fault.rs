//! Failing open: a fault in our code turns tracing off, and the program goes on.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static OFF: AtomicBool = AtomicBool::new(false);

/// Whether a fault has turned the agent off.
#[inline]
pub(crate) fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Runs our own code inside a call of the program. `None` after a panic, which turns the agent off.
/// HIP is never called in here by way of the program's call: unwinding that is not ours passes by.
#[inline]
pub(crate) fn guarded<R>(ours: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(ours)) {
        Ok(result) => Some(result),
        Err(_) => {
            OFF.store(true, Ordering::SeqCst);
            None
        }
    }
}

/// Turns the agent off, saying why once.
pub(crate) fn turn_off(why: &str) {
    if !OFF.swap(true, Ordering::SeqCst) {
        say(&format!(
            "strobe: {why}; tracing is off, the program goes on\n"
        ));
    }
}

/// One line on stderr, in one write, without the standard library's locks.
pub(crate) fn say(line: &str) {
    // A failed write changes nothing.
    let _ = Stderr.write(line.as_bytes());
}

/// The same for whoever formats lines of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: a valid buffer.
        let written =
            unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(written).map_err(|_| io::Error::last_os_error())
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
            let mut room = line.as_mut_slice();
            let message = info.payload_as_str().unwrap_or("no message");
            let place = info.location().map_or(("?", 0), |l| (l.file(), l.line()));
            // A message that is too long is cut off; the line still ends.
            let _ = write!(
                room,
                "strobe: internal error at {}:{}: {message}; tracing is off, the program goes on",
                place.0, place.1
            );
            let len = 512 - room.len();
            line[len.min(511)] = b'\n';
            say(std::str::from_utf8(&line[..(len + 1).min(512)])
                .unwrap_or("strobe: internal error\n"));
        }));
    });
}
