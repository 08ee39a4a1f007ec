//! When a process started, as the agent page holds it: with its number it names one process.
//!
//! `/proc/PID/stat` shows the time in the reader's time namespace, and CRIU restores a program into
//! one of its own. The shift is undone here, so that a restored agent and a controller outside agree
//! on each other. By rounding they may differ by a tick (10 ms), in which no process number is used
//! again.

use crate::kernel_text;
use std::io;

const NANOSECONDS_PER_TICK: i64 = 10_000_000;

/// Clock ticks from boot to the start of a process, outside all time namespaces.
///
/// # Errors
/// There is no such process.
pub fn start_time(pid: u32) -> io::Result<u64> {
    let stat = kernel_text::read(format!("/proc/{pid}/stat"))?;
    let offsets = kernel_text::read("/proc/self/timens_offsets").unwrap_or_default();
    shown(&stat)
        .map(|ticks| unshift(ticks, &offsets))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat")))
}

/// Whether two start times of processes of one number are those of one process.
pub fn is_same_start(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= 1
}

/// Field 22. The second is the name in parentheses, and may hold blanks and parentheses.
fn shown(stat: &str) -> Option<i64> {
    let fields = &stat[stat.rfind(')')? + 1..];
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn unshift(ticks: i64, offsets: &str) -> u64 {
    let shift = |line: &str| {
        let mut fields = line.strip_prefix("boottime")?.split_ascii_whitespace();
        let (seconds, nanoseconds) = (fields.next()?, fields.next()?);
        let seconds: i64 = seconds.parse().ok()?;
        seconds
            .checked_mul(1_000_000_000)?
            .checked_add(nanoseconds.parse().ok()?)
    };
    // Kernels without time namespaces have no such file.
    let shift = offsets.lines().find_map(shift).unwrap_or(0) / NANOSECONDS_PER_TICK;
    ticks.saturating_sub(shift).try_into().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) Z (b) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2";
        assert_eq!(shown(text), Some(98765));
        assert_eq!(shown("42 (a"), None);
    }

    #[test]
    fn both_sides_of_a_time_namespace_agree() {
        // Measured: 496456 ticks outside, 474289 in a namespace with these offsets.
        let offsets = "monotonic        -222 329773700\nboottime         -222 329766369\n";
        assert!(is_same_start(
            unshift(474_289, offsets),
            unshift(496_456, "")
        ));
        assert!(!is_same_start(unshift(474_289, ""), unshift(496_456, "")));
        assert_eq!(unshift(7, "boottime 0 0\n"), 7);
    }

    #[test]
    fn our_own_start_time_is_known() {
        assert!(start_time(std::process::id()).is_ok());
        assert!(start_time(u32::MAX >> 1).is_err());
    }
}
