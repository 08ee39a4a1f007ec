//! The journals of users who may not write that of their `strobe run`, each in a folder of that user's
//! ([`strobe_proto::journal::USERS`]). Anybody can make one: it counts only where it is the user's of that number, and is
//! opened, made and removed with that user's rights.

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use strobe_proto::journal::USERS;

use crate::rights::Rights;

/// Entries of `/var/tmp` that are looked at.
const ENTRIES: usize = 1 << 16;
/// Journals of users beside one.
const MOST: usize = 64;

/// The user whose journal this would be; `None` of that of a `strobe run`.
fn user(journal: &Path) -> Option<u32> {
    let folder = journal.parent()?.to_str()?;
    folder.strip_prefix(USERS)?.parse().ok()
}

/// Where journals beside one would be, and whose.
fn places(journal: &Path) -> impl Iterator<Item = (PathBuf, u32)> {
    let folder = Path::new(USERS)
        .parent()
        .filter(|_| journal.file_name().is_some());
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().flatten().take(ENTRIES);
    entries.filter_map(move |entry| {
        let found = entry.path().join(journal.file_name()?);
        let user = user(&found)?;
        (found != journal).then_some((found, user))
    })
}

/// Whether somebody seems to have one beside a journal.
pub fn are_beside(journal: &Path) -> bool {
    places(journal).any(|(found, _)| fs::symlink_metadata(found).is_ok())
}

/// Those beside a journal, and whose they are.
pub(super) fn beside(journal: &Path) -> Vec<(PathBuf, Rights)> {
    let all = places(journal).filter_map(|(found, user)| {
        let by = Rights::alone(user);
        let halves = [super::older(&found), found.clone()];
        let is_there =
            |half: &PathBuf| super::open(half, &by, OpenOptions::new().read(true)).is_ok();
        halves.iter().any(is_there).then_some((found, by))
    });
    all.take(MOST).collect()
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
