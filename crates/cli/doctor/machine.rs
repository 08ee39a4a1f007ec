//! The kernel, its devices, and what we may do with them.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use super::check::Check;
use crate::capabilities;

pub(super) fn checks() -> Vec<Check> {
    vec![
        kernel(),
        privileges(),
        gpu(),
        loop_devices(),
        dirty_tracking(),
    ]
}

fn kernel() -> Check {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|n| n.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= (5, 11) => Check::ok("kernel", release),
        (Some(_), Some(_)) => Check::bad(
            "kernel",
            format!("{release} is older than 5.11"),
            "use a kernel with the system calls CRIU 4 needs",
        ),
        _ => Check::bad("kernel", "its version cannot be read", "mount /proc"),
    }
}

fn privileges() -> Check {
    let missing = capabilities::missing(capabilities::CHECKPOINT | capabilities::RESTORE);
    if missing.is_empty() {
        Check::ok("privileges", "enough for CRIU")
    } else {
        let missing = missing.join(" and CAP_");
        Check::bad(
            "privileges",
            format!("CAP_{missing} missing"),
            "run strobe as root; in a container, with these capabilities (docker run --cap-add)",
        )
    }
}

fn gpu() -> Check {
    match OpenOptions::new().read(true).write(true).open("/dev/kfd") {
        Ok(_) => Check::ok("gpu", "/dev/kfd"),
        Err(error) => Check::bad(
            "gpu",
            format!("/dev/kfd: {error}"),
            "none is needed for strobe softgpu -- PROGRAM",
        )
        .optional(),
    }
}

fn loop_devices() -> Check {
    match OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/loop-control")
    {
        Ok(_) => Check::ok("loop devices", "/dev/loop-control"),
        Err(error) => Check::bad(
            "loop devices",
            format!("/dev/loop-control: {error}"),
            "the software GPU needs them: run as root, modprobe loop",
        )
        .optional(),
    }
}

fn dirty_tracking() -> Check {
    if is_marked_dirty().unwrap_or(false) {
        Check::ok("dirty tracking", "the kernel tracks dirty pages")
    } else {
        Check::bad(
            "dirty tracking",
            "not in this kernel",
            "CRIU's freeze takes longer without; nothing else depends on it",
        )
        .optional()
    }
}

/// Whether /proc/self/pagemap marks a page that was just written (bit 55, soft-dirty).
fn is_marked_dirty() -> std::io::Result<bool> {
    let mut entry = [1; 8];
    let page = entry.as_ptr().addr() as u64 / 4096;
    fs::File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, page * 8)?;
    Ok(u64::from_le_bytes(entry) >> 55 & 1 == 1)
}
