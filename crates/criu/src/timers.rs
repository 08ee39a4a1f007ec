//! Timers in CRIU's images (`timerfd_create(2)`).
//!
//! The kernel starts a periodic timer again when somebody reads that it has expired, or asks. CRIU
//! saves one that has expired and was not read with no time left, which starts no timer: it would
//! never expire again. In its image it gets the whole period.

use std::io;
use std::path::Path;

use prost::Message;

use crate::images::FILES;

/// `fd_types` of CRIU's images/fdinfo.proto.
const TIMERFD: i32 = 17;

/// `file_entry` of images/fdinfo.proto, as far as a timer has anything in it.
#[derive(Clone, PartialEq, Message)]
struct FileEntry {
    #[prost(int32, required, tag = "1")]
    kind: i32,
    #[prost(uint32, required, tag = "2")]
    id: u32,
    #[prost(message, optional, tag = "12")]
    timer: Option<Timer>,
}

/// `timerfd_entry` of images/timerfd.proto.
#[derive(Clone, PartialEq, Message)]
struct Timer {
    #[prost(uint32, required, tag = "1")]
    id: u32,
    #[prost(uint32, required, tag = "2")]
    flags: u32,
    /// A message of its own.
    #[prost(bytes = "vec", required, tag = "3")]
    owner: Vec<u8>,
    #[prost(uint32, required, tag = "4")]
    clock: u32,
    #[prost(uint64, required, tag = "5")]
    ticks: u64,
    #[prost(uint32, required, tag = "6")]
    settime_flags: u32,
    #[prost(uint64, required, tag = "7")]
    value_s: u64,
    #[prost(uint64, required, tag = "8")]
    value_ns: u64,
    #[prost(uint64, required, tag = "9")]
    interval_s: u64,
    #[prost(uint64, required, tag = "10")]
    interval_ns: u64,
}

impl Timer {
    fn has_expired_unread(&self) -> bool {
        let is_zero = |s, ns| (s, ns) == (0, 0);
        self.ticks > 0
            && is_zero(self.value_s, self.value_ns)
            && !is_zero(self.interval_s, self.interval_ns)
    }
}

/// Starts the periodic timers again that had expired at the cut, in the images of a finished dump.
pub fn start_again(images: &Path) -> io::Result<()> {
    let mut files = FILES.read(images)?;
    let mut any = false;
    for file in &mut files {
        if let Some(changed) = changed(file) {
            *file = changed;
            any = true;
        }
    }
    if any {
        FILES.write(images, &files)
    } else {
        Ok(())
    }
}

fn changed(message: &[u8]) -> Option<Vec<u8>> {
    // Of other kinds of files not all fields are known here.
    let mut entry = FileEntry::decode(message)
        .ok()
        .filter(|entry| entry.kind == TIMERFD)?;
    let timer = entry
        .timer
        .as_mut()
        .filter(|timer| timer.has_expired_unread())?;
    (timer.value_s, timer.value_ns) = (timer.interval_s, timer.interval_ns);
    Some(entry.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: i32, ticks: u64, value_ns: u64, interval_ns: u64) -> Vec<u8> {
        let timer = Timer {
            owner: vec![8, 1],
            ticks,
            value_ns,
            interval_ns,
            ..Timer::default()
        };
        let message = FileEntry {
            kind,
            id: 7,
            timer: Some(timer),
        };
        message.encode_to_vec()
    }

    #[test]
    fn a_periodic_timer_that_has_expired_unread_runs_again_and_no_other_is_touched() {
        let others = [
            entry(TIMERFD, 0, 0, 3),
            entry(TIMERFD, 2, 1, 3),
            entry(TIMERFD, 1, 0, 0),
            entry(1, 2, 0, 3),
        ];
        assert!(others.iter().all(|other| changed(other).is_none()));
        let folder = tempfile::tempdir().unwrap();
        let expired = [entry(TIMERFD, 2, 0, 300), others[1].clone()];
        FILES.write(folder.path(), &expired).unwrap();
        start_again(folder.path()).unwrap();
        let running = [entry(TIMERFD, 2, 300, 300), others[1].clone()];
        assert_eq!(FILES.read(folder.path()).unwrap(), running);
    }
}
