//! The journal of the files that a program writes, from outside ([`strobe_proto::journal`]).

mod elsewhere;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::unistd::geteuid;
use strobe_proto::FileJournal;
use strobe_proto::journal::{
    ENTRY_BYTES, Entry, LIMIT, Named, OLDER, PATH_BYTES, Placed, Renamed, Restored, There,
    VARIABLE, entries,
};

use self::elsewhere::Whereabouts;
use crate::handle;
use crate::names::Names;
use crate::path_map::PathMap;
use crate::process;
use crate::program_files::Repaired;
use crate::rights::Rights;

/// Of a journal's end, what is looked through at a cut.
const END: u64 = 2 << 20;
/// A place's old path in an entry that says below which root all behind it was done.
const ROOT: &str = "/";
/// Programs that are told of.
const PROGRAMS: usize = 512;
/// A call is made so long after its entry, or sooner. Where it takes longer, its work is kept instead of dropped.
const CALL: Duration = Duration::from_millis(20);
/// Of so many entries before a cut the call may not have been made at the cut.
const UNDER_WAY: usize = 16;

/// The journal that a process names, and writes if it may, if there is one. A program of more rights than who has started
/// it has no library of ours, and a variable that somebody else has given it.
pub fn of(pid: u32) -> Option<PathBuf> {
    let path = process::variable(pid, VARIABLE).ok()??;
    let is_its = path.starts_with('/') && !process::is_secure(pid).ok()?;
    is_its.then(|| path.into())
}

/// Where the older half of a journal is.
pub fn older(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(OLDER);
    name.into()
}

/// A journal, as somebody names it, and those that users keep beside it who may not write it.
pub(crate) fn all(journal: &Path, by: &Rights) -> Vec<(PathBuf, Rights)> {
    let mut all = vec![(journal.to_owned(), by.clone())];
    all.extend(users::beside(journal));
    all
}

pub use users::are_beside;
pub(crate) use users::can_be_kept;

/// Opens a regular file by the word of a user, who can name anything, devices too, of which some do something when they are
/// opened: its own counts, and for the first user any.
fn open(path: &Path, by: &Rights, options: &mut OpenOptions) -> io::Result<File> {
    by.run(|| {
        let held = handle::named(path)?;
        match by.user == 0 || held.metadata()?.uid() == by.user {
            true => handle::open(&held, options),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    })?
}

/// The last bytes of a file of a user's, at most so many.
fn end_of(path: &Path, by: &Rights, most: u64) -> io::Result<Vec<u8>> {
    end(open(path, by, OpenOptions::new().read(true))?, most)
}

fn end(mut file: File, most: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is looked through of both halves, if there is the newer one.
fn ends(journal: &Path, by: &Rights) -> io::Result<[Vec<u8>; 2]> {
    let now = end_of(journal, by, END)?;
    let rest = END.saturating_sub(now.len() as u64);
    Ok([end_of(&older(journal), by, rest).unwrap_or_default(), now])
}

/// What was lately written, or got its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    /// With all that is in it, if it is a folder.
    pub(crate) has_new_name: bool,
}

/// By the word of a user; the latest first, each once. To be asked while nobody writes it.
pub(crate) fn recent(journal: &Path, by: &Rights) -> io::Result<Vec<Written>> {
    let [before, now] = ends(journal, by)?;
    let mut seen = BTreeSet::new();
    let written = entries(&before)
        .chain(entries(&now))
        .rev()
        .flat_map(written);
    let each_once = written.filter(|written| seen.insert(written.path.clone()));
    Ok(each_once.collect())
}

/// Programs that were started lately and are not watched, each once, as they were named.
pub(crate) fn unwatched(journal: &Path, by: &Rights) -> io::Result<BTreeSet<String>> {
    let [before, now] = ends(journal, by)?;
    let all = entries(&before).chain(entries(&now));
    let programs = all.filter_map(|entry| match entry {
        Entry::Unwatched(program) => Some(String::from_utf8_lossy(program).into_owned()),
        _ => None,
    });
    Ok(programs.take(PROGRAMS).collect())
}

/// The names of what is written, or gets a name.
fn written(entry: Entry<'_>) -> impl Iterator<Item = Written> {
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
    let has_new_name = matches!(entry, Entry::Rename(_));
    let paths = path.into_iter().chain(other);
    paths.map(move |path| Written {
        path: OsStr::from_bytes(path).into(),
        has_new_name,
    })
}

/// Makes an entry for a cut in a journal that a user has named, and what a restore has to know of it. To be called while
/// nobody writes the journal.
pub(crate) fn cut(journal: &Path, by: &Rights) -> io::Result<FileJournal> {
    /// random(4)
    const UUID: &str = "/proc/sys/kernel/random/uuid";
    let name: String = fs::read_to_string(UUID)?
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    let end = end_of(journal, by, (UNDER_WAY * ENTRY_BYTES) as u64)?;
    let mut last: Vec<_> = entries(&end).rev().take(UNDER_WAY).collect();
    last.reverse();
    let under_way = under_way(&last);
    let cut = Entry::Cut(name.as_bytes());
    let all = [cut].into_iter().chain(under_way);
    let mut bytes = Vec::new();
    for entry in all.chain([cut]) {
        entry.write(&mut bytes)?;
    }
    let mut file = open(journal, by, OpenOptions::new().append(true))?;
    file.write_all(&bytes)?;
    let owner = file.metadata()?.uid();
    Ok(FileJournal {
        path: journal.as_os_str().as_bytes().to_vec(),
        cut: name,
        owner,
        cut_unix_ns: unix_ns(SystemTime::now()),
        // A journal says what its owner says.
        groups: if owner == by.user {
            by.groups.clone()
        } else {
            Vec::new()
        },
    })
}

fn unix_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Which calls are still to come, or have failed, by what is there. Whoever tells of a name again, or of a folder that it is
/// in, has seen the call before it done: what is there now may have the number of what is gone.
fn under_way<'a>(last: &[Entry<'a>]) -> Vec<Entry<'a>> {
    let mut later = BTreeSet::new();
    let mut under_way = Vec::new();
    for entry in last.iter().rev() {
        let is_last = |name: &Path| !name.ancestors().any(|name| later.contains(name));
        if names(entry).next().is_some_and(is_last) && is_under_way(entry) {
            under_way.push(*entry);
        }
        later.extend(names(entry));
    }
    under_way.reverse();
    under_way
}

