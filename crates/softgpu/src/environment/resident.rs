//! The engines' code, kept in memory.
//!
//! The device's engines are threads of the program, and their code is a file. Where the kernel takes back
//! pages of files that nobody has used for a while (some machines do so after half a minute, with memory
//! to spare), an engine waits for a disk, which no GPU does: seconds, where the disk is busy. What one
//! process has locked stays for all.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::NonNull;

use nix::libc::c_void;
use nix::sys::mman::{MapFlags, ProtFlags, mlock, mmap, munmap};

/// A file whose pages stay in memory for as long as this lives.
#[derive(Debug)]
pub(super) struct Resident {
    address: NonNull<c_void>,
    len: NonZeroUsize,
}

// SAFETY: an address of a mapping that nobody reads or writes.
unsafe impl Send for Resident {}
// SAFETY: the same.
unsafe impl Sync for Resident {}

impl Resident {
    /// Reads all of a file and keeps it.
    pub(super) fn keep(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).ok();
        let len = len
            .and_then(NonZeroUsize::new)
            .ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping, for reading, wherever there is room.
        let address = unsafe {
            mmap(
                None,
                len,
                ProtFlags::PROT_READ,
                MapFlags::MAP_SHARED,
                &file,
                0,
            )
        }?;
        let kept = Self { address, len };
        // SAFETY: the mapping made above.
        unsafe { mlock(address, len.get()) }?;
        Ok(kept)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: the mapping of `keep`; nobody refers to it. Fails for a wrong argument only.
        let _ = unsafe { munmap(self.address, self.len.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    /// How many pages of the file are in memory once the kernel was told that nobody needs them.
    fn left(file: &File, len: usize) -> usize {
        // SAFETY: a descriptor that is open, and numbers.
        let told =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(told, 0);
        let size = NonZeroUsize::new(len).expect("a length");
        // SAFETY: a new mapping, for reading.
        let map = unsafe {
            mmap(
                None,
                size,
                ProtFlags::PROT_READ,
                MapFlags::MAP_SHARED,
                file,
                0,
            )
        };
        let map = map.expect("it is mapped");
        let mut pages = vec![0u8; len / 4096];
        // SAFETY: the mapping made above, and a byte for each of its pages.
        let asked = unsafe { libc::mincore(map.as_ptr(), len, pages.as_mut_ptr()) };
        // SAFETY: the mapping made above, which nobody uses any more.
        unsafe { munmap(map, len) }.expect("it was mapped");
        assert_eq!(asked, 0);
        pages.iter().filter(|page| **page & 1 != 0).count()
    }

    #[test]
    fn what_is_kept_stays_when_the_kernel_may_take_it_back() {
        const PAGES: usize = 64;
        // Beside our own file: a file system that lives in memory only would keep everything.
        let folder = std::env::current_exe().expect("our path");
        let folder = folder.parent().expect("its folder");
        let mut file = tempfile::NamedTempFile::new_in(folder).expect("a file");
        file.write_all(&[7; PAGES * 4096]).expect("it is written");
        file.as_file().sync_all().expect("it is on the disk");
        let len = PAGES * 4096;
        let kept = Resident::keep(file.path()).expect("it is kept");
        assert_eq!(left(file.as_file(), len), PAGES);
        drop(kept);
        assert_eq!(left(file.as_file(), len), 0, "nobody keeps it any more");
    }
}
