//! What a file has beside contents and a name.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use nix::fcntl::AtFlags;
use nix::libc;
use nix::unistd::fchownat;
use strobe_proto::ProgramFile;
use strobe_proto::journal::FileNode;

use crate::handle;
use crate::rights::Rights;

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

    /// To what is held or open, by the word of a user who has a say in it, with our own rights: it may be another's, who
    /// shares it, and stays that one's. Set-id bits it gets only where the user could give it those.
    pub(super) fn give(self, file: &File, by: &Rights) -> io::Result<()> {
        let meta = file.metadata()?;
        let (user, group) = self.owner;
        if by.user != 0 && ![by.user, user].contains(&meta.uid()) {
            return Err(io::Error::other("it is another user's"));
        }
        if (meta.uid(), meta.gid()) != self.owner {
            let (user, group) = (Some(user.into()), Some(group.into()));
            fchownat(file, "", user, group, AtFlags::AT_EMPTY_PATH)?;
        }
        if meta.is_symlink() {
            return Ok(());
        }
        // Behind the owner, with whom bits of it go.
        let is_its = by.user == 0 || by.user == user && by.groups.contains(&group);
        let set_id = if is_its {
            SET_ID
        } else {
            file.metadata()?.mode() & SET_ID
        };
        let mode = self.mode & (0o1777 | set_id);
        fs::set_permissions(handle::link(file), Permissions::from_mode(mode))
    }
}

/// As a journal tells of it.
pub(super) fn node(meta: &fs::Metadata) -> FileNode {
    FileNode {
        mode: meta.mode(),
        owner: meta.uid(),
        group: meta.gid(),
        inode: meta.ino(),
    }
}

const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