/// All names that an entry tells of, first the one that tells whether the call was made.
fn names<'a>(entry: &Entry<'a>) -> impl Iterator<Item = &'a Path> + use<'a> {
    let (first, second) = match *entry {
        Entry::Write(path) | Entry::Make(path) | Entry::MakeFolder(path) => (Some(path), None),
        Entry::Remove(Named { path, .. }) => (Some(path), None),
        Entry::Rename(Renamed { old, new, .. }) => (Some(old), Some(new)),
        Entry::Unwatched(_)
        | Entry::UsesGpu
        | Entry::Cut(_)
        | Entry::Placed(_)
        | Entry::Restored(_) => (None, None),
    };
    let names = first.into_iter().chain(second);
    names.map(|name| Path::new(OsStr::from_bytes(name)))
}

fn is_under_way(entry: &Entry<'_>) -> bool {
    let there = |path: &[u8]| fs::symlink_metadata(OsStr::from_bytes(path)).ok();
    let is = |path, inode| there(path).is_some_and(|meta| meta.ino() == inode);
    match *entry {
        Entry::Make(path) | Entry::MakeFolder(path) => there(path).is_none(),
        Entry::Remove(Named { path, node, .. }) => is(path, node.inode),
        Entry::Rename(Renamed { old, node, .. }) => is(old, node.inode),
        Entry::Write(_)
        | Entry::Unwatched(_)
        | Entry::UsesGpu
        | Entry::Cut(_)
        | Entry::Placed(_)
        | Entry::Restored(_) => false,
    }
}

/// Whether any checkpoint needs a journal.
pub fn has_cut(journal: &Path) -> bool {
    let own = Rights::alone(geteuid().as_raw());
    has(journal, &own, |entry| matches!(entry, Entry::Cut(_)))
}

/// Whether a process of the tree of this one has used a GPU, as far as the journal reaches back.
pub fn has_used_gpu(pid: u32) -> bool {
    let by = Rights::of(pid);
    let named = of(pid).zip(by.ok());
    named.is_some_and(|(journal, by)| has(&journal, &by, |entry| *entry == Entry::UsesGpu))
}

