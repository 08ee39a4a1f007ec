//! Making a file what it was at the cut.
//!
//! What it has become is kept beside it, under a name with a number that is free: so the same
//! checkpoint is restored as often as wanted, and nothing is lost. All of it can be undone until CRIU
//! has restored the program.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::libc;
use nix::sys::stat::{Mode, SFlag, UtimensatFlags, mknod, utimensat};
use nix::sys::time::{TimeSpec, TimeValLike};
use strobe_proto::ProgramFile;
use strobe_proto::journal::FileNode;

use super::attributes::Attributes;
use super::error::ProgramFileError;
use super::kept::{LATER, TAIL, beside, new_beside};
use super::repaired::Repaired;
use crate::rights::{Rights, foreign_link};

/// What one file needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub(super) path: PathBuf,
    pub(super) content: Option<Content>,
    /// Bytes at the cut.
    pub(super) size: u64,
    pub(super) attributes: Attributes,
    /// What it has now, if those are others.
    pub(super) attributes_now: Option<Attributes>,
    /// Time of modification at the cut, in nanoseconds; 0 is not known.
    pub(super) modified_ns: i64,
    /// What has its name may be somebody else's: that is never dropped.
    pub(super) spares: bool,
    /// With whose rights it is done.
    pub(super) by: Rights,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// It has grown by so many bytes.
    CutBack { grown: u64 },
    /// It is a folder, and gone.
    Folder,
    /// It was not there.
    Aside,
    /// It comes from a name in between, and `was` another; or that is where this leads to.
    Moved { from: PathBuf, was: Option<PathBuf> },
    /// It is a symbolic link to this path, and gone.
    Link { target: PathBuf },
    /// It is a FIFO, or the name of a socket that is closed (`S_IFIFO`, `S_IFSOCK`), and gone.
    Node { kind: u32 },
    /// It is the same file as this one.
    Name { of: PathBuf, there: There },
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
            Self::CutBack { .. } | Self::Folder | Self::Moved { .. } => true,
            Self::Aside | Self::Link { .. } | Self::Node { .. } | Self::Name { .. } => false,
            Self::Back { there, .. } => *there == There::Itself,
        }
    }
}

impl Repair {
    pub(super) fn new(
        record: &ProgramFile,
        content: Option<Content>,
        attributes_now: Option<Attributes>,
    ) -> Self {
        Self {
            path: record.path().to_owned(),
            content,
            size: record.size,
            attributes: Attributes::recorded(record),
            attributes_now,
            modified_ns: record.modified_ns,
            spares: false,
            by: Rights::of_file(record),
        }
    }

    /// The same, where what has the name may be somebody else's.
    pub(super) fn sparing(self) -> Self {
        Self {
            spares: true,
            ..self
        }
    }

