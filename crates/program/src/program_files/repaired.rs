//! What was done to a file, and how it is undone or settled.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;
use strobe_proto::journal::FileNode;

use super::error::ProgramFileError;
use super::repair::{Content, Repair, There, rename_to_free, write_over};
use super::site::{Done, Site, remove_folders};
use crate::handle;

/// A repair that was done.
#[derive(Debug)]
pub struct Repaired {
    pub(super) repair: Repair,
    pub(super) done: Done,
    /// The inode of what is there now.
    pub(super) made: Option<u64>,
}

impl Repaired {
    /// The file that is now as it was.
    pub fn path(&self) -> &Path {
        &self.repair.path
    }

    /// Whether anybody is told of it.
    pub fn is_told(&self) -> bool {
        !matches!(self.repair.content, Some(Content::Moved { was: None, .. }))
    }

    /// Where that is kept which it was before.
    pub fn kept(&self) -> Option<&Path> {
        self.done.kept.as_deref()
    }

    pub(super) fn content(&self) -> Option<&Content> {
        self.repair.content.as_ref()
    }

    /// Folders that were made, the outermost first.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.done.folders
    }

    pub(super) fn renamed(&self) -> Option<FileNode> {
        self.done.renamed
    }

    /// What [`Repaired::drop_kept`] removes.
    pub(super) fn drops(&self) -> Option<&Path> {
        self.kept().filter(|_| !self.repair.spares)
    }

    /// Where it was done.
    pub(super) fn site(&self) -> io::Result<Site<'_>> {
        Site::open(&self.repair.path, &self.repair.by)
    }

    /// Removes what is kept: a file, or a folder in which all was made since. What may be somebody else's stays.
    pub fn drop_kept(&mut self) -> Result<(), ProgramFileError> {
        if self.drops().is_none() {
            return Ok(());
        }
        let kept = self.done.kept.take();
        let remove = |kept: &Path| {
            let site = self.site()?;
            let name = site.beside(kept);
            site.act(|| match fs::symlink_metadata(&name)?.is_dir() {
                true => fs::remove_dir_all(name),
                false => fs::remove_file(name),
            })
        };
        let removed = kept.as_deref().map_or(Ok(()), remove);
        removed.map_err(|error| self.repair.failed(error))
    }

    /// Makes the file again what it was before, because the restore has failed.
    pub fn undo(&self) -> Result<(), ProgramFileError> {
        let undone = self.site().and_then(|site| self.undo_at(&site));
        undone.map_err(|error| self.repair.failed(error))
    }

    fn undo_at(&self, site: &Site<'_>) -> io::Result<()> {
        let Repair {
            content,
            attributes_now,
            by,
            ..
        } = &self.repair;
        let kept = self.kept().map(|kept| site.beside(kept));
        match (content, kept) {
            (Some(Content::CutBack { .. }), Some(tail)) => self.append(site, &tail)?,
            (Some(content @ Content::Back { .. }), Some(kept)) if content.keeps_file() => {
                self.write_again(site, &kept)?;
            }
            (Some(Content::Aside), Some(kept)) => self.name_again(site, &kept)?,
            (Some(Content::Moved { from, .. }), _) => {
                let from = Site::open(from, by)?;
                site.act(|| rename_to_free(&site.name(), &from.name()))?;
            }
            (Some(Content::Back { .. } | Content::Name { .. }), Some(kept)) => {
                self.remove_made(site)?;
                self.name_again(site, &kept)?;
            }
            (
                Some(
                    Content::Back { .. }
                    | Content::Name { .. }
                    | Content::Link { .. }
                    | Content::Node { .. },
                ),
                None,
            ) => self.remove_made(site)?,
            _ => {}
        }
        remove_folders(self.folders(), by);
        if let Some(modified) = self.done.modified {
            self.file(site)?.set_modified(modified)?;
        }
        match attributes_now {
            Some(now) => now.give(&self.repair.held(site)?, by),
            None => Ok(()),
        }
    }

    /// What is kept gets its name again; where that is a copy, what it is a copy of, unless that has no name any more.
    fn name_again(&self, site: &Site<'_>, kept: &Path) -> io::Result<()> {
        let name = site.name();
        let link = |held: &File| {
            let held = handle::link(held);
            site.act(|| {
                let follow = AtFlags::AT_SYMLINK_FOLLOW;
                Ok(linkat(AT_FDCWD, &held, AT_FDCWD, &name, follow)?)
            })
        };
        match self.done.copied.as_ref().map(link) {
            Some(Ok(())) => site.remove(kept),
            _ => site.act(|| rename_to_free(kept, &name)),
        }
    }

    /// Removes what was put there, and nothing that somebody has put in its place.
    fn remove_made(&self, site: &Site<'_>) -> io::Result<()> {
        let name = site.name();
        match fs::symlink_metadata(&name) {
            Ok(meta) if Some(meta.ino()) == self.made => site.remove(&name),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write_again(&self, site: &Site<'_>, kept: &Path) -> io::Result<()> {
        let (mut file, mut before) = (self.file(site)?, open_kept(site, kept)?);
        write_over(&mut file, &mut before)?;
        site.remove(kept)
    }

    fn append(&self, site: &Site<'_>, tail: &Path) -> io::Result<()> {
        let mut file = self.file(site)?;
        file.seek(SeekFrom::End(0))?;
        if file.metadata()?.len() != self.repair.size {
            let tail = site.path(tail);
            return Err(io::Error::other(format!(
                "its tail is in {}",
                tail.display()
            )));
        }
        io::copy(&mut open_kept(site, tail)?, &mut file)?;
        file.sync_all()?;
        site.remove(tail)
    }

    fn file(&self, site: &Site<'_>) -> io::Result<File> {
        let held = self.repair.held(site)?;
        handle::open(&held, OpenOptions::new().read(true).write(true))
    }
}

fn open_kept(site: &Site<'_>, kept: &Path) -> io::Result<File> {
    handle::open(&site.its(kept)?, OpenOptions::new().read(true))
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.repair.path.display();
        match &self.repair.content {
            Some(Content::CutBack { grown }) => write!(
                f,
                "{path} was cut back to {} bytes; the {grown} bytes beyond",
                self.repair.size
            )?,
            Some(
                Content::Folder
                | Content::Link { .. }
                | Content::Node { .. }
                | Content::Name {
                    there: There::Nothing,
                    ..
                }
                | Content::Back {
                    there: There::Nothing,
                    ..
                },
            ) => {
                return write!(f, "{path}, which was gone, is there again");
            }
            Some(Content::Moved { from, was }) => {
                let was = was.as_ref().unwrap_or(from).display();
                return write!(f, "{was} has its name of the checkpoint again: {path}");
            }
            Some(Content::Back { .. } | Content::Name { .. }) => write!(
                f,
                "{path} is again what it was at the checkpoint; what it was since"
            )?,
            Some(Content::Aside) => write!(f, "{path} was not there at the checkpoint; it")?,
            None => return write!(f, "{path} has its owner and mode of the checkpoint again"),
        }
        match self.kept() {
            Some(kept) => write!(f, ": {}", kept.display()),
            None => write!(f, " was dropped"),
        }
    }
}
