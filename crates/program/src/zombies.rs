//! Children that have ended and have not been waited for.
//!
//! CRIU makes a process that ends in the same way. Of an exit code it keeps the lower seven bits, and a
//! core dump is not repeated: the parent would be told something else.

use std::fs;
use std::io;
use strobe_proto::kernel_text;

use nix::libc;

use crate::process;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ZombieError {
    #[error(
        "process {pid} has ended {how} and its parent {parent} has not waited for it; CRIU would bring \
         it back with another status: try again when it has"
    )]
    OtherStatus { pid: u32, parent: u32, how: String },
    #[error("the children of process {parent} cannot be looked at: {error}")]
    Look { parent: u32, error: io::Error },
}

/// Whether the status of every ended child of `parent`, which is frozen, can be brought back. (Of one
/// that runs, a thread may end meanwhile, and a child be waited for.)
pub fn check(parent: u32) -> Result<(), ZombieError> {
    let look = |error| ZombieError::Look { parent, error };
    for task in fs::read_dir(format!("/proc/{parent}/task")).map_err(look)? {
        let children = task.map_err(look)?.path().join("children");
        let children = still_there(kernel_text::read(children)).map_err(look)?;
        for pid in children.unwrap_or_default().split_ascii_whitespace() {
            let Ok(pid) = pid.parse() else { continue };
            let Some(stat) = still_there(process::stat(pid)).map_err(look)? else {
                continue;
            };
            if let Some(how) = stat.is_dead().then(|| lost(stat.status)).flatten() {
                return Err(ZombieError::OtherStatus { pid, parent, how });
            }
        }
    }
    Ok(())
}

/// None of what has gone since it was listed.
pub(crate) fn still_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What of a wait status CRIU would not bring back.
fn lost(status: i32) -> Option<String> {
    const CORE_DUMPED: i32 = 0x80;
    let (code, signal) = (status >> 8 & 0xff, status & 0x7f);
    if signal == 0 && code >= 0x80 {
        return Some(format!("with exit code {code}"));
    }
    (status & CORE_DUMPED != 0).then(|| format!("with a core dump by signal {signal}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn codes_that_lose_their_highest_bit_and_core_dumps_are_found() {
        assert_eq!(lost(127 << 8), None);
        assert_eq!(lost(9), None, "killed");
        assert_eq!(lost(137 << 8).as_deref(), Some("with exit code 137"));
        let core = lost(0x80 | 11);
        assert_eq!(core.as_deref(), Some("with a core dump by signal 11"));
    }

    #[test]
    fn an_ended_child_is_found_until_it_is_waited_for() {
        let script = |text: &str| {
            let mut child = Command::new("sh").args(["-c", text]).spawn().expect("sh");
            while !process::stat(child.id()).expect("a child").is_dead() {
                thread::sleep(Duration::from_millis(1));
            }
            let pid = child.id();
            (pid, move || child.wait().expect("a child"))
        };
        // Other tests have children too, which end as they like.
        let found = |wanted: u32| match check(std::process::id()) {
            Err(ZombieError::OtherStatus { pid, how, .. }) if pid == wanted => Some(how),
            _ => None,
        };
        let (pid, wait) = script("exit 200");
        assert_eq!(found(pid).as_deref(), Some("with exit code 200"));
        drop(wait);
        let (pid, _wait) = script("exit 100");
        assert_eq!(found(pid), None);
    }
}
