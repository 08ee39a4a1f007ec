//! What the program has made since the cut, and what it has written of which nothing is known: its journal tells.
//!
//! A restored program makes the same files again: it would find them there, append to them, or be in its own way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::journal::EntryKind;
use strobe_proto::{FileJournal, ProgramFile};

use super::repair::{Content, Repair, is_kept};
use crate::journal::{self, Since};
use crate::path_map::PathMap;
use crate::shared_memory::is_saved;
use crate::spool::is_spooled;

/// What is looked at, at most, of a folder that was made since.
const ENTRIES: usize = 1024;

/// What a restore finds that was not there, or not so, at the cut.
#[derive(Debug, Default)]
pub struct Later {
    /// What was made since, to be moved aside.
    pub repairs: Vec<Repair>,
    /// What was written since; how it was at the cut nobody has kept.
    pub written: Vec<PathBuf>,
    /// Journals that do not reach back to the cut, or are gone.
    pub unknown: Vec<PathBuf>,
}

/// Looks, and changes nothing. What is in `records` has been compared; what is in `spared` stays as it is.
pub fn later(
    journals: &[FileJournal],
    records: &[ProgramFile],
    spared: &[PathBuf],
    map: &PathMap,
) -> Later {
    let mut found = Later::default();
    for journal in journals {
        match journal::since(journal) {
            Some(since) => found.look(&since, journal.owner, records, spared, map),
            None => found.unknown.push(journal.path().to_owned()),
        }
    }
    found
}

impl Later {
    fn look(
        &mut self,
        since: &Since,
        owner: u32,
        records: &[ProgramFile],
        spared: &[PathBuf],
        map: &PathMap,
    ) {
        let spared_or_recorded = spared.iter().map(PathBuf::as_path);
        let spared_or_recorded = spared_or_recorded.chain(records.iter().map(ProgramFile::path));
        let around: BTreeSet<&Path> = spared_or_recorded.flat_map(Path::ancestors).collect();
        let stays = |path: &Path| {
            is_saved(path)
                || is_spooled(path)
                || is_kept(path)
                || around.contains(path)
                || spared.iter().any(|spared| path.starts_with(spared))
        };
        // Whoever writes the journal has no say about what others own.
        let is_its = |path: &Path| {
            let meta = fs::symlink_metadata(path).ok();
            meta.filter(|meta| meta.uid() == owner && !meta.is_symlink())
        };
        let mut made = BTreeSet::new();
        for (path, kind) in since {
            let place = map.moved(path);
            let Some(place) = real(place.as_deref().unwrap_or(path)) else {
                continue;
            };
            match is_its(&place) {
                Some(_) if stays(&place) => {}
                Some(_) if *kind != EntryKind::Present => {
                    made.insert(place);
                }
                Some(meta) if meta.is_file() => self.written.push(place),
                _ => {}
            }
        }
        let mut moved: Option<&Path> = None;
        for path in &made {
            // A folder comes before what is in it.
            if moved.is_some_and(|folder| path.starts_with(folder)) {
                continue;
            }
            if path.is_dir() {
                if !holds_only(path, &made) {
                    continue;
                }
                moved = Some(path);
            }
            let record = ProgramFile::at(path.clone());
            self.repairs
                .push(Repair::new(&record, Some(Content::Aside), None));
        }
    }
}

/// With no link or `..` in its folders.
fn real(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    Some(fs::canonicalize(path.parent()?).ok()?.join(name))
}

/// Whether all that is in a folder was made since, too.
fn holds_only(folder: &Path, made: &BTreeSet<PathBuf>) -> bool {
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return false;
            };
            let path = entry.path();
            looked_at += 1;
            if looked_at > ENTRIES || !(made.contains(&path) || is_kept(&path)) {
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
    use super::*;

    /// A folder in which `since` says what was done after the cut.
    fn look(
        folder: &Path,
        since: &[(&str, EntryKind)],
        records: &[&str],
    ) -> (Vec<String>, Vec<PathBuf>) {
        let at = |name: &str| folder.join(name);
        let since = since.iter().map(|(name, kind)| (at(name), *kind)).collect();
        let records: Vec<_> = records
            .iter()
            .map(|name| ProgramFile::at(at(name)))
            .collect();
        let mut later = Later::default();
        let owner = fs::metadata(folder).unwrap().uid();
        later.look(
            &since,
            owner,
            &records,
            &[at("spared")],
            &PathMap::default(),
        );
        let mut none = Later::default();
        none.look(&since, owner + 1, &records, &[], &PathMap::default());
        assert!(
            none.repairs.is_empty() && none.written.is_empty(),
            "{none:?}"
        );
        let inside = |path: &Path| path.strip_prefix(folder).unwrap().display().to_string();
        let repairs = later.repairs.iter().map(|repair| inside(repair.path()));
        (repairs.collect(), later.written)
    }

    #[test]
    fn what_was_made_since_is_moved_aside_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for name in [
            "old",
            "known",
            "spared",
            "new",
            "big",
            "made",
            "made/inner",
            "shared",
        ] {
            match name {
                "made" | "made/inner" | "shared" => fs::create_dir(folder.join(name)).unwrap(),
                _ => fs::write(folder.join(name), name).unwrap(),
            }
        }
        for name in [
            "made/inner/a",
            "made/b.strobe-later-1",
            "shared/ours",
            "shared/theirs",
        ] {
            fs::write(folder.join(name), name).unwrap();
        }
        let since = [
            ("gone", EntryKind::Absent),
            ("known", EntryKind::Absent),
            ("spared", EntryKind::Absent),
            ("./made/../new", EntryKind::Absent),
            ("big", EntryKind::Present),
            ("made", EntryKind::Folder),
            ("made/inner", EntryKind::Absent),
            ("made/inner/a", EntryKind::Absent),
            ("shared", EntryKind::Folder),
            ("shared/ours", EntryKind::Absent),
        ];
        let (aside, written) = look(&folder, &since, &["known"]);
        assert_eq!(aside, ["made", "new", "shared/ours"]);
        assert_eq!(written, [folder.join("big")]);
        let (aside, _) = look(&folder, &since, &["known", "made/inner/a"]);
        assert_eq!(aside, ["new", "shared/ours"]);
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
