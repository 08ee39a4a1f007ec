//! Masks of signals, as the kernel prints them.

/// The signals that a line of `/proc/PID/status` lists: signal 1 is bit 0.
pub(crate) fn mask(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
