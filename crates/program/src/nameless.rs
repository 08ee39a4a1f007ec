//! Open files that never had a name (`O_TMPFILE`). CRIU brings such a file back as one that was removed, and the kernel
//! gives no name to those any more (linkat(2), open(2)).

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use strobe_proto::kernel_text;

use nix::libc;

use crate::descriptor::links;

/// A file that a restored program can use, and not give a name to. Whether it was opened so that this is possible at all
/// (without `O_EXCL`) the kernel does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nameless {
    /// In this process's pid namespace.
    pub pid: u32,
    /// The descriptor.
    pub number: i32,
}

impl fmt::Display for Nameless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, number } = self;
        write!(
            f,
            "descriptor {number} of process {pid} is a file without a name (O_TMPFILE): it comes back, but a restored \
             program cannot give it one any more (linkat, unless it was opened with O_EXCL, with which nobody can)"
        )
    }
}

/// Those of a process. It may open and close others meanwhile.
pub fn of(pid: u32) -> io::Result<Vec<Nameless>> {
    let mut found = Vec::new();
    for (number, _) in links(pid)? {
        let has_no_name = fs::metadata(format!("/proc/{pid}/fd/{number}"))
            .is_ok_and(|meta| meta.is_file() && meta.nlink() == 0);
        if has_no_name
            && let Ok(info) = kernel_text::read(format!("/proc/{pid}/fdinfo/{number}"))
            && flags(&info).is_some_and(|flags| flags & libc::O_TMPFILE == libc::O_TMPFILE)
        {
            found.push(Nameless { pid, number });
        }
    }
    Ok(found)
}

fn flags(info: &str) -> Option<libc::c_int> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    libc::c_int::from_str_radix(flags.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    #[test]
    fn a_file_that_may_get_a_name_is_named_until_it_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut new = OpenOptions::new();
        let new = new.write(true).custom_flags(libc::O_TMPFILE);
        let file = new.open(folder.path()).unwrap();
        let removed = folder.path().join("removed");
        let other = File::create(&removed).unwrap();
        fs::remove_file(&removed).unwrap();
        let number = file.as_raw_fd();
        let own = |number| {
            of(std::process::id())
                .unwrap()
                .iter()
                .any(|one| one.number == number)
        };
        assert!(own(number) && !own(other.as_raw_fd()));
        let path = format!("/proc/self/fd/{number}");
        let name = folder.path().join("name");
        nix::unistd::linkat(
            nix::fcntl::AT_FDCWD,
            &*path,
            nix::fcntl::AT_FDCWD,
            &name,
            nix::fcntl::AtFlags::AT_SYMLINK_FOLLOW,
        )
        .unwrap();
        assert!(!own(number));
    }
}
