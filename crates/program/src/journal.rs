//! The journal of the files that a program writes, from outside ([`strobe_proto::journal`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use strobe_proto::FileJournal;
use strobe_proto::journal::{EntryKind, LIMIT, OLDER, PATH_BYTES, VARIABLE, entries};

use crate::process;

/// Of a journal's end, what is looked through at a cut.
const END: u64 = 256 << 10;
/// Files that are looked at, at a cut: those that were written last.
const FILES: usize = 512;
/// Of so many entries before a cut the call may not have been made at the cut.
const UNDER_WAY: usize = 16;

/// The journal that a process writes, if there is one.
pub fn of(pid: u32) -> Option<PathBuf> {
    let path = process::variable(pid, VARIABLE).ok()??;
    path.starts_with('/').then(|| path.into())
}

/// Where the older half of a journal is.
pub fn older(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(OLDER);
    name.into()
}

/// Opens a regular file, or waits for nothing.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The last bytes of a file, at most so many.
fn end_of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, OpenOptions::new().read(true))?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The paths of files that were lately written, or got their names; the latest first, each once. To be asked while nobody writes it.
pub(crate) fn recent(journal: &Path) -> io::Result<Vec<PathBuf>> {
    let now = end_of(journal, END)?;
    let before = end_of(&older(journal), END.saturating_sub(now.len() as u64)).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let paths = entries(&before).chain(entries(&now)).rev();
    let is_written = |kind: EntryKind| matches!(kind, EntryKind::Present | EntryKind::Absent);
    let paths = paths.filter(|(kind, path)| is_written(*kind) && seen.insert(path.to_vec()));
    Ok(paths
        .take(FILES)
        .map(|(_, path)| OsStr::from_bytes(path).into())
        .collect())
}

/// Makes an entry for a cut, and what a restore has to know of it. To be called while nobody writes the journal.
pub(crate) fn cut(journal: &Path) -> io::Result<FileJournal> {
    /// random(4)
    const UUID: &str = "/proc/sys/kernel/random/uuid";
    let name: String = fs::read_to_string(UUID)?
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    let end = end_of(journal, (UNDER_WAY * (PATH_BYTES + 2)) as u64)?;
    // What was about to be made, and is not yet, is made behind the cut.
    let under_way = entries(&end).rev().take(UNDER_WAY).filter(|(kind, path)| {
        matches!(kind, EntryKind::Absent | EntryKind::Folder)
            && fs::symlink_metadata(OsStr::from_bytes(path)).is_err()
    });
    let mut bytes = entry(EntryKind::Cut, name.as_bytes());
    for (kind, path) in under_way {
        bytes.extend(entry(kind, path));
    }
    let mut file = open(journal, OpenOptions::new().append(true))?;
    file.write_all(&bytes)?;
    Ok(FileJournal {
        path: journal.as_os_str().as_bytes().to_vec(),
        cut: name,
        owner: file.metadata()?.uid(),
    })
}

/// Whether any checkpoint needs a journal.
pub fn has_cut(journal: &Path) -> bool {
    let halves = [older(journal), journal.to_owned()];
    halves.iter().any(|half| {
        let bytes = end_of(half, 2 * LIMIT).unwrap_or_default();
        entries(&bytes).any(|(kind, _)| kind == EntryKind::Cut)
    })
}

/// Removes a journal.
pub fn remove(journal: &Path) {
    for half in [older(journal), journal.to_owned()] {
        // There is mostly no older one.
        let _ = fs::remove_file(half);
    }
}

/// Notes that the program is restored, in a journal that is made again where it is gone.
pub fn restored(journal: &FileJournal) -> io::Result<()> {
    let path = journal.path();
    if !fs::exists(path)? {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        let mut new = OpenOptions::new();
        let file = new.write(true).create_new(true).mode(0o600).open(path)?;
        fchown(file, Some(journal.owner), None)?;
    }
    let mut file = open(path, OpenOptions::new().append(true))?;
    file.write_all(&entry(EntryKind::Restored, journal.cut.as_bytes()))
}

fn entry(kind: EntryKind, text: &[u8]) -> Vec<u8> {
    [&[kind.byte()], text, &[0]].concat()
}

/// What the program did to a path after a cut, first of all.
pub type Since = BTreeMap<PathBuf, EntryKind>;

