//! The journals of users who may not write that of their `strobe run`, each in a folder of that user's
//! ([`strobe_proto::journal::USERS`]). Anybody can make one: it counts only where folder and file are the user's of that
//! number, and nothing is written or removed that a user has put in its place.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use strobe_proto::journal::USERS;

/// Entries of `/var/tmp` that are looked at.
const ENTRIES: usize = 1 << 16;
/// Journals of users beside one.
const MOST: usize = 64;

/// The user whose journal this would be; `None` of that of a `strobe run`.
pub(crate) fn user(journal: &Path) -> Option<u32> {
    let folder = journal.parent()?.to_str()?;
    folder.strip_prefix(USERS)?.parse().ok()
}

/// Those beside a journal.
pub(super) fn beside(journal: &Path) -> Vec<PathBuf> {
    let folder = Path::new(USERS).parent();
    let (Some(folder), Some(_)) = (folder, journal.file_name()) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let all = entries.take(ENTRIES).filter_map(|entry| {
        let found = entry.path().join(journal.file_name()?);
        let halves = [super::older(&found), found.clone()];
        let is_one = user(&found).is_some() && found != journal;
        let is_there = halves.iter().any(|half| is_user_s(half));
        (is_one && is_there).then_some(found)
    });
    all.take(MOST).collect()
}

/// Whether a journal of a user is there, and is the user's.
fn is_user_s(journal: &Path) -> bool {
    super::open(journal, OpenOptions::new().read(true)).is_ok()
}

/// The folder of a user's journal, which stays the one that was looked at.
pub(super) struct Held {
    folder: File,
    user: u32,
}

/// Holds the folder of a user's journal. `None` of that of a `strobe run`.
pub(super) fn hold(journal: &Path) -> io::Result<Option<Held>> {
    let (Some(folder), Some(user)) = (journal.parent(), user(journal)) else {
        return Ok(None);
    };
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let mut options = OpenOptions::new();
    let folder = options.read(true).custom_flags(flags).open(folder)?;
    match is_folder_of(user, &folder.metadata()?) {
        true => Ok(Some(Held { folder, user })),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

impl Held {
    /// A path of what has the journal's name there.
    pub(super) fn place(&self, journal: &Path) -> PathBuf {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        Path::new(&folder).join(journal.file_name().unwrap_or_default())
    }

    /// Whether a file in it is the user's.
    pub(super) fn is_its(&self, file: &Metadata) -> bool {
        file.uid() == self.user
    }
}

fn is_folder_of(user: u32, meta: &Metadata) -> bool {
    meta.is_dir() && meta.uid() == user && meta.mode() & 0o022 == 0
}

/// Makes a journal again that is gone, with the rights of its owner.
pub(super) fn make(journal: &Path) -> io::Result<()> {
    let folder = journal.parent().unwrap_or(Path::new("/"));
    let mut new = DirBuilder::new();
    new.recursive(true).mode(0o700).create(folder)?;
    let mut new = OpenOptions::new();
    new.write(true).create_new(true).mode(0o600).open(journal)?;
    Ok(())
}

/// That a user can keep journals, or the folder in which the user cannot. `root` is the program's.
pub(crate) fn can_be_kept(user: u32, root: &Path) -> Result<(), PathBuf> {
    let folder = PathBuf::from(format!("{USERS}{user}"));
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let can = match fs::symlink_metadata(inside(&folder)) {
        Ok(meta) => is_folder_of(user, &meta),
        Err(_) => {
            let above = folder.parent().map(inside);
            let meta = above.and_then(|above| fs::metadata(above).ok());
            meta.is_some_and(|meta| meta.is_dir() && meta.mode() & 0o002 != 0)
        }
    };
    if can { Ok(()) } else { Err(folder) }
}
