//! What the program has made since the cut, and what it has written of which nothing is known: its journal tells.
//!
//! A restored program makes the same files again: it would find them there, append to them, or be in its own way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::journal::FileNode;
use strobe_proto::{FileJournal, ProgramFile};

use super::kept::{between, is_kept, on_their_way};
use super::places::Places;
use super::repair::{Content, Repair};
use super::view::View;
use crate::journal;
use crate::names::{Moved, Names, Removed, under};
use crate::path_map::PathMap;
use crate::rights::Rights;

/// What a restore finds that was not there, or not so, at the cut.
#[derive(Debug, Default)]
pub struct Later {
    /// What was made since, to be moved aside; what has another name now, to have its own again; folders, links and
    /// FIFOs that are gone. In this order, and before all that is done to files.
    pub repairs: Vec<Repair>,
    /// Where things are before that is done.
    pub places: Places,
    /// What was written since; how it was at the cut nobody has kept.
    pub written: Vec<PathBuf>,
    /// Likewise, what was removed.
    pub removed: Vec<PathBuf>,
    /// Journals that do not reach back to the cut, or are gone.
    pub unknown: Vec<PathBuf>,
}

/// Looks, and changes nothing. What is in `records` will be compared; what is in `spared` stays as it is.
pub fn later(
    journals: &[FileJournal],
    records: &[ProgramFile],
    spared: &[PathBuf],
    map: &PathMap,
) -> Later {
    let mut found = Later::default();
    let mut paths = BTreeSet::new();
    for journal in journals {
        match journal::since(journal, map) {
            Some(since) => {
                let before = found.repairs.len();
                let view = View::new(journal, &since, records, spared, map);
                found.look(&since.names, &view);
                // Of what two journals tell, once is enough.
                let mut new = found.repairs.split_off(before);
                new.retain(|repair| !paths.contains(repair.path()));
                let by = Rights::of_journal(journal);
                new.iter_mut().for_each(|repair| repair.is_by(&by));
                paths.extend(new.iter().map(|repair| repair.path().to_owned()));
                let places = &found.places;
                let new = new.into_iter().map(|repair| repair.foreseen(places));
                found.repairs.extend(new);
            }
            None => found.unknown.push(journal.path().to_owned()),
        }
    }
    found
}

impl Later {
    fn look(&mut self, since: &Names, view: &View<'_>) {
        let since = &view.corrected(since);
        let mut leaving = Leaving::new(movable(since, view));
        let mut homeless = BTreeSet::new();
        // What can neither go nor be gone around stays, and what had its name does not get it back.
        let aside = loop {
            let mut made = made(since, &leaving, view);
            made.extend(homeless.iter().cloned());
            let aside = to_be_moved_aside(&made, &leaving);
            let before = leaving.moved.len();
            let is_free = |origin: &Path| leaving.is_free(origin, &aside);
            let mut moved = leaving.moved.clone();
            moved.retain(|_, moved| is_free(&moved.origin));
            // What was kept at the cut, as another restore had left it, is kept under another name.
            let left = leaving.moved.iter().filter(|(now, moved)| {
                let stays = view.is_spared(now) || view.around.contains(now.as_path());
                !is_free(&moved.origin) && is_kept(&moved.origin) && !stays
            });
            homeless.extend(left.map(|(now, _)| now.clone()));
            if moved.len() == before {
                break aside;
            }
            leaving = Leaving::new(moved);
        };
        let own = since.made.keys().chain(&since.written);
        let own = own.map(|path| view.place(path));
        self.places
            .own
            .extend(own.filter(|path| view.may_be_its_work(path)));
        for (now, moved) in &leaving.moved {
            self.places.give_back(moved.origin.clone(), now.clone());
        }
        self.places.aside.extend(aside.iter().cloned());
        let gone = self.gone(since, view);
        self.plan(&aside, &leaving, gone);
        for path in &since.written {
            let origin = view.place(path);
            let is_recorded = view.around.contains(origin.as_path());
            let now = self.places.now(&origin).filter(|_| !is_recorded);
            let is_there = now.is_some_and(|now| {
                !view.is_spared(&now) && view.its(&now).is_some_and(|meta| meta.is_file())
            });
            if is_there {
                self.written.push(origin);
            }
        }
    }

