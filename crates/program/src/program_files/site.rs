//! Where a repair is done: a folder that is held, and a name in it. Nothing of it goes by a path twice, for who may write
//! in one of its folders can make it lead elsewhere at any time.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use strobe_proto::journal::FileNode;

use super::kept::beside;
use super::sealed::Sealed;
use crate::handle;
use crate::rights::Rights;

pub(super) struct Site<'a> {
    folder: File,
    path: &'a Path,
    /// Who finds, makes, renames and removes there.
    by: &'a Rights,
}

impl<'a> Site<'a> {
    /// Of a path without links, if that is where it leads.
    pub(super) fn open(path: &'a Path, by: &'a Rights) -> io::Result<Self> {
        let above = above(path)?;
        // A program may have its things where its user could not go to any more.
        let folder = by.run_anywhere(|| handle::folder(above)).flatten()?;
        match Sealed::elsewhere(above, &folder)? {
            None => Ok(Self { folder, path, by }),
            Some(elsewhere) => Err(io::Error::other(elsewhere)),
        }
    }

    /// The same, and which folders were made for it, the outermost first.
    pub(super) fn make(path: &'a Path, by: &'a Rights) -> io::Result<(Self, Vec<PathBuf>)> {
        match Self::open(path, by) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return Ok((opened?, Vec::new())),
        }
        let above = above(path)?;
        let (outer, mut made) = Site::make(above, by)?;
        let new = outer.act(|| fs::create_dir(outer.name()));
        made.extend(new.as_ref().ok().map(|()| above.to_owned()));
        match new.and_then(|()| Self::open(path, by)) {
            Ok(site) => Ok((site, made)),
            Err(error) => {
                remove_folders(&made, by);
                Err(error)
            }
        }
    }

    /// The name, as the kernel is to be given it.
    pub(super) fn name(&self) -> PathBuf {
        self.beside(self.path)
    }

    /// Another name in the folder.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        self.folder().join(path.file_name().unwrap_or_default())
    }

    pub(super) fn folder(&self) -> PathBuf {
        handle::link(&self.folder)
    }

    /// The path of a name that the kernel was given.
    pub(super) fn path(&self, name: &Path) -> PathBuf {
        let above = self.path.parent().unwrap_or(Path::new("/"));
        let inside = name.strip_prefix(self.folder());
        above.join(inside.unwrap_or(Path::new("")))
    }

    /// Does something there with the user's rights.
    pub(super) fn act<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        self.by.run(act).flatten()
    }

    /// Whether the user may make names there.
    pub(super) fn takes_names(&self) -> io::Result<()> {
        match self.by.has_say(&self.folder)? {
            true => Ok(()),
            false => {
                let folder = above(self.path)?.to_owned();
                Err(io::Error::other(Sealed::Another(folder)))
            }
        }
    }

    /// What has the name, whatever it is.
    pub(super) fn there(&self) -> io::Result<File> {
        let name = self.name();
        self.by.run_anywhere(|| handle::named(&name)).flatten()
    }

    /// The same of another name, if the user has a say in it: all may be done to what is held.
    pub(super) fn its(&self, name: &Path) -> io::Result<File> {
        let held = self.by.run_anywhere(|| handle::named(name)).flatten()?;
        match self.by.has_say(&held)? {
            true => Ok(held),
            false => Err(io::Error::other(Sealed::Another(self.path.to_owned()))),
        }
    }

    /// A new file beside it, and its name. Nobody else reads it before it has the file's mode.
    pub(super) fn new_beside(&self, mark: &str) -> io::Result<(File, PathBuf)> {
        self.act(|| {
            beside(&self.name(), mark, |kept| {
                let mut new = OpenOptions::new();
                let new = new.read(true).write(true).create_new(true);
                new.mode(0o600).open(kept)
            })
        })
    }

    pub(super) fn remove(&self, name: &Path) -> io::Result<()> {
        self.act(|| fs::remove_file(name))
    }

    /// Removes what would be empty, or double, where that is not done.
    pub(super) fn remove_unless<R>(&self, done: io::Result<R>, name: &Path) -> io::Result<R> {
        done.inspect_err(|_| {
            let _ = self.remove(name);
        })
    }

    pub(super) fn by(&self) -> &'a Rights {
        self.by
    }
}

/// What was done there.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Where that is which it was before.
    pub(super) kept: Option<PathBuf>,
    /// When what has stayed the same file was last written before.
    pub(super) modified: Option<SystemTime>,
    /// Folders that were made, the outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// What got another name: it may get a third.
    pub(super) renamed: Option<FileNode>,
    /// What had the name, where a copy of it is kept.
    pub(super) copied: Option<File>,
}

fn above(path: &Path) -> io::Result<&Path> {
    path.parent()
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Those that are empty still.
pub(super) fn remove_folders(folders: &[PathBuf], by: &Rights) {
    for folder in folders.iter().rev() {
        let site = Site::open(folder, by);
        let _ = site.and_then(|site| site.act(|| fs::remove_dir(site.name())));
    }
}
