//! What a file has beside contents and a name.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::fcntl::AtFlags;
use nix::libc;
use nix::unistd::fchownat;
use strobe_proto::ProgramFile;

/// What a file has beside contents and a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    /// User and group.
    pub(super) owner: (u32, u32),
}

impl Attributes {
    pub(super) fn of(meta: &fs::Metadata) -> Self {
        Self {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
        }
    }

    /// Those of the cut, where they are known.
    pub(super) fn recorded(record: &ProgramFile) -> Self {
        Self {
            mode: record.mode,
            owner: (record.owner, record.group),
        }
    }

    /// To what has the name, a link itself too.
    pub(super) fn give(self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let it = options
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_NOFOLLOW);
        let it = it.open(path)?;
        let meta = it.metadata()?;
        let (user, group) = self.owner;
        if (meta.uid(), meta.gid()) != self.owner {
            fchownat(
                &it,
                "",
                Some(user.into()),
                Some(group.into()),
                AtFlags::AT_EMPTY_PATH,
            )?;
        }
        if meta.is_symlink() {
            return Ok(());
        }
        // Behind the owner, with whom bits of it go.
        let it = format!("/proc/self/fd/{}", it.as_raw_fd());
        fs::set_permissions(it, Permissions::from_mode(self.mode & 0o7777))
    }
}
