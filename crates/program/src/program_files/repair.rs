//! Making a file what it was at the cut.
//!
//! What it has become is kept beside it, under a name with a number that is free: so the same
//! checkpoint is restored as often as wanted, and nothing is lost. All of it can be undone until CRIU
//! has restored the program.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::stat::{Mode, SFlag, UtimensatFlags, mknod, utimensat};
use nix::sys::time::{TimeSpec, TimeValLike};
use strobe_proto::ProgramFile;
use tempfile::NamedTempFile;

use super::aside::move_aside;
use super::attributes::{Attributes, node};
use super::error::ProgramFileError;
use super::kept::{LATER, TAIL};
use super::repaired::Repaired;
use super::sealed::Sealed;
use super::site::{Done, Site, remove_folders};
use crate::handle;
use crate::rights::Rights;

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
    /// The inode of what was looked at, and stays.
    pub(super) node: Option<u64>,
    /// What was foreseen to keep it from being done.
    pub(super) foreseen: Option<Sealed>,
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
            node: None,
            foreseen: None,
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
        // What has other names is kept as a copy.
        let copied = || match fs::symlink_metadata(&self.path) {
            Ok(meta) if meta.is_file() && meta.nlink() > 1 => of(&self.path),
            _ => 0,
        };
        match &self.content {
            Some(Content::CutBack { grown }) => of(&self.path).min(*grown),
            // It is kept, and what is written over it takes the place that it had.
            Some(Content::Back {
                stored,
                there: There::Itself,
            }) => of(&self.path).max(of(stored)),
            Some(Content::Back { stored, .. }) => of(stored) + copied(),
            Some(Content::Aside | Content::Name { .. }) => copied(),
            _ => 0,
        }
    }

    /// Whether it makes another file of what SQLite has to find as the one that it had opened: it writes to no other.
    pub fn is_another_database(&self) -> bool {
        const SQLITE: &[u8] = b"SQLite format 3\0";
        let Some(Content::Back { stored, there }) = &self.content else {
            return false;
        };
        let mut start = [0; SQLITE.len()];
        let mut read = || File::open(stored)?.read_exact(&mut start);
        *there != There::Itself && read().is_ok() && start == SQLITE
    }

    /// Does it, or nothing.
    pub fn apply(self) -> Result<Repaired, ProgramFileError> {
        let (path, by) = (self.path.clone(), self.by.clone());
        let (site, folders) = Site::make(&path, &by).map_err(|error| self.failed(error))?;
        let (mut done, held) = self.act(&site).map_err(|error| {
            remove_folders(&folders, &by);
            self.failed(error)
        })?;
        done.folders = folders.into_iter().chain(done.folders).collect();
        let repaired = Repaired {
            made: fs::symlink_metadata(site.name())
                .ok()
                .map(|meta| meta.ino()),
            done,
            repair: self,
        };
        let rest = repaired.repair.rest(&site, held);
        if let Err(error) = rest {
            repaired.undo()?;
            return Err(repaired.repair.failed(error));
        }
        Ok(repaired)
    }

    /// What is done to names and contents; and the file, where it stays.
    fn act(&self, site: &Site<'_>) -> io::Result<(Done, Option<File>)> {
        let name = site.name();
        let kept = |kept: PathBuf, held, modified| {
            let kept = Some(site.path(&kept));
            (
                Done {
                    kept,
                    modified,
                    ..Done::default()
                },
                Some(held),
            )
        };
        match &self.content {
            None => Ok((Done::default(), Some(self.held(site)?))),
            Some(Content::CutBack { .. }) => {
                let held = self.held(site)?;
                let modified = held.metadata()?.modified().ok();
                Ok(kept(self.cut_back(site, &held)?, held, modified))
            }
            Some(Content::Back {
                stored,
                there: There::Itself,
            }) => {
                let held = self.held(site)?;
                let modified = held.metadata()?.modified().ok();
                Ok(kept(self.rewrite(site, &held, stored)?, held, modified))
            }
            Some(Content::Back { stored, there }) => {
                let fresh = self.fresh(site, stored)?;
                let name = |name: &Path| {
                    let named = fresh.persist_noclobber(name);
                    named.map(drop).map_err(|error| error.error)
                };
                Ok((self.put(site, *there, name)?, None))
            }
            Some(Content::Name { of, there }) => {
                let of = Site::open(of, &self.by)?;
                let link = |name: &Path| fs::hard_link(of.name(), name);
                Ok((self.put(site, *there, link)?, None))
            }
            Some(Content::Aside) => Ok((move_aside(site)?, None)),
            Some(Content::Moved { from, .. }) => {
                let from = Site::open(from, &self.by)?;
                site.act(|| rename_to_free(&from.name(), &name))?;
                let renamed = fs::symlink_metadata(&name).ok().as_ref().map(node);
                Ok((
                    Done {
                        renamed,
                        ..Done::default()
                    },
                    None,
                ))
            }
            Some(Content::Folder) => {
                let folders = match site.act(|| fs::create_dir(&name)) {
                    Ok(()) => vec![self.path.clone()],
                    // What is in it came before.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Vec::new(),
                    Err(error) => return Err(error),
                };
                Ok((
                    Done {
                        folders,
                        ..Done::default()
                    },
                    None,
                ))
            }
            Some(Content::Link { target }) => {
                site.act(|| symlink(target, &name))?;
                Ok((Done::default(), None))
            }
            Some(Content::Node { kind }) => {
                let kind = SFlag::from_bits_truncate(*kind);
                site.act(|| Ok(mknod(&name, kind, Mode::from_bits_truncate(0o600), 0)?))?;
                Ok((Done::default(), None))
            }
        }
    }

    /// What it has beside contents and a name: where the file has stayed, or something was made that is none.
    fn rest(&self, site: &Site<'_>, held: Option<File>) -> io::Result<()> {
        let is_new = matches!(
            self.content,
            Some(Content::Folder | Content::Link { .. } | Content::Node { .. })
        );
        let held = match held {
            Some(held) => held,
            None if is_new => site.its(&site.name())?,
            None => return Ok(()),
        };
        if is_new || self.attributes_now.is_some() {
            self.attributes.give(&held, &self.by)?;
        }
        match self.content {
            Some(Content::CutBack { .. } | Content::Back { .. }) => {
                set_modified(&held, self.modified_ns)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn failed(&self, error: io::Error) -> ProgramFileError {
        ProgramFileError::Repair {
            path: self.path.clone(),
            error,
        }
    }

    /// The file, if it is the one that was looked at.
    pub(super) fn held(&self, site: &Site<'_>) -> io::Result<File> {
        let held = site.its(&site.name())?;
        let inode = held.metadata()?.ino();
        match self.node.is_none_or(|node| node == inode) {
            true => Ok(held),
            false => Err(io::Error::other("another file has taken its place")),
        }
    }

    /// Copies the tail aside, then cuts the file back; where the tail is.
    fn cut_back(&self, site: &Site<'_>, held: &File) -> io::Result<PathBuf> {
        let mut file = handle::open(held, OpenOptions::new().read(true).write(true))?;
        let (mut tail, kept) = site.new_beside(TAIL)?;
        let mut cut = || {
            Attributes::of(&file.metadata()?).give(&tail, &self.by)?;
            file.seek(SeekFrom::Start(self.size))?;
            io::copy(&mut file, &mut tail)?;
            tail.sync_all()?;
            file.set_len(self.size)
        };
        site.remove_unless(cut(), &kept)?;
        Ok(kept)
    }

    /// Copies it aside, then writes what it was into it; where that copy is.
    fn rewrite(&self, site: &Site<'_>, held: &File, stored: &Path) -> io::Result<PathBuf> {
        let mut stored = File::open(stored)?;
        let mut file = handle::open(held, OpenOptions::new().read(true).write(true))?;
        let (mut later, kept) = site.new_beside(LATER)?;
        let mut keep = || {
            Attributes::of(&file.metadata()?).give(&later, &self.by)?;
            io::copy(&mut file, &mut later)?;
            later.sync_all()
        };
        site.remove_unless(keep(), &kept)?;
        write_over(&mut file, &mut stored).map_err(|error| {
            let undone = later
                .rewind()
                .and_then(|()| write_over(&mut file, &mut later));
            match undone.and_then(|()| site.remove(&kept)) {
                Ok(()) => error,
                Err(_) => {
                    io::Error::other(format!("{error}; it is in {}", site.path(&kept).display()))
                }
            }
        })?;
        Ok(kept)
    }

    /// The file as it was, which appears whole when it gets its name.
    fn fresh(&self, site: &Site<'_>, stored: &Path) -> io::Result<NamedTempFile> {
        let mut stored = File::open(stored)?;
        let mut fresh = site.act(|| NamedTempFile::new_in(site.folder()))?;
        self.attributes.give(fresh.as_file(), &self.by)?;
        io::copy(&mut stored, fresh.as_file_mut())?;
        set_modified(fresh.as_file(), self.modified_ns)?;
        fresh.as_file().sync_all()?;
        Ok(fresh)
    }

    /// Gives the name to something, in place of what has it.
    fn put(
        &self,
        site: &Site<'_>,
        there: There,
        name: impl FnOnce(&Path) -> io::Result<()> + Send,
    ) -> io::Result<Done> {
        let done = match there {
            There::Nothing => Done::default(),
            There::Another | There::Itself => move_aside(site)?,
        };
        site.act(|| name(&site.name())).inspect_err(|_| {
            if let Some(kept) = &done.kept {
                // It is named where it lies, if this fails too.
                let _ = site.act(|| rename_to_free(&site.beside(kept), &site.name()));
            }
        })?;
        Ok(done)
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

/// Makes a file's contents those of another.
pub(super) fn write_over(file: &mut File, from: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.set_len(0)?;
    io::copy(from, file)?;
    file.sync_all()
}

/// Of what was only appended to, the time is not known.
fn set_modified(file: &File, ns: i64) -> io::Result<()> {
    if ns == 0 {
        return Ok(());
    }
    Ok(utimensat(
        AT_FDCWD,
        &handle::link(file),
        &TimeSpec::UTIME_OMIT,
        &TimeSpec::nanoseconds(ns),
        UtimensatFlags::FollowSymlink,
    )?)
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

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown};

    use std::time::{Duration, Instant};

    use nix::libc;

    use super::super::places::Places;
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

    /// A file of this owner, group and mode.
    fn write(path: &Path, text: &str, (user, group, mode): (u32, u32, u32)) {
        fs::write(path, text).unwrap();
        chown(path, Some(user), Some(group)).expect("we are the first user");
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Of users 1000 and 1001, each with a group of that number; of neither groups are known.
    #[test]
    fn what_a_user_may_write_comes_back_with_owner_group_mode_and_time() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("stored"), "at the cut", (0, 0, 0o600));
        for (name, user, group, mode) in [
            ("own", 1000, 1000, 0o755),
            ("everybody's", 0, 0, 0o777),
            ("group's", 0, 1001, 0o2775),
        ] {
            fs::create_dir(at(name)).unwrap();
            chown(at(name), Some(user), Some(group)).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        }
        let member = Rights {
            user: 1001,
            groups: vec![1001],
        };
        let of_now = |path: &Path| {
            let meta = fs::metadata(path).unwrap();
            let time = (meta.mtime(), meta.mtime_nsec());
            (meta.uid(), meta.gid(), meta.mode() & 0o7777, time)
        };
        for (name, owner, group, mode, by) in [
            ("own/kept", 1000, 1000, 0o644, Rights::alone(1000)),
            ("own/read-only", 1000, 1000, 0o444, Rights::alone(1000)),
            ("everybody's/log", 0, 0, 0o666, Rights::alone(1000)),
            ("group's/colleague's", 1000, 1001, 0o664, member),
        ] {
            let path = at(name);
            let record = ProgramFile {
                mode: libc::S_IFREG | mode,
                owner,
                group,
                size: 10,
                modified_ns: 1_500_000_000,
                ..ProgramFile::at(path.clone())
            };
            let expected = (owner, group, mode, (1, 500_000_000));
            let back = |there| Content::Back {
                stored: at("stored"),
                there,
            };
            let apply = |content| {
                let mut repair = Repair::new(&record, Some(content), None);
                repair.is_by(&by);
                let repaired = repair.apply().unwrap();
                assert_eq!(of_now(&path), expected, "{name}");
                assert_eq!(fs::read(&path).unwrap(), b"at the cut", "{name}");
                repaired
            };
            // It was removed.
            apply(back(There::Nothing)).undo().unwrap();
            assert!(!path.exists(), "{name}");
            // It has been written to, or has grown.
            for (text, content) in [
                ("otherwise", back(There::Itself)),
                ("at the cut and later", Content::CutBack { grown: 10 }),
                ("another", back(There::Another)),
            ] {
                write(&path, text, (owner, group, mode));
                let before = of_now(&path);
                let repaired = apply(content);
                let kept = of_now(repaired.kept().unwrap());
                assert_eq!((kept.0, kept.1, kept.2), (before.0, before.1, before.2));
                repaired.undo().unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
                assert_eq!(of_now(&path).2, before.2, "{name}");
            }
        }
    }

    #[test]
    fn by_a_user_s_word_nobody_else_s_file_changes_and_no_set_id_bit_comes() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("stored"), "stored", (0, 0, 0o600));
        write(&at("root's"), "root's", (0, 0, 0o644));
        let record = |name, mode| ProgramFile {
            mode: libc::S_IFREG | mode,
            owner: 1000,
            ..ProgramFile::at(at(name))
        };
        let stored = at("stored");
        let there = There::Itself;
        let rewrite = Content::Back { stored, there };
        let now = Attributes::of(&fs::metadata(at("root's")).unwrap());
        for content in [Some(rewrite), Some(Content::CutBack { grown: 1 }), None] {
            let mut repair = Repair::new(&record("root's", 0o666), content, Some(now));
            repair.is_by(&Rights::alone(1000));
            repair.node = Some(fs::metadata(at("root's")).unwrap().ino());
            let repair = repair.foreseen(&Places::default());
            assert!(repair.sealed().is_some() && repair.apply().is_err());
        }
        let meta = fs::metadata(at("root's")).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (0, 0o644));
        // What all may write does not become the user's.
        write(&at("everybody's"), "", (0, 0, 0o666));
        let now = Attributes::of(&fs::metadata(at("everybody's")).unwrap());
        let mut repair = Repair::new(&record("everybody's", 0o600), None, Some(now));
        repair.is_by(&Rights::alone(1000));
        assert!(repair.apply().is_err());
        assert_eq!(fs::metadata(at("everybody's")).unwrap().uid(), 0);
        assert_eq!(fs::read(at("root's")).unwrap(), b"root's");
        let stored = at("stored");
        let there = There::Nothing;
        let back = Some(Content::Back { stored, there });
        let mut repair = Repair::new(&record("set-id", 0o6755), back, None);
        repair.is_by(&Rights::alone(1000));
        repair.apply().unwrap();
        let meta = fs::metadata(at("set-id")).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o7777), (1000, 0o755));
    }

    #[test]
    fn where_a_folder_has_become_a_link_nothing_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("to")).unwrap();
        symlink(at("to"), at("link")).unwrap();
        for user in [0, 1000] {
            lchown(at("link"), Some(user), None).expect("we are the first user");
            let fifo = repair(at("link").join("fifo"), FIFO).foreseen(&Places::default());
            let sealed = fifo.sealed().expect("it is foreseen").to_string();
            let remedy = format!("--map {}={}", at("link").display(), at("to").display());
            assert!(sealed.contains(&remedy), "{sealed}");
            let refused = fifo.apply().unwrap_err().to_string();
            assert!(refused.contains(&remedy), "{refused}");
        }
        assert_eq!(fs::read_dir(at("to")).unwrap().count(), 0);
    }

    /// Whoever may write in a folder above makes it lead elsewhere between any two steps.
    #[test]
    fn what_a_folder_s_path_leads_to_meanwhile_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["own", "secret"] {
            fs::create_dir(at(name)).unwrap();
        }
        symlink(at("secret"), at("link")).unwrap();
        let swap = || {
            let exchange = RenameFlags::RENAME_EXCHANGE;
            renameat2(AT_FDCWD, &at("own"), AT_FDCWD, &at("link"), exchange).unwrap();
        };
        let secret = at("secret/f");
        let state = || {
            let meta = fs::metadata(&secret).unwrap();
            let names = fs::read_dir(at("secret")).unwrap().count();
            (meta.uid(), meta.mode(), meta.mtime(), meta.len(), names)
        };
        write(&at("stored"), &"stored".repeat(1 << 20), (0, 0, 0o600));
        write(&secret, "secret", (0, 0, 0o600));
        let before = state();
        let record = ProgramFile {
            mode: libc::S_IFREG | 0o444,
            owner: 1000,
            modified_ns: 1,
            user: Some(0),
            ..ProgramFile::at(at("own/f"))
        };
        for there in [There::Itself, There::Another] {
            write(&at("own/f"), "otherwise", (1000, 0, 0o600));
            let now = Attributes::of(&fs::metadata(at("own/f")).unwrap());
            let stored = at("stored");
            let content = Some(Content::Back { stored, there });
            let repair = Repair::new(&record, content, Some(now));
            let is_begun = || fs::read_dir(at("own")).is_ok_and(|entries| entries.count() > 1);
            let repaired = std::thread::scope(|scope| {
                let swapper = scope.spawn(|| {
                    let until = Instant::now() + Duration::from_secs(10);
                    while !is_begun() && Instant::now() < until {}
                    swap();
                });
                let repaired = repair.apply();
                swapper.join().unwrap();
                repaired
            });
            assert_eq!(state(), before, "{there:?}");
            // And so when it is undone, or what was kept goes.
            let mut repaired = repaired.unwrap();
            assert!(repaired.undo().is_err() && repaired.drop_kept().is_err());
            assert_eq!(state(), before, "{there:?}");
            swap();
            fs::remove_dir_all(at("own")).unwrap();
            fs::create_dir(at("own")).unwrap();
        }
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
        // Wherever its other name is.
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::rename(&own, elsewhere.join("own")).unwrap();
        let done = repair(lock.clone(), Content::Aside).apply().unwrap();
        done.undo().unwrap();
        assert_eq!(fs::metadata(elsewhere.join("own")).unwrap().nlink(), 2);
        assert!(lock.exists());
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
