//! What keeps a file from being made what it was: attributes of files and folders that keep everybody from changing them,
//! root too (chattr(1)); paths that lead elsewhere by now; and files that have become another's.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::handle;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum Sealed {
    #[error(
        "a restore cannot change {path}, which has the attribute {letter}, before `chattr -{letter} {path}`",
        path = .path.display()
    )]
    Attribute { path: PathBuf, letter: char },
    #[error(
        "{then} leads to {now} now: a restore finds what was there with `--map {then}={now}`",
        then = .then.display(),
        now = .now.display()
    )]
    Elsewhere { then: PathBuf, now: PathBuf },
    #[error("{} has become another user's, and a restore does not change it", .0.display())]
    Another(PathBuf),
}

impl Sealed {
    /// That a folder which is held is not the one that had the path.
    pub(super) fn elsewhere(then: &Path, folder: &File) -> io::Result<Option<Self>> {
        let (then, now) = (then.to_owned(), handle::path(folder)?);
        Ok((then != now).then_some(Self::Elsewhere { then, now }))
    }

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
        Some(Self::Attribute { path, letter })
    }

    /// The folder that a name is in, or that a folder for it has to be made in.
    pub(super) fn folder(path: &Path, takes_names_away: bool) -> Option<Self> {
        let folder = path.ancestors().skip(1).find(|folder| folder.exists())?;
        let is_its_own = path.parent() == Some(folder);
        let is_immutable = |sealed: &Self| {
            matches!(
                sealed,
                Self::Attribute {
                    letter: IMMUTABLE,
                    ..
                }
            )
        };
        let refuses = |sealed: &Self| is_immutable(sealed) || is_its_own && takes_names_away;
        Self::of(folder).filter(refuses)
    }
}

const IMMUTABLE: char = 'i';
