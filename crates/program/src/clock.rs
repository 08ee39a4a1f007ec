//! The monotonic clock, and that of another process: in a time namespace, as a restored process is, it is another than ours
//! by a constant.

use std::io;

use nix::time::{ClockId, clock_gettime};
use strobe_proto::kernel_text;

/// CLOCK_MONOTONIC, nanoseconds.
pub fn now_ns() -> u64 {
    // It is a clock that every kernel has.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonotonicClock {
    /// Nanoseconds that it is ahead of ours.
    ahead: i128,
}

impl MonotonicClock {
    /// That of a process. A kernel without time namespaces has one for all.
    pub fn of(pid: u32) -> Self {
        let offset = |whose: &str| {
            let path = format!("/proc/{whose}/timens_offsets");
            kernel_text::read(path).and_then(|text| offset(&text))
        };
        let theirs = offset(&pid.to_string());
        let ahead = theirs.and_then(|theirs| Ok(theirs - offset("self")?));
        Self {
            ahead: ahead.unwrap_or(0),
        }
    }

    /// What our clock showed when that showed this.
    pub fn here(self, ns: u64) -> u64 {
        let here = i128::from(ns) - self.ahead;
        u64::try_from(here.max(0)).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds that the file says: a line for each clock, with seconds and nanoseconds.
fn offset(text: &str) -> io::Result<i128> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines
        .find_map(|mut words| (words.next() == Some("monotonic")).then_some(words))
        .ok_or(io::ErrorKind::InvalidData)?;
    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
    let (seconds, ns) = number().zip(number()).ok_or(io::ErrorKind::InvalidData)?;
    Ok(i128::from(seconds) * 1_000_000_000 + i128::from(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_and_a_process_here_has_our_clock() {
        let text = "monotonic         -12      500\nboottime            0         0\n";
        assert_eq!(offset(text).unwrap(), -11_999_999_500);
        assert!(offset("boottime 1 2").is_err() && offset("monotonic 1").is_err());
        let ours = MonotonicClock::of(std::process::id());
        assert_eq!(ours, MonotonicClock::default());
        let behind = MonotonicClock { ahead: -5 };
        assert_eq!((behind.here(10), behind.here(u64::MAX)), (15, u64::MAX));
        assert_eq!(MonotonicClock { ahead: 11 }.here(10), 0);
    }
}
