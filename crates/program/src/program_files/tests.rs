use std::fs::{self, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use strobe_proto::ProgramFile;
use tempfile::TempDir;

use super::repair::Content;
use super::*;
use crate::path_map::PathMap;

/// A folder for files of the program, and one for images.
struct Place {
    folder: TempDir,
    images: TempDir,
}

impl Place {
    fn new() -> Self {
        let new = || tempfile::tempdir().expect("a temporary directory");
        Self {
            folder: new(),
            images: new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn saved_of(&self, pid: u32, limit: u64) -> Result<Saved, ProgramFileError> {
        let mut recorder = Recorder::default();
        recorder.add(pid)?;
        recorder.save(limit, |number| {
            let name = number.to_string();
            let file = File::create(self.images.path().join(&name))?;
            Ok((name, file))
        })
    }

    /// What is left out, too. Other tests of this process open files and remove them meanwhile.
    fn saved(&self, limit: u64) -> Saved {
        let saved = || self.saved_of(std::process::id(), limit);
        // And their numbers are those of other files then.
        let gone = |tried: &Result<_, ProgramFileError>| {
            matches!(tried, Err(ProgramFileError::Save { .. }))
        };
        let mut tries = (0..1000).map(|_| saved());
        let saved = tries.find(|tried| !gone(tried));
        saved.expect("a moment of rest").expect("it is saved")
    }

    fn records(&self, name: &str, limit: u64) -> Vec<ProgramFile> {
        let path = self.path(name);
        let mut all = self.saved(limit).files;
        all.retain(|file| file.path() == path);
        all
    }

    fn compare(&self, records: &[ProgramFile]) -> Comparison {
        compare(
            records,
            self.images.path(),
            &[],
            &PathMap::default(),
            &Places::default(),
        )
    }

    /// Of files that need no more than that.
    fn repair(&self, records: &[ProgramFile]) -> Vec<Repaired> {
        let Comparison { repairs, refusals } = self.compare(records);
        assert!(refusals.is_empty(), "{refusals:?}");
        let repaired = repairs.into_iter().map(Repair::apply);
        repaired.collect::<Result<_, _>>().expect("it is repaired")
    }

    fn refusal(&self, records: &[ProgramFile]) -> ProgramFileError {
        let mut refusals = self.compare(records).refusals;
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        refusals.remove(0)
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

const PLENTY: u64 = 1 << 20;

#[test]
fn files_that_are_open_are_recorded_by_their_names() {
    let place = Place::new();
    let mut log = File::create(place.path("log")).unwrap();
    log.write_all(b"12345").unwrap();
    let records = place.records("log", PLENTY);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].size, records[0].position), (5, 5));
    drop(log);
    assert_eq!(place.records("log", PLENTY), []);
    let gone = File::create(place.path("gone")).unwrap();
    fs::remove_file(place.path("gone")).unwrap();
    let named = place.saved(PLENTY).files;
    assert!(
        !named.iter().any(|f| f.path().ends_with("gone")),
        "a deleted file has no path"
    );
    drop(gone);
}

#[test]
fn what_is_only_read_is_saved_where_the_program_may_have_written_it() {
    let place = Place::new();
    fs::write(place.path("data"), "12345").unwrap();
    let data = File::open(place.path("data")).unwrap();
    let young = place.records("data", PLENTY);
    assert!(!young[0].foreign && !young[0].stored.is_empty());
    let yesterday = SystemTime::now() - Duration::from_secs(86400);
    data.set_modified(yesterday).unwrap();
    let old = place.records("data", PLENTY);
    assert!(old[0].foreign && old[0].stored.is_empty());
    let ourselves = std::env::current_exe().unwrap().canonicalize().unwrap();
    let saved = place.saved(PLENTY).files;
    let ourselves = saved.iter().find(|file| file.path() == ourselves);
    assert!(
        ourselves.expect("it is mapped").foreign,
        "whoever builds it wants it so"
    );
}

/// An administrator's change would be undone by whoever has it open.
#[test]
fn what_its_reader_may_not_write_is_not_written_again() {
    let place = Place::new();
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(place.folder.path(), open).unwrap();
    fs::write(place.path("data"), "12345").unwrap();
    let data = File::open(place.path("data")).unwrap();
    let mut reader = Command::new("sleep");
    let mut reader = reader.arg("60").stdin(data).uid(1000).spawn().unwrap();
    for (owner, foreign) in [(0, true), (1000, false)] {
        chown(place.path("data"), Some(owner), None).unwrap();
        let saved = place.saved_of(reader.id(), PLENTY).unwrap().files;
        let data = saved.iter().find(|file| file.path().ends_with("data"));
        assert_eq!(data.unwrap().foreign, foreign, "of {owner}");
    }
    reader.kill().unwrap();
    reader.wait().unwrap();
}

#[test]
fn a_file_that_is_only_read_is_the_same_or_refused() {
    let place = Place::new();
    let path = place.path("data");
    let at = |days: u64| {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let then = SystemTime::now() - Duration::from_secs(86400 * days);
        file.set_modified(then).unwrap();
    };
    fs::write(&path, "12345").unwrap();
    at(9);
    let reader = File::open(&path).unwrap();
    let mut records = place.records("data", PLENTY);
    hash_foreign(&mut records, Path::new("/"));
    assert_eq!(records[0].blake3, blake3::hash(b"12345").as_bytes());
    at(8);
    assert!(place.repair(&records).is_empty(), "touched, and no more");
    fs::write(&path, "12354").unwrap();
    at(8);
    let refusal = place.refusal(&records);
    assert!(matches!(refusal, ProgramFileError::Changed(_)), "{refusal}");
    fs::write(&path, "123456").unwrap();
    let refusal = place.refusal(&records);
    assert!(matches!(refusal, ProgramFileError::Changed(_)), "{refusal}");
    fs::write(&path, "12345").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let refusal = place.refusal(&records);
    assert!(
        matches!(refusal, ProgramFileError::Mode { now: 0o600, .. }),
        "{refusal}"
    );
    let allowed = compare(
        &records,
        place.images.path(),
        std::slice::from_ref(&path),
        &PathMap::default(),
        &Places::default(),
    );
    assert!(allowed.refusals.is_empty());
    drop(reader);
}

#[test]
fn a_file_of_two_processes_is_recorded_once_and_cut_back_once() {
    let place = Place::new();
    let mut log = File::create(place.path("log")).unwrap();
    log.write_all(b"before").unwrap();
    let saved = || {
        let mut recorder = Recorder::default();
        recorder.add(std::process::id())?;
        recorder.add(std::process::id())?;
        // Nothing of ours fits; other tests have empty files.
        recorder.save(0, |_| Ok((String::new(), tempfile::tempfile()?)))
    };
    let mut tries = (0..1000).filter_map(|_| saved().ok());
    let mut records = tries.next().expect("a moment of rest").files;
    records.retain(|file| file.path() == place.path("log"));
    assert_eq!(records.len(), 1);
    log.write_all(b" and after").unwrap();
    // As older checkpoints have it.
    records.push(records[0].clone());
    assert_eq!(place.compare(&records).repairs.len(), 1);
}

#[test]
fn what_has_become_of_a_file_is_kept_as_often_as_it_is_brought_back() {
    let place = Place::new();
    let path = place.path("weights.tmp");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"half of").unwrap();
    file.set_permissions(Permissions::from_mode(0o640)).unwrap();
    let records = place.records("weights.tmp", PLENTY);
    let is_back = || {
        let mode = fs::metadata(&path).unwrap().mode();
        assert_eq!(fs::read(&path).unwrap(), b"half of");
        assert_eq!(mode & 0o7777, 0o640);
    };
    assert!(place.repair(&records).is_empty(), "nothing has happened");

    file.write_all(b" the weights").unwrap();
    assert_eq!(
        place.repair(&records)[0].kept(),
        Some(&*place.path("weights.tmp.strobe-tail-1"))
    );
    is_back();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b" other").unwrap();
    assert_eq!(
        place.repair(&records)[0].kept(),
        Some(&*place.path("weights.tmp.strobe-tail-2"))
    );
    is_back();

    fs::rename(&path, place.path("weights")).unwrap();
    assert_eq!(place.repair(&records)[0].kept(), None);
    is_back();
    fs::write(&path, "all the weights of later").unwrap();
    assert_eq!(
        place.repair(&records)[0].kept(),
        Some(&*place.path("weights.tmp.strobe-later-1"))
    );
    is_back();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    place.repair(&records);
    is_back();
    let mut dropped = {
        fs::write(&path, "").unwrap();
        place.repair(&records)
    };
    dropped[0].drop_kept().unwrap();
    is_back();
    let names = [
        "weights",
        "weights.tmp",
        "weights.tmp.strobe-later-1",
        // It may be somebody else's.
        "weights.tmp.strobe-later-2",
        "weights.tmp.strobe-tail-1",
        "weights.tmp.strobe-tail-2",
    ];
    assert_eq!(place.names(), names);
    assert_eq!(
        fs::read(place.path(names[2])).unwrap(),
        b"all the weights of later"
    );
    assert_eq!(fs::read(place.path(names[4])).unwrap(), b" the weights");
}

