//! Signals that would end this command go to the program instead.

use std::io;

use strobe_criu::wrapper::Held;

/// Passes signals on to `child` until `ended` says so; asks again after each signal.
pub(crate) fn forward<T>(
    held: &Held,
    child: u32,
    mut ended: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<T> {
    loop {
        if let Some(status) = ended()? {
            return Ok(status);
        }
        // The program may have ended meanwhile; the next turn finds out.
        if let Some(taken) = held.next()? {
            held.pass_on(taken, child);
        }
    }
}
