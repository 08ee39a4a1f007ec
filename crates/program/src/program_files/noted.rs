//! What a restore does to names, as entries of the program's journal.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::journal::{Entry, FileNode, Named, PATH_BYTES, Renamed, There as Before};

use super::attributes::node;
use super::repair::{Content, There};
use super::repaired::Repaired;
use crate::path_map::PathMap;

impl Repaired {
    /// Whether a user's journal is to tell of it: to nobody else what only others may see.
    pub(crate) fn is_of(&self, user: u32) -> bool {
        let is_its = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.uid() == user);
        user == 0
            || self.renamed().is_some_and(|node| node.owner == user)
            || [Some(self.path()), self.kept()]
                .into_iter()
                .flatten()
                .any(is_its)
    }

    /// Adds the entries of what was done. They are what a program would have written that did the same.
    pub(crate) fn note(&self, map: &PathMap, to: &mut Vec<u8>) -> io::Result<()> {
        let mut notes = Notes { map, to };
        for folder in self.folders() {
            notes.note(folder, |path| Entry::MakeFolder(path))?;
        }
        let (path, renamed) = (self.path(), self.renamed());
        match (self.content(), self.kept()) {
            (Some(Content::Aside), Some(kept)) => notes.rename(path, kept, renamed),
            (Some(Content::Moved { from, .. }), _) => notes.rename(from, path, renamed),
            (Some(Content::Link { .. } | Content::Node { .. }), _) => {
                notes.note(path, |path| Entry::Make(path))
            }
            (Some(Content::Name { there, .. } | Content::Back { there, .. }), kept) => {
                match (there, kept) {
                    (There::Itself, _) => return notes.note(path, |path| Entry::Write(path)),
                    (There::Another, Some(kept)) => notes.rename(path, kept, renamed)?,
                    (There::Another | There::Nothing, _) => {}
                }
                notes.note(path, |path| Entry::Make(path))
            }
            (Some(Content::CutBack { .. }), _) => notes.note(path, |path| Entry::Write(path)),
            (Some(Content::Folder | Content::Aside) | None, _) => Ok(()),
        }
    }

    /// The same of dropping what is kept, before that is done.
    pub(crate) fn note_drop(&self, map: &PathMap, to: &mut Vec<u8>) -> io::Result<()> {
        let Some(kept) = self.drops() else {
            return Ok(());
        };
        let site = self.site()?;
        let mut notes = Notes { map, to };
        // With the rights of who drops it, who sees no more of it so.
        site.act(|| {
            let mut all = vec![site.beside(kept)];
            let mut at = 0;
            while let Some(folder) = all.get(at) {
                if fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir()) {
                    let entries = fs::read_dir(folder)?;
                    let inside: io::Result<Vec<PathBuf>> =
                        entries.map(|entry| Ok(entry?.path())).collect();
                    all.extend(inside?);
                }
                at += 1;
            }
            // What is in a folder goes before it.
            let mut all = all.iter().rev();
            all.try_for_each(|name| notes.remove(name, &site.path(name)))
        })
    }
}

struct Notes<'a> {
    map: &'a PathMap,
    to: &'a mut Vec<u8>,
}

