//! What this process may use (getrlimit(2)), and CRIU after it.
//!
//! A shell's limits are for what is started in it, not for what a checkpoint takes or gives: CRIU puts the
//! program's whole memory together, and its descriptors beside the program's. The restored program has its own
//! limits, which are in the images.

use std::fs;
use std::io;

/// A limit that is in the way and cannot be raised.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this command may {what} (ulimit -{option}), which is too little: start it with ulimit -{option} {needed}, or \
     with CAP_SYS_RESOURCE, by which it raises that itself"
)]
pub struct LimitError {
    what: String,
    option: char,
    needed: &'static str,
}

/// One of them.
struct Limit {
    resource: libc::__rlimit_resource_t,
    /// Of a shell's ulimit.
    option: char,
    /// What it allows, before and behind its number.
    allows: (&'static str, &'static str),
    /// What it is raised to, and below which nothing comes of it.
    wanted: u64,
    enough: u64,
    /// What to set in a shell.
    remedy: &'static str,
}

const NONE: u64 = libc::RLIM_INFINITY;
/// Descriptors: of the program, and CRIU's above them.
const FILES: u64 = 1 << 16;
/// Most that the kernel lets a process have.
const FILES_MOST: &str = "/proc/sys/fs/nr_open";

/// Raises its own limits as far as that is needed.
pub fn raise() -> Result<(), LimitError> {
    let most = fs::read_to_string(FILES_MOST).ok();
    let most = most.and_then(|text| text.trim().parse().ok());
    let without = |resource, option, allows, enough| Limit {
        resource,
        option,
        allows,
        wanted: NONE,
        enough,
        remedy: "unlimited",
    };
    // A program that uses a GPU has addresses by the terabyte.
    let limits = [
        Limit {
            resource: libc::RLIMIT_NOFILE,
            option: 'n',
            allows: ("open", "files"),
            wanted: most.unwrap_or(FILES).min(FILES),
            enough: 256,
            remedy: "1024",
        },
        without(
            libc::RLIMIT_FSIZE,
            'f',
            ("write files of", "bytes"),
            1 << 40,
        ),
        without(libc::RLIMIT_AS, 'v', ("use", "bytes of addresses"), 1 << 44),
        without(libc::RLIMIT_DATA, 'd', ("use", "bytes of memory"), 1 << 40),
        without(libc::RLIMIT_CPU, 't', ("run for", "seconds"), 3600),
    ];
    limits.iter().try_for_each(Limit::raise)
}

impl Limit {
    fn raise(&self) -> Result<(), LimitError> {
        // One that cannot be asked for is none.
        let Ok(now) = get(self.resource) else {
            return Ok(());
        };
        if now.rlim_cur >= self.wanted {
            return Ok(());
        }
        let raised = libc::rlimit {
            rlim_cur: self.wanted,
            rlim_max: now.rlim_max.max(self.wanted),
        };
        if set(self.resource, raised).is_ok() {
            return Ok(());
        }
        // As far as anybody may.
        let most = libc::rlimit {
            rlim_cur: now.rlim_max,
            ..now
        };
        let reached = set(self.resource, most).map_or(now.rlim_cur, |()| now.rlim_max);
        if reached >= self.enough {
            return Ok(());
        }
        let (before, behind) = self.allows;
        Err(LimitError {
            what: format!("{before} {reached} {behind} at most"),
            option: self.option,
            needed: self.remedy,
        })
    }
}

fn get(resource: libc::__rlimit_resource_t) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes to a local.
    match unsafe { libc::getrlimit(resource, &mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(resource: libc::__rlimit_resource_t, limit: libc::rlimit) -> io::Result<()> {
    // SAFETY: reads a local.
    match unsafe { libc::setrlimit(resource, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
