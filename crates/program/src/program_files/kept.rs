//! Names for what a file had become: they lie beside it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Follows a file's name where the bytes are that were cut off; a number comes behind.
pub(super) const TAIL: &str = ".strobe-tail-";
/// The same of a whole file that had taken the place of the one at the cut, had been changed, or was not there at all.
pub(super) const LATER: &str = ".strobe-later-";
/// The same of what is on its way back to the name that it had.
const MOVED: &str = ".strobe-moved-";
/// Bytes of a name, in most file systems.
const NAME_BYTES: usize = 255;

/// Makes something beside a file, with the lowest number behind `mark` that is free.
pub(super) fn beside<R>(
    path: &Path,
    mark: &str,
    make: impl Fn(&Path) -> io::Result<R>,
) -> io::Result<(R, PathBuf)> {
    let mut number = 1_u32;
    loop {
        let kept = marked(path, mark, number);
        match make(&kept) {
            Ok(made) => return Ok((made, kept)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Whether that is kept under this name which a file had become.
pub(super) fn is_kept(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| [TAIL, LATER, MOVED].iter().any(|mark| name.contains(mark)))
}

/// A name in `folder` that is free and not `taken`, for what is on its way to `origin`.
pub(super) fn between(folder: &Path, origin: &Path, taken: &BTreeSet<PathBuf>) -> PathBuf {
    let place = folder.join(origin.file_name().unwrap_or_default());
    let free = |path: &PathBuf| !taken.contains(path) && fs::symlink_metadata(path).is_err();
    let mut names = (1..).map(|number| marked(&place, MOVED, number));
    names.find(free).expect("there is no end of numbers")
}

/// What is beside `origin` on its way there.
pub(super) fn on_their_way(origin: &Path) -> impl Iterator<Item = PathBuf> {
    let names = (1..).map(|number| marked(origin, MOVED, number));
    names.take_while(|path| fs::symlink_metadata(path).is_ok())
}

/// A path with a mark behind it, as much of it as there is room for.
fn marked(path: &Path, mark: &str, number: u32) -> PathBuf {
    let mark = format!("{mark}{number}");
    let name = path.file_name().unwrap_or_default().as_bytes();
    let room = NAME_BYTES - mark.len();
    let mut name = OsString::from(OsStr::from_bytes(&name[..name.len().min(room)]));
    name.push(mark);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_makes_room_for_the_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(NAME_BYTES));
        let new = || beside(&path, LATER, |kept| fs::File::create_new(kept));
        let (_, first) = new().unwrap();
        let (_, second) = new().unwrap();
        assert!(first.exists() && second.exists() && first != second);
        assert!(is_kept(&first));
        assert_eq!(
            marked(Path::new("/a/b"), TAIL, 7),
            Path::new("/a/b.strobe-tail-7")
        );
    }
}
