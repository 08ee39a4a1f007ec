//! Whether the kernel keeps track of pages that are written.
//!
//! Without it `criu pre-dump` ends by a signal, in the middle of its work (`BUG at criu/mem.c`).

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;

const PAGE: u64 = 4096;
/// Of an entry of `/proc/PID/pagemap`: written since the bits were cleared, and after it was mapped.
const SOFT_DIRTY: u64 = 1 << 55;

/// As a page says that has just been written.
pub(crate) fn is_kept() -> io::Result<bool> {
    let page = black_box(vec![1u8; PAGE as usize]);
    let mut entry = [0; 8];
    let place = page.as_ptr() as u64 / PAGE * entry.len() as u64;
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, place)?;
    Ok(u64::from_le_bytes(entry) & SOFT_DIRTY != 0)
}
