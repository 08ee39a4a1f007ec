//! Descriptors of ours in the program.
//!
//! A new descriptor gets the lowest number that is free, and that may be one of 0, 1 and 2: a program
//! that has closed its standard output writes there all the same, as it would to nothing. What it
//! writes must not go to us.

use nix::fcntl::{FcntlArg, fcntl};
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Numbers that programs give out by hand are lower.
const HIGH: i32 = 200;
/// Where so many are not allowed: behind the standard ones.
const LOW: i32 = 3;

/// The same open file under a number that the program writes to on no account.
pub(crate) fn out_of_the_way(fd: impl AsFd) -> io::Result<OwnedFd> {
    let high = |lowest| fcntl(fd.as_fd(), FcntlArg::F_DUPFD_CLOEXEC(lowest));
    let number = high(HIGH).or_else(|_| high(LOW))?;
    // SAFETY: the kernel has just made it, for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn it_is_none_that_a_program_writes_to() {
        let file = std::fs::File::open("/dev/null").expect("it opens");
        let moved = out_of_the_way(&file).expect("a number is free");
        assert!(moved.as_raw_fd() >= LOW, "{moved:?}");
        assert_ne!(moved.as_raw_fd(), file.as_raw_fd());
    }
}
