//! Descriptors that CRIU does not save.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// Of a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("descriptor {descriptor} of process {pid} is {what}, which CRIU does not save")]
pub struct Unsaved {
    /// The process.
    pub pid: u32,
    /// Its number there.
    pub descriptor: u32,
    /// With its article.
    pub what: String,
}

/// Those of a process. It may open and close others meanwhile.
pub fn of(pid: u32) -> io::Result<Vec<Unsaved>> {
    let mut unsaved = Vec::new();
    let mut sockets = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // It may have been closed.
        let Some((descriptor, link)) = number.zip(fs::read_link(entry.path()).ok()) else {
            continue;
        };
        let link = link.to_string_lossy();
        if link == "anon_inode:[io_uring]" {
            let what = "a ring of io_uring".to_owned();
            unsaved.push(Unsaved {
                pid,
                descriptor,
                what,
            });
        }
        let inode = link
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(inode) = inode.and_then(|inode| inode.parse::<u64>().ok()) {
            sockets.insert(inode, descriptor);
        }
    }
    if sockets.is_empty() {
        return Ok(unsaved);
    }
    for table in ["tcp", "tcp6"] {
        // A kernel may have no IPv6.
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let connected = text.lines().filter_map(connected);
        unsaved.extend(connected.filter_map(|inode| {
            Some(Unsaved {
                pid,
                descriptor: *sockets.get(&inode)?,
                what: "a connected TCP socket".into(),
            })
        }));
    }
    unsaved.sort_by_key(|one| one.descriptor);
    Ok(unsaved)
}

/// The inode of a line of `/proc/PID/net/tcp` if the socket is neither listening nor over (proc_pid_net(5),
/// `TCP_LISTEN` and its kin in the kernel's net/tcp_states.h).
fn connected(line: &str) -> Option<u64> {
    const CLOSE: &str = "07";
    const LISTEN: &str = "0A";
    let mut fields = line.split_ascii_whitespace();
    let state = fields.nth(3)?;
    let inode = fields.nth(5)?.parse().ok()?;
    (u8::from_str_radix(state, 16).is_ok() && ![CLOSE, LISTEN].contains(&state)).then_some(inode)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn connections_are_named_and_what_listens_is_not() {
        let pid = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let number = |fd: i32| u32::try_from(fd).expect("a descriptor");
        let found = of(pid).expect("we run");
        let is_found = |fd: i32| found.iter().any(|one| one.descriptor == number(fd));
        assert!(is_found(stream.as_raw_fd()), "{found:?}");
        assert!(!is_found(listener.as_raw_fd()), "{found:?}");
        let said = found[0].to_string();
        assert!(
            said.contains(&format!("of process {pid} is a connected TCP socket")),
            "{said}"
        );
    }

    #[test]
    fn lines_are_read_as_the_kernel_prints_them() {
        let line = "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 4711 1";
        assert_eq!(connected(line), Some(4711));
        assert_eq!(connected(&line.replace(" 01 ", " 0A ")), None);
        assert_eq!(
            connected("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when"),
            None
        );
    }
}