impl Notes<'_> {
    /// A path as the program knows it, if an entry has room for it.
    fn path<'p>(&self, path: &'p Path) -> Option<Cow<'p, Path>> {
        let path = self.map.inside_root(path);
        (path.as_os_str().len() <= PATH_BYTES).then_some(path)
    }

    fn note(&mut self, path: &Path, entry: fn(&[u8]) -> Entry<'_>) -> io::Result<()> {
        match self.path(path) {
            Some(path) => entry(path.as_os_str().as_bytes()).write(&mut *self.to),
            None => Ok(()),
        }
    }

    fn rename(&mut self, old: &Path, new: &Path, node: Option<FileNode>) -> io::Result<()> {
        let (Some(old), Some(new), Some(node)) = (self.path(old), self.path(new), node) else {
            return Ok(());
        };
        let renamed = Renamed {
            old: old.as_os_str().as_bytes(),
            node,
            new: new.as_os_str().as_bytes(),
            there: Before::Nothing,
        };
        Entry::Rename(renamed).write(&mut *self.to)
    }

    /// Of what the kernel finds by this name, and the program by the path.
    fn remove(&mut self, name: &Path, path: &Path) -> io::Result<()> {
        let meta = fs::symlink_metadata(name)?;
        let link = match meta.is_symlink() {
            true => fs::read_link(name)?,
            false => PathBuf::new(),
        };
        let link = link.as_os_str().as_bytes();
        let Some(path) = self.path(path).filter(|_| link.len() <= PATH_BYTES) else {
            return Ok(());
        };
        let named = Named {
            path: path.as_os_str().as_bytes(),
            node: node(&meta),
            link,
        };
        Entry::Remove(named).write(&mut *self.to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::OpenOptions;
    use std::os::unix::fs::{chown, symlink};
    use std::time::SystemTime;

    use nix::sys::stat::Mode;
    use strobe_proto::{FileJournal, ProgramFile};

    use super::super::later;
    use super::*;
    use crate::journal;
    use crate::rights::Rights;

    /// A program that does something to names, and writes its journal.
    struct Program {
        folder: tempfile::TempDir,
        /// Whose program it is.
        by: Rights,
        random: u64,
        count: u32,
    }

    /// All there is, with its mode, whose it is, and where links lead to; but what restores have kept.
    type Tree = BTreeMap<PathBuf, String>;

    impl Program {
        fn new(seed: u64, user: u32) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("run")).unwrap();
            fs::write(folder.path().join("journal"), "").unwrap();
            for name in ["", "run", "journal"] {
                let path = folder.path().join(name);
                chown(path, Some(user), Some(user)).expect("we are the first user");
            }
            let groups = vec![user];
            Self {
                folder,
                by: Rights { user, groups },
                random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
                count: 0,
            }
        }

        fn below(&mut self, bound: u64) -> u64 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            (self.random >> 33) % bound
        }

        /// What is told of a user whose groups nobody knows.
        fn cut(&self) -> FileJournal {
            journal::cut(&self.journal(), &Rights::alone(self.by.user)).unwrap()
        }

        fn journal(&self) -> PathBuf {
            self.folder.path().join("journal")
        }

        fn root(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join("run")
        }

        /// One of few names, in a folder if that is there.
        fn name(&mut self) -> PathBuf {
            let names = ["a", "b", "c"];
            let mut path = self.root();
            for _ in 0..=self.below(2) {
                path.push(names[self.below(3) as usize]);
            }
            match path.parent().is_some_and(|folder| folder.is_dir()) {
                true => path,
                false => self.name(),
            }
        }

        fn note(&self, note: impl FnOnce(&mut Notes<'_>) -> io::Result<()>) {
            let (map, mut bytes) = (PathMap::default(), Vec::new());
            note(&mut Notes {
                map: &map,
                to: &mut bytes,
            })
            .unwrap();
            let file = OpenOptions::new().append(true).open(self.journal());
            io::Write::write_all(&mut file.unwrap(), &bytes).unwrap();
        }

        fn act(&mut self) {
            let by = self.by.clone();
            by.run(|| self.act_here()).unwrap();
        }

        fn act_here(&mut self) {
            let path = self.name();
            let there = fs::symlink_metadata(&path).ok();
            let is_folder = there.as_ref().is_some_and(fs::Metadata::is_dir);
            match (self.below(4), there) {
                (0, Some(_)) if is_folder => {
                    // Where it would fail, nothing is noted here.
                    if fs::read_dir(&path).unwrap().next().is_none() {
                        self.note(|notes| notes.remove(&path, &path));
                        fs::remove_dir(&path).unwrap();
                    }
                }
                (0, Some(_)) => {
                    self.note(|notes| notes.remove(&path, &path));
                    fs::remove_file(&path).unwrap();
                }
                (_, Some(meta)) => {
                    let new = self.name();
                    if new.starts_with(&path) {
                        return;
                    }
                    let link = fs::read_link(&new).unwrap_or_default();
                    let there = match fs::symlink_metadata(&new) {
                        Ok(there) if there.is_dir() != is_folder => return,
                        // Such calls fail; what is done in the folder then is taken for what is done in the other.
                        Ok(_) if is_folder && fs::read_dir(&new).unwrap().next().is_some() => {
                            return;
                        }
                        Ok(meta) => Before::Replaced(node(&meta), link.as_os_str().as_bytes()),
                        Err(_) => Before::Nothing,
                    };
                    let renamed = Renamed {
                        old: path.as_os_str().as_bytes(),
                        node: node(&meta),
                        new: new.as_os_str().as_bytes(),
                        there,
                    };
                    self.note(|notes| Entry::Rename(renamed).write(&mut *notes.to));
                    let _ = fs::rename(&path, &new);
                }
                (what, None) => {
                    self.count += 1;
                    match what {
                        0 => {
                            self.note(|notes| notes.note(&path, |path| Entry::Make(path)));
                            symlink(self.count.to_string(), &path).unwrap();
                        }
                        1 => {
                            self.note(|notes| notes.note(&path, |path| Entry::Make(path)));
                            nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
                        }
                        _ => {
                            self.note(|notes| notes.note(&path, |path| Entry::MakeFolder(path)));
                            fs::create_dir(&path).unwrap();
                        }
                    }
                }
            }
        }

        fn tree(&self) -> Tree {
            let mut all = Tree::new();
            let mut folders = vec![self.root()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    let meta = fs::symlink_metadata(&path).unwrap();
                    if super::super::kept::is_kept(&path) {
                        continue;
                    }
                    let link = fs::read_link(&path).map(|link| link.display().to_string());
                    let kind = format!("{:o}", meta.mode());
                    let what = link.unwrap_or(kind);
                    let what = format!("{what} of {}:{}", meta.uid(), meta.gid());
                    all.insert(path.clone(), what);
                    if meta.is_dir() {
                        folders.push(path);
                    }
                }
            }
            all
        }

        fn restore(&self, cut: &FileJournal, drop: bool) {
            let map = PathMap::default();
            let no: &[ProgramFile] = &[];
            let found = later(std::slice::from_ref(cut), no, &[], &map);
            assert!(
                found.unknown.is_empty() && found.removed.is_empty(),
                "{found:?}"
            );
            let begun = SystemTime::now();
            let repairs = found.repairs.into_iter();
            let mut done: Vec<_> = repairs.map(|repair| repair.apply().unwrap()).collect();
            journal::restored(cut, &done, begun, &map).unwrap();
            if drop {
                let going: Vec<_> = done.iter().collect();
                journal::dropping(cut, &going, &map).unwrap();
                done.iter_mut().for_each(|done| done.drop_kept().unwrap());
            }
        }
    }

    /// Checkpoints restored in any order, of a program that makes, removes and renames folders, links and FIFOs.
    #[test]
    fn names_come_back_whichever_cut_was_restored_before() {
        // The last three have found what the others do not.
        for seed in (0..300).chain([1298, 1628, 2913]) {
            let mut program = Program::new(seed, [0, 1000][seed as usize % 2]);
            let mut cuts: Vec<(FileJournal, Tree)> = Vec::new();
            let mut story = Vec::new();
            for _ in 0..8 {
                for _ in 0..program.below(6) {
                    program.act();
                }
                if cuts.is_empty() || program.below(3) == 0 {
                    let cut = program.cut();
                    story.push(format!("cut {}", cuts.len()));
                    cuts.push((cut, program.tree()));
                    continue;
                }
                let which = program.below(cuts.len() as u64) as usize;
                let drop = program.below(2) == 0;
                story.push(format!("restore {which}, drop {drop}"));
                let (cut, tree) = &cuts[which];
                program.restore(cut, drop);
                assert_eq!(program.tree(), *tree, "seed {seed}: {story:?}");
            }
        }
    }

    #[test]
    fn what_a_restore_that_fails_has_noted_is_taken_back() {
        let program = Program::new(1, 0);
        let cut = program.cut();
        let before = fs::read(program.journal()).unwrap();
        let modified = fs::metadata(program.journal()).unwrap().modified().unwrap();
        let noted = journal::restored(&cut, &[], SystemTime::now(), &PathMap::default()).unwrap();
        assert_ne!(fs::read(program.journal()).unwrap(), before);
        noted.undo().unwrap();
        assert_eq!(fs::read(program.journal()).unwrap(), before);
        let meta = fs::metadata(program.journal()).unwrap();
        assert_eq!(meta.modified().unwrap(), modified);
    }
}
