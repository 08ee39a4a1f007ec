//! Ports that saved sockets have, from CRIU's images.
//!
//! CRIU binds a socket that listens, or has no other end, to the port that it had. It does so when the
//! program has half come back; that it can is to be known before.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};
use prost::Message;

use crate::images::FILES;

/// `file_entry` of images/fdinfo.proto, as far as it is needed here.
#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, optional, tag = "4")]
    inet: Option<Inet>,
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

/// A port that a restore could not bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbindable {
    kind: &'static str,
    address: SocketAddr,
    error: Errno,
}

impl fmt::Display for Unbindable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            address,
            error,
        } = self;
        match error {
            Errno::EADDRINUSE => {
                write!(f, "{kind} port {address} of the program is in use")?;
                match *kind {
                    "TCP" => f.write_str(
                        "; that of a connection which has ended a moment ago stays so for up to a minute",
                    ),
                    _ => Ok(()),
                }
            }
            Errno::EADDRNOTAVAIL => write!(
                f,
                "{kind} port {address} of the program is of an address that this machine has not"
            ),
            _ => write!(
                f,
                "{kind} port {address} of the program cannot be bound ({error})"
            ),
        }
    }
}

/// Those of the images in a folder that cannot be bound in this process's network namespace, by trying.
pub fn unbindable(images: &Path) -> io::Result<Vec<Unbindable>> {
    let sockets = sockets(images)?;
    Ok(sockets.iter().filter_map(Inet::unbindable).collect())
}

/// All internet sockets of the images.
pub(crate) fn sockets(images: &Path) -> io::Result<Vec<Inet>> {
    let mut found = Vec::new();
    for file in FILES.read(images)? {
        found.extend(File::decode(file.as_slice())?.inet);
    }
    Ok(found)
}

impl Inet {
    /// Tried as CRIU does (`open_inet_sk` and `inet_bind` of criu/sk-inet.c), which lets those of IPv6 have addresses that
    /// are not there yet. It lets all sockets share a port, too, so that those of one program can: what it has restored
    /// it would bind over. Here only those share one that did. Where CRIU looks at devices, it is not tried.
    fn unbindable(&self) -> Option<Unbindable> {
        let (kind, name) = match self.protocol as i32 {
            libc::IPPROTO_TCP => (SockType::Stream, "TCP"),
            libc::IPPROTO_UDP => (SockType::Datagram, "UDP"),
            _ => return None,
        };
        let is_of_device = self.options.as_ref().is_some_and(|o| !o.device.is_empty());
        if self.port == 0 || self.is_connection() || is_of_device || !self.interface.is_empty() {
            return None;
        }
        let address = SocketAddr::new(self.ip_address()?, u16::try_from(self.port).ok()?);
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
        Some(Unbindable {
            kind: name,
            address,
            error,
        })
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
        let folder = tempfile::tempdir().expect("a folder");
        let file = File { inet: Some(one) };
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
