//! Making a file what it was at the cut.
//!
//! What it has become is kept beside it, under a name with a number that is free: so the same
//! checkpoint is restored as often as wanted, and nothing is lost. All of it can be undone until CRIU
//! has restored the program.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};

use strobe_proto::ProgramFile;

use super::error::ProgramFileError;

/// Follows a file's name where the bytes are that were cut off; a number comes behind.
const TAIL: &str = ".strobe-tail-";
/// The same of a whole file that had taken the place of the one at the cut, had been changed, or was not there at all.
const LATER: &str = ".strobe-later-";

/// What one file needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    path: PathBuf,
    content: Option<Content>,
    /// Bytes at the cut.
    size: u64,
    mode: u32,
    owner: (u32, u32),
    /// The mode that it has now, if that is another.
    mode_now: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// It has grown by so many bytes.
    CutBack { grown: u64 },
    /// It is a folder, and gone.
    Folder,
    /// It was not there.
    Aside,
    /// It is not what it was, which comes from this file.
    Back { stored: PathBuf, there: There },
}

/// What has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    Another,
    /// It was written to, and stays the same file: it may have other names, and who remembers its inode (as SQLite
    /// does) would not know another.
    Itself,
}

impl Content {
    /// Whether the file that is there remains.
    pub(super) fn keeps_file(&self) -> bool {
        match self {
            Self::CutBack { .. } | Self::Folder => true,
            Self::Aside => false,
            Self::Back { there, .. } => *there == There::Itself,
        }
    }
}

/// A repair that was done.
#[derive(Debug)]
pub struct Repaired {
    repair: Repair,
    kept: Option<PathBuf>,
    /// Folders that were made, the outermost first.
    folders: Vec<PathBuf>,
}