#[test]
fn a_file_of_two_names_has_both_again() {
    let place = Place::new();
    fs::write(place.path("a"), "one").unwrap();
    fs::hard_link(place.path("a"), place.path("b")).unwrap();
    let written =
        ["a", "b"].map(|name| File::options().append(true).open(place.path(name)).unwrap());
    let records = [place.records("a", PLENTY), place.records("b", PLENTY)].concat();
    let are_one = || {
        let meta = ["a", "b"].map(|name| fs::metadata(place.path(name)).unwrap());
        assert_eq!(meta[0].ino(), meta[1].ino());
        assert_eq!(fs::read(place.path("a")).unwrap(), b"one");
        meta[0].ino()
    };
    let inode = are_one();
    (&written[0]).write_all(b" more").unwrap();
    assert_eq!(place.repair(&records).len(), 1, "it is one file");
    assert_eq!(are_one(), inode);
    // Either name is gone, or another file's.
    for name in ["a", "b"] {
        fs::remove_file(place.path(name)).unwrap();
        let repaired = place.repair(&records);
        assert_eq!(are_one(), inode);
        repaired
            .iter()
            .rev()
            .for_each(|repaired| repaired.undo().unwrap());
        assert!(!place.path(name).exists());
        fs::write(place.path(name), "another").unwrap();
        let repaired = place.repair(&records);
        assert_eq!(fs::read(repaired[0].kept().unwrap()).unwrap(), b"another");
        assert_eq!(are_one(), inode);
    }
    for name in ["a", "b"] {
        fs::remove_file(place.path(name)).unwrap();
    }
    place.repair(&records);
    are_one();
}

