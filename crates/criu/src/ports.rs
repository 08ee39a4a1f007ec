//! Ports and abstract names that saved sockets have, from CRIU's images.
//!
//! CRIU binds a socket that listens, or has no other end, to the port or name that it had. It does so when the
//! program has half come back; that it can is to be known before.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, UnixAddr, bind, setsockopt, socket, sockopt,
};
use prost::Message;

use crate::images::FILES;

/// `file_entry` of images/fdinfo.proto, as far as it is needed here.
#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, optional, tag = "4")]
    inet: Option<Inet>,
    #[prost(message, optional, tag = "16")]
    unix: Option<Unix>,
}

/// `TCP_ESTABLISHED` of include/net/tcp_states.h of the kernel, for all that is connected.
const ESTABLISHED: u32 = 1;

/// `unix_sk_entry` of images/sk-unix.proto.
#[derive(Clone, PartialEq, Message)]
struct Unix {
    #[prost(uint32, tag = "3")]
    kind: u32,
    #[prost(uint32, tag = "4")]
    state: u32,
    #[prost(bytes = "vec", tag = "11")]
    name: Vec<u8>,
}

/// `inet_sk_entry` of images/sk-inet.proto.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Inet {
    #[prost(uint32, tag = "3")]
    family: u32,
    #[prost(uint32, tag = "5")]
    protocol: u32,
    #[prost(uint32, tag = "7")]
    port: u32,
    #[prost(uint32, tag = "8")]
    other_port: u32,
    /// Words in network order.
    #[prost(uint32, repeated, packed = "false", tag = "11")]
    address: Vec<u32>,
    #[prost(message, optional, tag = "14")]
    options: Option<Options>,
    #[prost(bool, tag = "15")]
    v6_only: bool,
    /// Of an address that counts on one interface only.
    #[prost(string, tag = "17")]
    interface: String,
}

/// `sk_opts_entry` of images/sk-opts.proto.
#[derive(Clone, PartialEq, Message)]
struct Options {
    #[prost(string, tag = "15")]
    device: String,
    #[prost(bool, tag = "17")]
    reuse_port: bool,
}

/// A port or name that a restore could not bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbindable {
    bound: Bound,
    error: Errno,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    Tcp(SocketAddr),
    Udp(SocketAddr),
    Abstract(Vec<u8>),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "TCP port {address} of the program"),
            Self::Udp(address) => write!(f, "UDP port {address} of the program"),
            Self::Abstract(name) => write!(
                f,
                "the abstract name @{} of a unix socket of the program",
                name.escape_ascii()
            ),
        }
    }
}

impl fmt::Display for Unbindable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, error } = self;
        match error {
            Errno::EADDRINUSE => {
                write!(f, "{bound} is in use")?;
                match bound {
                    Bound::Tcp(_) => f.write_str(
                        "; that of a connection which has ended a moment ago stays so for up to a minute",
                    ),
                    _ => Ok(()),
                }
            }
            Errno::EADDRNOTAVAIL => {
                write!(f, "{bound} is of an address that this machine has not")
            }
            _ => write!(f, "{bound} cannot be bound ({error})"),
        }
    }
}

/// Those of the images in a folder that cannot be bound in this process's network namespace, by trying.
pub fn unbindable(images: &Path) -> io::Result<Vec<Unbindable>> {
    let files = files(images)?;
    let ports = files.iter().filter_map(|file| file.inet.as_ref());
    // Some that are connected have the name of the one that they were accepted by.
    let names: BTreeSet<_> = files.iter().filter_map(File::bound_name).collect();
    Ok(ports
        .filter_map(Inet::unbindable)
        .chain(names.into_iter().filter_map(unbindable_name))
        .collect())
}

/// Whether a restore binds any.
pub fn has_bound(images: &Path) -> io::Result<bool> {
    let is_bound = |file: &File| {
        let port = file.inet.as_ref().and_then(Inet::bound);
        port.is_some() || file.bound_name().is_some()
    };
    Ok(files(images)?.iter().any(is_bound))
}

/// All internet sockets of the images.
pub(crate) fn sockets(images: &Path) -> io::Result<Vec<Inet>> {
    let files = files(images)?.into_iter();
    Ok(files.filter_map(|file| file.inet).collect())
}

