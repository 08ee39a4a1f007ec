//! What is known of the program's files at the cut.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use strobe_proto::kernel_text;

use strobe_proto::{FileJournal, ProgramFile};

use super::error::ProgramFileError;
use super::folders;
use super::kept::is_kept;
use super::sealed::Sealed;
use crate::journal::Written;
use crate::process::Identity;
use crate::rights::Rights;
use crate::shared_memory::is_saved;
use crate::{handle, journal, maps, spool};

/// What was written so short a time before the cut may be the program's work.
const LATELY: Duration = Duration::from_secs(3600);
/// What was written and closed so short a time before the cut may be renamed, read or removed next.
const CLOSED_LATELY: Duration = Duration::from_secs(60);
/// One that is no longer is saved whenever it was closed: it may be written to again, now and then.
const SMALL: u64 = 1 << 20;
/// Of such files in all: of those that were written last.
const SMALL_IN_ALL: u64 = 32 << 20;
/// Files that are looked at: those that were written last.
const FILES: usize = 4096;
/// What is looked at, at most, of the folders that were lately renamed.
const FOLDER_ENTRIES: usize = 1024;
/// A file that is only read is hashed up to this length, while the program runs.
const FOREIGN_LIMIT: u64 = 16 << 20;
/// Bytes hashed at one cut, while the program stands still: a second of it at most.
const HASHED_LIMIT: u64 = 1 << 30;

/// Records the files of the processes of one tree, but those that are saved otherwise.
#[derive(Debug, Default)]
pub struct Recorder {
    files: BTreeMap<PathBuf, Found>,
    /// And by whose rights they are made again.
    folders: BTreeMap<PathBuf, Rights>,
    journals: BTreeMap<PathBuf, FileJournal>,
    unknown: Vec<Unknown>,
    /// Those that processes have named, and by whose word.
    named: BTreeSet<(PathBuf, Rights)>,
    /// When the first of the processes began.
    started: Option<SystemTime>,
}

#[derive(Debug)]
struct Found {
    record: ProgramFile,
    /// A link to the file below `/proc/PID`, for as long as the process stands still.
    link: PathBuf,
    access: Access,
    by: Rights,
}

/// What a process can do to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    /// None any more: it has written it, and closed it.
    Wrote,
    Reads,
    /// Whoever makes programs and libraries anew wants no old ones back.
    Executes,
    /// What is in the file stays as it is.
    Appends,
    Writes,
}

/// A way in which a process has a file.
struct Way {
    link: PathBuf,
    position: u64,
    access: Access,
}

/// What [`Recorder::save`] made.
#[derive(Debug, Default)]
pub struct Saved {
    /// Each file once, in the order of their paths.
    pub files: Vec<ProgramFile>,
    /// Those whose contents were too much.
    pub left_out: Vec<LeftOut>,
    /// Of what the program writes after the cut.
    pub journals: Vec<FileJournal>,
    /// What is not known of files that were closed.
    pub unknown: Vec<Unknown>,
    /// What the program may write to, and a restore may not.
    pub sealed: Vec<Sealed>,
}

/// What nobody looks at of files that were written and closed before the cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum Unknown {
    #[error(
        "{0} files that the program wrote and closed before many others are not in the checkpoint: a restored \
         program finds them as they are then, or not at all"
    )]
    Earlier(usize),
    #[error(
        "{} cannot be read or written: what the program writes and closes is not put back, and what it makes after \
         the checkpoint is not moved aside ({error})",
        .journal.display()
    )]
    Journal { journal: PathBuf, error: String },
}

/// A file whose contents are not in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {size} bytes of {} are not in the checkpoint (--files-limit): {next}", .path.display())]
pub struct LeftOut {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// What that means.
    pub next: Needs,
}

/// What a restored program finds of a file whose contents are not in the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Needs {
    /// It is open, and a restore can tell no more.
    #[error("a restore needs the file as it is now")]
    Same,
    /// It is open, and a restore can tell that it has only grown.
    #[error("a restore needs the file as it is now, or longer")]
    Longer,
    /// It was closed before the cut.
    #[error("a restored program finds the file as it is then, or not at all")]
    Nothing,
}

