//! Descriptors that CRIU does not save, or that a checkpoint would take something away from.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use strobe_proto::{TcpConnections, kernel_text};

use crate::descriptor::{copy_descriptor, links, open_process};

/// Of a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("descriptor {descriptor} of process {pid} is {kind}")]
pub struct Unsaved {
    /// The process.
    pub pid: u32,
    /// Its number there.
    pub descriptor: i32,
    /// What it is.
    pub kind: Kind,
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of io_uring.
    Ring,
    /// A TCP socket that has, or had, another end.
    Connected,
    /// Of a file that nobody may open without the program's leave.
    Lease,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "a ring of io_uring, which CRIU does not save",
            Self::Lease => {
                "a file with a lease for writing (fcntl, F_SETLEASE), or with one that somebody has asked for: the checkpoint \
                 reads the file, which takes the lease away; try again when the program has given it up (F_UNLCK), or has one \
                 for reading (F_RDLCK)"
            }
            Self::Connected => {
                "a connected TCP socket, or one whose connection is over; with --tcp established it comes back connected, which is right \
                 where the program has both ends, with --tcp close it comes back closed"
            }
        })
    }
}

/// Those of a process, where connections are to be handled like this. It may open and close others meanwhile.
pub fn of(pid: u32, connections: TcpConnections) -> io::Result<Vec<Unsaved>> {
    let process = open_process(pid)?;
    let mut unsaved = Vec::new();
    for (descriptor, link) in links(pid)? {
        let kind = if link == "anon_inode:[io_uring]" {
            Kind::Ring
        } else if link.starts_with('/') {
            match kernel_text::read(format!("/proc/{pid}/fdinfo/{descriptor}")) {
                Ok(info) if info.lines().any(is_exclusive) => Kind::Lease,
                _ => continue,
            }
        } else if connections == TcpConnections::Refused && link.starts_with("socket:[") {
            match copy_descriptor(&process, descriptor) {
                Ok(socket) if is_connection(&socket) => Kind::Connected,
                Ok(_) => continue,
                Err(error) if error.raw_os_error() == Some(libc::EBADF) => continue,
                Err(error) => return Err(error),
            }
        } else {
            continue;
        };
        unsaved.push(Unsaved {
            pid,
            descriptor,
            kind,
        });
    }
    Ok(unsaved)
}

/// Whether a line of `/proc/PID/fdinfo` tells of a lease that ends when somebody else opens the file for reading, or that
/// is about to end (`lock_get_status` in fs/locks.c).
fn is_exclusive(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let (head, _number, kind, state, access) = (next(), next(), next(), next(), next());
    (head, kind) == ("lock:", "LEASE") && (state == "BREAKING" || access == "WRITE")
}

/// Whether this is a TCP socket that has, or had, another end. It keeps that one's name when the connection is
/// over, and is one to CRIU as long (`tcp_connection` of criu/sk-inet.c).
fn is_connection(socket: &OwnedFd) -> bool {
    let mut protocol: libc::c_int = 0;
    // No more of the name: the kernel does not answer to who has room for more than there is.
    let mut family: libc::sa_family_t = 0;
    ask(socket, libc::SO_PROTOCOL, &mut protocol)
        && protocol == libc::IPPROTO_TCP
        && ask(socket, libc::SO_PEERNAME, &mut family)
}

/// An option of a socket, if it has it. All bytes of `T` may be anything.
fn ask<T: Copy>(socket: &OwnedFd, option: libc::c_int, value: &mut T) -> bool {
    let mut len = size_of::<T>() as libc::socklen_t;
    let place = std::ptr::from_mut(value).cast();
    // SAFETY: the kernel writes `len` bytes at most, all within the value, which may hold any.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            place,
            &raw mut len,
        )
    };
    result == 0
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_lease_for_writing_is_found_before_it_is_broken_and_one_for_reading_is_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.into_temp_path();
        let open = File::open(&path).expect("it is there");
        let number = open.as_raw_fd();
        let lease = |kind: libc::c_int| {
            // SAFETY: no pointers; the signal for who breaks it is SIGIO, and nobody does.
            assert_eq!(unsafe { libc::fcntl(number, libc::F_SETLEASE, kind) }, 0);
            let found = of(std::process::id(), TcpConnections::Refused).expect("we run");
            let of_ours = found.iter().find(|one| one.descriptor == number);
            of_ours.map(|one| one.kind)
        };
        assert_eq!(lease(libc::F_RDLCK), None);
        assert_eq!(lease(libc::F_WRLCK), Some(Kind::Lease));
        assert_eq!(lease(libc::F_UNLCK), None);
        assert!(is_exclusive(
            "lock:\t1: LEASE  BREAKING  READ 7 fe:00:1 0 EOF"
        ));
        assert!(!is_exclusive(
            "lock:\t1: FLOCK  ADVISORY  WRITE 7 fe:00:1 0 EOF"
        ));
    }

    fn is_unsaved(socket: &impl AsRawFd, connections: TcpConnections) -> bool {
        let found = of(std::process::id(), connections).expect("we run");
        let expected = Unsaved {
            pid: std::process::id(),
            descriptor: socket.as_raw_fd(),
            kind: Kind::Connected,
        };
        found.contains(&expected)
    }

    #[test]
    fn what_is_not_saved_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (accepted, _) = listener.accept().expect("it has connected");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let own = udp.local_addr().expect("bound");
        udp.connect(own).expect("to itself");
        for over in [false, true] {
            if over {
                stream.shutdown(Shutdown::Both).expect("it was open");
                accepted.shutdown(Shutdown::Both).expect("it was open");
            }
            for one in [&stream, &accepted] {
                assert!(is_unsaved(one, TcpConnections::Refused), "{over}");
                assert!(!is_unsaved(one, TcpConnections::Established), "{over}");
                assert!(!is_unsaved(one, TcpConnections::Closed), "{over}");
            }
        }
        assert!(!is_unsaved(&listener, TcpConnections::Refused));
        assert!(!is_unsaved(&udp, TcpConnections::Refused));
    }
}