fn files(images: &Path) -> io::Result<Vec<File>> {
    let messages = FILES.read(images)?;
    let files = messages
        .iter()
        .map(|message| File::decode(message.as_slice()));
    Ok(files.collect::<Result<_, _>>()?)
}

impl File {
    /// The abstract name, without its zero, that a unix socket has to itself, and its type: names are of one type each.
    fn bound_name(&self) -> Option<(u32, &[u8])> {
        let unix = self.unix.as_ref()?;
        let is_connected = unix.state == ESTABLISHED;
        let name = unix.name.strip_prefix(&[0]).filter(|_| !is_connected)?;
        Some((unix.kind, name))
    }
}

fn unbindable_name((kind, name): (u32, &[u8])) -> Option<Unbindable> {
    let kind = match kind as libc::c_int {
        libc::SOCK_STREAM => SockType::Stream,
        libc::SOCK_DGRAM => SockType::Datagram,
        libc::SOCK_SEQPACKET => SockType::SeqPacket,
        _ => return None,
    };
    let tried = || {
        let socket = socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC, None)?;
        bind(socket.as_raw_fd(), &UnixAddr::new_abstract(name)?)
    };
    Some(Unbindable {
        error: tried().err()?,
        bound: Bound::Abstract(name.to_vec()),
    })
}

impl Inet {
    /// Tried as CRIU does (`open_inet_sk` and `inet_bind` of criu/sk-inet.c), which lets those of IPv6 have addresses that
    /// are not there yet. It lets all sockets share a port, too, so that those of one program can: what it has restored
    /// it would bind over. Here only those share one that did. Where CRIU looks at devices, it is not tried.
    fn unbindable(&self) -> Option<Unbindable> {
        let bound = self.bound()?;
        let (kind, address) = match &bound {
            Bound::Tcp(address) => (SockType::Stream, *address),
            Bound::Udp(address) => (SockType::Datagram, *address),
            Bound::Abstract(_) => return None,
        };
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let tried = || {
            let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
            setsockopt(&socket, sockopt::ReuseAddr, &true)?;
            let shares = self.options.as_ref().is_some_and(|o| o.reuse_port);
            setsockopt(&socket, sockopt::ReusePort, &shares)?;
            if family == AddressFamily::Inet6 {
                setsockopt(&socket, sockopt::IpFreebind, &true)?;
            }
            if self.v6_only {
                setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
            }
            bind(socket.as_raw_fd(), &SockaddrStorage::from(address))
        };
        let error = tried().err()?;
        Some(Unbindable { bound, error })
    }

    fn bound(&self) -> Option<Bound> {
        let is_of_device = self.options.as_ref().is_some_and(|o| !o.device.is_empty());
        if self.port == 0 || self.is_connection() || is_of_device || !self.interface.is_empty() {
            return None;
        }
        let address = SocketAddr::new(self.ip_address()?, u16::try_from(self.port).ok()?);
        match self.protocol as i32 {
            libc::IPPROTO_TCP => Some(Bound::Tcp(address)),
            libc::IPPROTO_UDP => Some(Bound::Udp(address)),
            _ => None,
        }
    }

    /// Or was one (`tcp_connection` there): CRIU does not bind it like others.
    pub(crate) fn is_connection(&self) -> bool {
        self.protocol as i32 == libc::IPPROTO_TCP && self.other_port != 0
    }