#[test]
fn owner_mode_and_time_are_those_of_the_cut() {
    let place = Place::new();
    let path = place.path("data");
    fs::write(&path, "12345").unwrap();
    let then = SystemTime::now() - Duration::from_secs(1000);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    file.set_modified(then).unwrap();
    let records = place.records("data", PLENTY);
    fs::remove_file(&path).unwrap();
    place.repair(&records);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then);
    chown(&path, Some(12345), Some(54321)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
    let repaired = place.repair(&records);
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(
        (meta.uid(), meta.gid(), meta.mode()),
        (records[0].owner, records[0].group, records[0].mode)
    );
    repaired[0].undo().unwrap();
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(
        (meta.uid(), meta.gid(), meta.mode() & 0o777),
        (12345, 54321, 0o604)
    );
}

#[test]
fn a_file_comes_back_with_its_folder() {
    let place = Place::new();
    fs::create_dir_all(place.path("run/today")).unwrap();
    let mut file = File::create(place.path("run/today/log")).unwrap();
    file.write_all(b"line").unwrap();
    let records = place.records("run/today/log", PLENTY);
    fs::remove_dir_all(place.path("run")).unwrap();
    let repaired = place.repair(&records);
    assert_eq!(fs::read(place.path("run/today/log")).unwrap(), b"line");
    repaired[0].undo().unwrap();
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn what_was_repaired_is_undone_where_the_restore_fails() {
    let place = Place::new();
    let path = place.path("log");
    let mut log = File::create(&path).unwrap();
    log.write_all(b"before").unwrap();
    let records = place.records("log", PLENTY);
    log.write_all(b" and after").unwrap();
    for now in ["before and after", "otherwise", "be"] {
        fs::write(&path, now).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let repaired = place.repair(&records);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        repaired[0].undo().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), now);
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.modified().unwrap(), modified, "{now}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o604, "{now}");
        assert_eq!(place.names(), ["log"]);
    }
    fs::remove_file(&path).unwrap();
    place.repair(&records)[0].undo().unwrap();
    assert_eq!(place.names(), [""; 0]);
    fs::create_dir(&path).unwrap();
    let refusal = place.refusal(&records);
    assert!(
        matches!(refusal, ProgramFileError::Directory(_)),
        "{refusal}"
    );
}

