//! What nobody has read yet of a pseudoterminal.
//!
//! At the end of a dump CRIU reads that, of either side, and writes it there again from the other one, where the program
//! goes on; so it does at a restore (`tty_dump_queued_data` and `pty_restore_queued_data` in criu/tty.c of 4.1.1). The
//! terminal would work on it a second time: what it had made `\r\n` of a line's end becomes `\r\r\n`, and input is echoed
//! again. So this library's `write`, which comes before the C library's as the functions of `stops` do, has
//! pseudoterminals pass on what they are given.

use std::ffi::{c_int, c_long, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libc::{size_t, ssize_t};
use nix::sys::stat::{SFlag, fstat, major, minor};
use nix::sys::termios::{
    InputFlags, LocalFlags, OutputFlags, SetArg, Termios, tcgetattr, tcsetattr,
};

use crate::limits::syscall;

/// `/dev/ptmx`, and the first and last number of the other side's: admin-guide/devices.txt.
const MASTER: (u64, u64) = (5, 2);
const SLAVES: (u64, u64) = (136, 143);

/// Descriptors 0, 1 and 2 of CRIU, where they are terminals: what it says itself goes there.
static OWN: OnceLock<[Option<u64>; 3]> = OnceLock::new();

/// To be called before CRIU has opened anything of the program.
pub(crate) fn begin() {
    let _ = OWN.set([0, 1, 2].map(terminal));
}

/// The device number of a descriptor that is a pseudoterminal.
fn terminal(file: RawFd) -> Option<u64> {
    if file < 0 {
        return None;
    }
    // SAFETY: it is used for one call, which says so where there is none.
    let meta = fstat(unsafe { BorrowedFd::borrow_raw(file) }).ok()?;
    let is_device = meta.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFCHR.bits();
    let is_slave = (SLAVES.0..=SLAVES.1).contains(&major(meta.st_rdev));
    (is_device && (is_slave || is_master(meta.st_rdev))).then_some(meta.st_rdev)
}

/// As write(2) in the C library, but what goes to a pseudoterminal that is not CRIU's own is passed on as it is.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    let own = OWN.get();
    // Before that is known, nothing of the program is written.
    let is_programs = |number| own.is_some_and(|own| !own.contains(&Some(number)));
    let number = terminal(file).filter(|number| is_programs(*number));
    let passing = number.and_then(|_| Passing::begin(file));
    // SAFETY: the caller's arguments, of which the call takes three.
    let written = unsafe { syscall(libc::SYS_write, file as usize, bytes.addr(), len, 0, 0, 0) };
    if passing.is_some() && number.is_some_and(is_master) {
        wait_for_input(file, written);
    }
    drop(passing);
    written as ssize_t
}

fn is_master(number: u64) -> bool {
    (major(number), minor(number)) == MASTER
}

/// Waits until the other side can read so much: a worker of the kernel's takes it there, and does to it what the terminal
/// does by then. Of what nobody can read yet (a line without an end) there is no sign: that long it takes at most.
fn wait_for_input(master: RawFd, bytes: c_long) {
    const PATIENCE: Duration = Duration::from_millis(200);
    const BETWEEN: Duration = Duration::from_millis(1);
    let flags = libc::O_RDONLY | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the call takes a number.
    let slave = unsafe { libc::ioctl(master, libc::TIOCGPTPEER, flags) };
    if slave < 0 {
        return;
    }
    // SAFETY: the kernel has just made this descriptor for us.
    let slave = unsafe { OwnedFd::from_raw_fd(slave) };
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let mut readable: c_int = 0;
        // SAFETY: writes one number.
        let asked = unsafe { libc::ioctl(slave.as_raw_fd(), libc::FIONREAD, &raw mut readable) };
        if asked != 0 || c_long::from(readable) >= bytes {
            return;
        }
        std::thread::sleep(BETWEEN);
    }
}

/// A terminal that does nothing to what passes, until this is dropped.
struct Passing {
    file: RawFd,
    before: Termios,
}

impl Passing {
    fn begin(file: RawFd) -> Option<Self> {
        // SAFETY: whoever writes to it has it open meanwhile.
        let terminal = unsafe { BorrowedFd::borrow_raw(file) };
        let before = tcgetattr(terminal).ok()?;
        let mut passing = before.clone();
        passing.output_flags.remove(OutputFlags::OPOST);
        // A terminal that was stopped by its flow control would begin again without that.
        passing.input_flags &=
            InputFlags::IUTF8 | InputFlags::IXON | InputFlags::IXOFF | InputFlags::IXANY;
        let echo = LocalFlags::ECHO | LocalFlags::ECHONL;
        passing
            .local_flags
            .remove(echo | LocalFlags::ISIG | LocalFlags::IEXTEN);
        tcsetattr(terminal, SetArg::TCSANOW, &passing).ok()?;
        Some(Self { file, before })
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        let terminal = unsafe { BorrowedFd::borrow_raw(self.file) };
        let _ = tcsetattr(terminal, SetArg::TCSANOW, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use nix::pty::openpty;
    use nix::unistd::read;

    use super::*;

    fn put(file: &OwnedFd, bytes: &[u8]) {
        // SAFETY: the bytes are there.
        let written = unsafe { write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(written, bytes.len() as isize);
    }

    fn next(file: &OwnedFd) -> Vec<u8> {
        let mut bytes = [0; 64];
        let len = read(file, &mut bytes).expect("a terminal");
        bytes[..len].to_vec()
    }

    #[test]
    fn a_terminal_gets_back_what_it_had_and_is_as_it_was() {
        begin();
        let pair = openpty(None, None).expect("a terminal");
        let before = tcgetattr(&pair.slave).expect("a terminal");
        put(&pair.slave, b"out\r\nmore\r\n");
        assert_eq!(next(&pair.master), b"out\r\nmore\r\n");
        put(&pair.master, b"in\n\x03\n");
        assert_eq!(next(&pair.slave), b"in\n");
        assert_eq!(next(&pair.slave), b"\x03\n");
        assert_eq!(tcgetattr(&pair.slave).expect("a terminal"), before);
        // Nothing of it was echoed, and it works again.
        let (slave, bytes) = (pair.slave.as_raw_fd() as usize, b"end\n");
        // SAFETY: the bytes are there.
        unsafe { syscall(libc::SYS_write, slave, bytes.as_ptr().addr(), 4, 0, 0, 0) };
        assert_eq!(next(&pair.master), b"end\r\n");
    }
}
