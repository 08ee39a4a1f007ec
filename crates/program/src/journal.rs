//! The journal of the files that a program writes, from outside ([`strobe_proto::journal`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use strobe_proto::FileJournal;
use strobe_proto::journal::{
    ENTRY_BYTES, Entry, LIMIT, Named, OLDER, Renamed, There, VARIABLE, entries,
};

use crate::names::Names;
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
    let written = entries(&before)
        .chain(entries(&now))
        .rev()
        .flat_map(written);
    let paths = written.filter(|path| seen.insert(path.to_vec()));
    Ok(paths
        .take(FILES)
        .map(|path| OsStr::from_bytes(path).into())
        .collect())
}

/// The names of what is written, or gets a name.
fn written(entry: Entry<'_>) -> impl Iterator<Item = &[u8]> {
    let (path, other) = match entry {
        Entry::Write(path) | Entry::Make(path) => (Some(path), None),
        Entry::Rename(Renamed {
            old, new, there, ..
        }) => (
            Some(new),
            matches!(there, There::Exchanged(_)).then_some(old),
        ),
        _ => (None, None),
    };
    path.into_iter().chain(other)
}

/// Makes an entry for a cut, and what a restore has to know of it. To be called while nobody writes the journal.
pub(crate) fn cut(journal: &Path) -> io::Result<FileJournal> {
    /// random(4)
    const UUID: &str = "/proc/sys/kernel/random/uuid";
    let name: String = fs::read_to_string(UUID)?
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    let end = end_of(journal, (UNDER_WAY * ENTRY_BYTES) as u64)?;
    let mut under_way: Vec<_> = entries(&end).rev().take(UNDER_WAY).collect();
    under_way.retain(is_under_way);
    let cut = Entry::Cut(name.as_bytes());
    let all = [cut].into_iter().chain(under_way.into_iter().rev());
    let mut bytes = Vec::new();
    for entry in all.chain([cut]) {
        entry.write(&mut bytes)?;
    }
    let mut file = open(journal, OpenOptions::new().append(true))?;
    file.write_all(&bytes)?;
    Ok(FileJournal {
        path: journal.as_os_str().as_bytes().to_vec(),
        cut: name,
        owner: file.metadata()?.uid(),
        cut_unix_ns: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
    })
}

/// Whether a call is still to come, or has failed.
fn is_under_way(entry: &Entry<'_>) -> bool {
    let there = |path: &[u8]| fs::symlink_metadata(OsStr::from_bytes(path)).ok();
    let is = |path, inode| there(path).is_some_and(|meta| meta.ino() == inode);
    match *entry {
        Entry::Make(path) | Entry::MakeFolder(path) => there(path).is_none(),
        Entry::Remove(Named { path, node, .. }) => is(path, node.inode),
        Entry::Rename(Renamed { old, node, .. }) => is(old, node.inode),
        Entry::Write(_) | Entry::Cut(_) | Entry::Restored(_) => false,
    }
}

/// Whether any checkpoint needs a journal.
pub fn has_cut(journal: &Path) -> bool {
    let halves = [older(journal), journal.to_owned()];
    halves.iter().any(|half| {
        let bytes = end_of(half, 2 * LIMIT).unwrap_or_default();
        entries(&bytes).any(|entry| matches!(entry, Entry::Cut(_)))
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
    let mut bytes = Vec::new();
    Entry::Restored(journal.cut.as_bytes()).write(&mut bytes)?;
    file.write_all(&bytes)
}

/// The state of names at a cut, as another cut sees it.
#[derive(Default)]
struct Then<'a> {
    names: Names,
    /// What was under way.
    under_way: Vec<Entry<'a>>,
    elsewhere: Option<Elsewhere>,
}

/// The program was restored to a cut that is not behind this one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    /// It makes files again that were there at this one, unless it never had them.
    Before,
    /// Of that cut nothing is left: it may make any again.
    Unknown,
}

