//! Restores of one program at several places (`--map`), of which one journal tells.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use strobe_proto::journal::{Entry, Placed};

use crate::names::under;
use crate::path_map::PathMap;

/// Where what a journal names is for one restore.
#[derive(Debug)]
pub(super) struct Whereabouts<'a> {
    map: &'a PathMap,
    /// Of restores to other places: what lay under the first lay under the second.
    others: Vec<(PathBuf, PathBuf)>,
    /// What lay at a place that is gone: whether it was moved on, or removed, nobody knows.
    guessed: RefCell<BTreeSet<PathBuf>>,
}

impl<'a> Whereabouts<'a> {
    pub(super) fn new<'e>(map: &'a PathMap, all: impl Iterator<Item = Entry<'e>>) -> Self {
        let others = all.filter_map(|entry| match entry {
            Entry::Placed(Placed { old, new }) => {
                Some([old, new].map(|path| PathBuf::from(OsStr::from_bytes(path))))
            }
            _ => None,
        });
        let mut others: Vec<_> = others
            .filter(|[old, new]| {
                // All roots have the same names.
                let is_root = old.parent().is_none();
                !is_root && map.rules().iter().all(|rule| rule.place() != new)
            })
            .map(|[old, new]| (old, new))
            .collect();
        others.sort();
        others.dedup();
        Self {
            map,
            others,
            guessed: RefCell::default(),
        }
    }

    /// All paths of [`Whereabouts::now`] that may be wrong.
    pub(super) fn guessed(self) -> BTreeSet<PathBuf> {
        self.guessed.into_inner()
    }

    /// Where a path of the journal is now; `None` where it is another restored program's.
    pub(super) fn now(&self, mut path: PathBuf) -> Option<PathBuf> {
        let mut is_guessed = false;
        // Each at most once: they may lead in a circle.
        for _ in 0..=self.others.len() {
            let of_path = self.others.iter().filter(|(_, new)| path.starts_with(new));
            let Some((old, new)) = of_path.max_by_key(|(_, new)| new.as_os_str().len()) else {
                break;
            };
            if self.is_there(new) {
                return None;
            }
            // It was moved on, or back.
            path = under(&path, new, old);
            is_guessed = true;
        }
        let path = self.map.moved(&path).unwrap_or(path);
        if is_guessed {
            self.guessed.borrow_mut().insert(path.clone());
        }
        Some(path)
    }

    fn is_there(&self, path: &Path) -> bool {
        fs::symlink_metadata(self.map.outside_root(path)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_map::PathRule;

    #[test]
    fn another_place_is_another_program_s_until_it_is_moved() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [run, one, two] = ["run", "one", "two"].map(at);
        for path in [&run, &one, &two] {
            fs::create_dir(path).unwrap();
        }
        let bytes = |path: &PathBuf| path.as_os_str().as_bytes().to_vec();
        let (old, mapped) = (bytes(&run), [bytes(&one), bytes(&two)]);
        let entries = || {
            let mapped = mapped.iter();
            mapped.map(|new| Entry::Placed(Placed { old: &old, new }))
        };
        let rule = |new: &Path| {
            let mut text = run.clone().into_os_string();
            text.push("=");
            text.push(new);
            PathRule::parse(&text).unwrap()
        };
        let now = |new: Option<&Path>, path: &Path| {
            let map = PathMap::new(new.map(rule).into_iter().collect(), None);
            Whereabouts::new(&map, entries()).now(path.join("x"))
        };
        assert_eq!(now(None, &run), Some(run.join("x")));
        assert_eq!(now(None, &one), None);
        assert_eq!(now(Some(&one), &run), Some(one.join("x")));
        assert_eq!(now(Some(&one), &one), Some(one.join("x")));
        assert_eq!(now(Some(&one), &two), None);
        fs::remove_dir(&two).unwrap();
        assert_eq!(now(Some(&one), &two), Some(one.join("x")));
        assert_eq!(now(None, &two), Some(run.join("x")));
        let map = PathMap::default();
        let whereabouts = Whereabouts::new(&map, entries());
        for path in [&run, &two] {
            whereabouts.now(path.join(path.file_name().unwrap()));
        }
        assert_eq!(whereabouts.guessed(), [run.join("two")].into());
    }
}
