//! Lines on stderr that hold nobody up.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;

/// Stderr: a write is a line. One that would have to wait for a reader is lost.
#[derive(Clone, Copy, Debug)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        write_at_once(io::stderr().as_fd(), line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_at_once(file: BorrowedFd<'_>, line: &[u8]) -> io::Result<usize> {
    let mut writable = [PollFd::new(file, PollFlags::POLLOUT)];
    // A pipe that is ready takes a line of up to PIPE_BUF bytes at once.
    if poll(&mut writable, PollTimeout::ZERO)? != 1 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    Ok(nix::unistd::write(file, line)?)
}

/// Which file a descriptor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// What is stderr now; `None` where it is closed.
    #[must_use]
    pub fn of_stderr() -> Option<Self> {
        let stat = fstat(io::stderr()).ok()?;
        Some(Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_waits_for_no_reader() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let line = [b'x'; 1000];
        let mut lines = 0;
        while write_at_once(writer.as_fd(), &line).is_ok() {
            lines += 1;
            assert!(lines < 10_000, "a pipe that is never full");
        }
        assert!(lines > 1);
        drop(reader);
        assert!(write_at_once(writer.as_fd(), &line).is_err());
    }
}
