//! What an IP socket has that CRIU does not save: datagrams that nobody has read, memberships in multicast groups, and
//! options.
//!
//! Which options are lost was measured, by a dump and a restore with CRIU 4.1.1 of sockets that have them; one counts
//! where it differs from that of a new socket. All is asked of a copy of the descriptor, by calls that change nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use strobe_proto::kernel_text;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::descriptor::{copy_descriptor, links, open_process};

#[derive(Debug, thiserror::Error)]
#[error("the sockets of process {pid} cannot be looked at: {error}")]
#[expect(missing_docs, reason = "the sentence says it")]
pub struct SocketError {
    pid: u32,
    error: io::Error,
}

/// What sockets of a process lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// In this process's pid namespace.
    pub pid: u32,
    /// The descriptors, which all lose the same.
    pub numbers: Vec<i32>,
    kind: Kind,
    what: Vec<&'static str>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More are counted.
        const NAMED: usize = 8;
        let (named, more) = self.numbers.split_at(self.numbers.len().min(NAMED));
        let named: Vec<_> = named.iter().map(ToString::to_string).collect();
        let plural = if self.numbers.len() > 1 { "s" } else { "" };
        write!(f, "descriptor{plural} {}", named.join(", "))?;
        if !more.is_empty() {
            write!(f, " and {} more", more.len())?;
        }
        write!(
            f,
            " of process {} ({}): a restored program does not get {}",
            self.pid,
            self.kind,
            self.what.join(", ")
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Udp,
    Tcp,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        })
    }
}

/// An option whose value CRIU does not save.
struct SocketOption {
    name: &'static str,
    level: libc::c_int,
    number: libc::c_int,
    /// What a new socket has is the network namespace's to say.
    of_namespace: bool,
}

const fn plain(name: &'static str, level: libc::c_int, number: libc::c_int) -> SocketOption {
    SocketOption {
        name,
        level,
        number,
        of_namespace: false,
    }
}

const fn tuned(name: &'static str, level: libc::c_int, number: libc::c_int) -> SocketOption {
    SocketOption {
        of_namespace: true,
        ..plain(name, level, number)
    }
}

/// Of all: asm-generic/socket.h.
const OF_ALL: &[SocketOption] = &[
    plain("SO_TIMESTAMP", libc::SOL_SOCKET, 29),
    plain("SO_TIMESTAMPNS", libc::SOL_SOCKET, 35),
    plain("SO_TIMESTAMPING", libc::SOL_SOCKET, 37),
    plain("SO_RXQ_OVFL", libc::SOL_SOCKET, 40),
    plain("SO_PEEK_OFF", libc::SOL_SOCKET, 42),
    tuned("SO_BUSY_POLL", libc::SOL_SOCKET, 46),
    plain("SO_MAX_PACING_RATE", libc::SOL_SOCKET, 47),
    plain("SO_ZEROCOPY", libc::SOL_SOCKET, 60),
];

/// Of IPv4: linux/in.h.
const OF_V4: &[SocketOption] = &[
    tuned("IP_MTU_DISCOVER", libc::IPPROTO_IP, 10),
    plain("IP_RECVERR", libc::IPPROTO_IP, 11),
    plain("IP_RECVTTL", libc::IPPROTO_IP, 12),
    plain("IP_RECVTOS", libc::IPPROTO_IP, 13),
    plain("IP_RECVOPTS", libc::IPPROTO_IP, 6),
    plain("IP_TRANSPARENT", libc::IPPROTO_IP, 19),
    plain("IP_RECVORIGDSTADDR", libc::IPPROTO_IP, 20),
    plain("IP_MINTTL", libc::IPPROTO_IP, 21),
    plain("IP_CHECKSUM", libc::IPPROTO_IP, 23),
    plain("IP_RECVFRAGSIZE", libc::IPPROTO_IP, 25),
];

/// Of IPv6: linux/in6.h.
const OF_V6: &[SocketOption] = &[
    tuned("IPV6_UNICAST_HOPS", libc::IPPROTO_IPV6, 16),
    tuned("IPV6_MTU_DISCOVER", libc::IPPROTO_IPV6, 23),
    plain("IPV6_RECVERR", libc::IPPROTO_IPV6, 25),
    plain("IPV6_RECVHOPLIMIT", libc::IPPROTO_IPV6, 51),
    plain("IPV6_DONTFRAG", libc::IPPROTO_IPV6, 62),
    plain("IPV6_RECVTCLASS", libc::IPPROTO_IPV6, 66),
    plain("IPV6_TCLASS", libc::IPPROTO_IPV6, 67),
    tuned("IPV6_AUTOFLOWLABEL", libc::IPPROTO_IPV6, 70),
    plain("IPV6_MINHOPCOUNT", libc::IPPROTO_IPV6, 73),
];

