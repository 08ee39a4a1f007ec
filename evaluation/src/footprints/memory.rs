//! How much memory this process has, as the kernel counts it.

use std::fs;

use anyhow::Context;

/// Bytes at the most so far.
pub(super) fn peak() -> anyhow::Result<u64> {
    field("VmHWM:")
}

fn field(name: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: u64 = kib.context("a line of /proc/self/status")?.parse()?;
    Ok(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_stays() {
        let before = peak().unwrap();
        let room = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(peak().unwrap() >= before.max(room.len() as u64));
        drop(room);
        assert!(peak().unwrap() >= 64 << 20);
    }
}