    fn ip_address(&self) -> Option<IpAddr> {
        let word = |i: usize| self.address.get(i).map(|word| word.to_ne_bytes());
        match self.family as i32 {
            libc::AF_INET => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
            libc::AF_INET6 => {
                let words = [word(0)?, word(1)?, word(2)?, word(3)?];
                let octets: [u8; 16] = words.concat().try_into().ok()?;
                Some(IpAddr::V6(Ipv6Addr::from(octets)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::UnixListener;

    fn inet(protocol: i32, other_port: u32, address: SocketAddr) -> Inet {
        let (family, octets) = match address.ip() {
            IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
            IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
        };
        let words = octets
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(word.try_into().expect("four octets")));
        Inet {
            family: family as u32,
            protocol: protocol as u32,
            other_port,
            port: address.port().into(),
            address: words.collect(),
            ..Inet::default()
        }
    }

    fn said_of(one: Inet) -> Vec<String> {
        said_of_file(&File {
            inet: Some(one),
            unix: None,
        })
    }

    fn said_of_file(file: &File) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        FILES
            .write(folder.path(), &[file.encode_to_vec()])
            .expect("it is our folder");
        let found = unbindable(folder.path()).expect("images");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_port_is_free_or_not() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(host).expect("a port");
            let address = listener.local_addr().expect("bound");
            let asked = inet(libc::IPPROTO_TCP, 0, address);
            let said = said_of(asked.clone());
            let start = format!("TCP port {address} of the program is in use");
            assert!(said[0].starts_with(&start), "{said:?}");
            // A connection shares the port of what has accepted it.
            assert!(said_of(inet(libc::IPPROTO_TCP, 4711, address)).is_empty());
            drop(listener);
            assert!(said_of(asked).is_empty());
            let udp = UdpSocket::bind(host).expect("a port");
            let address = udp.local_addr().expect("bound");
            assert_eq!(said_of(inet(libc::IPPROTO_UDP, 0, address)).len(), 1);
        }
    }

    #[test]
    fn an_abstract_name_is_free_or_not() {
        const IS_NOT_CONNECTED: u32 = 7;
        const LISTENS: u32 = 10;
        let name = format!("strobe-test-{}\n", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("short");
        let listener = UnixListener::bind_addr(&address).expect("a name of ours");
        let asked = |kind: i32, state: u32| {
            said_of_file(&File {
                inet: None,
                unix: Some(Unix {
                    kind: kind as u32,
                    state,
                    name: [&[0], name.as_bytes()].concat(),
                }),
            })
        };
        let said = asked(libc::SOCK_STREAM, LISTENS);
        let expected = format!(
            "the abstract name @strobe-test-{}\\n of a unix socket of the program is in use",
            std::process::id()
        );
        assert_eq!(said, [expected]);
        assert!(asked(libc::SOCK_DGRAM, IS_NOT_CONNECTED).is_empty());
        // One that was accepted has the name of what has accepted it.
        assert!(asked(libc::SOCK_STREAM, ESTABLISHED).is_empty());
        drop(listener);
        assert!(asked(libc::SOCK_STREAM, LISTENS).is_empty());
    }

    #[test]
    fn what_listens_after_a_restore_shares_its_port_only_if_both_wanted_that() {
        for wanted in [false, true] {
            let listener = socket(
                AddressFamily::Inet,
                SockType::Stream,
                SockFlag::empty(),
                None,
            )
            .expect("a socket");
            // As CRIU does.
            setsockopt(&listener, sockopt::ReuseAddr, &true).expect("set");
            setsockopt(&listener, sockopt::ReusePort, &true).expect("set");
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            bind(listener.as_raw_fd(), &SockaddrStorage::from(any)).expect("a port");
            setsockopt(&listener, sockopt::ReusePort, &wanted).expect("set");
            let listener = TcpListener::from(listener);
            nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::MAXCONN)
                .expect("it listens");
            let asked = inet(libc::IPPROTO_TCP, 0, listener.local_addr().expect("bound"));
            for wants in [false, true] {
                let options = Options {
                    reuse_port: wants,
                    ..Options::default()
                };
                let asked = Inet {
                    options: Some(options),
                    ..asked.clone()
                };
                assert_eq!(said_of(asked).is_empty(), wanted && wants);
            }
        }
    }

    #[test]
    fn an_address_that_is_not_here_is_told_unless_it_is_of_a_device() {
        // For documentation (RFC 5737).
        let elsewhere = "192.0.2.1:4711".parse().expect("an address");
        let asked = inet(libc::IPPROTO_TCP, 0, elsewhere);
        let said = said_of(asked.clone());
        assert!(said[0].ends_with("that this machine has not"), "{said:?}");
        let options = Options {
            device: "eth0".into(),
            ..Options::default()
        };
        let of_device = Inet {
            options: Some(options),
            ..asked
        };
        assert!(said_of(of_device).is_empty());
        // For documentation, too (RFC 3849): CRIU binds it, and it may come.
        let elsewhere = "[2001:db8::1]:4711".parse().expect("an address");
        assert!(said_of(inet(libc::IPPROTO_TCP, 0, elsewhere)).is_empty());
    }
}