impl Repair {
    pub(super) fn new(
        record: &ProgramFile,
        content: Option<Content>,
        mode_now: Option<u32>,
    ) -> Self {
        Self {
            path: record.path().to_owned(),
            content,
            size: record.size,
            mode: record.mode,
            owner: (record.owner, record.group),
            mode_now,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does it, or nothing.
    pub fn apply(self) -> Result<Repaired, ProgramFileError> {
        let failed = |error| ProgramFileError::Repair {
            path: self.path.clone(),
            error,
        };
        let (kept, folders) = match &self.content {
            Some(Content::CutBack { .. }) => (Some(self.cut_back().map_err(failed)?), Vec::new()),
            Some(Content::Back {
                stored,
                there: There::Itself,
            }) => (Some(self.rewrite(stored).map_err(failed)?), Vec::new()),
            Some(Content::Back { stored, there }) => {
                let replaces = *there == There::Another;
                self.put_back(stored, replaces).map_err(failed)?
            }
            Some(Content::Folder) => (None, self.make_folder().map_err(failed)?),
            Some(Content::Aside) => (Some(self.move_aside().map_err(failed)?), Vec::new()),
            None => (None, Vec::new()),
        };
        let repaired = Repaired {
            repair: self,
            kept,
            folders,
        };
        let Repair {
            path,
            mode,
            mode_now,
            ..
        } = &repaired.repair;
        if mode_now.is_some()
            && let Err(error) = set_mode(path, *mode)
        {
            repaired.undo()?;
            return Err(repaired.repair.failed(error));
        }
        Ok(repaired)
    }

    fn failed(&self, error: io::Error) -> ProgramFileError {
        ProgramFileError::Repair {
            path: self.path.clone(),
            error,
        }
    }

    /// Copies the tail aside, then cuts the file back; where the tail is.
    fn cut_back(&self) -> io::Result<PathBuf> {
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let (mut tail, kept) = new_beside(&self.path, TAIL)?;
        let mut cut = || {
            file.seek(SeekFrom::Start(self.size))?;
            io::copy(&mut file, &mut tail)?;
            make_like(&tail, &file)?;
            tail.sync_all()?;
            file.set_len(self.size)
        };
        remove_unless(cut(), &kept)?;
        Ok(kept)
    }

    /// Copies it aside, then writes what it was into it; where that copy is.
    fn rewrite(&self, stored: &Path) -> io::Result<PathBuf> {
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let mut stored = File::open(stored)?;
        let (mut later, kept) = new_beside(&self.path, LATER)?;
        let mut keep = || {
            io::copy(&mut file, &mut later)?;
            make_like(&later, &file)?;
            later.sync_all()
        };
        remove_unless(keep(), &kept)?;
        write_over(&mut file, &mut stored).map_err(|error| {
            let undone = File::open(&kept).and_then(|mut kept| write_over(&mut file, &mut kept));
            match undone.and_then(|()| fs::remove_file(&kept)) {
                Ok(()) => error,
                Err(_) => io::Error::other(format!("{error}; it is in {}", kept.display())),
            }
        })?;
        Ok(kept)
    }

    /// The folders that were made, the outermost first.
    fn make_folder(&self) -> io::Result<Vec<PathBuf>> {
        let missing = self.path.ancestors().take_while(|folder| !folder.exists());
        let mut folders: Vec<_> = missing.map(Path::to_owned).collect();
        folders.reverse();
        let make = || {
            fs::create_dir_all(&self.path)?;
            chown(&self.path, Some(self.owner.0), Some(self.owner.1))?;
            set_mode(&self.path, self.mode)
        };
        make().inspect_err(|_| remove_folders(&folders))?;
        Ok(folders)
    }

    /// The file appears whole. Where the one is that had its name, and which folders were made, the
    /// outermost first.
    fn put_back(
        &self,
        stored: &Path,
        replaces: bool,
    ) -> io::Result<(Option<PathBuf>, Vec<PathBuf>)> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let mut folders: Vec<_> = missing.map(Path::to_owned).collect();
        folders.reverse();
        let put = || {
            fs::create_dir_all(folder)?;
            let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
            io::copy(&mut File::open(stored)?, fresh.as_file_mut())?;
            chown(fresh.path(), Some(self.owner.0), Some(self.owner.1))?;
            set_mode(fresh.path(), self.mode)?;
            fresh.as_file().sync_all()?;
            if !replaces {
                fresh.persist_noclobber(&self.path).map_err(|e| e.error)?;
                return Ok(None);
            }
            let kept = self.move_aside()?;
            match fresh.persist_noclobber(&self.path) {
                Ok(_) => Ok(Some(kept)),
                Err(error) => fs::rename(kept, &self.path).and(Err(error.error)),
            }
        };
        match put() {
            Ok(kept) => Ok((kept, folders)),
            Err(error) => {
                remove_folders(&folders);
                Err(error)
            }
        }
    }

    fn move_aside(&self) -> io::Result<PathBuf> {
        // One of ours first, which is then replaced: nobody else's ever is.
        if fs::symlink_metadata(&self.path)?.is_dir() {
            let ((), kept) = beside(&self.path, LATER, |kept| fs::create_dir(kept))?;
            let moved = fs::rename(&self.path, &kept);
            return moved.map(|()| kept.clone()).inspect_err(|_| {
                let _ = fs::remove_dir(&kept);
            });
        }
        let (_, kept) = new_beside(&self.path, LATER)?;
        remove_unless(fs::rename(&self.path, &kept), &kept)?;
        Ok(kept)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.content {
            Some(Content::CutBack { grown }) => {
                write!(f, "{path} has grown by {grown} bytes, and will be cut back")
            }
            Some(
                Content::Folder
                | Content::Back {
                    there: There::Nothing,
                    ..
                },
            ) => write!(f, "{path} is missing, and will be put back"),
            Some(Content::Back { .. }) => {
                write!(f, "{path} has changed, and will be what it was")
            }
            Some(Content::Aside) => write!(f, "{path} was made since, and will be moved aside"),
            None => write!(f, "{path} has another mode, and will have the one it had"),
        }
    }
}

impl Repaired {
    /// The file that is now as it was.
    pub fn path(&self) -> &Path {
        &self.repair.path
    }