/// SQLite goes by the number of its file.
#[test]
fn a_database_that_comes_back_as_another_file_is_known() {
    let place = Place::new();
    for (bytes, expected) in [("SQLite format 3\0 and pages", true), ("SQLite", false)] {
        let path = place.path("data");
        fs::write(&path, bytes).unwrap();
        let open = File::options().append(true).open(&path).unwrap();
        let records = place.records("data", PLENTY);
        let is_another = || {
            let repairs = place.compare(&records).repairs;
            repairs.iter().any(Repair::is_another_database)
        };
        fs::write(&path, "other pages").unwrap();
        assert!(!is_another(), "it is the same file");
        fs::remove_file(&path).unwrap();
        assert_eq!(is_another(), expected, "{bytes}");
        drop(open);
    }
}

/// What has other names is copied aside.
#[test]
fn what_is_copied_aside_needs_room() {
    let place = Place::new();
    let (path, other) = (place.path("made"), place.path("other"));
    fs::write(&path, vec![1; 1 << 16]).unwrap();
    let aside = Repair::new(&ProgramFile::at(path.clone()), Some(Content::Aside), None);
    assert_eq!(aside.bytes(), 0);
    fs::hard_link(&path, &other).unwrap();
    assert_eq!(aside.bytes(), 1 << 16);
}

#[test]
fn a_file_that_was_written_to_stays_the_same_under_all_its_names() {
    let place = Place::new();
    let (path, other) = (place.path("data"), place.path("current"));
    let mut data = File::create(&path).unwrap();
    data.write_all(b"before").unwrap();
    fs::hard_link(&path, &other).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    let records = place.records("data", PLENTY);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let mode_of = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    // It has grown: what is cut off is nobody else's either.
    fs::write(&path, "before and after").unwrap();
    let grown = place.repair(&records);
    assert_eq!(mode_of(grown[0].kept().expect("its tail")), 0o600);
    grown[0].undo().unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "otherwise").unwrap();
    let repaired = place.repair(&records);
    assert_eq!(mode_of(repaired[0].kept().expect("it is kept")), 0o600);
    assert_eq!(fs::read(&other).unwrap(), b"before");
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    let kept = repaired[0].kept().expect("what it was since");
    assert_eq!(fs::read(kept).unwrap(), b"otherwise");
    repaired[0].undo().unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"otherwise");
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(place.names(), ["current", "data"]);
    // Another file has its name: that one is left alone.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "another").unwrap();
    place.repair(&records);
    assert_eq!(fs::read(&other).unwrap(), b"otherwise");
    assert_eq!(fs::read(&path).unwrap(), b"before");
}