/// The same for those that may send to groups: with a connection, the kernel notes there of its first packet where that
/// came from.
const OF_GROUPS_V4: &[SocketOption] = &[
    plain("IP_MULTICAST_IF", libc::IPPROTO_IP, 32),
    plain("IP_MULTICAST_TTL", libc::IPPROTO_IP, 33),
    plain("IP_MULTICAST_LOOP", libc::IPPROTO_IP, 34),
    plain("IP_MULTICAST_ALL", libc::IPPROTO_IP, 49),
];

/// As [`OF_GROUPS_V4`].
const OF_GROUPS_V6: &[SocketOption] = &[
    plain("IPV6_MULTICAST_IF", libc::IPPROTO_IPV6, 17),
    tuned("IPV6_MULTICAST_HOPS", libc::IPPROTO_IPV6, 18),
    plain("IPV6_MULTICAST_LOOP", libc::IPPROTO_IPV6, 19),
    plain("IPV6_MULTICAST_ALL", libc::IPPROTO_IPV6, 29),
];

/// linux/udp.h.
const OF_UDP: &[SocketOption] = &[
    plain("UDP_NO_CHECK6_TX", libc::IPPROTO_UDP, 101),
    plain("UDP_NO_CHECK6_RX", libc::IPPROTO_UDP, 102),
    plain("UDP_SEGMENT", libc::IPPROTO_UDP, 103),
    plain("UDP_GRO", libc::IPPROTO_UDP, 104),
];

/// linux/tcp.h. What a connection has otherwise than a new socket because it is one is not among them.
const OF_TCP: &[SocketOption] = &[
    tuned("TCP_SYNCNT", libc::IPPROTO_TCP, 7),
    tuned("TCP_LINGER2", libc::IPPROTO_TCP, 8),
    plain("TCP_DEFER_ACCEPT", libc::IPPROTO_TCP, 9),
    tuned("TCP_CONGESTION", libc::IPPROTO_TCP, 13),
    tuned("TCP_THIN_LINEAR", libc::IPPROTO_TCP, 16),
    plain("TCP_USER_TIMEOUT", libc::IPPROTO_TCP, 18),
    plain("TCP_FASTOPEN", libc::IPPROTO_TCP, 23),
    tuned("TCP_NOTSENT_LOWAT", libc::IPPROTO_TCP, 25),
    plain("TCP_SAVE_SYN", libc::IPPROTO_TCP, 27),
    plain("TCP_INQ", libc::IPPROTO_TCP, 36),
    plain("TCP_TX_DELAY", libc::IPPROTO_TCP, 37),
];

/// Looks at the sockets of a process, which is frozen, or may change them meanwhile.
pub fn check(pid: u32) -> Result<Vec<Lost>, SocketError> {
    let failed = |error| SocketError { pid, error };
    let sockets = links(pid).map_err(failed)?.into_iter();
    let sockets: Vec<_> = sockets
        .filter(|(_, link)| link.starts_with("socket:["))
        .collect();
    if sockets.is_empty() {
        return Ok(Vec::new());
    }
    let process = open_process(pid).map_err(failed)?;
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let is_ours = namespace(&pid.to_string()) == namespace("self");
    let groups = Group::all(pid);
    let mut lost: BTreeMap<_, Vec<i32>> = BTreeMap::new();
    for (number, _) in sockets {
        let copy = match copy_descriptor(&process, number) {
            // Of one that runs, it may have been closed.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => continue,
            copy => copy.map_err(failed)?,
        };
        if let Some((kind, what)) =
            lost_of(&copy, &groups, is_ours).filter(|lost| !lost.1.is_empty())
        {
            lost.entry((kind, what)).or_default().push(number);
        }
    }
    let lost = lost.into_iter().map(|((kind, what), numbers)| Lost {
        pid,
        numbers,
        kind,
        what,
    });
    Ok(lost.collect())
}

