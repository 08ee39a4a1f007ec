//! TCP connections: whether they can be saved, and how CRIU is told.

use std::process::Command;

use strobe_proto::TcpConnections;

use crate::locate::Criu;

impl Criu {
    /// Whether it can lock a program's network (keep packets away from connections that it saves): it needs
    /// nftables for that.
    pub fn locks_networks(&self) -> bool {
        let mut check = Command::new(&self.path);
        check.args(["check", "--feature", "network_lock_nftables"]);
        let output = check.env_remove("LD_PRELOAD").output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// CRIU's options, of a dump and of the restore from it.
pub(crate) fn options(connections: TcpConnections) -> &'static [&'static str] {
    match connections {
        TcpConnections::Refused => &[],
        TcpConnections::Established => &["--tcp-established", "--network-lock", "nftables"],
        TcpConnections::Closed => &["--tcp-close"],
    }
}
