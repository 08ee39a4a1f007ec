//! Failing open: a fault in our code turns tracing off, and the program goes on.

use std::io::{self, Write};
use std::os::fd::RawFd;
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

/// The same for whoever formats lines of its own: a write is a line. One that would have to wait for a
/// reader of the program's is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_at_once(libc::STDERR_FILENO, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_at_once(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let mut room = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // A pipe that is ready takes a line of up to PIPE_BUF bytes at once.
    // SAFETY: one entry, alive during the call.
    if unsafe { libc::poll(&mut room, 1, 0) } != 1 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    // SAFETY: a valid buffer.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_line_waits_for_no_reader() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let line = [b'x'; 1000];
        let mut lines = 0;
        while write_at_once(writer.as_raw_fd(), &line).is_ok() {
            lines += 1;
            assert!(lines < 10_000, "a pipe that is never full");
        }
        assert!(lines > 1);
        drop(reader);
        assert!(write_at_once(-1, &line).is_err());
    }
}
