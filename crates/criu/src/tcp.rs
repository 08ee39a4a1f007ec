//! TCP connections: whether they can be saved, and how CRIU is told.

use std::io;
use std::path::Path;
use std::process::Command;

use strobe_proto::TcpConnections;

use crate::locate::Criu;
use crate::ports::{self, Inet};
use crate::run::preload;

impl Criu {
    /// Whether it can lock a program's network (keep packets away from connections that it saves): it needs
    /// nftables for that.
    pub fn locks_networks(&self) -> bool {
        let mut check = Command::new(&self.path);
        check.args(["check", "--feature", "network_lock_nftables"]);
        preload(&mut check, []);
        check.output().is_ok_and(|output| output.status.success())
    }
}

/// Whether images hold a connection, that may be over. They cannot be restored without an option that says what
/// becomes of it, even where the dump has passed it.
pub fn has_connection(images: &Path) -> io::Result<bool> {
    Ok(ports::sockets(images)?.iter().any(Inet::is_connection))
}

/// CRIU's options, of a dump and of the restore from it.
pub fn options(connections: TcpConnections) -> &'static [&'static str] {
    match connections {
        TcpConnections::Refused => &[],
        TcpConnections::Established => &["--tcp-established", "--network-lock", "nftables"],
        TcpConnections::Closed => &["--tcp-close"],
    }
}
