//! What was done to a file, and how it is undone or settled.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use strobe_proto::journal::FileNode;

use super::error::ProgramFileError;
use super::repair::{Content, Repair, There, open, remove_folders, rename_to_free, write_over};

/// A repair that was done.
#[derive(Debug)]
pub struct Repaired {
    pub(super) repair: Repair,
    pub(super) kept: Option<PathBuf>,
    /// Folders that were made, the outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// What got another name: it may get a third.
    pub(super) renamed: Option<FileNode>,
    /// The inode of what is there now.
    pub(super) made: Option<u64>,
    /// The inode that had the name, where a copy of it is kept.
    pub(super) copied: Option<u64>,
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
        self.kept.as_deref()
    }

    pub(super) fn content(&self) -> Option<&Content> {
        self.repair.content.as_ref()
    }

    /// Folders that were made, the outermost first.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub(super) fn renamed(&self) -> Option<FileNode> {
        self.renamed
    }

    /// What [`Repaired::drop_kept`] removes.
    pub(super) fn drops(&self) -> Option<&Path> {
        self.kept().filter(|_| !self.repair.spares)
    }

    /// Removes what is kept: a file, or a folder in which all was made since. What may be somebody else's stays.
    pub fn drop_kept(&mut self) -> Result<(), ProgramFileError> {
        if self.drops().is_none() {
            return Ok(());
        }
        let kept = self.kept.take();
        let removed = self.repair.by.run_anywhere(|| match kept {
            Some(kept) if !kept.is_symlink() && kept.is_dir() => fs::remove_dir_all(kept),
            Some(kept) => fs::remove_file(kept),
            None => Ok(()),
        });
        removed.flatten().map_err(|error| self.repair.failed(error))
    }

    /// Makes the file again what it was before, because the restore has failed.
    pub fn undo(&self) -> Result<(), ProgramFileError> {
        let undone = self.repair.by.run_anywhere(|| self.undo_here());
        undone.flatten().map_err(|error| self.repair.failed(error))
    }

    fn undo_here(&self) -> io::Result<()> {
        let Repair {
            path,
            content,
            attributes_now,
            ..
        } = &self.repair;
        match (content, &self.kept) {
            (Some(Content::CutBack { .. }), Some(tail)) => self.append(tail)?,
            (Some(content @ Content::Back { .. }), Some(kept)) if content.keeps_file() => {
                self.write_again(kept)?;
            }
            (Some(Content::Aside), Some(kept)) => match self.other_name() {
                Some(other) => {
                    fs::hard_link(other, path)?;
                    fs::remove_file(kept)?;
                }
                None => rename_to_free(kept, path)?,
            },
            (Some(Content::Moved { from, .. }), _) => rename_to_free(path, from)?,
            (Some(Content::Back { .. } | Content::Name { .. }), Some(kept)) => {
                self.remove_made()?;
                rename_to_free(kept, path)?;
            }
            (
                Some(
                    Content::Back { .. }
                    | Content::Name { .. }
                    | Content::Link { .. }
                    | Content::Node { .. },
                ),
                None,
            ) => self.remove_made()?,
            _ => {}
        }
        remove_folders(&self.folders);
        attributes_now.map_or(Ok(()), |now| now.give(path))
    }

    /// Another name, in the same folder, of what was copied aside.
    fn other_name(&self) -> Option<PathBuf> {
        let inode = self.copied?;
        let mut entries = fs::read_dir(self.path().parent()?).ok()?.flatten();
        let other = entries.find(|entry| entry.ino() == inode)?;
        Some(other.path())
    }

    /// Removes what was put there, and nothing that somebody has put in its place.
    fn remove_made(&self) -> io::Result<()> {
        let path = self.path();
        match fs::symlink_metadata(path) {
            Ok(meta) if Some(meta.ino()) == self.made => fs::remove_file(path),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write_again(&self, kept: &Path) -> io::Result<()> {
        let mut file = open(&self.repair.path)?;
        write_over(&mut file, &mut File::open(kept)?)?;
        fs::remove_file(kept)
    }

    fn append(&self, tail: &Path) -> io::Result<()> {
        let mut file = open(&self.repair.path)?;
        file.seek(SeekFrom::End(0))?;
        if file.metadata()?.len() != self.repair.size {
            let tail = tail.display();
            return Err(io::Error::other(format!("its tail is in {tail}")));
        }
        io::copy(&mut File::open(tail)?, &mut file)?;
        file.sync_all()?;
        fs::remove_file(tail)
    }
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
        match &self.kept {
            Some(kept) => write!(f, ": {}", kept.display()),
            None => write!(f, " was dropped"),
        }
    }
}