    /// What was there at the cut and is gone, as it is to be made again; files are named.
    fn gone(&mut self, since: &Names, view: &View<'_>) -> Vec<Repair> {
        let mut repairs = Vec::new();
        for (path, removed) in &since.removed {
            let node = removed.node;
            let origin = view.place(path);
            let now = self.places.now(&origin);
            let there = now.and_then(|now| fs::symlink_metadata(now).ok());
            let is_its = view.owner == 0 || node.owner == view.owner;
            if !is_its || view.is_spared(&origin) || !view.may_name(&origin) {
                continue;
            }
            let Some(content) = content(removed) else {
                if is_file(removed) && !view.around.contains(origin.as_path()) {
                    match there {
                        Some(_) => self.written.push(origin),
                        None => self.removed.push(origin),
                    }
                }
                continue;
            };
            if view.around.contains(origin.as_path()) {
                continue;
            }
            if there.is_some() {
                if view.its(&origin).is_none() || is_again(&origin, &content) {
                    continue;
                }
                // Of somebody else, who has taken the name.
                let there =
                    Repair::new(&ProgramFile::at(origin.clone()), Some(Content::Aside), None);
                repairs.push(there.sparing());
            }
            repairs.push(Repair::new(&record(&origin, node), Some(content), None));
        }
        repairs
    }

    fn plan(&mut self, aside: &BTreeSet<PathBuf>, leaving: &Leaving, gone: Vec<Repair>) {
        let step =
            |path: PathBuf, content| Repair::new(&ProgramFile::at(path), Some(content), None);
        // What lies deepest goes first: out of what goes itself.
        let mut out: Vec<_> = leaving.moved.iter().collect();
        out.sort_by_key(|(now, _)| std::cmp::Reverse(now.components().count()));
        let (mut back, mut taken) = (Vec::new(), BTreeSet::new());
        for (now, Moved { origin, .. }) in out {
            let is_stable = |folder: &&Path| {
                folder.is_dir() && self.places.now(folder).as_deref() == Some(*folder)
            };
            let folder = origin.ancestors().skip(1).find(is_stable);
            let between = between(folder.unwrap_or(Path::new("/")), origin, &taken);
            taken.insert(between.clone());
            let content = Content::Moved {
                from: now.clone(),
                was: None,
            };
            self.repairs.push(step(between.clone(), content));
            let content = Content::Moved {
                from: between,
                was: Some(now.clone()),
            };
            back.push(step(origin.clone(), content));
        }
        let places = &self.places;
        let (within, outside): (Vec<_>, Vec<_>) =
            aside.iter().partition(|path| leaving.is_within(path));
        let aside = |path: &PathBuf, then: PathBuf| match places.is_own(path) {
            true => step(then, Content::Aside),
            false => step(then, Content::Aside).sparing(),
        };
        // A name that something has been kept under before anything else is kept.
        let (kept, back): (Vec<_>, Vec<_>) = back.into_iter().partition(|repair| {
            is_kept(repair.path())
                && !places.moves(repair.path().parent().unwrap_or(Path::new("/")))
        });
        let outside = outside.into_iter().map(|path| aside(path, path.clone()));
        self.repairs.extend(kept.into_iter().chain(outside));
        // Folders before what is in them; and what has come into them before what is to have its name.
        let within = within
            .into_iter()
            .map(|path| aside(path, places.then(path)));
        let mut rest: Vec<_> = within.chain(back).chain(gone).collect();
        rest.sort_by_key(|repair| repair.path().to_owned());
        self.repairs.extend(rest);
    }
}

/// What has another name and gets its own again.
#[derive(Debug)]
struct Leaving {
    /// By its name now.
    moved: BTreeMap<PathBuf, Moved>,
    origins: BTreeSet<PathBuf>,
}

impl Leaving {
    fn new(moved: BTreeMap<PathBuf, Moved>) -> Self {
        let origins = moved.values().map(|moved| moved.origin.clone());
        Self {
            origins: origins.collect(),
            moved,
        }
    }

    /// Whether nothing will have a name when all has left that leaves, and come that comes.
    fn is_free(&self, origin: &Path, aside: &BTreeSet<PathBuf>) -> bool {
        let leaves = |path: &Path| aside.contains(path) || self.moved.contains_key(path);
        for folder in origin.ancestors().skip(1) {
            let comes = |(_, moved): &(&PathBuf, &Moved)| moved.origin == folder;
            if let Some((now, _)) = self.moved.iter().find(comes) {
                let place = under(origin, folder, now);
                return fs::symlink_metadata(&place).is_err() || leaves(&place);
            }
            if leaves(folder) {
                return true;
            }
        }
        fs::symlink_metadata(origin).is_err() || leaves(origin)
    }

