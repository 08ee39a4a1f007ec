//! Attributes of files and folders that keep everybody from changing them, root too (chattr(1)).

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::libc;

use super::repair::{Content, Repair, There};

/// A file or folder with one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error(
    "a restore cannot change {path}, which has the attribute {letter}, before `chattr -{letter} {path}`",
    path = .path.display()
)]
pub struct Sealed {
    path: PathBuf,
    letter: char,
}

impl Sealed {
    /// Asked by its path: to open a file breaks a lease, and shows to who watches it.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let text = CString::new(path.as_os_str().as_bytes()).ok()?;
        let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT;
        // SAFETY: zeros are a value of it.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        // SAFETY: reads a string, and fills a local in.
        let result =
            unsafe { libc::statx(libc::AT_FDCWD, text.as_ptr(), flags, 0, &raw mut found) };
        let has = |attribute: libc::c_int| {
            result == 0 && found.stx_attributes & attribute.cast_unsigned() as u64 != 0
        };
        let letter = match () {
            () if has(libc::STATX_ATTR_IMMUTABLE) => IMMUTABLE,
            () if has(libc::STATX_ATTR_APPEND) => 'a',
            () => return None,
        };
        let path = path.to_owned();
        Some(Self { path, letter })
    }

    /// The folder that a name is in, or that a folder for it has to be made in.
    fn folder(path: &Path, takes_names_away: bool) -> Option<Self> {
        let folder = path.ancestors().skip(1).find(|folder| folder.exists())?;
        let is_its_own = path.parent() == Some(folder);
        let refuses = |sealed: &Self| sealed.letter == IMMUTABLE || is_its_own && takes_names_away;
        Self::of(folder).filter(refuses)
    }
}

const IMMUTABLE: char = 'i';

impl Repair {
    /// What keeps everybody from doing it.
    pub fn sealed(&self) -> Option<Sealed> {
        let content = self.content.as_ref();
        let (from, of) = match content {
            Some(Content::Moved { from, .. }) => (Some(from), Some(from)),
            Some(Content::Name { of, .. }) => (None, Some(of)),
            _ => (None, None),
        };
        // What comes from another name goes through one, too.
        let takes_names_away = match content {
            Some(Content::Aside | Content::Moved { .. }) => true,
            Some(Content::Back { there, .. }) => *there != There::Itself,
            Some(Content::Name { there, .. }) => *there == There::Another,
            _ => false,
        };
        let folder = |path: &PathBuf| match content {
            // Its attributes change, and nothing beside it.
            None => None,
            Some(_) => Sealed::folder(path, takes_names_away),
        };
        let files = [Some(&self.path), of].into_iter().flatten();
        let folders = [Some(&self.path), from].into_iter().flatten();
        let mut sealed = files.filter_map(|path| Sealed::of(path));
        sealed.next().or_else(|| folders.filter_map(folder).next())
    }
}