#[test]
fn small_files_are_saved_first_and_those_left_out_are_named() {
    let place = Place::new();
    let mut large = File::create(place.path("large")).unwrap();
    large.write_all(&[1; 6 << 20]).unwrap();
    let mut small = File::create(place.path("small")).unwrap();
    small.write_all(b"small").unwrap();
    let saved = place.saved(5 << 20);
    let of = |name| {
        let path = place.path(name);
        saved.files.iter().find(|file| file.path() == path)
    };
    assert!(!of("small").unwrap().stored.is_empty());
    assert!(of("large").unwrap().stored.is_empty());
    let path = place.path("large");
    let left_out = saved.left_out.iter().find(|file| file.path == path);
    let sentence = left_out.expect("it is named").to_string();
    assert!(sentence.contains("as it is now, or longer"), "{sentence}");
}

#[test]
fn what_nobody_may_change_is_named_with_the_remedy() {
    let place = Place::new();
    let path = place.path("log");
    let chattr = |change, path: &Path| {
        let done = Command::new("chattr").arg(change).arg(path).status();
        assert!(done.expect("chattr starts").success());
    };
    let mut options = OpenOptions::new();
    let mut log = options.append(true).create(true).open(&path).unwrap();
    log.write_all(b"12345").unwrap();
    chattr("+a", &path);
    let saved = place.saved(PLENTY);
    log.write_all(b"6").unwrap();
    let mut records = saved.files;
    records.retain(|file| file.path() == path);
    let repairs = || place.compare(&records).repairs;
    let sealed = || {
        let sealed: Vec<_> = repairs().iter().filter_map(Repair::sealed).collect();
        sealed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let appended = sealed();
    let refused = repairs().remove(0).apply();
    chattr("-a", &path);
    let free = sealed();
    // What comes after the cut is kept beside it.
    let folder = path.parent().unwrap();
    chattr("+i", folder);
    let shut = sealed();
    chattr("-i", folder);
    let remedy = |change, path: &Path| format!("`chattr {change} {}`", path.display());
    let names = |said: &[String], remedy: &str| said.iter().all(|said| said.contains(remedy));
    let remedies = remedy("-a", &path);
    let at_the_cut: Vec<_> = saved.sealed.iter().map(ToString::to_string).collect();
    assert_eq!((at_the_cut.len(), appended.len(), shut.len()), (1, 1, 1));
    assert!(names(&at_the_cut, &remedies), "{at_the_cut:?}");
    assert!(names(&appended, &remedies), "{appended:?}");
    assert!(refused.is_err());
    assert_eq!(free, [""; 0]);
    assert!(names(&shut, &remedy("-i", folder)), "{shut:?}");
    place.repair(&records);
    assert_eq!(fs::read(&path).unwrap(), b"12345");
}

#[test]
fn contents_that_were_not_saved_and_have_changed_are_refused_by_name() {
    let place = Place::new();
    let mut counter = File::create(place.path("counter")).unwrap();
    counter.write_all(b"1 of 9").unwrap();
    let records = place.records("counter", 0);
    counter.write_all(b" and more").unwrap();
    assert_eq!(place.compare(&records).repairs.len(), 1, "it has grown");
    counter.seek(SeekFrom::Start(0)).unwrap();
    counter.write_all(b"2").unwrap();
    let changed = place.refusal(&records);
    assert!(matches!(changed, ProgramFileError::Changed(_)), "{changed}");
    assert!(changed.to_string().contains("counter"), "{changed}");
    let allowed = compare(
        &records,
        place.images.path(),
        &[place.path("counter")],
        &PathMap::default(),
        &Places::default(),
    );
    assert!(allowed.refusals.is_empty() && allowed.repairs.is_empty());
}

#[test]
fn what_was_too_large_to_be_compared_must_not_have_been_written() {
    let place = Place::new();
    let file = File::create(place.path("large")).unwrap();
    file.set_len((1 << 30) + 1).unwrap();
    let records = place.records("large", 0);
    assert_eq!(records[0].blake3, [0; 0]);
    assert!(place.repair(&records).is_empty());
    let later = SystemTime::now() + Duration::from_secs(9);
    file.set_modified(later).unwrap();
    let written = place.refusal(&records);
    assert!(
        matches!(written, ProgramFileError::TooLarge(_)),
        "{written}"
    );
}

#[test]
fn a_file_that_is_only_mapped_is_recorded() {
    let place = Place::new();
    let path = place.path("mapped");
    fs::write(&path, [7; 100]).unwrap();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    // SAFETY: a new mapping of a file that keeps its size; nobody refers to it.
    let map = unsafe {
        nix::sys::mman::mmap(
            None,
            std::num::NonZeroUsize::new(4096).unwrap(),
            nix::sys::mman::ProtFlags::PROT_READ | nix::sys::mman::ProtFlags::PROT_WRITE,
            nix::sys::mman::MapFlags::MAP_SHARED,
            &file,
            0,
        )
    }
    .unwrap();
    drop(file);
    let records = place.records("mapped", 0);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].blake3, blake3::hash(&[7; 100]).as_bytes());
    // SAFETY: the mapping made above, which nobody uses any more.
    unsafe { nix::sys::mman::munmap(map, 4096) }.unwrap();
    assert_eq!(place.records("mapped", 0), []);
}