impl Recorder {
    /// Adds the files of a process; exact only while all processes of the tree are frozen. Paths are
    /// ours, so this must run in the program's mount namespace.
    pub fn add(&mut self, pid: u32) -> Result<(), ProgramFileError> {
        let failed = |error| ProgramFileError::Record { pid, error };
        let started = started(pid).map_err(failed)?;
        let by = Rights::of(pid).map_err(failed)?;
        self.started = Some(self.started.map_or(started, |first| first.min(started)));
        let descriptors = descriptors(pid).map_err(failed)?;
        let mappings = mappings(pid).map_err(failed)?;
        for way in descriptors.into_iter().chain(mappings) {
            self.add_way(way, &by);
        }
        if let Some(named) = journal::of(pid)
            && self.named.insert((named.clone(), by.clone()))
        {
            self.add_journals(&named, &by).map_err(failed)?;
        }
        for folder in folders::of(pid).map_err(failed)? {
            self.add_folder(&folder, &by);
        }
        Ok(())
    }

    /// Adds a journal, if the user who names it has one there, and those of users beside it.
    fn add_journals(&mut self, named: &Path, by: &Rights) -> io::Result<()> {
        for (path, by) in journal::all(named, by) {
            if self.journals.contains_key(&path) {
                continue;
            }
            let looked =
                journal::recent(&path, &by).and_then(|all| Ok((all, journal::cut(&path, &by)?)));
            match looked {
                Ok((written, cut)) => {
                    let by = Rights::of_journal(&cut);
                    self.add_closed(&written, &by)?;
                    self.journals.insert(path, cut);
                }
                // That it is gone, or another user's, is said of the process.
                Err(error) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {}
                    _ => self.unknown.push(Unknown::Journal {
                        journal: path,
                        error: error.to_string(),
                    }),
                },
            }
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path, by: &Rights) {
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), by.at(folder));
        }
    }

    fn add_way(&mut self, way: Way, by: &Rights) {
        // A descriptor may be closed meanwhile when the process is not frozen.
        let (Ok(meta), Ok(path)) = (fs::metadata(&way.link), fs::read_link(&way.link)) else {
            return;
        };
        if !meta.is_file() {
            return;
        }
        let (path, opened_as) = match has_a_name(&path, &meta) {
            true => (path, None),
            false => match other_name(&path, &meta) {
                Some((name, gone)) => (name, Some(gone)),
                None => return,
            },
        };
        let found = self.add_file(path, &meta, way, by);
        let known = found.map(|found| &mut found.record.opened_as);
        if let (Some(known), Some(gone)) = (known, opened_as)
            && !known.contains(&gone)
        {
            known.push(gone);
        }
    }

    /// Adds what processes, also such as have ended, have written and closed, by the word of a user.
    fn add_closed(&mut self, written: &[Written], by: &Rights) -> io::Result<()> {
        let mut small = 0;
        let (written, earlier) = written.split_at(written.len().min(FILES));
        let mut left_out = earlier.iter().filter(|one| one.path.is_file()).count();
        // The latest is taken first.
        let paths = written.iter().rev();
        let mut paths: Vec<_> = paths
            .map(|one| (one.path.clone(), one.has_new_name))
            .collect();
        let mut looked_into = 0;
        while let Some((path, has_new_name)) = paths.pop() {
            let Some((held, path, meta)) = said(&path, by)? else {
                continue;
            };
            // A folder that was renamed, with what is in it.
            if meta.is_dir() && has_new_name && looked_into < FOLDER_ENTRIES {
                let entries = fs::read_dir(handle::link(&held));
                let entries = entries.into_iter().flatten().flatten();
                let before = paths.len();
                let most = FOLDER_ENTRIES - looked_into;
                let inside = entries.map(|entry| (path.join(entry.file_name()), true));
                paths.extend(inside.take(most));
                looked_into += paths.len() - before;
            }
            // Of the inode: a copy has its original's time of modification at will.
            let changed = Duration::from_secs(meta.ctime().max(0).cast_unsigned());
            let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed);
            let is_late = age.unwrap_or_default() < CLOSED_LATELY;
            let is_small = meta.len() <= SMALL;
            let is_too_much = !is_late && small + meta.len() > SMALL_IN_ALL;
            if meta.is_file() && (is_late || is_small) {
                if is_too_much {
                    left_out += 1;
                    continue;
                }
                small += if is_late { 0 } else { meta.len() };
                let way = Way {
                    link: path.clone(),
                    position: 0,
                    access: Access::Wrote,
                };
                self.add_file(path, &meta, way, by);
            }
        }
        if left_out > 0 {
            self.unknown.push(Unknown::Earlier(left_out));
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: PathBuf,
        meta: &fs::Metadata,
        way: Way,
        by: &Rights,
    ) -> Option<&mut Found> {
        // What a restore has kept is not the program's any more.
        if is_saved(&path) || way.access == Access::Wrote && is_kept(&path) {
            return None;
        }
        let is_young = self.is_young(meta);
        let at = by.at(&path);
        let found = self.files.entry(path.clone()).or_insert_with(|| Found {
            by: at.clone(),
            record: ProgramFile {
                foreign: true,
                device: meta.dev(),
                inode: meta.ino(),
                size: meta.len(),
                position: way.position,
                mode: meta.mode(),
                owner: meta.uid(),
                group: meta.gid(),
                ..ProgramFile::at(path)
            },
            link: way.link,
            access: way.access,
        });
        found.access = found.access.max(way.access);
        if at.user == 0 {
            found.by = at;
        }
        found.record.modified_ns = match found.access {
            Access::Appends => 0,
            _ => modified_ns(meta),
        };
        found.record.foreign = match found.access {
            // Who may not write it has not written it, and is not to have it written again.
            Access::Reads => found.record.foreign && !(is_young && by.may_write(meta)),
            Access::Executes => true,
            Access::Wrote | Access::Appends | Access::Writes => false,
        };
        Some(found)
    }

    /// Whether the program may have written it: lately, or since it began (if it was restored, it began
    /// later than it seems to itself).
    fn is_young(&self, meta: &fs::Metadata) -> bool {
        let lately = SystemTime::now() - LATELY;
        let since = self.started.map_or(lately, |started| started.min(lately));
        meta.modified().is_ok_and(|modified| modified >= since)
    }

    /// Saves contents while the processes are still frozen: those of small files first, as many as
    /// `limit` bytes hold. `make` makes the file for one, and names it.
    pub fn save(
        mut self,
        limit: u64,
        mut make: impl FnMut(usize) -> io::Result<(String, File)>,
    ) -> Result<Saved, ProgramFileError> {
        let mut found: Vec<Found> = std::mem::take(&mut self.files).into_values().collect();
        found.sort_by_key(|found| found.record.size);
        let journals = std::mem::take(&mut self.journals).into_values();
        let mut saved = Saved {
            journals: journals.collect(),
            unknown: std::mem::take(&mut self.unknown),
            ..Saved::default()
        };
        let (mut stored, mut hashed) = (0, 0);
        for (
            number,
            Found {
                mut record,
                link,
                access,
                by,
            },
        ) in found.into_iter().enumerate()
        {
            let failed = |error| ProgramFileError::Save {
                path: record.path().to_owned(),
                error,
            };
            let size = record.size;
            if record.foreign || spool::is_spooled(record.path()) {
                // Of what has been passed on only the size matters.
            } else if size <= limit - stored {
                stored += size;
                let from = match access {
                    Access::Wrote => match open_same(&record, &by).map_err(failed)? {
                        Some(from) => from,
                        None => continue,
                    },
                    _ => File::open(&link).map_err(failed)?,
                };
                let mut from = from.take(size);
                let (name, mut to) = make(number).map_err(failed)?;
                io::copy(&mut from, &mut to).map_err(failed)?;
                record.stored = name;
            } else if access == Access::Wrote {
                saved.left_out.push(LeftOut {
                    path: record.path().to_owned(),
                    size,
                    next: Needs::Nothing,
                });
                continue;
            } else {
                if access != Access::Appends && size <= HASHED_LIMIT - hashed {
                    hashed += size;
                    record.blake3 = hash(&link, size).map_err(failed)?;
                }
                let may_grow = access == Access::Appends || !record.blake3.is_empty();
                saved.left_out.push(LeftOut {
                    path: record.path().to_owned(),
                    size,
                    next: if may_grow { Needs::Longer } else { Needs::Same },
                });
            }
            // Made again where they are missing, as they are.
            if !record.foreign {
                for folder in record.path().ancestors().skip(1) {
                    self.add_folder(folder, &by);
                }
            }
            if !record.foreign && access != Access::Reads {
                saved.sealed.extend(Sealed::of(record.path()));
            }
            by.note_in(&mut record);
            saved.files.push(record);
        }
        // One that is gone by now is gone for the program.
        let folders = self.folders.iter().map(|(folder, by)| {
            let mut record = folders::record(folder)?;
            by.note_in(&mut record);
            Ok::<_, io::Error>(record)
        });
        saved.files.extend(folders.filter_map(Result::ok));
        saved.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(saved)
    }
}

