//! What of the process can be read: a program may pass anything as a string, of which the kernel says `EFAULT` where
//! nothing is mapped.

use std::ffi::{CStr, c_char};

const PAGE: usize = 4096;

/// Reads upwards, and asks the kernel once for each page.
pub(crate) struct Reader {
    /// The last that can be read.
    page: Option<usize>,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self { page: None }
    }

    /// Whether all of `len` bytes can be read.
    pub(crate) fn can_read(&mut self, start: usize, len: usize) -> bool {
        let Some(end) = start.checked_add(len) else {
            return false;
        };
        let mut at = start;
        while at < end {
            let page = at & !(PAGE - 1);
            if self.page != Some(page) {
                if !is_readable(page) {
                    return false;
                }
                self.page = Some(page);
            }
            at = page.saturating_add(PAGE);
        }
        true
    }

    /// The string there, if all of it can be read.
    ///
    /// # Safety
    /// Nobody changes or unmaps it while the result is in use.
    pub(crate) unsafe fn string<'a>(&mut self, start: *const c_char) -> Option<&'a CStr> {
        let mut at = start as usize;
        loop {
            if !self.can_read(at, 1) {
                return None;
            }
            let rest = PAGE - at % PAGE;
            // SAFETY: they are in a page that can be read, and the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, rest) };
            if bytes.contains(&0) {
                // SAFETY: all up to that zero can be read.
                return Some(unsafe { CStr::from_ptr(start) });
            }
            at = at.checked_add(rest)?;
        }
    }
}

/// Without a handler of signals, and without a descriptor: the kernel reads a set of signals, and then refuses what is to
/// be done with it.
fn is_readable(page: usize) -> bool {
    const NOTHING: i32 = -1;
    const SET_BYTES: usize = 8;
    let none = std::ptr::null_mut::<u64>();
    // In the first page the address of a set must be none that stands for no set.
    let set = page + SET_BYTES;
    // SAFETY: reads memory by the kernel, which says `EFAULT` of what it cannot read.
    let refused = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NOTHING, set, none, SET_BYTES) };
    // SAFETY: the calling thread's own.
    refused != 0 && unsafe { *libc::__errno_location() } == libc::EINVAL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages, and behind them none.
    fn pages() -> *mut u8 {
        let (read, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping, of which the last page is taken away.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), 3 * PAGE, read, private, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(
                libc::mprotect(start.add(2 * PAGE), PAGE, libc::PROT_NONE),
                0
            );
            start.cast()
        }
    }

    #[test]
    fn a_string_is_read_up_to_its_end_and_no_further() {
        let start = pages();
        // SAFETY: the last bytes of the second page, and strings or none in pages of this test.
        unsafe {
            start.write_bytes(b'a', 2 * PAGE);
            let string = |at: usize| {
                let found = Reader::new().string(start.add(at).cast());
                found.map(|found| found.to_bytes().len())
            };
            assert_eq!(string(0), None);
            assert_eq!(string(2 * PAGE), None);
            start.add(2 * PAGE - 1).write(0);
            assert_eq!(string(0), Some(2 * PAGE - 1));
            assert_eq!(string(2 * PAGE - 1), Some(0));
        }
    }

    #[test]
    fn nothing_is_where_nothing_is_mapped() {
        let start = pages() as usize;
        let can_read = |at, len| Reader::new().can_read(at, len);
        assert!(can_read(start, 2 * PAGE) && can_read(start + 2 * PAGE - 1, 1));
        assert!(!can_read(start, 2 * PAGE + 1) && !can_read(start + 2 * PAGE - 1, 2));
        for nowhere in [0, 8, 16, 1 << 63, usize::MAX - 7, usize::MAX] {
            assert!(!can_read(nowhere, 1), "{nowhere:x}");
        }
    }
}
