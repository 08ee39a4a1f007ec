//! How much memory this process has, as the kernel counts it.

use std::fs;

use anyhow::Context;

/// Bytes now.
pub(super) fn resident() -> anyhow::Result<u64> {
    field("VmRSS:")
}

/// Bytes at the most since [`forget_peak`].
pub(super) fn peak() -> anyhow::Result<u64> {
    field("VmHWM:")
}

/// The peak is what is there now.
pub(super) fn forget_peak() -> anyhow::Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("reset the peak of memory")
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
    fn a_peak_is_seen_and_forgotten() {
        forget_peak().unwrap();
        let before = peak().unwrap();
        let room = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(peak().unwrap() >= before + (room.len() as u64 >> 1));
        drop(room);
        forget_peak().unwrap();
        // Other tests of this process may hold some by now.
        assert!(resident().unwrap() > 0);
    }
}