    /// Whether a path is one of these, or in one.
    fn is_within(&self, path: &Path) -> bool {
        path.ancestors().any(|name| self.moved.contains_key(name))
    }

    /// Whether a path lies where one of these is to be.
    fn is_in_the_way(&self, path: &Path) -> bool {
        path.ancestors().any(|name| self.origins.contains(name))
    }
}

/// What has another name and may have its own again, by its name now.
fn movable(since: &Names, view: &View<'_>) -> BTreeMap<PathBuf, Moved> {
    let mut all = BTreeMap::new();
    for (now, Moved { origin, inode }) in &since.moved {
        let origin = view.place(origin);
        // In a copy all have other numbers: there it is whatever has the name, if nothing has the other.
        let may_be_it = |path: &Path, meta: &fs::Metadata| {
            view.map.may_renumber(path, meta) && fs::symlink_metadata(&origin).is_err()
        };
        let is_it = |path: &PathBuf| {
            view.its(path)
                .is_some_and(|meta| meta.ino() == *inode || may_be_it(path, &meta))
        };
        let now = Some(view.place(now)).filter(is_it);
        // A restore that was killed has left it in between.
        let Some(now) = now.or_else(|| on_their_way(&origin).find(is_it)) else {
            continue;
        };
        // One restore may have put back what another had kept.
        if !view.is_spared_but_kept(&origin) && view.may_name(&origin) && view.may_name(&now) {
            let inode = *inode;
            all.insert(now, Moved { origin, inode });
        }
    }
    all
}

/// Of what was made, the outermost; folders only if there is nothing else in them.
fn to_be_moved_aside(made: &BTreeSet<PathBuf>, leaving: &Leaving) -> BTreeSet<PathBuf> {
    let mut aside: BTreeSet<PathBuf> = BTreeSet::new();
    for path in made {
        // A folder comes before what is in it, and takes that along, unless that leaves it.
        let mut folders = path.ancestors().skip(1);
        let folder =
            folders.find(|name| aside.contains(*name) || leaving.moved.contains_key(*name));
        if folder.is_some_and(|folder| aside.contains(folder)) {
            continue;
        }
        let is_folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        if !is_folder || holds_only(path, made, leaving) {
            aside.insert(path.clone());
        }
    }
    aside
}

/// What is there that was made since, and is to be moved aside if it can be.
fn made(since: &Names, leaving: &Leaving, view: &View<'_>) -> BTreeSet<PathBuf> {
    let mut made = BTreeSet::new();
    for path in since.made.keys() {
        let place = view.place(path);
        // What was removed before is there again as it was, for a restore to another cut.
        let removed = since.removed.get(path).and_then(content);
        let is_settled = !leaving.is_within(&place) && !leaving.is_in_the_way(&place);
        if is_settled && removed.is_some_and(|removed| is_again(&place, &removed)) {
            continue;
        }
        // Where something recorded will be, it is compared with that; but not what a folder will come back in place of.
        let stays = !leaving.is_in_the_way(&place) && view.around.contains(place.as_path());
        // A file was there, and is not saved: better a later one than none.
        let was_file = since.removed.get(path).is_some_and(is_file);
        if view.its(&place).is_some() && !stays && !was_file && !view.is_spared(&place) {
            made.insert(place);
        }
    }
    made
}

/// What makes it again; not of a file, whose contents its journal does not know.
fn content(removed: &Removed) -> Option<Content> {
    match (removed.node.mode & libc::S_IFMT, &removed.link) {
        (_, Some(target)) => Some(Content::Link {
            target: target.clone(),
        }),
        (libc::S_IFDIR, None) => Some(Content::Folder),
        (kind @ (libc::S_IFIFO | libc::S_IFSOCK), None) => Some(Content::Node { kind }),
        _ => None,
    }
}

fn is_file(removed: &Removed) -> bool {
    removed.node.mode & libc::S_IFMT == libc::S_IFREG
}

/// Whether that is there which would be made.
fn is_again(path: &Path, content: &Content) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    match content {
        Content::Link { target } => fs::read_link(path).is_ok_and(|found| found == *target),
        Content::Folder => meta.is_dir(),
        Content::Node { kind } => meta.mode() & libc::S_IFMT == *kind,
        _ => false,
    }
}

