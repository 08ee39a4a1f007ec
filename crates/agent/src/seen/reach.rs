//! Memory of this process that may not be there for the CPU: device memory is mapped where a large BAR
//! allows it, and else not, or without access.
//!
//! `process_vm_readv` refuses the mappings of a device driver, which a plain load reads. So the kernel
//! is asked to read an argument at the address: `rt_sigprocmask` copies the new mask in before it sees
//! that it was not told what to do with it.

use crate::loading::guard;
use std::ffi::c_void;

/// Bytes that the kernel reads as a signal mask.
const MASK: u64 = 8;
const PAGE: u64 = 4096;

/// Whether the CPU can load from `address`, when memory is there that a restore has not filled yet. Opens no file.
pub(crate) fn is_mapped(address: u64) -> bool {
    if guard::covers(address) {
        return true;
    }
    const NO_SUCH_WAY: libc::c_int = -1;
    let none = std::ptr::null_mut::<c_void>();
    let at = address - address % MASK;
    if at == 0 {
        // No mask at all, which the kernel does not read.
        return false;
    }
    // SAFETY: reads 8 bytes at most, and changes nothing: there is no such way to change a mask.
    let answer = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_SUCH_WAY, at, none, MASK) };
    debug_assert_eq!(answer, -1);
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// Copies what is at `address` in this process, unless the CPU cannot load it. It may be unmapped
/// meanwhile.
pub(crate) fn read(address: u64, into: &mut [u8]) -> bool {
    let ours = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let theirs = libc::iovec {
        iov_base: std::ptr::without_provenance_mut::<c_void>(address as usize),
        iov_len: into.len(),
    };
    // SAFETY: writes to our buffer only; the kernel checks the source.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    read == into.len() as isize
}

/// The same where nothing is unmapped meanwhile: also of memory that a driver maps.
pub(crate) fn read_at_rest(address: u64, into: &mut [u8]) -> bool {
    let Some(last) = (into.len() as u64).checked_sub(1) else {
        return true;
    };
    if read(address, into) {
        return true;
    }
    let Some(last) = address.checked_add(last) else {
        return false;
    };
    let first_page = address - address % PAGE;
    if !(first_page..=last).step_by(PAGE as usize).all(is_mapped) {
        return false;
    }
    for (at, byte) in into.iter_mut().enumerate() {
        // SAFETY: all pages of the range can be loaded from, and stay as they are.
        *byte = unsafe { (address as *const u8).add(at).read_volatile() };
    }
    true
}

/// How tables are looked up at the cut.
pub(crate) const AT_REST: crate::seen::tables::Look = crate::seen::tables::Look {
    read: read_at_rest,
    is_mapped,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_without_access_is_told_from_memory_with_it() {
        let bytes = 2 * PAGE as usize;
        // SAFETY: a new mapping, nobody else's.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, flags, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            assert_eq!(
                libc::mprotect(page.add(bytes / 2), bytes / 2, libc::PROT_NONE),
                0
            );
            page as u64
        };
        assert!(is_mapped(page) && is_mapped(page + PAGE - 1));
        assert!(!is_mapped(page + PAGE) && !is_mapped(0) && !is_mapped(u64::MAX));
        let mut content = [1; 16];
        assert!(read(page + 3, &mut content) && content == [0; 16]);
        for read in [read, read_at_rest] {
            assert!(
                !read(page + PAGE - 8, &mut content),
                "half of it is not there"
            );
            assert!(!read(page + PAGE, &mut content));
        }
        // SAFETY: the mapping from above.
        unsafe { libc::munmap(page as *mut c_void, bytes) };
    }

    #[test]
    fn asking_changes_no_signal_mask() {
        // SAFETY: reads this thread's mask.
        let mask = || unsafe {
            let mut mask = 0u64;
            let none = std::ptr::null_mut::<c_void>();
            let how = libc::SIG_BLOCK;
            libc::syscall(libc::SYS_rt_sigprocmask, how, none, &raw mut mask, MASK);
            mask
        };
        let all = u64::MAX;
        let before = mask();
        assert!(is_mapped(&raw const all as u64));
        assert_eq!(mask(), before);
    }
}
