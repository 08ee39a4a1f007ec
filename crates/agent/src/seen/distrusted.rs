//! Kernels that earlier runs have found to write outside of their footprints: read when their code
//! is loaded. The format is the command's, which writes it (`strobe_proto::distrust`).

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use strobe_proto::distrust::{MOST_BYTES, parse, relative_path};

/// The names for the code object of this fingerprint, from a cache folder; none where nothing is known, or cannot be read.
pub(crate) fn read(cache: &Path, code_object: &[u8; 16]) -> Option<HashSet<String>> {
    let path = cache.join(relative_path(code_object));
    let mut text = String::new();
    // A FIFO would be waited for.
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = file.open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.take(MOST_BYTES as u64 + 1)
        .read_to_string(&mut text)
        .ok()?;
    Some(parse(&text).into_iter().map(str::to_owned).collect())
}