fn has(journal: &Path, by: &Rights, is_it: impl Fn(&Entry<'_>) -> bool) -> bool {
    all(journal, by).iter().flat_map(halves).any(|(half, by)| {
        let file = open(&half, by, OpenOptions::new().read(true));
        let bytes = file.and_then(|file| end(file, 2 * LIMIT));
        let bytes = bytes.unwrap_or_default();
        entries(&bytes).any(|entry| is_it(&entry))
    })
}

fn halves((journal, by): &(PathBuf, Rights)) -> [(PathBuf, &Rights); 2] {
    [(older(journal), by), (journal.to_owned(), by)]
}

/// Removes a journal, and what users keep beside it.
pub fn remove(journal: &Path) {
    let all = all(journal, &Rights::alone(geteuid().as_raw()));
    for (half, by) in all.iter().flat_map(halves) {
        // There is mostly no older one, and what is no user's own stays.
        let _ = by.run(|| fs::remove_file(&half));
    }
}

/// What was noted of a restore, to be taken back should that fail.
#[derive(Debug)]
pub struct Noted {
    file: File,
    /// Its length before that, and behind.
    len: [u64; 2],
    modified: SystemTime,
}

impl Noted {
    /// Makes the journal what it was, unless a process that is not of the program has added to it.
    pub fn undo(&self) -> io::Result<()> {
        let [before, behind] = self.len;
        if self.file.metadata()?.len() > behind {
            return Err(io::Error::other(
                "somebody else has written there meanwhile",
            ));
        }
        self.file.set_len(before)?;
        self.file.set_modified(self.modified)
    }
}

/// Notes that the program is restored, and what has been done to names for it since `begun`, as if it had done that itself:
/// so it is known at other cuts, too. The journal is made again where it is gone. To be called before the program runs.
pub fn restored(
    journal: &FileJournal,
    done: &[Repaired],
    begun: SystemTime,
    map: &PathMap,
) -> io::Result<Noted> {
    let path = &*map.outside_root(journal.path());
    let owner = Rights::of_journal(journal);
    if !fs::exists(path)? {
        owner.run(|| users::make(path))??;
    }
    let file = open(path, &owner, OpenOptions::new().append(true))?;
    let meta = file.metadata()?;
    let mut bytes = Vec::new();
    let mut placed = |old: &Path, new: &Path| {
        let [old, new] = [old, new].map(|path| path.as_os_str().as_bytes());
        match old.len().max(new.len()) <= PATH_BYTES {
            true => Entry::Placed(Placed { old, new }).write(&mut bytes),
            false => Ok(()),
        }
    };
    placed(ROOT.as_ref(), root(map))?;
    map.rules()
        .iter()
        .try_for_each(|rule| placed(rule.old(), rule.place()))?;
    for repaired in done.iter().filter(|done| done.is_of(journal.owner)) {
        repaired.note(map, &mut bytes)?;
    }
    let modified = meta.modified()?;
    let restored = Restored {
        cut: journal.cut.as_bytes(),
        last_unix_ns: unix_ns(modified),
        begun_unix_ns: unix_ns(begun),
    };
    Entry::Restored(restored).write(&mut bytes)?;
    let mut noted = Noted {
        file,
        len: [meta.len(), meta.len() + bytes.len() as u64],
        modified,
    };
    match noted.file.write_all(&bytes) {
        Ok(()) => Ok(noted),
        Err(error) => noted.undo().and(Err(error)),
    }
}

/// Notes that what was moved aside for a restore goes.
pub fn dropping(journal: &FileJournal, going: &[&Repaired], map: &PathMap) -> io::Result<()> {
    let mut bytes = Vec::new();
    for repaired in going.iter().filter(|going| going.is_of(journal.owner)) {
        repaired.note_drop(map, &mut bytes)?;
    }
    let owner = Rights::of_journal(journal);
    let path = map.outside_root(journal.path());
    let mut file = open(&path, &owner, OpenOptions::new().append(true))?;
    file.write_all(&bytes)
}

/// What is the root of a program that is restored so.
fn root(map: &PathMap) -> &Path {
    map.root().unwrap_or(ROOT.as_ref())
}

/// What was done after a cut, and until when the program is known to have done something.
#[derive(Debug, PartialEq, Eq)]
pub struct Since {
    /// To names.
    pub names: Names,
    /// When it was at work.
    pub at_work: AtWork,
    /// Names of which it is not sure that they are the program's.
    pub guessed: BTreeSet<PathBuf>,
}

/// When a program may have made something.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AtWork {
    /// When the last call was made, at the latest, in nanoseconds since 1970: what is younger is somebody else's.
    last: u64,
    /// From a last call until a restore.
    rests: Vec<(u64, u64)>,
}

impl AtWork {
    #[cfg(test)]
    pub(crate) fn until(last: SystemTime) -> Self {
        Self {
            last: unix_ns(last),
            ..Self::default()
        }
    }

    /// Whether what came to be then may be the program's work.
    pub fn has_made(&self, born: SystemTime) -> bool {
        let born = unix_ns(born);
        let rests = |(from, to): &(u64, u64)| (*from < born) && born < *to;
        born <= self.last && !self.rests.iter().any(rests)
    }
}

