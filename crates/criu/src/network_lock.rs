//! CRIU's locks of connections that it saves, and connections that it has in repair, where it was killed.
//!
//! With `--tcp established` CRIU keeps packets away from the program's connections by a table of nftables,
//! `inet CRIU-RUN` (`nftables_get_table` there), whose run it names in its log, and puts each socket into repair
//! (`TCP_REPAIR`, tcp(7)), where nothing that is written is sent. Both outlive it: a table is nobody's, and
//! the socket is the program's.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use strobe_program::descriptor::{copy_descriptor, links, open_process};

/// What CRIU says first in its log, before a UUID.
const RUN: &str = "CRIU run id = ";
/// Bytes of a log in which it stands.
const BEGINNING: u64 = 64 << 10;
/// How the tables' names start.
const TABLE: &str = "CRIU-";
/// CRIU has room for so much of a run's name there: `char table[32]`, behind `inet CRIU-`.
const ROOM: usize = 32 - 1 - "inet CRIU-".len();

/// Of linux/netfilter/nfnetlink.h and nf_tables.h.
const SUBSYSTEM: u16 = 10;
const DELETE_TABLE: u16 = SUBSYSTEM << 8 | 2;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const FAMILY_NONE: u8 = 0;
/// `NFPROTO_INET`.
const FAMILY_INET: u8 = 1;
/// `NFTA_TABLE_NAME`.
const TABLE_NAME: u16 = 1;
/// No answer of the kernel is larger than a page.
const ANSWER: usize = 8192;

/// A run of CRIU, as its log names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run(String);

impl Run {
    /// That of a dump by its work folder; none where CRIU has not said it yet, or locks nothing.
    pub fn of_dump(work: &Path) -> Option<Self> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut log = OpenOptions::new();
        let log = log.read(true).custom_flags(flags);
        let log = log.open(work.join(crate::run::DUMP_LOG)).ok()?;
        log.metadata().ok().filter(Metadata::is_file)?;
        let mut start = Vec::new();
        log.take(BEGINNING).read_to_end(&mut start).ok()?;
        let log = String::from_utf8_lossy(&start);
        let name = log.lines().find_map(|line| line.split_once(RUN))?.1;
        Self::named(name.trim_end())
    }

    /// One of this name; none where it is no UUID.
    pub fn named(name: &str) -> Option<Self> {
        let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let is_name = name.len() == 36 && name.bytes().all(is_part);
        is_name.then(|| Self(name.to_owned()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Removes its table in this network namespace; whether there was one. For a run that is dead.
    pub fn unlock(&self) -> io::Result<bool> {
        // Or another CRIU has more.
        let names = [&self.0[..ROOM], &self.0];
        let mut any = false;
        for name in names {
            any |= match delete_table(&format!("{TABLE}{name}")) {
                Ok(()) => true,
                // Without nf_tables there is none either, and who may remove none cannot have made one.
                Err(
                    Errno::ENOENT
                    | Errno::EPROTONOSUPPORT
                    | Errno::EOPNOTSUPP
                    | Errno::EINVAL
                    | Errno::EPERM,
                ) => false,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(any)
    }
}

/// One transaction: nfnetlink takes changes in batches only.
fn delete_table(name: &str) -> Result<(), Errno> {
    let mut batch = Vec::new();
    let subsystem = |message: &mut Vec<u8>, kind, sequence| {
        let acknowledged = 0;
        put(
            message,
            kind,
            acknowledged,
            sequence,
            FAMILY_NONE,
            SUBSYSTEM,
            &[],
        );
    };
    subsystem(&mut batch, BATCH_BEGIN, 1);
    let mut attribute = Vec::new();
    attribute.extend((4 + name.len() as u16 + 1).to_ne_bytes());
    attribute.extend(TABLE_NAME.to_ne_bytes());
    attribute.extend(name.as_bytes());
    attribute.push(0);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    put(
        &mut batch,
        DELETE_TABLE,
        libc::NLM_F_ACK as u16,
        2,
        FAMILY_INET,
        0,
        &attribute,
    );
    subsystem(&mut batch, BATCH_END, 3);
    let socket = netlink()?;
    // SAFETY: sends as many bytes as there are.
    let sent = unsafe { libc::send(socket.as_raw_fd(), batch.as_ptr().cast(), batch.len(), 0) };
    Errno::result(sent)?;
    let mut answer = [0_u8; ANSWER];
    // SAFETY: there is room for as many bytes.
    let len = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), ANSWER, 0) };
    let answer = &answer[..Errno::result(len)? as usize];
    // struct nlmsghdr, whose second field is the kind; then, of an error, its number, and 0 where it is none.
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok());
    let error = answer.get(16..20).and_then(|error| error.try_into().ok());
    match (kind.map(u16::from_ne_bytes), error.map(i32::from_ne_bytes)) {
        (Some(kind), Some(0)) if i32::from(kind) == libc::NLMSG_ERROR => Ok(()),
        (Some(kind), Some(error)) if i32::from(kind) == libc::NLMSG_ERROR => {
            Err(Errno::from_raw(error.saturating_neg()))
        }
        _ => Err(Errno::EBADMSG),
    }
}