#[test]
fn what_cannot_be_undone_is_refused_by_name() {
    let place = Place::new();
    let path = place.path("log");
    let mut log = File::create(&path).unwrap();
    log.write_all(b"before").unwrap();
    let records = place.records("log", 0);
    log.set_len(2).unwrap();
    let shrunk = place.refusal(&records);
    let sizes = matches!(
        shrunk,
        ProgramFileError::Shrunk {
            then: 6,
            now: 2,
            ..
        }
    );
    assert!(sizes, "{shrunk}");
    fs::rename(&path, place.path("other")).unwrap();
    let missing = place.refusal(&records);
    assert!(matches!(missing, ProgramFileError::Missing(_)), "{missing}");
    fs::write(&path, b"before").unwrap();
    let replaced = place.refusal(&records);
    assert!(replaced.to_string().contains("log"), "{replaced}");
    assert!(
        matches!(replaced, ProgramFileError::Replaced(_)),
        "{replaced}"
    );
}

#[test]
fn a_file_is_written_while_somebody_has_it_open_for_that() {
    let place = Place::new();
    let writer = File::create(place.path("file")).unwrap();
    let reader = File::open(place.path("file")).unwrap();
    assert!(is_written(&reader));
    drop(writer);
    assert!(!is_written(&reader));
}

#[test]
fn a_folder_that_the_program_needs_is_made_again_and_goes_where_the_restore_fails() {
    let place = Place::new();
    let path = place.path("above/folder");
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    let open = File::open(&path).unwrap();
    let records = place.records("above/folder", 0);
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(place.compare(&records).repairs.is_empty(), "it is there");
    drop(open);
    fs::remove_dir_all(place.path("above")).unwrap();
    let repaired = place.repair(&records);
    let mode = fs::metadata(&path).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o700);
    assert!(repaired[0].to_string().ends_with("is there again"));
    repaired[0].undo().unwrap();
    assert!(!place.path("above").exists());
    fs::create_dir(place.path("above")).unwrap();
    fs::write(&path, "a file").unwrap();
    let refusal = place.refusal(&records);
    assert!(
        matches!(refusal, ProgramFileError::NoDirectory(_)),
        "{refusal}"
    );
}