    pub(super) fn is_by(&mut self, by: &Rights) {
        self.by.clone_from(by);
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it writes on the file system of the file, about; nothing for those of a sparse one.
    pub fn bytes(&self) -> u64 {
        let of = |path: &Path| match fs::metadata(path) {
            Ok(meta) => meta.len().min(meta.blocks().saturating_mul(512)),
            Err(_) => 0,
        };
        match &self.content {
            Some(Content::CutBack { grown }) => of(&self.path).min(*grown),
            // It is kept, and what is written over it takes the place that it had.
            Some(Content::Back {
                stored,
                there: There::Itself,
            }) => of(&self.path).max(of(stored)),
            Some(Content::Back { stored, .. }) => of(stored),
            _ => 0,
        }
    }

    /// Does it, or nothing.
    pub fn apply(self) -> Result<Repaired, ProgramFileError> {
        let (by, path) = (self.by.clone(), self.path.clone());
        let failed = |error| ProgramFileError::Repair { path, error };
        let stored = match &self.content {
            Some(Content::Back { stored, .. }) => Some(File::open(stored)),
            _ => None,
        };
        let done = stored.transpose();
        let done = done.and_then(|stored| by.run_anywhere(|| self.apply_with(stored)));
        done.map_err(failed)?
    }

    /// With the rights that we have; `stored` is what is to be put back.
    fn apply_with(self, stored: Option<File>) -> Result<Repaired, ProgramFileError> {
        let failed = |error| ProgramFileError::Repair {
            path: self.path.clone(),
            error,
        };
        if self.by.user == 0
            && let Some(link) = foreign_link(&self.path)
        {
            let text = format!("{} is a link that another user has made", link.display());
            return Err(failed(io::Error::other(text)));
        }
        let before = fs::symlink_metadata(&self.path).ok();
        let (kept, folders) = match (&self.content, stored) {
            (Some(Content::CutBack { .. }), _) => {
                (Some(self.cut_back().map_err(failed)?), Vec::new())
            }
            (Some(Content::Back { there, .. }), Some(stored)) => match there {
                There::Itself => (Some(self.rewrite(stored).map_err(failed)?), Vec::new()),
                There::Another | There::Nothing => {
                    let replaces = *there == There::Another;
                    self.put_back(stored, replaces).map_err(failed)?
                }
            },
            (Some(Content::Folder), _) => (None, self.make_folder().map_err(failed)?),
            (Some(Content::Aside), _) => (Some(self.move_aside().map_err(failed)?), Vec::new()),
            (Some(Content::Moved { from, .. }), _) => (None, self.take_back(from).map_err(failed)?),
            (Some(Content::Link { target }), _) => {
                let make = |path: &Path| symlink(target, path);
                (None, self.make_in_folder(make).map_err(failed)?)
            }
            (Some(Content::Node { kind }), _) => {
                let kind = SFlag::from_bits_truncate(*kind);
                let make = |path: &Path| Ok(mknod(path, kind, Mode::from_bits_truncate(0o600), 0)?);
                (None, self.make_in_folder(make).map_err(failed)?)
            }
            (Some(Content::Name { of, there }), _) => {
                let link = |path: &Path| fs::hard_link(of, path);
                let replaces = *there == There::Another;
                self.put(replaces, |_| Ok(link)).map_err(failed)?
            }
            (Some(Content::Back { .. }) | None, _) => (None, Vec::new()),
        };
        let new_name = match &self.content {
            Some(Content::Moved { .. }) => Some(&self.path),
            Some(content) if !content.keeps_file() => kept.as_ref(),
            _ => None,
        };
        let renamed = new_name.and_then(|path| fs::symlink_metadata(path).ok());
        let made = fs::symlink_metadata(&self.path).ok();
        let is_copy = |meta: &&fs::Metadata| {
            let node = renamed.as_ref().map(fs::Metadata::ino);
            Some(meta.ino()) != node && matches!(self.content, Some(Content::Aside))
        };
        let copied = before.as_ref().filter(is_copy).map(fs::Metadata::ino);
        let repaired = Repaired {
            made: made.map(|meta| meta.ino()),
            copied,
            repair: self,
            kept,
            folders,
            renamed: renamed.as_ref().map(node),
        };
        let Repair {
            path,
            content,
            attributes,
            attributes_now,
            modified_ns,
            ..
        } = &repaired.repair;
        let rest = || {
            let is_new = matches!(content, Some(Content::Link { .. } | Content::Node { .. }));
            if attributes_now.is_some() || is_new {
                attributes.give(path)?;
            }
            match content {
                Some(Content::CutBack { .. } | Content::Back { .. }) => {
                    set_modified(path, *modified_ns)
                }
                _ => Ok(()),
            }
        };
        if let Err(error) = rest() {
            repaired.undo()?;
            return Err(repaired.repair.failed(error));
        }
        Ok(repaired)
    }

    pub(super) fn failed(&self, error: io::Error) -> ProgramFileError {
        ProgramFileError::Repair {
            path: self.path.clone(),
            error,
        }
    }

    /// Copies the tail aside, then cuts the file back; where the tail is.
    fn cut_back(&self) -> io::Result<PathBuf> {
        let mut file = open(&self.path)?;
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
    fn rewrite(&self, mut stored: File) -> io::Result<PathBuf> {
        let mut file = open(&self.path)?;
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
            self.attributes.give(&self.path)
        };
        make().inspect_err(|_| remove_folders(&folders))?;
        Ok(folders)
    }

    /// Gives back the name that it had; which folders were made for that, the outermost first.
    fn take_back(&self, from: &Path) -> io::Result<Vec<PathBuf>> {
        self.make_in_folder(|path| rename_to_free(from, path))
    }

    /// Makes something under a name that is free; which folders were made for that, the outermost first.
    fn make_in_folder(
        &self,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Vec<PathBuf>> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let mut folders: Vec<_> = missing.map(Path::to_owned).collect();
        folders.reverse();
        let made = fs::create_dir_all(folder).and_then(|()| make(&self.path));
        made.inspect_err(|_| remove_folders(&folders))?;
        Ok(folders)
    }

    /// The file appears whole. Where the one is that had its name, and which folders were made, the
    /// outermost first.
    fn put_back(
        &self,
        mut stored: File,
        replaces: bool,
    ) -> io::Result<(Option<PathBuf>, Vec<PathBuf>)> {
        self.put(replaces, |path| {
            let folder = path.parent().unwrap_or(Path::new("/"));
            let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
            io::copy(&mut stored, fresh.as_file_mut())?;
            self.attributes.give(fresh.path())?;
            fresh.as_file().sync_all()?;
            Ok(|path: &Path| match fresh.persist_noclobber(path) {
                Ok(_) => Ok(()),
                Err(error) => Err(error.error),
            })
        })
    }

    /// The same, with what `prepare` makes; that gets its name last.
    fn put<N: FnOnce(&Path) -> io::Result<()>>(
        &self,
        replaces: bool,
        prepare: impl FnOnce(&Path) -> io::Result<N>,
    ) -> io::Result<(Option<PathBuf>, Vec<PathBuf>)> {
        let mut kept = None;
        let folders = self.make_in_folder(|path| {
            let name = prepare(path)?;
            if replaces {
                kept = Some(self.move_aside()?);
            }
            name(path).inspect_err(|_| {
                if let Some(kept) = &kept {
                    // It is named where it lies, if this fails too.
                    let _ = fs::rename(kept, path);
                }
            })
        })?;
        Ok((kept, folders))
    }

    /// One of several names of a file: as another name of it, it would not be what it is now when the program writes to
    /// the file, and the program may count the names (as those do that take a lock by link(2)).
    fn copy_aside(&self, meta: &fs::Metadata) -> io::Result<PathBuf> {
        let (mut later, kept) = new_beside(&self.path, LATER)?;
        let mut copy = || {
            let mut file = open_to_read(&self.path)?;
            io::copy(&mut file, &mut later)?;
            make_like(&later, &file)?;
            later.set_modified(meta.modified()?)?;
            later.sync_all()?;
            fs::remove_file(&self.path)
        };
        remove_unless(copy(), &kept)?;
        Ok(kept)
    }

    fn move_aside(&self) -> io::Result<PathBuf> {
        let meta = fs::symlink_metadata(&self.path)?;
        if meta.is_file() && meta.nlink() > 1 {
            return self.copy_aside(&meta);
        }
        // One of ours first, which is then replaced: nobody else's ever is.
        if meta.is_dir() {
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
                write!(f, "{path} is missing, and will be put back")
            }
            Some(Content::Moved { from, was }) => {
                let now = was.as_ref().unwrap_or(from).display();
                write!(f, "{path} is {now} now, and will have its name again")
            }
            Some(Content::Back { .. } | Content::Name { .. }) => {
                write!(f, "{path} has changed, and will be what it was")
            }
            Some(Content::Aside) => write!(f, "{path} was made since, and will be moved aside"),
            None => write!(
                f,
                "{path} has another owner or mode, and will have those it had"
            ),
        }
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

/// Gives a copy the owner and the mode of the file.
fn make_like(copy: &File, file: &File) -> io::Result<()> {
    let meta = file.metadata()?;
    match fchown(copy, Some(meta.uid()), Some(meta.gid())) {
        // Of another's file it stays who made it, who alone reads it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        given => given?,
    }
    copy.set_permissions(meta.permissions())
}

/// Makes a file's contents those of another.
pub(super) fn write_over(file: &mut File, from: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.set_len(0)?;
    io::copy(from, file)?;
    file.sync_all()
}

/// Of what was only appended to, the time is not known.
fn set_modified(path: &Path, ns: i64) -> io::Result<()> {
    if ns == 0 {
        return Ok(());
    }
    // Its owner may do that whatever its mode.
    let follow = UtimensatFlags::NoFollowSymlink;
    let modified = TimeSpec::nanoseconds(ns);
    Ok(utimensat(
        AT_FDCWD,
        path,
        &TimeSpec::UTIME_OMIT,
        &modified,
        follow,
    )?)
}

/// Opens a file, and nothing that a link leads to.
pub(super) fn open(path: &Path) -> io::Result<File> {
    as_it_is().read(true).write(true).open(path)
}

fn open_to_read(path: &Path) -> io::Result<File> {
    as_it_is().read(true).open(path)
}

fn as_it_is() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    Ok(renameat2(
        AT_FDCWD,
        from,
        AT_FDCWD,
        to,
        RenameFlags::RENAME_NOREPLACE,
    )?)
}

fn remove_unless<R>(done: io::Result<R>, path: &Path) -> io::Result<R> {
    if done.is_err() {
        // It would be empty, or double.
        let _ = fs::remove_file(path);
    }
    done
}

/// Those that are empty still.
pub(super) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown};

    use strobe_proto::FileJournal;

    use super::*;

    const FIFO: Content = Content::Node {
        kind: libc::S_IFIFO,
    };

    fn repair(path: PathBuf, content: Content) -> Repair {
        Repair::new(&ProgramFile::at(path), Some(content), None)
    }

    #[test]
    fn what_a_user_says_is_done_with_that_user_s_rights() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, its] = ["ours", "its"].map(|name| folder.path().join(name));
        fs::create_dir(&ours).unwrap();
        fs::write(&its, "").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let target = PathBuf::from("evil");
        let from = its.clone();
        let was = None;
        for (name, content) in [
            ("link", Content::Link { target }),
            ("fifo", FIFO),
            ("folder", Content::Folder),
            ("moved", Content::Moved { from, was }),
        ] {
            let mut repair = repair(ours.join("new").join(name), content);
            repair.is_by(&Rights::alone(1000));
            assert!(repair.apply().is_err(), "{name}");
        }
        assert_eq!(fs::read_dir(&ours).unwrap().count(), 0);
        assert!(its.exists());
    }

    #[test]
    fn what_its_owner_has_made_read_only_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        chown(folder.path(), Some(1000), None).expect("we are the first user");
        fs::write(at("stored"), "stored").unwrap();
        let record = ProgramFile {
            mode: libc::S_IFREG | 0o444,
            owner: 1000,
            group: 0,
            modified_ns: 1_500_000_000,
            ..ProgramFile::at(at("object"))
        };
        let there = There::Nothing;
        let stored = at("stored");
        let mut repair = Repair::new(&record, Some(Content::Back { stored, there }), None);
        let groups = vec![0];
        let owner = 1000;
        repair.is_by(&Rights::of_journal(&FileJournal {
            owner,
            groups,
            ..FileJournal::default()
        }));
        repair.apply().unwrap();
        let meta = fs::metadata(at("object")).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (1000, 0o444));
        assert_eq!((meta.mtime(), meta.mtime_nsec()), (1, 500_000_000));
    }

    #[test]
    fn through_a_link_of_somebody_else_s_nothing_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("to")).unwrap();
        symlink(at("to"), at("link")).unwrap();
        let fifo = || repair(at("link").join("fifo"), FIFO).apply();
        fifo().unwrap().undo().unwrap();
        lchown(at("link"), Some(1000), None).expect("we are the first user");
        assert!(fifo().is_err());
        assert_eq!(fs::read_dir(at("to")).unwrap().count(), 0);
    }

    /// Whoever takes a lock by link(2) counts the names.
    #[test]
    fn what_is_moved_aside_is_no_name_of_the_program_s_file_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let [own, lock] = ["own", "lock"].map(|name| folder.path().join(name));
        fs::write(&own, "text").unwrap();
        fs::hard_link(&own, &lock).unwrap();
        let names = || fs::metadata(&own).unwrap().nlink();
        let done = repair(lock.clone(), Content::Aside).apply().unwrap();
        let kept = done.kept().unwrap().to_owned();
        assert_eq!((fs::read(&kept).unwrap(), names()), (b"text".to_vec(), 1));
        assert!(!lock.exists());
        done.undo().unwrap();
        assert_eq!((lock.exists(), kept.exists(), names()), (true, false, 2));
    }

    #[test]
    fn what_somebody_has_put_there_meanwhile_stays_when_a_restore_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("aside"), "ours").unwrap();
        fs::write(at("stored"), "stored").unwrap();
        fs::write(at("back"), "ours").unwrap();
        fs::write(at("from"), "ours").unwrap();
        let link = Content::Link {
            target: "to".into(),
        };
        let back = Content::Back {
            stored: at("stored"),
            there: There::Another,
        };
        let moved = Content::Moved {
            from: at("from"),
            was: None,
        };
        let all = [
            ("aside", Content::Aside),
            ("link", link),
            ("back", back),
            ("moved", moved),
        ];
        let done = all.map(|(name, content)| repair(at(name), content).apply().unwrap());
        let theirs = ["aside", "link", "back", "from"].map(at);
        for path in &theirs {
            fs::write(at("new"), "theirs").unwrap();
            fs::rename(at("new"), path).unwrap();
        }
        for done in done {
            assert!(done.undo().is_err(), "{done}");
        }
        for path in &theirs {
            assert_eq!(fs::read(path).unwrap(), b"theirs", "{}", path.display());
        }
        assert_eq!(fs::read(at("moved")).unwrap(), b"ours");
    }
}