/// What a path leads to, if the user by whose word that counts has a say in it; and its own path. All is decided about what
/// is held: nobody stands still who may have put something else there meanwhile.
fn said(path: &Path, by: &Rights) -> io::Result<Option<(File, PathBuf, fs::Metadata)>> {
    let find = || handle::behind(path);
    let held = by.run(find)?;
    let is_closed = matches!(&held, Err(error) if error.kind() == io::ErrorKind::PermissionDenied);
    // Its own may be where it cannot go to any more.
    let held = match is_closed {
        true => by.run_anywhere(find)?,
        false => held,
    };
    let Ok(held) = held else {
        return Ok(None);
    };
    let (meta, path) = (held.metadata()?, handle::path(&held)?);
    let is_its = meta.uid() == by.user || !is_closed && by.has_say(&held)?;
    Ok((is_its && has_a_name(&path, &meta)).then_some((held, path, meta)))
}

/// Opens what was closed before the cut, if that is still there.
fn open_same(record: &ProgramFile, by: &Rights) -> io::Result<Option<File>> {
    match by.run_anywhere(|| handle::named(record.path())).flatten() {
        Ok(held) => {
            let meta = held.metadata()?;
            let is_same = (meta.dev(), meta.ino()) == (record.device, record.inode);
            let is_same = meta.is_file() && is_same;
            let opened = is_same.then(|| handle::open(&held, OpenOptions::new().read(true)));
            opened.transpose()
        }
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => Ok(None),
            _ => Err(error),
        },
    }
}

