//! The GPU's clocks, all of them the host's boot time.

use crate::device::geometry::CLOCK_HZ;

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a live timespec; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// `CLOCK_BOOTTIME`, the driver's system clock.
pub(crate) fn system_ns() -> u64 {
    nanoseconds(libc::CLOCK_BOOTTIME)
}

/// `CLOCK_MONOTONIC_RAW`, the driver's CPU clock.
pub(crate) fn cpu_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC_RAW)
}

/// Ticks of the GPU's constant clock.
pub(crate) fn ticks() -> u64 {
    system_ns() / (1_000_000_000 / CLOCK_HZ)
}