/// What was done after a cut; `None` if that is not known any more. Nobody but the journal's owner at
/// the cut is believed.
pub fn since(journal: &FileJournal) -> Option<Names> {
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
    let first = loop {
        match all.next()? {
            Entry::Cut(name) if name == journal.cut.as_bytes() => break name,
            Entry::Cut(name) => _ = cuts.insert(name),
            Entry::MakeFolder(path) => _ = before.insert(path),
            entry => before.extend(written(entry)),
        }
    };
    let mut then = BTreeMap::from([(first, Then::default())]);
    let mut names = Names::default();
    let mut elsewhere = None;
    // The cut whose calls are being read that were under way.
    let mut open = Some(first);
    for entry in all {
        match entry {
            Entry::Cut(name) if open == Some(name) => open = None,
            Entry::Cut(name) => {
                let at = Then {
                    names: names.clone(),
                    under_way: Vec::new(),
                    elsewhere,
                };
                then.insert(name, at);
                open = Some(name);
            }
            Entry::Restored(name) => match then.get(name) {
                Some(at) => {
                    names.clone_from(&at.names);
                    elsewhere = at.elsewhere;
                    let again = at.under_way.iter();
                    again.for_each(|entry| play(&mut names, elsewhere, &before, entry));
                }
                None => {
                    // Of what it makes there is known what it has made here, too.
                    names = names.elsewhere();
                    elsewhere = Some(match cuts.contains(name) {
                        true => Elsewhere::Before,
                        false => Elsewhere::Unknown,
                    });
                }
            },
            entry => {
                if let Some(at) = open.and_then(|name| then.get_mut(name)) {
                    at.under_way.push(entry);
                }
                play(&mut names, elsewhere, &before, &entry);
            }
        }
    }
    Some(names)
}

/// Plays an entry; elsewhere names stand for other things, so nothing is known but what was made.
fn play(
    names: &mut Names,
    elsewhere: Option<Elsewhere>,
    before: &BTreeSet<&[u8]>,
    entry: &Entry<'_>,
) {
    let may_be_this = |path: &[u8]| match elsewhere {
        Some(Elsewhere::Before) => before.contains(path),
        Some(Elsewhere::Unknown) => true,
        None => false,
    };
    match *entry {
        _ if elsewhere.is_none() => names.play(entry),
        Entry::Make(path) | Entry::MakeFolder(path) if may_be_this(path) => {
            names.play(&Entry::Write(path));
        }
        Entry::Rename(Renamed {
            new,
            there: There::Nothing,
            ..
        }) if !may_be_this(new) => names.play(&Entry::Make(new)),
        Entry::Rename(_) | Entry::Remove(_) => {
            written(*entry).for_each(|path| names.play(&Entry::Write(path)));
        }
        _ => names.play(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Made;

    #[test]
    fn what_came_first_behind_the_cut_counts() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let (there, gone) = (folder.path().join("there"), folder.path().join("gone"));
        fs::write(&there, "").unwrap();
        let note = |entry: fn(&'static [u8]) -> Entry<'static>, path: &Path| {
            let path: &'static [u8] = path.as_os_str().as_bytes().to_vec().leak();
            let mut options = OpenOptions::new();
            let file = options.append(true).create(true).open(&journal);
            entry(path).write(file.unwrap()).unwrap();
        };
        note(Entry::Make, &there);
        note(Entry::Make, &gone);
        assert!(!has_cut(&journal));
        let first = cut(&journal).unwrap();
        assert!(has_cut(&journal));
        assert_eq!(recent(&journal).unwrap(), [gone.clone(), there.clone()]);
        // As if it was about to be made at the cut.
        let mut expected = Names::default();
        expected.made.insert(gone.clone(), Made::File);
        assert_eq!(since(&first), Some(expected.clone()));
        note(Entry::Write, &gone);
        note(Entry::Write, Path::new("/old"));
        fs::rename(&journal, older(&journal)).unwrap();
        note(Entry::Make, Path::new("/new"));
        note(Entry::Write, Path::new("/new"));
        expected.written.insert("/old".into());
        expected.made.insert("/new".into(), Made::File);
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
            let file = OpenOptions::new().append(true).open(&journal).unwrap();
            let path = at(name);
            Entry::Make(path.as_os_str().as_bytes())
                .write(file)
                .unwrap();
        };
        let made = |cut: &FileJournal| {
            let made = since(cut).unwrap().made.into_keys();
            made.collect::<Vec<_>>()
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
        assert_eq!(made(&late), [at("third")]);
        // A cut that was taken since, and what is made after a restore to it.
        let third = cut(&journal).unwrap();
        restored(&third).unwrap();
        absent("fifth");
        assert_eq!(made(&late), [at("fifth"), at("third")]);
        restored(&early).unwrap();
        let elsewhere = cut(&journal).unwrap();
        restored(&late).unwrap();
        restored(&elsewhere).unwrap();
        absent("model");
        assert_eq!(made(&late), [at("fifth"), at("third")]);
        restored(&FileJournal {
            cut: "0".into(),
            ..third.clone()
        })
        .unwrap();
        absent("fourth");
        assert_eq!(made(&third), [at("fifth")]);
    }
}