fn started(pid: u32) -> io::Result<SystemTime> {
    let age = Identity::of(pid)?.age().ok_or(io::ErrorKind::Unsupported)?;
    Ok(SystemTime::now() - age)
}

/// The descriptors of files.
fn descriptors(pid: u32) -> io::Result<Vec<Way>> {
    let mut ways = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let link = entry?.path();
        if !fs::metadata(&link).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let Some(number) = link.file_name() else {
            continue;
        };
        let info = Path::new("/proc")
            .join(pid.to_string())
            .join("fdinfo")
            .join(number);
        let info = match kernel_text::read(info) {
            Ok(info) => info,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let Some((position, flags)) = parse_fdinfo(&info) else {
            continue;
        };
        let has = |flag: libc::c_int| flags & flag as u64 != 0;
        let access = match (has(libc::O_WRONLY | libc::O_RDWR), has(libc::O_APPEND)) {
            (false, _) => Access::Reads,
            (true, true) => Access::Appends,
            (true, false) => Access::Writes,
        };
        ways.push(Way {
            link,
            position,
            access,
        });
    }
    Ok(ways)
}

/// The mappings of files, of which the descriptors are often closed; one for each file and access.
fn mappings(pid: u32) -> io::Result<Vec<Way>> {
    let mut seen = BTreeSet::new();
    let mut ways = Vec::new();
    for map in maps::read(pid)?.into_iter().filter(|map| map.inode != 0) {
        let access = match (map.shared && map.writable, map.executable) {
            (true, _) => Access::Writes,
            (false, true) => Access::Executes,
            (false, false) => Access::Reads,
        };
        if seen.insert((map.path, access)) {
            ways.push(Way {
                link: PathBuf::from(format!(
                    "/proc/{pid}/map_files/{:x}-{:x}",
                    map.range.start, map.range.end
                )),
                position: 0,
                access,
            });
        }
    }
    Ok(ways)
}

/// Hashes small files that are only read, where they are still what they were at the cut: the program
/// runs again. `root` is the program's (`/proc/PID/root`).
pub fn hash_foreign(files: &mut [ProgramFile], root: &Path) {
    for file in files
        .iter_mut()
        .filter(|file| file.foreign && file.size <= FOREIGN_LIMIT)
    {
        let path = root.join(file.path().strip_prefix("/").unwrap_or(file.path()));
        let is_same = || {
            let meta = fs::metadata(&path);
            let of = |meta: fs::Metadata| (meta.ino(), meta.len(), modified_ns(&meta));
            meta.is_ok_and(|meta| of(meta) == (file.inode, file.size, file.modified_ns))
        };
        if is_same()
            && let Ok(hash) = hash(&path, file.size)
            && is_same()
        {
            file.blake3 = hash;
        }
    }
}