/// All paths that were written after a cut; `None` if that is not known any more. Nobody but the journal's owner at
/// the cut is believed.
pub fn since(journal: &FileJournal) -> Option<Since> {
    let path = journal.path();
    let mut bytes = Vec::new();
    for half in [older(path), path.to_owned()] {
        let meta = fs::symlink_metadata(&half);
        if meta.is_ok_and(|meta| meta.uid() == journal.owner) {
            bytes.extend(end_of(&half, 2 * LIMIT).unwrap_or_default());
        }
    }
    let (mut before, mut cuts) = (BTreeSet::new(), BTreeSet::new());
    let mut all = entries(&bytes);
    loop {
        match all.next()? {
            (EntryKind::Cut, name) if name == journal.cut.as_bytes() => break,
            (EntryKind::Cut, name) => {
                cuts.insert(name);
            }
            (_, path) => {
                before.insert(path);
            }
        }
    }
    let mut since = Since::new();
    // Restored to an earlier cut, the program makes files that were there at this one, unless it never had them;
    // to one of which nothing is left, perhaps any. What was cut in between stands where it was cut.
    let mut later = BTreeMap::from([(journal.cut.as_bytes(), (false, false))]);
    let (mut is_earlier, mut is_unknown) = (false, false);
    for (kind, path) in all {
        match kind {
            EntryKind::Cut => {
                later.insert(path, (is_earlier, is_unknown));
            }
            EntryKind::Restored => {
                let is_before = cuts.contains(path);
                let known = later.get(path).copied();
                (is_earlier, is_unknown) = known.unwrap_or((is_before, !is_before));
            }
            EntryKind::Absent | EntryKind::Folder
                if is_unknown || is_earlier && before.contains(path) =>
            {
                let path = OsStr::from_bytes(path).into();
                since.entry(path).or_insert(EntryKind::Present);
            }
            kind => {
                since.entry(OsStr::from_bytes(path).into()).or_insert(kind);
            }
        }
    }
    Some(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_behind_the_cut_counts() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let (there, gone) = (folder.path().join("there"), folder.path().join("gone"));
        fs::write(&there, "").unwrap();
        let entry = |kind: EntryKind, path: &Path| {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(&journal)
                .unwrap();
            file.write_all(&entry(kind, path.as_os_str().as_bytes()))
                .unwrap();
        };
        entry(EntryKind::Absent, &there);
        entry(EntryKind::Absent, &gone);
        assert!(!has_cut(&journal));
        let first = cut(&journal).unwrap();
        assert!(has_cut(&journal));
        assert_eq!(recent(&journal).unwrap(), [gone.clone(), there.clone()]);
        // As if it was about to be made at the cut.
        let expected = Since::from([(gone.clone(), EntryKind::Absent)]);
        assert_eq!(since(&first), Some(expected.clone()));
        entry(EntryKind::Present, &gone);
        entry(EntryKind::Present, Path::new("/old"));
        fs::rename(&journal, older(&journal)).unwrap();
        entry(EntryKind::Absent, Path::new("/new"));
        entry(EntryKind::Present, Path::new("/new"));
        let mut expected = expected;
        expected.insert("/old".into(), EntryKind::Present);
        expected.insert("/new".into(), EntryKind::Absent);
        assert_eq!(since(&first), Some(expected));
        assert!(has_cut(&journal));
        let owner = first.owner + 1;
        assert_eq!(
            since(&FileJournal {
                owner,
                ..first.clone()
            }),
            None
        );
        fs::remove_file(older(&journal)).unwrap();
        assert_eq!(since(&first), None);
        remove(&journal);
        restored(&first).unwrap();
        assert_eq!(recent(&journal).unwrap(), [] as [PathBuf; 0]);
        assert_eq!(since(&first), None);
    }

    /// What is made again after a restore to an earlier cut was there at the later one.
    #[test]
    fn a_program_that_was_restored_elsewhere_says_little_of_this_cut() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let at = |name: &str| folder.path().join(name);
        for name in ["model", "other", "third"] {
            fs::write(at(name), "").unwrap();
        }
        fs::write(&journal, "").unwrap();
        let absent = |name: &str| {
            let mut file = OpenOptions::new().append(true).open(&journal).unwrap();
            file.write_all(&entry(EntryKind::Absent, at(name).as_os_str().as_bytes()))
                .unwrap();
        };
        let made = |cut: &FileJournal| {
            let since = since(cut).unwrap().into_iter();
            let made = since.filter(|(_, kind)| *kind == EntryKind::Absent);
            made.map(|(path, _)| path).collect::<Vec<_>>()
        };
        let early = cut(&journal).unwrap();
        absent("model");
        let late = cut(&journal).unwrap();
        restored(&early).unwrap();
        absent("model");
        absent("other");
        assert_eq!(made(&early), [at("model"), at("other")]);
        assert_eq!(made(&late), [at("other")]);
        restored(&late).unwrap();
        absent("third");
        assert_eq!(made(&late), [at("other"), at("third")]);
        // A cut that was taken since, and what is made after a restore to it.
        let third = cut(&journal).unwrap();
        restored(&third).unwrap();
        absent("fifth");
        assert_eq!(made(&late), [at("fifth"), at("other"), at("third")]);
        restored(&early).unwrap();
        let elsewhere = cut(&journal).unwrap();
        restored(&late).unwrap();
        restored(&elsewhere).unwrap();
        absent("model");
        assert_eq!(made(&late), [at("fifth"), at("other"), at("third")]);
        restored(&FileJournal {
            cut: "0".into(),
            ..third.clone()
        })
        .unwrap();
        absent("fourth");
        assert_eq!(made(&third), [at("fifth")]);
    }
}