    /// Where that is kept which it was before.
    pub fn kept(&self) -> Option<&Path> {
        self.kept.as_deref()
    }

    /// Removes what is kept: a file, or a folder in which all was made since.
    pub fn drop_kept(&mut self) -> Result<(), ProgramFileError> {
        let removed = match self.kept.take() {
            Some(kept) if kept.is_dir() => fs::remove_dir_all(kept),
            Some(kept) => fs::remove_file(kept),
            None => Ok(()),
        };
        removed.map_err(|error| self.repair.failed(error))
    }

    /// Makes the file again what it was before, because the restore has failed.
    pub fn undo(&self) -> Result<(), ProgramFileError> {
        let Repair {
            path,
            content,
            mode_now,
            ..
        } = &self.repair;
        let undone = match (content, &self.kept) {
            (Some(Content::CutBack { .. }), Some(tail)) => self.append(tail),
            (Some(content @ Content::Back { .. }), Some(kept)) if content.keeps_file() => {
                self.write_again(kept)
            }
            (Some(Content::Back { .. } | Content::Aside), Some(kept)) => fs::rename(kept, path),
            (Some(Content::Back { .. }), None) => fs::remove_file(path),
            _ => Ok(()),
        };
        remove_folders(&self.folders);
        undone
            .and_then(|()| mode_now.map_or(Ok(()), |mode| set_mode(path, mode)))
            .map_err(|error| self.repair.failed(error))
    }

    fn write_again(&self, kept: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.repair.path)?;
        write_over(&mut file, &mut File::open(kept)?)?;
        fs::remove_file(kept)
    }

    fn append(&self, tail: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.repair.path)?;
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
                | Content::Back {
                    there: There::Nothing,
                    ..
                },
            ) => return write!(f, "{path}, which was gone, is there again"),
            Some(Content::Back { .. }) => write!(
                f,
                "{path} is again what it was at the checkpoint; what it was since"
            )?,
            Some(Content::Aside) => write!(f, "{path} was not there at the checkpoint; it")?,
            None => return write!(f, "{path} has its mode of the checkpoint again"),
        }
        match &self.kept {
            Some(kept) => write!(f, ": {}", kept.display()),
            None => write!(f, " was dropped"),
        }
    }
}

/// Gives a copy the owner and the mode of the file.
fn make_like(copy: &File, file: &File) -> io::Result<()> {
    let meta = file.metadata()?;
    fchown(copy, Some(meta.uid()), Some(meta.gid()))?;
    copy.set_permissions(meta.permissions())
}

/// Makes a file's contents those of another.
fn write_over(file: &mut File, from: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.set_len(0)?;
    io::copy(from, file)?;
    file.sync_all()
}

/// A new file beside another. Nobody else reads it before it has the file's mode.
fn new_beside(path: &Path, mark: &str) -> io::Result<(File, PathBuf)> {
    beside(path, mark, |kept| {
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600).open(kept)
    })
}

/// Makes something beside a file, with the lowest number behind `mark` that is free.
fn beside<R>(
    path: &Path,
    mark: &str,
    make: impl Fn(&Path) -> io::Result<R>,
) -> io::Result<(R, PathBuf)> {
    let mut number = 1_u32;
    loop {
        let mut name = OsString::from(path);
        name.push(format!("{mark}{number}"));
        let kept = PathBuf::from(name);
        match make(&kept) {
            Ok(made) => return Ok((made, kept)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Whether that is kept under this name which a file had become.
pub(super) fn is_kept(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| [TAIL, LATER].iter().any(|mark| name.contains(mark)))
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}

fn remove_unless<R>(done: io::Result<R>, path: &Path) -> io::Result<R> {
    if done.is_err() {
        // It would be empty, or double.
        let _ = fs::remove_file(path);
    }
    done
}

/// Those that are empty still.
fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}