/// Never 0, which stands for "only appended to".
pub(super) fn modified_ns(meta: &fs::Metadata) -> i64 {
    let ns = meta
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec());
    if ns == 0 { 1 } else { ns }
}

/// Of the first `len` bytes, or of all there are.
pub(super) fn hash(path: &Path, len: u64) -> io::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    let mut rest = File::open(path)?.take(len);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().as_bytes().to_vec()),
            Ok(n) => _ = hasher.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Nobody makes what is there, and nobody can make it again.
pub(super) fn is_shown_by_the_kernel(path: &Path) -> bool {
    ["/proc", "/sys"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// Whether the file can be found by this path (a memfd or a deleted file cannot).
fn has_a_name(path: &Path, meta: &fs::Metadata) -> bool {
    !is_shown_by_the_kernel(path)
        && fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
}

/// Another name of a file in the folder in which it was opened, and the name it was opened by, which is gone:
/// so it is with semaphores that have a name (sem_open(3)).
fn other_name(path: &Path, meta: &fs::Metadata) -> Option<(PathBuf, String)> {
    let gone = path.to_str()?.strip_suffix(" (deleted)")?;
    if meta.nlink() == 0 || !gone.starts_with('/') {
        return None;
    }
    let entries = fs::read_dir(Path::new(gone).parent()?).ok()?.flatten();
    let mut same = entries
        .filter(|entry| entry.ino() == meta.ino())
        .map(|entry| entry.path());
    let name = same.find(|name| has_a_name(name, meta))?;
    Some((name, gone.to_owned()))
}

/// Position of an open file, and its flags, which the kernel prints in octal.
pub(crate) fn parse_fdinfo(text: &str) -> Option<(u64, u64)> {
    let field = |name| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    Some((
        field("pos:")?.parse().ok()?,
        u64::from_str_radix(field("flags:")?, 8).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

    use super::*;

    /// A folder of ours that everybody may look into, with files of somebody else's.
    fn folder_with(names: &[(&str, u32, u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        for (name, owner, mode) in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
            chown(&path, Some(*owner), None).expect("we are the first user");
        }
        folder
    }

    fn closed(folder: &Path, names: &[(&str, bool)], by: &Rights) -> Recorder {
        let written = names.iter().map(|(name, has_new_name)| Written {
            path: folder.join(name),
            has_new_name: *has_new_name,
        });
        let written: Vec<_> = written.collect();
        let mut recorder = Recorder::default();
        recorder.add_closed(&written, by).unwrap();
        recorder
    }

    fn names(recorder: &Recorder) -> Vec<&str> {
        let names = recorder.files.keys().map(|path| path.file_name());
        names.map(|name| name.unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn of_folders_only_those_with_a_new_name_are_looked_into() {
        let folder = folder_with(&[
            ("opened/others", 0, 0o644),
            ("renamed/own", 0, 0o644),
            // A restore has kept it there.
            ("renamed/own.strobe-later-1", 0, 0o644),
        ]);
        let named = [("opened", false), ("renamed", true)];
        let recorder = closed(folder.path(), &named, &Rights::alone(0));
        assert_eq!(names(&recorder), ["own"]);
    }

    #[test]
    fn how_many_were_too_many_to_be_looked_at_is_known() {
        let all: Vec<_> = (0..FILES + 3).map(|number| number.to_string()).collect();
        let folder = tempfile::tempdir().unwrap();
        let new = |name: &String| fs::write(folder.path().join(name), "").unwrap();
        all.iter().for_each(new);
        let named: Vec<_> = all.iter().map(|name| (name.as_str(), false)).collect();
        let recorder = closed(folder.path(), &named, &Rights::alone(0));
        assert_eq!(recorder.files.len(), FILES);
        assert_eq!(recorder.unknown, [Unknown::Earlier(3)]);
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let by = Rights::alone(0);
        let mut recorder = Recorder::default();
        recorder
            .add_journals(&folder.path().join("gone"), &by)
            .unwrap();
        assert_eq!(recorder.unknown, []);
        // As on a disk that is full or broken, the kernel says something else.
        let not_one = folder.path().join("x".repeat(300));
        recorder.add_journals(&not_one, &by).unwrap();
        assert!(matches!(&recorder.unknown[..], [Unknown::Journal { .. }]));
    }

    #[test]
    fn what_a_user_says_is_written_is_what_the_user_may_write() {
        let all = [
            ("hosts", 0, 0o644),
            ("own", 1000, 0o644),
            ("everybody's", 0, 0o666),
            ("closed/everybody's too", 0, 0o666),
            ("closed/own too", 1000, 0o400),
        ];
        let folder = folder_with(&all);
        let closed_folder = folder.path().join("closed");
        set_permissions(closed_folder, Permissions::from_mode(0o700)).unwrap();
        let named = all.map(|(name, ..)| (name, false));
        let recorder = closed(folder.path(), &named, &Rights::alone(1000));
        assert_eq!(names(&recorder), ["own too", "everybody's", "own"]);
        let recorder = closed(folder.path(), &named, &Rights::alone(0));
        assert_eq!(recorder.files.len(), 5);
    }

    #[test]
    fn what_has_taken_the_place_of_a_closed_file_is_not_saved_as_that() {
        let folder = folder_with(&[("secret", 0, 0o600), ("a", 0, 0o644), ("b", 0, 0o644)]);
        let recorder = closed(
            folder.path(),
            &[("a", false), ("b", false)],
            &Rights::alone(0),
        );
        let place = |name: &str| folder.path().join(name);
        fs::remove_file(place("a")).unwrap();
        symlink(place("secret"), place("a")).unwrap();
        fs::write(place("new"), "another").unwrap();
        fs::rename(place("new"), place("b")).unwrap();
        let saved = recorder.save(1 << 20, |_| Ok((String::new(), tempfile::tempfile()?)));
        let files = saved.unwrap().files;
        assert!(files.iter().all(folders::is_folder), "{files:?}");
    }

    /// Who may write in a folder above makes it lead elsewhere between any two looks.
    #[test]
    fn what_a_folder_s_path_leads_to_meanwhile_is_not_saved_as_the_user_s() {
        const FILES: u32 = 300;
        let folder = folder_with(&[("own/kept", 1000, 0o644), ("secret/kept", 0, 0o600)]);
        let at = |name: &str| folder.path().join(name);
        for name in 0..FILES {
            for (inside, owner, mode) in [("own", 1000, 0o644), ("secret", 0, 0o600)] {
                let path = at(inside).join(name.to_string());
                fs::write(&path, inside).unwrap();
                set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                chown(&path, Some(owner), None).unwrap();
            }
        }
        set_permissions(at("secret"), Permissions::from_mode(0o700)).unwrap();
        symlink(at("secret"), at("link")).unwrap();
        let names: Vec<_> = (0..FILES).map(|name| format!("own/{name}")).collect();
        let named: Vec<_> = names.iter().map(|name| (name.as_str(), false)).collect();
        let is_over = AtomicBool::new(false);
        let files = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let (one, other) = (at("own"), at("link"));
                    let exchange = RenameFlags::RENAME_EXCHANGE;
                    renameat2(AT_FDCWD, &one, AT_FDCWD, &other, exchange).unwrap();
                }
            });
            let all: Vec<_> = (0..20)
                .flat_map(|_| closed(folder.path(), &named, &Rights::alone(1000)).files)
                .collect();
            is_over.store(true, Ordering::Relaxed);
            all
        });
        assert!(!files.is_empty());
        for (path, found) in files {
            assert_eq!(found.record.owner, 1000, "{}", path.display());
        }
    }

    /// A daemon opens its log, and becomes another user.
    #[test]
    fn a_restore_has_the_rights_of_whoever_has_a_say_about_the_place() {
        let folder = folder_with(&[("ours/log", 1000, 0o644), ("its/log", 1000, 0o644)]);
        chown(folder.path().join("its"), Some(1000), None).unwrap();
        let user = Rights::alone(1000);
        let at = |name: &str| user.at(&folder.path().join(name));
        assert_eq!(at("ours/log"), Rights::alone(0));
        assert_eq!(at("its/log"), user);
        // Also by what lies above, and by a name in a folder of everybody's.
        assert_eq!(at("its/deeper/log"), user);
        let ours = folder.path().join("ours");
        set_permissions(&ours, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(at("ours/log"), user);
        fs::create_dir(ours.join("root's")).unwrap();
        assert_eq!(at("ours/root's/log"), Rights::alone(0));
    }
}
