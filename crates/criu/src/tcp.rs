//! TCP sockets: which are saved, and how CRIU is told.

use std::process::Command;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt};
use strobe_program::unsaved::TcpSaved;
use strobe_proto::TcpConnections;

use crate::locate::{Criu, CriuVersion};

/// CRIU of before asks every socket for options that newer kernels have for unix sockets alone, and gives up
/// where they say so. (4.1.1 does, 4.2.1 does not: measured with Linux 6.18.)
const ASKS_NO_MORE: CriuVersion = CriuVersion(4, 2, 0);

impl Criu {
    /// Whether TCP sockets can be saved on this kernel, connected or not.
    pub fn saves_tcp_sockets(&self) -> bool {
        self.version >= ASKS_NO_MORE || kernel_answers()
    }

    /// Whether it can keep packets away from connections that it saves: it needs nftables for that.
    pub fn holds_connections_up(&self) -> bool {
        let mut check = Command::new(&self.path);
        check.args(["check", "--feature", "network_lock_nftables"]);
        let output = check.env_remove("LD_PRELOAD").output();
        output.is_ok_and(|output| output.status.success())
    }

    /// What it saves where connections are to be handled like this.
    pub fn tcp_saved(&self, connections: TcpConnections) -> TcpSaved {
        match connections {
            _ if !self.saves_tcp_sockets() => TcpSaved::None,
            TcpConnections::Refused => TcpSaved::Unconnected,
            TcpConnections::Established | TcpConnections::Closed => TcpSaved::All,
        }
    }
}

fn kernel_answers() -> bool {
    let made = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    // Where no such socket can be made the program has none either.
    made.is_ok_and(|made| getsockopt(&made, sockopt::PassCred) != Err(Errno::EOPNOTSUPP))
}

/// CRIU's options, of a dump and of the restore from it.
pub(crate) fn options(connections: TcpConnections) -> &'static [&'static str] {
    match connections {
        TcpConnections::Refused => &[],
        TcpConnections::Established => &["--tcp-established", "--network-lock", "nftables"],
        TcpConnections::Closed => &["--tcp-close"],
    }
}