/// None where it is another kind of socket. `is_ours`: a new socket of ours is of its network namespace.
fn lost_of(socket: &OwnedFd, groups: &[Group], is_ours: bool) -> Option<(Kind, Vec<&'static str>)> {
    let number = |option| {
        let value = value(socket, libc::SOL_SOCKET, option)?;
        Some(libc::c_int::from_ne_bytes(*value.first_chunk()?))
    };
    let family = number(libc::SO_DOMAIN)?;
    let (class, protocol) = (number(libc::SO_TYPE)?, number(libc::SO_PROTOCOL)?);
    let (of_family, of_groups) = match family {
        libc::AF_INET => (OF_V4, OF_GROUPS_V4),
        libc::AF_INET6 => (OF_V6, OF_GROUPS_V6),
        _ => return None,
    };
    let (kind, of_kind, of_groups) = match (class, protocol) {
        (libc::SOCK_DGRAM, libc::IPPROTO_UDP) => (Kind::Udp, OF_UDP, of_groups),
        (libc::SOCK_STREAM, libc::IPPROTO_TCP) => (Kind::Tcp, OF_TCP, [].as_slice()),
        _ => return None,
    };
    let mut what = Vec::new();
    if kind == Kind::Udp {
        if has_datagrams(socket) {
            what.push("datagrams that were not read yet");
        }
        if groups.iter().any(|group| group.has(socket)) {
            what.push("its memberships in multicast groups");
        }
    }
    // SAFETY: takes numbers only.
    let new = unsafe { libc::socket(family, class | libc::SOCK_CLOEXEC, protocol) };
    if new < 0 {
        return Some((kind, what));
    }
    // SAFETY: the kernel has just made this descriptor for us.
    let new = unsafe { OwnedFd::from_raw_fd(new) };
    let options = [OF_ALL, of_family, of_groups, of_kind]
        .into_iter()
        .flatten();
    for option in options.filter(|option| is_ours || !option.of_namespace) {
        let value = |socket| value(socket, option.level, option.number);
        // What one of them cannot say is of no use to it.
        if let Some((has, would_have)) = value(socket).zip(value(&new))
            && has != would_have
        {
            what.push(option.name);
        }
    }
    Some((kind, what))
}

/// Whether somebody could read. (FIONREAD does not tell of an empty datagram.)
fn has_datagrams(socket: &OwnedFd) -> bool {
    let asked = PollFlags::POLLIN | PollFlags::from_bits_retain(libc::POLLRDHUP);
    let mut sockets = [PollFd::new(socket.as_fd(), asked)];
    // Its end is to be read, too, once it is shut down.
    poll(&mut sockets, PollTimeout::ZERO).is_ok()
        && sockets[0]
            .revents()
            .is_some_and(|found| found & asked == PollFlags::POLLIN)
}