fn record(path: &Path, node: FileNode) -> ProgramFile {
    ProgramFile {
        mode: node.mode,
        owner: node.owner,
        group: node.group,
        ..ProgramFile::at(path.to_owned())
    }
}

/// Whether all that is in a folder was made since, too, or leaves it.
fn holds_only(folder: &Path, made: &BTreeSet<PathBuf>, leaving: &Leaving) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return false;
            };
            let path = entry.path();
            if leaving.moved.contains_key(&path) {
                continue;
            }
            if !(made.contains(&path) || is_kept(&path)) {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::repaired::Repaired;
    use super::super::view::birth;
    use super::*;
    use crate::journal::{AtWork, Since};
    use crate::names::Made;
    use std::time::SystemTime;

    /// A folder, when a cut was, when the program has last done something, and what may be somebody else's.
    struct Place(
        tempfile::TempDir,
        u64,
        SystemTime,
        PathMap,
        BTreeSet<PathBuf>,
    );

    impl Place {
        /// With these files, folders (`NAME/`) and links (`NAME>TARGET`).
        fn new(names: &[&str]) -> Self {
            let map = PathMap::default();
            let place = Self(
                tempfile::tempdir().unwrap(),
                u64::MAX,
                SystemTime::now(),
                map,
                BTreeSet::new(),
            );
            for name in names {
                match name.split_once('>') {
                    Some((name, target)) => symlink(target, place.at(name)).unwrap(),
                    None if name.ends_with('/') => fs::create_dir_all(place.at(name)).unwrap(),
                    None => fs::write(place.at(name), name).unwrap(),
                }
            }
            place
        }

        fn at(&self, name: &str) -> PathBuf {
            let folder = self.0.path().canonicalize().unwrap();
            folder.join(name.trim_end_matches('/'))
        }

        fn inode(&self, name: &str) -> u64 {
            fs::symlink_metadata(self.at(name)).unwrap().ino()
        }

        fn look(&self, since: &Names, records: &[&str], owner: u32) -> Later {
            let records: Vec<_> = records
                .iter()
                .map(|name| ProgramFile::at(self.at(name)))
                .collect();
            let mut later = Later::default();
            let spared = [self.at("spared")];
            let since = Since {
                names: since.clone(),
                at_work: AtWork::until(self.2),
                guessed: self.4.clone(),
            };
            let journal = FileJournal {
                owner,
                cut_unix_ns: self.1,
                ..FileJournal::default()
            };
            later.look(
                &since.names,
                &View::new(&journal, &since, &records, &spared, &self.3),
            );
            later
        }

        /// All there is, with its contents; of files the name that they were made by.
        fn tree(&self) -> Vec<String> {
            let root = self.at("");
            let mut all = Vec::new();
            let mut folders = vec![root.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    if path.is_symlink() {
                        all.push(format!(
                            "{name}>{}",
                            fs::read_link(&path).unwrap().display()
                        ));
                    } else if path.is_dir() {
                        all.push(format!("{name}/"));
                        folders.push(path);
                    } else {
                        all.push(format!("{name}:{}", fs::read_to_string(&path).unwrap()));
                    }
                }
            }
            all.sort();
            all
        }

        fn apply(&self, later: Later) -> Vec<Repaired> {
            let repairs = later.repairs.into_iter();
            repairs.map(|repair| repair.apply().unwrap()).collect()
        }
    }

    fn myself() -> u32 {
        nix::unistd::Uid::effective().as_raw()
    }

    #[test]
    fn what_was_made_since_is_moved_aside_and_nothing_else() {
        let place = Place::new(&[
            "old",
            "known",
            "spared",
            "new",
            "big",
            "made/",
            "made/inner/",
            "shared/",
            "made/inner/a",
            "made/b.strobe-later-1",
            "shared/ours",
            "shared/theirs",
            "link>old",
        ]);
        let mut since = Names::default();
        for name in [
            "gone",
            "known",
            "spared",
            "./made/../new",
            "made/inner/a",
            "shared/ours",
            "link",
        ] {
            since.made.insert(place.at(name), Made::File);
        }
        for name in ["made", "made/inner", "shared"] {
            since.made.insert(place.at(name), Made::Folder);
        }
        since.written.insert(place.at("big"));
        let names = |later: &Later| {
            let names = later.repairs.iter().map(|repair| {
                repair
                    .path()
                    .strip_prefix(place.at(""))
                    .unwrap()
                    .display()
                    .to_string()
            });
            names.collect::<Vec<_>>()
        };
        let later = place.look(&since, &["known"], myself());
        assert_eq!(names(&later), ["link", "made", "new", "shared/ours"]);
        assert_eq!(later.written, [place.at("big")]);
        let later = place.look(&since, &["known", "made/inner/a"], myself());
        assert_eq!(names(&later), ["link", "new", "shared/ours"]);
        let later = place.look(&since, &["known"], myself() + 1);
        assert!(
            later.repairs.is_empty() && later.written.is_empty(),
            "{later:?}"
        );
    }

    /// Too many were written to be looked at, or one was too large and too old.
    #[test]
    fn a_later_file_in_the_place_of_one_that_was_not_saved_stays() {
        let place = Place::new(&["o"]);
        let mut since = Names::default();
        since.made.insert(place.at("o"), Made::File);
        let node = FileNode {
            mode: libc::S_IFREG | 0o644,
            owner: myself(),
            ..FileNode::default()
        };
        for name in ["o", "gone"] {
            let removed = Removed { node, link: None };
            since.removed.insert(place.at(name), removed);
        }
        let later = place.look(&since, &[], myself());
        assert!(later.repairs.is_empty(), "{later:?}");
        assert_eq!(later.written, [place.at("o")]);
        assert_eq!(later.removed, [place.at("gone")]);
    }

    #[test]
    fn what_was_renamed_gets_its_name_back_in_a_copy_too_unless_that_is_taken() {
        let mut place = Place::new(&["done/", "done/part", "kept>x"]);
        place.1 = 0;
        let mut since = Names::default();
        let origin = place.at("work");
        let moved = Moved { origin, inode: 1 };
        since.moved.insert(place.at("done"), moved);
        let at_the_place = place.look(&since, &[], myself());
        assert!(
            !at_the_place
                .repairs
                .iter()
                .any(|repair| repair.path() == place.at("work"))
        );
        let mut rule = std::ffi::OsString::from("/elsewhere=");
        rule.push(place.at(""));
        let rule = crate::path_map::PathRule::parse(&rule).unwrap();
        place.3 = PathMap::new(vec![rule], None);
        for repair in place.look(&since, &[], myself()).repairs {
            repair.apply().unwrap();
        }
        assert!(place.at("work/part").exists());
        fs::create_dir(place.at("done")).unwrap();
        assert!(place.look(&since, &[], myself()).repairs.is_empty());
    }

    /// After the cut with `ckpt/w`, `D/f`, `a`, `b`, `keep`, `latest>v1` and `lock/`, as the program has left them.
    #[test]
    fn what_has_another_name_gets_its_own_back() {
        let place = Place::new(&[
            "ckpt.old/",
            "ckpt.old/w",
            "ckpt/",
            "ckpt/w",
            "E/",
            "E/f",
            "E/new",
            "a",
            "b",
            "N/",
            "N/keep",
            "latest>v2",
        ]);
        let before = place.tree();
        let mut since = Names::default();
        for name in ["ckpt/w", "E/new", "latest"] {
            since.made.insert(place.at(name), Made::File);
        }
        for name in ["ckpt", "N"] {
            since.made.insert(place.at(name), Made::Folder);
        }
        for (origin, now) in [
            ("ckpt", "ckpt.old"),
            ("D", "E"),
            ("a", "b"),
            ("b", "a"),
            ("keep", "N/keep"),
        ] {
            since.moved.insert(
                place.at(now),
                Moved {
                    origin: place.at(origin),
                    inode: place.inode(now),
                },
            );
        }
        for (name, kind, link) in [
            ("lock", libc::S_IFDIR, None),
            ("latest", libc::S_IFLNK, Some("v1".into())),
            ("lost", libc::S_IFREG, None),
        ] {
            let node = FileNode {
                mode: kind | 0o700,
                owner: myself(),
                ..FileNode::default()
            };
            since.removed.insert(place.at(name), Removed { node, link });
        }
        let records = ["ckpt/w", "a"];
        let later = place.look(&since, &records, myself());
        assert_eq!(later.removed, [place.at("lost")]);
        let now = later.places.now(&place.at("ckpt/w"));
        assert_eq!(now, Some(place.at("ckpt.old/w")));
        let repaired = place.apply(later);
        assert_eq!(
            place.tree(),
            [
                "D/",
                "D/f:E/f",
                "D/new.strobe-later-1:E/new",
                "N.strobe-later-1/",
                "a:b",
                "b:a",
                "ckpt.strobe-later-1/",
                "ckpt.strobe-later-1/w:ckpt/w",
                "ckpt/",
                "ckpt/w:ckpt.old/w",
                "keep:N/keep",
                "latest.strobe-later-1>v2",
                "latest>v1",
                "lock/",
            ]
        );
        for repaired in repaired.iter().rev() {
            repaired.undo().unwrap();
        }
        assert_eq!(place.tree(), before);
        // Another inode is another thing.
        since.moved.values_mut().for_each(|moved| moved.inode += 1);
        let later = place.look(&since, &records, myself());
        let now = later.places.now(&place.at("D/f"));
        assert_eq!(now, Some(place.at("D/f")));
    }

    /// By somebody who came when the program had ended.
    #[test]
    fn what_may_be_somebody_else_s_is_never_dropped() {
        let younger = |place: &mut Place| place.2 = SystemTime::UNIX_EPOCH;
        let guessed = |place: &mut Place| place.4 = [place.at("")].into();
        let whys: [&dyn Fn(&mut Place); 2] = [&younger, &guessed];
        for why in whys {
            never_dropped(why);
        }
    }

    fn never_dropped(why: &dyn Fn(&mut Place)) {
        let mut place = Place::new(&["model", "first>mine"]);
        why(&mut place);
        let mut since = Names::default();
        since.made.insert(place.at("model"), Made::File);
        let node = FileNode {
            mode: libc::S_IFLNK,
            owner: myself(),
            ..FileNode::default()
        };
        let link = Some("1".into());
        since
            .removed
            .insert(place.at("first"), Removed { node, link });
        let mut repaired = place.apply(place.look(&since, &[], myself()));
        for repaired in &mut repaired {
            repaired.drop_kept().unwrap();
        }
        assert_eq!(
            place.tree(),
            [
                "first.strobe-later-1>mine",
                "first>1",
                "model.strobe-later-1:model"
            ]
        );
    }

    #[test]
    fn what_is_younger_than_the_cut_was_made() {
        let mut place = Place::new(&["sedX"]);
        let born = birth(&place.at("sedX")).expect("the file system knows");
        let born = born.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        place.1 = born.as_nanos() as u64 - 1;
        fs::rename(place.at("sedX"), place.at("text")).unwrap();
        let mut since = Names::default();
        since.moved.insert(
            place.at("text"),
            Moved {
                origin: place.at("sedX"),
                inode: place.inode("text"),
            },
        );
        place.apply(place.look(&since, &[], myself()));
        assert_eq!(place.tree(), ["text.strobe-later-1:sedX"]);
    }

    #[test]
    fn what_somebody_else_has_put_in_the_way_stays() {
        let place = Place::new(&["ckpt.old/", "ckpt.old/w", "ckpt/", "ckpt/w", "ckpt/theirs"]);
        let before = place.tree();
        let mut since = Names::default();
        since.made.insert(place.at("ckpt"), Made::Folder);
        since.made.insert(place.at("ckpt/w"), Made::File);
        since.moved.insert(
            place.at("ckpt.old"),
            Moved {
                origin: place.at("ckpt"),
                inode: place.inode("ckpt.old"),
            },
        );
        let later = place.look(&since, &["ckpt/w"], myself());
        assert_eq!(place.apply(later).len(), 0);
        assert_eq!(place.tree(), before);
    }

    #[test]
    fn what_is_moved_aside_is_kept_and_comes_back_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (file, made) = (folder.path().join("file"), folder.path().join("made"));
        fs::write(&file, "new").unwrap();
        fs::create_dir(&made).unwrap();
        fs::write(made.join("inside"), "new").unwrap();
        let aside = |path: &Path| {
            let record = ProgramFile::at(path.to_owned());
            Repair::new(&record, Some(Content::Aside), None)
                .apply()
                .unwrap()
        };
        for path in [&file, &made] {
            let repaired = aside(path);
            assert!(!path.exists());
            repaired.undo().unwrap();
            assert!(path.exists());
            let mut repaired = aside(path);
            let kept = repaired.kept().unwrap().to_owned();
            assert!(kept.exists() && !path.exists());
            repaired.drop_kept().unwrap();
            assert!(!kept.exists());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
