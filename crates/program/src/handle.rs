//! What a path leads to, held (`O_PATH` of open(2)): whatever becomes of the path, a handle leads nowhere else. It is looked
//! at, and decided about, before it is opened: opening some devices is doing something.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;

/// What has a name, a link itself too.
pub(crate) fn named(path: &Path) -> io::Result<File> {
    hold(path, libc::O_NOFOLLOW)
}

/// What a path leads to.
pub(crate) fn behind(path: &Path) -> io::Result<File> {
    hold(path, 0)
}

/// The folder that a path leads to.
pub(crate) fn folder(path: &Path) -> io::Result<File> {
    hold(path, libc::O_DIRECTORY)
}

fn hold(path: &Path, flags: libc::c_int) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_PATH | flags);
    options.open(path)
}

/// A path that leads to what is held, for calls that take one; of a folder, also to what is in it.
pub(crate) fn link(held: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

/// The path that it has, without links.
pub(crate) fn path(held: &File) -> io::Result<PathBuf> {
    fs::read_link(link(held))
}

/// Opens a regular file that is held, with the rights that we have.
pub(crate) fn open(held: &File, options: &mut OpenOptions) -> io::Result<File> {
    if !held.metadata()?.is_file() {
        return Err(io::Error::other("it is no file any more"));
    }
    options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(link(held))
}
