//! What this command may do: root often lacks some capabilities in a container.

use strobe_proto::kernel_text;

use strobe_proto::TcpConnections;

/// In the order of their numbers (include/uapi/linux/capability.h).
const NAMES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

const SETGID: u64 = 1 << 6;
const SETUID: u64 = 1 << 7;
const SETPCAP: u64 = 1 << 8;
const NET_ADMIN: u64 = 1 << 12;
const SYS_CHROOT: u64 = 1 << 18;
const SYS_PTRACE: u64 = 1 << 19;
const SYS_ADMIN: u64 = 1 << 21;
const SYS_TIME: u64 = 1 << 25;

/// CRIU seizes the program, and enters its namespaces.
pub(crate) const CHECKPOINT: u64 = SYS_PTRACE | SYS_ADMIN | SYS_CHROOT;
/// Of a checkpoint of a program whose connections are handled like this: to save one CRIU stops it.
pub(crate) fn of_checkpoint(connections: TcpConnections) -> u64 {
    match connections {
        TcpConnections::Established => CHECKPOINT | NET_ADMIN,
        TcpConnections::Refused | TcpConnections::Closed => CHECKPOINT,
    }
}

/// Of a checkpoint of a program that is another user's in part.
pub(crate) const USERS: u64 = SETUID | SETGID;

/// CRIU makes namespaces, sets their clocks and roots, locks the network, and becomes the user of the program
/// with what that may do. Beside these it needs all that the program has: it waits for ever for a process
/// that cannot take its capabilities, or give them up.
pub(crate) const RESTORE: u64 = CHECKPOINT | NET_ADMIN | USERS | SETPCAP | SYS_TIME;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CapabilityError {
    #[error("CRIU needs root; run this command as root")]
    NotRoot,
    #[error(
        "CRIU needs CAP_{}, which this command lacks: run it as root with all capabilities (docker run \
         --cap-add {})",
        .0.join(" and CAP_"),
        .0.join(" --cap-add ")
    )]
    Lacking(Vec<String>),
}

/// Checks that this command has all of them.
pub(crate) fn check(needed: u64) -> Result<(), CapabilityError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(CapabilityError::NotRoot);
    }
    let missing = missing(needed);
    match missing.is_empty() {
        true => Ok(()),
        false => Err(CapabilityError::Lacking(missing)),
    }
}

/// The names, without CAP_, of those that this command has not.
pub(crate) fn missing(needed: u64) -> Vec<String> {
    names(needed & !effective())
}

fn names(bits: u64) -> Vec<String> {
    let name = |number: u32| match NAMES.get(number as usize) {
        Some(name) => (*name).to_owned(),
        None => number.to_string(),
    };
    let is_in = |number: &u32| bits >> number & 1 == 1;
    (0..u64::BITS).filter(is_in).map(name).collect()
}

fn effective() -> u64 {
    let status = kernel_text::read("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_has_the_number_that_the_kernel_gives_it() {
        assert_eq!(names(CHECKPOINT), ["SYS_CHROOT", "SYS_PTRACE", "SYS_ADMIN"]);
        assert_eq!(
            names(RESTORE & !CHECKPOINT),
            ["SETGID", "SETUID", "SETPCAP", "NET_ADMIN", "SYS_TIME"]
        );
        assert_eq!(
            names(1 << 40 | 1 << 24 | 1),
            ["CHOWN", "SYS_RESOURCE", "CHECKPOINT_RESTORE"]
        );
        assert_eq!(names(1 << 41), ["41"]);
    }
}