/// A message of nfnetlink: `struct nlmsghdr`, `struct nfgenmsg` and attributes.
fn put(
    to: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    family: u8,
    resource: u16,
    rest: &[u8],
) {
    let len = 16 + 4 + rest.len() as u32;
    to.extend(len.to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend((flags | libc::NLM_F_REQUEST as u16).to_ne_bytes());
    to.extend(sequence.to_ne_bytes());
    to.extend(0_u32.to_ne_bytes());
    to.extend([family, 0]);
    to.extend(resource.to_be_bytes());
    to.extend(rest);
}

fn netlink() -> Result<OwnedFd, Errno> {
    /// The kernel answers while it is asked.
    const PATIENCE: libc::timeval = libc::timeval {
        tv_sec: 5,
        tv_usec: 0,
    };
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes three numbers.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER) };
    // SAFETY: the kernel has just made this descriptor for us.
    let socket = unsafe { OwnedFd::from_raw_fd(Errno::result(socket)?) };
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &PATIENCE)?;
    Ok(socket)
}

/// The TCP sockets of a process.
fn sockets(pid: u32) -> io::Result<Vec<OwnedFd>> {
    let process = open_process(pid)?;
    let sockets = links(pid)?.into_iter().filter_map(|(descriptor, link)| {
        // What is closed meanwhile needs nothing.
        let socket = link
            .starts_with("socket:[")
            .then(|| copy_descriptor(&process, descriptor));
        let socket = socket?.ok()?;
        let protocol = get(&socket, libc::SOL_SOCKET, libc::SO_PROTOCOL);
        (protocol == Some(libc::IPPROTO_TCP)).then_some(socket)
    });
    Ok(sockets.collect())
}

/// Connections of a process that are in repair.
#[derive(Debug, Default)]
pub(crate) struct InRepair {
    sockets: Vec<OwnedFd>,
    /// Ports at which the process listens and lets others listen, too.
    shared: Vec<u16>,
}

impl InRepair {
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let (mut in_repair, mut shared) = (Vec::new(), Vec::new());
        for socket in sockets(pid)? {
            let has = |option| get(&socket, libc::SOL_SOCKET, option) == Some(1);
            if has(libc::SO_ACCEPTCONN) {
                shared.extend(port(&socket).filter(|_| has(libc::SO_REUSEADDR)));
            } else if get(&socket, libc::IPPROTO_TCP, libc::TCP_REPAIR) == Some(1) {
                in_repair.push(socket);
            }
        }
        Ok(Self {
            sockets: in_repair,
            shared,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// They go on: for when nobody has them in hand any more. Repair has overwritten whether their port can be shared
    /// (`SO_REUSEADDR`), which who was accepted has from who listens.
    pub(crate) fn end(&self) -> io::Result<()> {
        for socket in &self.sockets {
            set(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR, &0_i32)?;
            if port(socket).is_some_and(|port| self.shared.contains(&port)) {
                set(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32)?;
            }
        }
        Ok(())
    }
}

/// Its own.
fn port(socket: &OwnedFd) -> Option<u16> {
    use nix::sys::socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname};
    let name: SockaddrStorage = getsockname(socket.as_raw_fd()).ok()?;
    match name.family()? {
        AddressFamily::Inet => Some(name.as_sockaddr_in()?.port()),
        AddressFamily::Inet6 => Some(name.as_sockaddr_in6()?.port()),
        _ => None,
    }
}

fn get(socket: &OwnedFd, level: i32, option: i32) -> Option<i32> {
    let mut value = 0_i32;
    let mut len = size_of_val(&value) as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: there is room for as many bytes as `len` says.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, place, &raw mut len) };
    (result == 0).then_some(value)
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> Result<(), Errno> {
    let len = size_of_val(value) as libc::socklen_t;
    let value = (&raw const *value).cast();
    // SAFETY: as many bytes are there as `len` says.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, len) };
    Errno::result(result).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_is_named_by_criu_s_log_and_by_nothing_else() {
        let work = tempfile::tempdir().unwrap();
        assert_eq!(Run::of_dump(work.path()), None);
        let name = "0a1b2c3d-0000-4000-8000-0123456789ab";
        let log = work.path().join("dump.log");
        fs::write(
            &log,
            format!("(00.000010) Version: 4.1.1\n(00.000020) {RUN}{name}\n"),
        )
        .unwrap();
        assert_eq!(Run::of_dump(work.path()).unwrap().name(), name);
        fs::write(&log, format!("{RUN}x; delete\n")).unwrap();
        assert_eq!(Run::of_dump(work.path()), None);
    }
}