/// What was done after a cut, by the names that `map` gives; `None` if that is not known any more. Nobody but the
/// journal's owner at the cut is believed.
pub fn since(journal: &FileJournal, map: &PathMap) -> Option<Since> {
    let path = &*map.outside_root(journal.path());
    let owner = Rights::of_journal(journal);
    let mut bytes = Vec::new();
    let mut at_work = AtWork::default();
    for half in [older(path), path.to_owned()] {
        let file = open(&half, &owner, OpenOptions::new().read(true)).ok();
        let meta = file.as_ref().and_then(|file| file.metadata().ok());
        let meta = meta.filter(|meta| meta.uid() == journal.owner);
        if let (Some(file), Some(meta)) = (file, meta) {
            bytes.extend(end(file, 2 * LIMIT).unwrap_or_default());
            at_work.last = at_work.last.max(unix_ns(meta.modified().ok()? + CALL));
        }
    }
    let whereabouts = Whereabouts::new(map, entries(&bytes));
    let now = |path| whereabouts.now(path);
    let mut names = Names::default();
    let mut is_behind = false;
    // Calls that were under way at a cut are made again after a restore to it.
    let mut under_way: BTreeMap<&[u8], Vec<Entry<'_>>> = BTreeMap::new();
    let mut open = None;
    // What was done below another root has left this one as it was. What the first root was, this one may be a copy of.
    let mut is_here = true;
    for entry in entries(&bytes) {
        match entry {
            Entry::Placed(Placed { old, new }) if old == ROOT.as_bytes() => {
                let place = Path::new(OsStr::from_bytes(new));
                is_here = place == Path::new(ROOT) || place == root(map);
            }
            Entry::Cut(name) if open == Some(name) => open = None,
            Entry::Cut(name) => {
                is_behind |= name == journal.cut.as_bytes();
                under_way.insert(name, Vec::new());
                open = Some(name);
            }
            Entry::Restored(restored) if is_behind => {
                let call = CALL.as_nanos() as u64;
                let from = restored.last_unix_ns.saturating_add(call);
                let to = restored.begun_unix_ns.saturating_sub(call);
                at_work.rests.push((from, to));
                let again = under_way.get(restored.cut).into_iter().flatten();
                again
                    .filter(|_| is_here)
                    .for_each(|entry| names.play(entry, &now));
            }
            _ => {
                if let Some(calls) = open.and_then(|name| under_way.get_mut(name)) {
                    calls.push(entry);
                }
                if is_behind && is_here {
                    names.play(&entry, &now);
                }
            }
        }
    }
    if !is_behind {
        return None;
    }
    names.settle(|path| {
        let meta = fs::symlink_metadata(path).ok()?;
        // The number of what is gone may be somebody else's by now.
        let may_be_its = meta.created().map_or(true, |born| at_work.has_made(born));
        may_be_its.then(|| meta.ino())
    });
    let guessed = whereabouts.guessed();
    Some(Since {
        names,
        at_work,
        guessed,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use strobe_proto::journal::FileNode;

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
        let own = Rights::alone(0);
        let first = cut(&journal, &own).unwrap();
        assert!(has_cut(&journal));
        assert_eq!(
            recent(&journal, &own).unwrap(),
            [&gone, &there].map(|path| Written {
                path: path.clone(),
                has_new_name: false,
            })
        );
        // As if it was about to be made at the cut.
        let mut expected = Names::default();
        expected.made.insert(gone.clone(), Made::File);
        let names = |cut: &FileJournal| Some(since(cut, &PathMap::default())?.names);
        assert_eq!(names(&first), Some(expected.clone()));
        note(Entry::Write, &gone);
        note(Entry::Write, Path::new("/old"));
        fs::rename(&journal, older(&journal)).unwrap();
        note(Entry::Make, Path::new("/new"));
        note(Entry::Write, Path::new("/new"));
        expected.written.insert("/old".into());
        expected.made.insert("/new".into(), Made::File);
        assert_eq!(names(&first), Some(expected));
        assert!(has_cut(&journal));
        let owner = first.owner + 1;
        assert_eq!(
            names(&FileJournal {
                owner,
                ..first.clone()
            }),
            None
        );
        fs::remove_file(older(&journal)).unwrap();
        assert_eq!(names(&first), None);
        remove(&journal);
        restored(&first, &[], SystemTime::now(), &PathMap::default()).unwrap();
        assert_eq!(recent(&journal, &own).unwrap(), []);
        assert_eq!(names(&first), None);
    }

    /// ext4 gives the number of what was removed to what is made next.
    #[test]
    fn a_number_that_is_given_again_does_not_make_a_call_of_the_past_one_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latest");
        symlink("2", &path).unwrap();
        let name = path.as_os_str().as_bytes();
        let inode = fs::symlink_metadata(&path).unwrap().ino();
        let node = FileNode {
            inode,
            ..FileNode::default()
        };
        let removed = |link| {
            let path = name;
            Entry::Remove(Named { path, node, link })
        };
        let past = [removed(b"1"), Entry::Make(name)];
        assert_eq!(under_way(&past), []);
        let now = [past[0], past[1], removed(b"2")];
        assert_eq!(under_way(&now), [removed(b"2")]);
    }

    /// As where another root has the same home, mounted.
    #[test]
    fn what_was_done_below_another_root_is_nothing_here() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let root = folder.path().join("root");
        fs::write(&journal, "").unwrap();
        let cut = cut(&journal, &Rights::alone(0)).unwrap();
        let below = root.join(journal.strip_prefix("/").unwrap());
        fs::create_dir_all(below.parent().unwrap()).unwrap();
        fs::hard_link(&journal, &below).unwrap();
        let make = |path: &[u8]| {
            let file = OpenOptions::new().append(true).open(&journal).unwrap();
            Entry::Make(path).write(file).unwrap();
        };
        let made = |map: &PathMap| -> Vec<PathBuf> {
            let names = since(&cut, map).unwrap().names;
            names.made.into_keys().collect()
        };
        let [here, there] = [None, Some(root.clone())].map(|root| PathMap::new(Vec::new(), root));
        make(b"/run");
        restored(&cut, &[], SystemTime::now(), &there).unwrap();
        make(b"/below");
        assert_eq!(made(&here), [Path::new("/run")]);
        // It may be a copy.
        assert_eq!(made(&there), ["below", "run"].map(|name| root.join(name)));
        restored(&cut, &[], SystemTime::now(), &here).unwrap();
        make(b"/again");
        assert_eq!(made(&here), ["/again", "/run"].map(Path::new));
    }

    #[test]
    fn what_came_to_be_between_a_run_and_a_restore_is_nobody_s_work() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        fs::write(&journal, "").unwrap();
        let cut = cut(&journal, &Rights::alone(0)).unwrap();
        let now = SystemTime::now();
        let ago = |seconds| now - Duration::from_secs(seconds);
        let file = OpenOptions::new().append(true).open(&journal).unwrap();
        file.set_modified(ago(100)).unwrap();
        let map = PathMap::default();
        let has_made = |seconds| since(&cut, &map).unwrap().at_work.has_made(ago(seconds));
        assert!(has_made(101) && !has_made(50));
        restored(&cut, &[], now, &map).unwrap();
        assert!(has_made(101) && !has_made(50) && has_made(0));
    }

    /// Any process of a user's can name any path, and put links where that leads.
    #[test]
    fn a_user_s_word_counts_for_the_user_s_own_journal() {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::{PermissionsExt, chown};

        use nix::sys::stat::Mode;
        use nix::unistd::mkfifo;

        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let journal = folder.path().join("journal");
        let [user, other] = [1000, 1001].map(Rights::alone);
        for (owner, is_its) in [(0, false), (1001, false), (1000, true)] {
            fs::write(&journal, "").unwrap();
            chown(&journal, Some(owner), None).expect("we are the first user");
            assert_eq!(cut(&journal, &user).is_ok(), is_its, "of {owner}");
            assert_eq!(recent(&journal, &user).is_ok(), is_its);
            assert_eq!(fs::metadata(&journal).unwrap().len() > 0, is_its);
        }
        let its = cut(&journal, &user).unwrap();
        assert!(since(&its, &PathMap::default()).is_some());
        // Whoever opens a FIFO to write waits for a reader.
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert!(recent(&pipe, &Rights::alone(0)).is_err());
        assert!(cut(&pipe, &Rights::alone(0)).is_err());
        // What only the first user may write, and another's.
        for owner in [None, Some(other.user)] {
            fs::remove_dir_all(folder.path().join("to")).ok();
            let to = folder.path().join("to/deeper");
            fs::create_dir_all(&to).unwrap();
            fs::write(to.join("journal"), "").unwrap();
            chown(to.join("journal"), owner, None).unwrap();
            let led = FileJournal {
                path: to.join("journal").into_os_string().into_encoded_bytes(),
                ..its.clone()
            };
            assert!(restored(&led, &[], SystemTime::now(), &PathMap::default()).is_err());
            assert!(dropping(&led, &[], &PathMap::default()).is_err());
            fs::remove_file(to.join("journal")).unwrap();
            assert!(restored(&led, &[], SystemTime::now(), &PathMap::default()).is_err());
            assert!(!to.join("journal").exists());
        }
    }
}
