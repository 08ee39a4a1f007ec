//! Waiting on a word of memory that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` is `value`, at most `limit`. May return early.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    // SAFETY: `word` and `limit` live for the call, which only reads them.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &raw const limit,
            std::ptr::null::<u32>(),
            0,
        );
    }
}

/// Wakes one thread that waits on `word`.
pub(crate) fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

/// Wakes all threads that wait on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX);
}

fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: waking does not access the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
}
