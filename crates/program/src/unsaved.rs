//! Descriptors that CRIU does not save.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;

use strobe_proto::TcpConnections;

use crate::descriptor::links;

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
    /// A TCP socket with another end.
    Connected,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "a ring of io_uring, which CRIU does not save",
            Self::Connected => {
                "a connected TCP socket; with --tcp established it comes back connected, which is right \
                 where the program has both ends, with --tcp close it comes back closed"
            }
        })
    }
}

/// Those of a process, where connections are to be handled like this. It may open and close others meanwhile.
pub fn of(pid: u32, connections: TcpConnections) -> io::Result<Vec<Unsaved>> {
    let mut unsaved = Vec::new();
    let mut sockets = BTreeMap::new();
    for (descriptor, link) in links(pid)? {
        if link == "anon_inode:[io_uring]" {
            unsaved.push(Unsaved {
                pid,
                descriptor,
                kind: Kind::Ring,
            });
        }
        let inode = link
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(inode) = inode.and_then(|inode| inode.parse::<u64>().ok()) {
            sockets.insert(inode, descriptor);
        }
    }
    if sockets.is_empty() || connections != TcpConnections::Refused {
        return Ok(unsaved);
    }
    for table in ["tcp", "tcp6"] {
        // A kernel may have no IPv6.
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let connected = text
            .lines()
            .filter_map(socket)
            .filter(|socket| socket.connected);
        unsaved.extend(connected.filter_map(|socket| {
            Some(Unsaved {
                pid,
                descriptor: *sockets.get(&socket.inode)?,
                kind: Kind::Connected,
            })
        }));
    }
    unsaved.sort_by_key(|one| one.descriptor);
    Ok(unsaved)
}

struct Socket {
    inode: u64,
    /// Neither listening nor over.
    connected: bool,
}

/// A line of `/proc/PID/net/tcp` (proc_pid_net(5), `TCP_LISTEN` and its kin in the kernel's net/tcp_states.h).
fn socket(line: &str) -> Option<Socket> {
    const CLOSE: &str = "07";
    const LISTEN: &str = "0A";
    let mut fields = line.split_ascii_whitespace();
    let state = fields.nth(3)?;
    let inode = fields.nth(5)?.parse().ok()?;
    u8::from_str_radix(state, 16).ok()?;
    Some(Socket {
        inode,
        connected: ![CLOSE, LISTEN].contains(&state),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_is_not_saved_is_named() {
        let pid = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let kind_of = |fd: i32, tcp| {
            let found = of(pid, tcp).expect("we run");
            let found = found.iter().find(|one| one.descriptor == fd);
            found.map(|one| one.kind)
        };
        for (tcp, connected, listening) in [
            (TcpConnections::Established, None, None),
            (TcpConnections::Closed, None, None),
            (TcpConnections::Refused, Some(Kind::Connected), None),
        ] {
            assert_eq!(kind_of(stream.as_raw_fd(), tcp), connected, "{tcp:?}");
            assert_eq!(kind_of(listener.as_raw_fd(), tcp), listening, "{tcp:?}");
        }
        let found = of(pid, TcpConnections::Refused).expect("we run");
        let said = found[0].to_string();
        assert!(
            said.contains(&format!("of process {pid} is a connected TCP socket")),
            "{said}"
        );
    }

    #[test]
    fn lines_are_read_as_the_kernel_prints_them() {
        let read = |line: &str| socket(line).map(|socket| (socket.inode, socket.connected));
        let line = "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 4711 1";
        assert_eq!(read(line), Some((4711, true)));
        assert_eq!(read(&line.replace(" 01 ", " 0A ")), Some((4711, false)));
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when";
        assert_eq!(read(heading), None);
    }
}
