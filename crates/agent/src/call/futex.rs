//! Waiting for a word of our own memory to change.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Waits until `word` differs from `value`, a wake, or the time is over.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: a valid word and time-out; the kernel only reads them.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            &timeout,
        )
    };
}

/// Wakes everyone who waits on `word`.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: a valid word.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        )
    };
}
