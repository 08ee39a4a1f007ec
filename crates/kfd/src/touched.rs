//! Device memory that the CPU has touched.
//!
//! Where device memory can be mapped into a process (a large BAR), the kernel fills in the page tables
//! page by page, when the CPU first touches one, and takes nothing away again: device memory is not
//! reclaimed. So a page that is not there has not been written by a store of that process, nor by a
//! system call for it.
//!
//! `/proc/PID/pagemap` says it (the kernel's Documentation/admin-guide/mm/pagemap.rst): a 64-bit word
//! for each page, whose top bit is set where the page is present.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page.
const PAGE: u64 = 4096;
const PRESENT: u64 = 1 << 63;
/// Pages looked at in one go: 32 MiB of addresses.
const PAGES: u64 = 8192;

/// The page tables of one process.
#[derive(Debug)]
pub struct PageMap(File);

impl PageMap {
    /// Of the process that asks.
    ///
    /// # Errors
    /// As opening a file. A process that is not dumpable may not look at its own.
    pub fn own() -> io::Result<Self> {
        Self::open(Path::new("/proc/self/pagemap"))
    }

    /// Of another process.
    ///
    /// # Errors
    /// As opening a file.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::open(Path::new(&format!("/proc/{pid}/pagemap")))
    }

    fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// The addresses of `memory`, as whole pages, whose pages are present; in order, none adjoins the
    /// next.
    ///
    /// # Errors
    /// As reading a file.
    pub fn present(&self, memory: Range<u64>) -> io::Result<Vec<Range<u64>>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut page = memory.start / PAGE;
        let end = memory.end.div_ceil(PAGE);
        let mut words = vec![0; (PAGES.min(end - page) * 8) as usize];
        while page < end {
            let count = PAGES.min(end - page);
            let words = &mut words[..(count * 8) as usize];
            self.0.read_exact_at(words, page * 8)?;
            let (words, _) = words.as_chunks::<8>();
            for (number, word) in (page..).zip(words) {
                if u64::from_ne_bytes(*word) & PRESENT == 0 {
                    continue;
                }
                let start = number * PAGE;
                match found.last_mut() {
                    Some(last) if last.end == start => last.end += PAGE,
                    _ => found.push(start..start + PAGE),
                }
            }
            page += count;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anonymous shared memory of this many pages, never unmapped.
    fn pages(count: u64) -> u64 {
        // SAFETY: a new mapping at a place of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (count * PAGE) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        // SAFETY: the mapping just made. Pages of their own, whatever the machine's settings.
        let advised =
            unsafe { libc::madvise(address, (count * PAGE) as usize, libc::MADV_NOHUGEPAGE) };
        assert_eq!(advised, 0);
        address as u64
    }

    #[test]
    fn pages_that_were_stored_to_are_present_and_no_others() {
        let start = pages(2 * PAGES + 7);
        for touched in [3, 4, PAGES - 1, PAGES, 2 * PAGES + 6] {
            // SAFETY: inside the mapping.
            unsafe { ((start + touched * PAGE + 5) as *mut u8).write_volatile(1) };
        }
        let end = start + (2 * PAGES + 7) * PAGE;
        let expected = [
            start + 3 * PAGE..start + 5 * PAGE,
            start + (PAGES - 1) * PAGE..start + (PAGES + 1) * PAGE,
            end - PAGE..end,
        ];
        for map in [PageMap::own(), PageMap::of(std::process::id())] {
            let map = map.expect("our own");
            assert_eq!(map.present(start..end).expect("it is read"), expected);
            let inside = start + 4 * PAGE + 1..start + 4 * PAGE + 2;
            let page = start + 4 * PAGE..start + 5 * PAGE;
            assert_eq!(map.present(inside).expect("it is read"), [page]);
            assert!(map.present(start..start).expect("nothing").is_empty());
        }
    }
}