/// An option's value, with zeros behind it.
fn value(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> Option<[u8; 16]> {
    let mut value = [0; 16];
    get(socket, level, option, &mut value).ok().map(|()| value)
}

fn get(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut [u8],
) -> io::Result<()> {
    let mut len = value.len() as libc::socklen_t;
    let place = value.as_mut_ptr().cast();
    // SAFETY: it writes `len` bytes at most, which are there.
    match unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, place, &raw mut len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A multicast group that some socket of a network namespace is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    interface: u32,
    address: IpAddr,
}

impl Group {
    /// More are not looked at.
    const LIMIT: usize = 4096;

    /// Those of a process's network namespace, as far as the kernel tells.
    fn all(pid: u32) -> Vec<Self> {
        let table = |name| kernel_text::read(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        let mut groups = Self::of_v4(&table("igmp"));
        groups.extend(table("igmp6").lines().filter_map(Self::of_v6));
        groups.truncate(Self::LIMIT);
        groups
    }

    /// A line of an interface, then those of its groups, further in (`igmp_mc_seq_show` in net/ipv4/igmp.c).
    fn of_v4(table: &str) -> Vec<Self> {
        let mut interface = 0;
        let mut groups = Vec::new();
        for line in table.lines().skip(1) {
            let word = line.split_whitespace().next().unwrap_or_default();
            match line.starts_with(char::is_whitespace) {
                false => interface = word.parse().unwrap_or_default(),
                true => groups.extend(u32::from_str_radix(word, 16).ok().map(|word| Self {
                    interface,
                    // A word in network order.
                    address: IpAddr::from(word.to_ne_bytes()),
                })),
            }
        }
        groups
    }

    /// A line: interface, its name, the group (`igmp6_mc_seq_show` in net/ipv6/mcast.c).
    fn of_v6(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let interface = words.next()?.parse().ok()?;
        let address = u128::from_str_radix(words.nth(1)?, 16).ok()?;
        Some(Self {
            interface,
            address: IpAddr::from(address.to_be_bytes()),
        })
    }

    /// Whether a socket is a member: of others the answer is EADDRNOTAVAIL.
    fn has(self, socket: &OwnedFd) -> bool {
        /// linux/in.h.
        const MCAST_MSFILTER: libc::c_int = 48;
        /// Of `struct group_filter` without any source, and where the group's address is in it.
        const BYTES: usize = 144;
        const ADDRESS: usize = 8;
        let mut filter = [0; BYTES];
        filter[..4].copy_from_slice(&self.interface.to_ne_bytes());
        let mut put = |at: usize, bytes: &[u8]| {
            let at = ADDRESS + at;
            filter[at..at + bytes.len()].copy_from_slice(bytes);
        };
        // sockaddr_in and sockaddr_in6 of linux/in.h, linux/in6.h.
        let level = match self.address {
            IpAddr::V4(address) => {
                put(0, &(libc::AF_INET as u16).to_ne_bytes());
                put(4, &address.octets());
                libc::IPPROTO_IP
            }
            IpAddr::V6(address) => {
                put(0, &(libc::AF_INET6 as u16).to_ne_bytes());
                put(8, &address.octets());
                libc::IPPROTO_IPV6
            }
        };
        get(socket, level, MCAST_MSFILTER, &mut filter).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn lost(socket: impl Into<OwnedFd>) -> Vec<&'static str> {
        let groups = Group::all(std::process::id());
        lost_of(&socket.into(), &groups, true)
            .expect("a socket of IP")
            .1
    }

    fn set(socket: &impl AsRawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) {
        let place = (&raw const value).cast();
        let len = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the value is there, and as long as that.
        let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, place, len) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    #[test]
    fn a_socket_that_has_nothing_of_its_own_loses_nothing() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            assert_eq!(lost(UdpSocket::bind(host).unwrap()), [""; 0]);
            assert_eq!(lost(TcpListener::bind(host).unwrap()), [""; 0]);
        }
    }

    #[test]
    fn datagrams_are_found_and_stay_where_they_are() {
        let (one, other) = (
            UdpSocket::bind("127.0.0.1:0").unwrap(),
            UdpSocket::bind("127.0.0.1:0").unwrap(),
        );
        let mut bytes = [0; 9];
        // An empty one is one.
        for sent in [&b"five!"[..], b""] {
            other.send_to(sent, one.local_addr().unwrap()).unwrap();
            for _ in 0..2 {
                let what = lost(one.try_clone().unwrap());
                assert_eq!(what, ["datagrams that were not read yet"]);
            }
            assert_eq!(one.recv(&mut bytes).unwrap(), sent.len());
            assert_eq!(lost(one.try_clone().unwrap()), [""; 0]);
        }
    }

    #[test]
    fn memberships_are_of_the_socket_that_has_them() {
        let member = UdpSocket::bind("0.0.0.0:0").unwrap();
        let group = Ipv4Addr::new(224, 1, 2, 3);
        member
            .join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
            .unwrap();
        let what = ["its memberships in multicast groups"];
        assert_eq!(lost(member.try_clone().unwrap()), what);
        let other = UdpSocket::bind("0.0.0.0:0").unwrap();
        assert_eq!(lost(other), [""; 0]);
        member
            .leave_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
            .unwrap();
        assert_eq!(lost(member), [""; 0]);
        let member = UdpSocket::bind("[::]:0").unwrap();
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x1234);
        member.join_multicast_v6(&group, 1).unwrap();
        assert_eq!(lost(member), what);
    }

    #[test]
    fn options_are_named_that_are_not_those_of_a_new_socket() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        set(&udp, libc::IPPROTO_IP, 11, 1);
        set(&udp, libc::IPPROTO_UDP, 104, 1);
        udp.set_multicast_ttl_v4(7).unwrap();
        // CRIU saves this one.
        udp.set_ttl(9).unwrap();
        assert_eq!(lost(udp), ["IP_RECVERR", "IP_MULTICAST_TTL", "UDP_GRO"]);
        let udp = UdpSocket::bind("[::1]:0").unwrap();
        set(&udp, libc::IPPROTO_IPV6, 67, 8);
        assert_eq!(lost(udp), ["IPV6_TCLASS"]);
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let server = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
            let (accepted, _) = server.accept().unwrap();
            assert_eq!((lost(client), lost(accepted)), (vec![], vec![]));
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        set(&tcp, libc::IPPROTO_TCP, 18, 5000);
        let number = tcp.as_raw_fd();
        let pid = std::process::id();
        let said = check(pid).unwrap().into_iter();
        let said: Vec<_> = said.filter(|lost| lost.numbers.contains(&number)).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        let end =
            format!("of process {pid} (TCP): a restored program does not get TCP_USER_TIMEOUT");
        assert!(said[0].to_string().ends_with(&end), "{}", said[0]);
    }

    #[test]
    fn tables_are_read_as_the_kernel_prints_them() {
        let table = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
                     1\tlo        :     1      V3\n\
                     \t\t\t\t010000E0     1 0:00000000\t\t0\n";
        let groups = Group::of_v4(table);
        let address = IpAddr::from(0xe000_0001_u32.to_be_bytes());
        assert_eq!(
            groups,
            [Group {
                interface: 1,
                address
            }]
        );
        let line = "2    eth0            ff020000000000000000000000000001     1 0000000C 0";
        let group = Group::of_v6(line).unwrap();
        assert_eq!(
            (group.interface, group.address.to_string()),
            (2, "ff02::1".into())
        );
        assert_eq!(Group::of_v6("2 eth0"), None);
    }
}
